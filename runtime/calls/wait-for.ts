/** `waitFor`: a question that somebody outside the run answers, any time later. */
import { OutsideRunError } from "../errors.js";
import { encoded } from "../journal/encoded.js";
import { placeOf } from "../run/call.js";
import type { Frame, OutsideFrame } from "../scope/place.js";
import type { Captures, LoopPath } from "../scope/site-table.js";
import { type CallSite, identify, rejecting } from "./identity.js";
import { checkName } from "./name.js";

export interface WaitOptions {
  /** Shown with the open wait, for whoever answers. */
  payload?: unknown;
}

export interface WaitFor {
  /** Waits for `app.answer(runId, name, value)`; `undefined` and `null` are answers too. */
  <T>(name: string, options?: WaitOptions): Promise<T>;
  /** @internal What transformed code calls. */
  at(
    frame: Frame | OutsideFrame,
    index: number,
    path: LoopPath,
    captures: Captures,
    ...args: unknown[]
  ): Promise<unknown>;
}

export const waitFor = ((...args: unknown[]) => rejecting(() => call(undefined, args))) as WaitFor;

waitFor.at = (frame, index, path, _captures, ...args) => rejecting((at) => call(at, args), { frame, index, path });

function call(at: CallSite | undefined, [name, options]: unknown[]): Promise<unknown> {
  checkName("The name of a wait", name, 'Call `waitFor("name")`.');
  const identity = identify("waitFor", at, undefined);
  if (identity === undefined) throw new OutsideRunError("waitFor");
  const { execution, key, chain, within, entry, record } = identity;
  const payload = encoded(execution.codec, (options as WaitOptions | undefined)?.payload, {
    runId: execution.id,
    key,
    at: placeOf(record),
  });
  return execution.ask({
    kind: "wait",
    key,
    args: "",
    chain,
    site: record,
    within,
    entry,
    start(_, call) {
      const known = call.recorded?.open;
      const since = known?.startedAt ?? execution.clock.now();
      const open = (): void => {
        execution.waits.addWait({ name, call, since });
        void execution.readInbox();
      };
      if (known) open();
      else execution.announce(call, "open", { name, value: payload, startedAt: since, endedAt: since }, open);
    },
  });
}
