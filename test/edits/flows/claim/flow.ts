/** A claim that is assessed by workflows of their own, which are called as part of the run. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const register = async (claim: string) => done("register", claim);
const inspect = async (part: string) => done("inspect", part);
const price = async (part: string) => done("price", part);
const decide = async (sums: number) => done("decide", sums);
const pay = async (claim: string, decision: string) => done("pay", claim, decision);

const assess = workflow("assess", async (part: string) => {
  log(part);
  const seen = await step(inspect, part);
  const sum = await step(price, part);
  return { seen, sum };
});

const settle = async (claim: string) => {
  const decision = await step(decide, 2);
  return step(pay, claim, decision);
};

export const w = workflow("claim", async (claim: string) => {
  const number = await step(register, claim);
  const front = await assess("front");
  const [left, right] = await Promise.all([assess("left"), assess("right")]);
  log("end");
  const paid = await settle(claim);
  return { number, front, left, right, paid };
});

export const input = "dented door";
