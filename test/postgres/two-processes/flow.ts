/** The workflows of the cases of two processes. */
import process from "node:process";
import { sleep, step, workflow } from "stepmark";
import { body } from "./body.js";

/** B78: a ticket tells the process that has drawn it. */
export const tickets = workflow("b78", async () => {
  const v = await step(async () => process.pid);
  await sleep(20);
  return v;
});

/** B79 */
export const branches = workflow("b79", async () =>
  Promise.all([
    (async () => {
      await step("a1", body, "a1");
      return step("a2", body, "a2");
    })(),
    (async () => {
      await step("b1", body, "b1");
      return step("b2", body, "b2");
    })(),
  ]),
);
