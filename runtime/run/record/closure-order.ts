/**
 * Closures that go by the number of their entries (rule 2 of scopes): the number is theirs as long as they are entered in
 * the same order, which a failed step that runs again may change.
 */
import { createHash } from "node:crypto";
import type { Entry } from "../../journal/entry.js";
import type { Call } from "../call.js";
import type { RunRecordView } from "./record.js";

/** A digest of who entered the closure around a call, if anybody is known to have. */
export function callerOf({ entry }: Call): string | undefined {
  return entry && createHash("sha256").update(entry.caller).digest("hex").slice(0, 8);
}

/**
 * Whether the closure around a call was entered by another caller than when `recorded` was, while the record holds the
 * like of another entry: then the entries may have changed places, and arguments cannot tell.
 */
export function changedPlaces(call: Call, { caller, site, args }: Entry, record: RunRecordView): boolean {
  if (call.entry === undefined || caller === undefined || caller === callerOf(call)) return false;
  const { closure } = call.entry;
  for (const [key, other] of record.calls) {
    if (key === call.key || !key.startsWith(closure)) continue;
    const sameSite = other.site?.container === site?.container && other.site?.anchor === site?.anchor;
    if (sameSite && other.args === (args ?? "")) return true;
  }
  return false;
}
