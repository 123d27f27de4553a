/**
 * Functions whose keys the order of their entries has a part in: closures, which go by the number of their entries (rule 2 of
 * scopes), and what a queue begins in the async context of another call (rule 3). The keys are theirs as long as they are entered in
 * the same order, which a failed step that runs again may change.
 */
import { createHash } from "node:crypto";
import type { Entry } from "../../journal/entry.js";
import type { Call } from "../call.js";
import type { RunRecordView } from "./record.js";

/** A digest of what tells the entry of the function around a call apart, if anything does. */
export function callerOf({ entry }: Pick<Call, "entry">): string | undefined {
  return entry && createHash("sha256").update(entry.caller).digest("hex").slice(0, 8);
}

/** Whether what is recorded of a call belongs to an entry of its closure by another caller. */
export function isAnothers(call: Pick<Call, "entry">, { caller }: Pick<Entry, "caller">): boolean {
  return call.entry !== undefined && caller !== undefined && caller !== callerOf(call);
}

/**
 * Whether a closure was entered while the body of a step ran that stands where the closure was made: on its behalf, or just at
 * that time.
 */
export function isFromBodyInside({ entry, within }: Call, recorded: Pick<Entry, "within">): boolean {
  if (entry?.closure === undefined || recorded.within === undefined || recorded.within === within?.key) return false;
  return recorded.within.startsWith(entry.closure.slice(0, entry.closure.lastIndexOf("/") + 1));
}

/** What calls have in common that entries of one closure, or of one queue, make in one place with equal arguments. */
export function siteInClosure({ entry, site, args }: Call): string {
  return JSON.stringify([entry?.queued ? undefined : entry?.closure, site?.container, site?.anchor, args]);
}

/**
 * Whether the closure around a call was entered by another caller than when `recorded` was, while the record holds the
 * like of another entry: then the entries may have changed places, and arguments cannot tell.
 */
export function changedPlaces(call: Pick<Call, "key" | "entry">, entry: Entry, record: RunRecordView): boolean {
  return isAnothers(call, entry) && hasLike(call, entry, record);
}

/**
 * Whether nothing tells who wanted the closure around a call to be entered, since it was started when another entry of its
 * own had ended, as limiters do, while the record holds the like of another entry.
 */
export function mayHaveChangedPlaces(call: Pick<Call, "key" | "entry">, entry: Entry, record: RunRecordView): boolean {
  const { closure, caller } = call.entry ?? {};
  if (closure === undefined || caller === undefined) return false;
  const isOwn =
    caller.startsWith(closure) && (caller.length === closure.length || "[/".includes(caller[closure.length]!));
  return isOwn && hasLike(call, entry, record);
}

function hasLike(call: Pick<Call, "key" | "entry">, { site, args }: Entry, record: RunRecordView): boolean {
  const { closure, queued } = call.entry!;
  // A queue may have its calls from anywhere.
  const among = queued || closure === undefined ? "" : closure;
  for (const [key, other] of record.calls) {
    if (key === call.key || !key.startsWith(among)) continue;
    const sameSite = other.site?.container === site?.container && other.site?.anchor === site?.anchor;
    if (sameSite && other.args === (args ?? "")) return true;
  }
  return false;
}
