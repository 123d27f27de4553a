/** What is written of a call, and of what a resume has accepted. */
import type { Clock } from "../clock.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { Call } from "./call.js";
import type { AcceptanceOptions } from "./record/acceptance.js";
import { callerOf } from "./record/closure-order.js";

/**
 * An entry that has no number yet.
 *
 * @param details what it says besides; by default it is of a first attempt that took place now
 */
export function newEntry(
  call: Call,
  { state, value }: Pick<Entry, "state" | "value">,
  details: Partial<Entry>,
  clock: Clock,
): Entry {
  const { attempt = 1, endedAt = clock.now(), startedAt = endedAt } = details;
  // The fields that most entries have come first, so that all have one shape; it costs a small step less than spreading.
  const entry: Entry = {
    seq: 0,
    key: call.key,
    kind: call.kind,
    args: call.args === "" ? undefined : call.args,
    site: call.site,
    chain: call.chain === "" ? undefined : call.chain,
    within: call.within?.key,
    caller: callerOf(call),
    origins: call.origins,
    attempt,
    startedAt,
    endedAt,
    state,
    value,
  };
  return Object.assign(entry, details);
}

/** An entry that says what a resume has accepted, and is of no call; it has no number yet. */
export function acceptEntry(
  rootKey: string,
  { acceptEdits, continueDivergence }: AcceptanceOptions,
  codec: Codec,
  clock: Clock,
): Entry {
  const value: Record<string, string> = {};
  if (acceptEdits) value.accept = "edits";
  if (continueDivergence) value.divergence = "continue";
  const now = clock.now();
  return {
    ...{ seq: 0, key: `${rootKey}#accept`, kind: "accept", attempt: 1, startedAt: now, endedAt: now },
    ...{ state: "done", value: codec.encode(value) },
  };
}
