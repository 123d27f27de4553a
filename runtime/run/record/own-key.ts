/**
 * Keys of calls that the record holds another call's outcome for, though the code is as it was: `f()` has called another
 * `f`, say. Where the run is to go on regardless, such a call is neither given that outcome nor taken for its repetition
 * (by its idempotency key, say): it has a key of its own.
 */
import { createHash } from "node:crypto";
import { wayOf } from "../../scope/chain.js";
import type { Call } from "../call.js";
import { callerOf } from "./closure-order.js";

const separator = " from ";

/** What tells a call apart from another one with its key. */
export type Asker = Pick<Call, "key" | "args" | "origins" | "chain" | "site" | "entry">;

/** The same of a place, before anything is known of the call's arguments. */
export type AskingPlace = Pick<Call, "key" | "chain" | "entry"> & { record: Call["site"] };

/** The key of a call whose place is taken: the same on every pass that comes to it on this way, with these arguments. */
export function ownKey(call: Asker): string {
  const given = call.origins === undefined ? [call.args] : [call.args, call.origins];
  const told = JSON.stringify([wayOf(call.chain), given.join(separator), callerOf(call) ?? ""]);
  return `${call.key}~!${createHash("sha256").update(told).digest("hex").slice(0, 8)}`;
}
