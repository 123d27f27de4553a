/** Recorded sources of what differs from pass to pass: time, randomness, ids. */
import { randomUUID } from "node:crypto";
import type { Execution } from "../run/execution.js";
import type { Frame, OutsideFrame } from "../scope/place.js";
import type { Captures, LoopPath } from "../scope/site-table.js";
import { type CallSite, identify, rejecting } from "./identity.js";

export interface ValueSource<T> {
  (): Promise<T>;
  /** @internal What transformed code calls. */
  at(frame: Frame | OutsideFrame, index: number, path: LoopPath, captures: Captures): Promise<T>;
}

/** Milliseconds since the epoch, as they were when the call was first made. */
export const now = source("now", (execution) => execution?.clock.now() ?? Date.now());

/** A number from 0 (inclusive) to 1, the same on every pass. */
export const random = source("random", () => Math.random());

/** A random UUID, the same on every pass. */
export const uuid = source("uuid", () => randomUUID());

function source<T>(name: string, make: (execution: Execution | undefined) => T): ValueSource<T> {
  const value = (() => rejecting(() => call(undefined))) as ValueSource<T>;
  value.at = (frame, index, path) => rejecting(() => call({ frame, index, path })) as Promise<T>;
  return value;

  function call(at: CallSite | undefined): Promise<unknown> {
    const identity = identify(name, at, undefined);
    if (identity === undefined) return Promise.resolve(make(undefined));
    const { execution, chain, within, entry, record } = identity;
    const key = execution.keyOf(identity, "");
    return execution.ask({
      kind: "value",
      key,
      args: "",
      chain,
      site: record,
      within,
      entry,
      start(call) {
        execution.finished(call, { state: "done", value: execution.codec.encode(make(execution)) }, {});
      },
    });
  }
}
