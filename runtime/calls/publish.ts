/** `publish`: progress and partial results of a run, for whoever looks at it from outside. */
import { encoded } from "../journal/encoded.js";
import { placeOf } from "../run/call.js";
import { type CallSite, identify, rejecting, type Sited } from "./identity.js";
import { checkName } from "./name.js";

export interface Publish extends Sited {
  /**
   * Makes `value` visible under `name`: the last one in `RunInfo.published`, all in the run's events. Published once: a
   * resumed run does not repeat it, but for a step's body that runs again, whose events tell the attempt.
   *
   * @throws SerialisationError (as a rejection)
   */
  (name: string, value: unknown): Promise<void>;
}

export const publish = ((...args: unknown[]) => rejecting(() => call(undefined, args))) as Publish;

publish.at = (frame, index, path, _captures, ...args) => rejecting((at) => call(at, args), { frame, index, path });

function call(at: CallSite | undefined, [name, value]: unknown[]): Promise<unknown> {
  checkName("The name of what is published", name, 'Call `publish("name", value)`.');
  const identity = identify("publish", at, undefined);
  if (identity === undefined) return Promise.resolve();
  const { execution, chain, within, entry, record } = identity;
  const key = execution.keyOf(identity, "");
  // Encoded now: what the code does to the value later was not published.
  const text = encoded(execution.codec, value, { runId: execution.id, key, at: placeOf(record) });
  const published = execution.ask({
    kind: "publish",
    key,
    args: "",
    chain,
    site: record,
    within,
    entry,
    start(call) {
      execution.finished(call, { state: "done", value: text }, { name, attempt: within?.attempt ?? 1 });
    },
  });
  return published.then(nothing);
}

function nothing(): void {}
