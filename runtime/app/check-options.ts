/** Whether a `Stepmark` can work with what it is given: found out where it is made, not in the midst of a run. */
import { checkMethods, checkObject } from "../calls/given.js";
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import type { Store } from "../stores/store.js";
import type { StepmarkOptions } from "./options.js";

const storeMethods = Object.keys({
  ...{ create: 1, restore: 1, read: 1, list: 1, left: 1, ready: 1, kept: 1, timers: 1, entries: 1, claim: 1, renew: 1 },
  ...{ append: 1, post: 1, sent: 1, inbox: 1, messaged: 1, onPost: 1, delete: 1, close: 1 },
} satisfies Record<keyof Store, 1>);

/** @throws InvalidArgumentError */
export function checkOptions(options: StepmarkOptions<never>): void {
  checkObject("What `new Stepmark` is given", options, "Call `new Stepmark({ store, workflows })`.");
  const { store, workflows = [], clock, codec, blobs, telemetry, executor, queue } = options;
  checkMethods("`store`", store, storeMethods, storeCure);
  if (!Array.isArray(workflows)) {
    throw new InvalidArgumentError(
      `\`workflows\` must be an array, not ${shown(workflows)}`,
      "Give what `workflow(...)` returned: `workflows: [fulfil]`.",
    );
  }
  checkMethods("`clock`", clock, ["now", "after"], "Leave it out, or give `new FakeClock()` of `stepmark/testing`.");
  checkMethods("`codec`", codec, ["encode", "decode"], codecCure);
  if (codec !== undefined && !keepsNothing(codec)) {
    throw new InvalidArgumentError("`codec` gives no text for `undefined`, which many steps return", codecCure);
  }
  checkMethods("`telemetry`", telemetry, ["here", "begin"], "Give `openTelemetry()` of `stepmark/telemetry`.");
  checkMethods("`executor`", executor, ["takes", "run"], "Give `restateExecutor(...)` of `stepmark/restate`.");
  checkMethods("`queue`", queue, ["put", "join", "close"], "Give `graphileQueue(url)` of `stepmark/graphile`.");
  if (blobs === undefined) return;
  checkObject("`blobs`", blobs, blobsCure);
  checkObject("`blobs.place`", blobs.place, blobsCure);
  checkMethods("`blobs.place`", blobs.place, ["put", "get", "remove"], blobsCure);
  const { above = 0 } = blobs;
  if (typeof above === "number" && above >= 0) return;
  throw new InvalidArgumentError(`\`blobs.above\` must be a number of bytes, not ${shown(above)}`, "Correct it.");
}

function keepsNothing(codec: Codec): boolean {
  try {
    return typeof codec.encode(undefined) === "string";
  } catch {
    return false;
  }
}

const storeCure =
  "Give `memoryStore()`, `sqliteStore(path)` of `stepmark/sqlite` or `postgresStore(url)` of `stepmark/postgres`; without one it is a SQLite file.";
const codecCure =
  "Leave it out, or give one that `codec({ ... })` makes. One of your own needs a text for every value, errors and `undefined` included.";
const blobsCure = "Give a place: `blobs: { place: blobDirectory() }`.";
