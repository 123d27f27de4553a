/** What a subscription costs, and its payment. */
import { step } from "stepmark";
import { done, log } from "../bodies.js";

const rate = async (plan: string) => done("rate", plan);
const pay = async (account: string, amount: string) => done("pay", account, amount);
const receipt = async (payment: string) => done("receipt", payment);

export async function collect(account: string, plan: string) {
  log(account, plan);
  const amount = await step(rate, plan);
  const payment = await step(pay, account, amount);
  return payment;
}

export const confirm = async (payment: string) => step(receipt, payment);
