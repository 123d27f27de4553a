/** A subscription that is renewed: helpers in a second file. */
import { step, workflow } from "stepmark";
import { done } from "../bodies.js";
import { collect, confirm } from "./billing.js";

const lookUp = async (account: string) => done("lookUp", account);
const extend = async (account: string, until: string) => done("extend", account, until);

export const w = workflow("subscription", async (account: string) => {
  const user = await step(lookUp, account);
  const basic = await collect(account, "basic");
  const extra = await collect(account, "extra");
  const slip = await confirm(basic);
  const until = await step(extend, account, "2030");
  return { user, extra, slip, until };
});

export const input = "ada@example.com";
