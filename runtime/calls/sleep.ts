/** `sleep`: a timer that outlives the process. */
import { at } from "../clock.js";
import { isA } from "../journal/careful.js";
import type { Call } from "../run/call.js";
import type { Execution } from "../run/execution.js";
import { type Duration, dueTime, milliseconds, pointInTime } from "./duration.js";
import { type CallSite, identify, rejecting, type Sited } from "./identity.js";

export interface Sleep extends Sited {
  /**
   * Waits for a time that is fixed when the call is first made: a resumed run does not start over.
   *
   * @param until milliseconds or text such as `"2h"` from now, or a point in time
   */
  (until: Duration | Date): Promise<void>;
}

export const sleep = ((...args: unknown[]) => rejecting(() => call(undefined, args))) as Sleep;

sleep.at = (frame, index, path, _captures, ...args) => rejecting((at) => call(at, args), { frame, index, path });

function call(at: CallSite | undefined, [until]: unknown[]): Promise<unknown> {
  const identity = identify("sleep", at, undefined);
  if (identity === undefined) return Promise.resolve();
  const { execution, chain, within, entry, record } = identity;
  const key = execution.keyOf(identity, "");
  const due = dueAt(until, execution.clock.now());
  return execution.ask({
    kind: "timer",
    key,
    // The time is fixed by the first pass; what a later one works out does not matter.
    args: "",
    chain,
    site: record,
    within,
    entry,
    start(call) {
      const known = call.recorded?.open;
      if (known) set(execution, call, known.due!, known.startedAt);
      else {
        const now = execution.clock.now();
        execution.announce(call, "open", { due, startedAt: now, endedAt: now }, () => set(execution, call, due, now));
      }
    },
  });
}

function set(execution: Execution, call: Call, due: number, since: number): void {
  const fire = (): void => {
    const outcome = { state: "done", value: execution.codec.encode(undefined) } as const;
    execution.finished(call, outcome, { due, startedAt: since, endedAt: execution.clock.now() });
  };
  execution.waits.addTimer(call.key, due, fire, (alarm) => at(execution.clock, due, alarm));
}

function dueAt(until: unknown, now: number): number {
  if (isA(until, Date)) return pointInTime(until, "`sleep`").getTime();
  // A time worked out from another clock may have passed already.
  if (typeof until === "number" && until < 0) return now;
  return dueTime(milliseconds(until as Duration, "`sleep`"), now);
}
