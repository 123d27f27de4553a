import { step, workflow } from "stepmark";
import { audit, charge, finish, notify, reserve, ship } from "../../../correctness/work.js";

export const E2 = workflow("E2", async () => [
  await step(reserve),
  await step(audit),
  await step(charge),
  await step(ship),
]);

export const E3 = workflow("E3", async () => {
  const second = await step(notify, "b");
  const first = await step(notify, "a");
  return step(finish, [second, first]);
});
