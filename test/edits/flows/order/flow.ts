/** An order, from the stock to the parcel: one step after the other. */
import { step, workflow } from "stepmark";
import { done } from "../bodies.js";

interface Order {
  customer: string;
  country: string;
  items: string[];
}

const reserve = async (items: string[]) => done("reserve", items);
const quote = async (items: string[], country: string) => done("quote", items, country);
const charge = async (customer: string, amount: string) => done("charge", customer, amount);
const print = async (what: string) => done("print", what);
const mail = async (customer: string, text: string) => done("mail", customer, text);

export const w = workflow("order", async (order: Order) => {
  const stock = await step(reserve, order.items);
  const price = await step(quote, order.items, order.country);
  const payment = await step(charge, order.customer, price);
  await step(mail, order.customer, "paid");
  const label = await step(print, "label");
  const invoice = await step(print, "invoice");
  await step(mail, order.customer, "on its way");
  return { stock, payment, label, invoice };
});

export const input = { customer: "Ada", country: "PT", items: ["tea", "cup"] };
