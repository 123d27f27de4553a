/** The steps of the scenarios that are edited: both apps that are tried have them. */
import * as work from "../../correctness/work.js";

export async function reserve() {
  "use step";
  return work.reserve();
}

export async function audit() {
  "use step";
  return work.audit();
}

export async function charge() {
  "use step";
  return work.charge();
}

export async function ship() {
  "use step";
  return work.ship();
}

export async function notify(whom: string) {
  "use step";
  return work.notify(whom);
}

export async function finish(sent: string[]) {
  "use step";
  return work.finish(sent);
}
