/** Invoices: steps whose bodies call steps. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const nextNumber = async () => done("nextNumber");
const render = async (customer: string, number: string) => done("render", customer, number);
const send = async (file: string) => done("send", file);
const archive = async (file: string) => done("archive", file);

const invoice = async (customer: string) => {
  log(customer);
  const number = await step(nextNumber);
  const file = await step(render, customer, number);
  await step(archive, file);
  return done("invoice", file);
};

export const w = workflow("invoices", async (customers: string[]) => {
  const [first, second] = customers as [string, string];
  const one = await step(invoice, first);
  const two = await step(invoice, second);
  const sent = await step(send, one);
  await step(send, two);
  return { one, two, sent };
});

export const input = ["acme", "zeta"];
