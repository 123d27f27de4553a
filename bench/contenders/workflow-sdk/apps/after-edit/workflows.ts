import { audit, charge, finish, notify, reserve, ship } from "../../order-steps.js";

export * from "../../scenarios.js";

export async function E2() {
  "use workflow";
  return [await reserve(), await audit(), await charge(), await ship()];
}

export async function E3() {
  "use workflow";
  const second = await notify("b");
  const first = await notify("a");
  return finish([second, first]);
}
