import { step, workflow } from "stepmark";
import { charge, finish, notify, reserve, ship } from "../../../correctness/work.js";

export const E2 = workflow("E2", async () => [await step(reserve), await step(charge), await step(ship)]);

export const E3 = workflow("E3", async () => {
  const first = await step(notify, "a");
  return step(finish, [first]);
});
