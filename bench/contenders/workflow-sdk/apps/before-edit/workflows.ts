import * as work from "../../../../correctness/work.js";

export * from "../../scenarios.js";

async function reserve() {
  "use step";
  return work.reserve();
}

async function charge() {
  "use step";
  return work.charge();
}

async function ship() {
  "use step";
  return work.ship();
}

async function notify(whom: string) {
  "use step";
  return work.notify(whom);
}

async function finish(sent: string[]) {
  "use step";
  return work.finish(sent);
}

export async function E2() {
  "use workflow";
  return [await reserve(), await charge(), await ship()];
}

export async function E3() {
  "use workflow";
  const first = await notify("a");
  return finish([first]);
}
