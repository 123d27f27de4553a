/** `child`: a run of its own, begun by a run that waits for it. */
import { RunExistsError, ShutdownError, StoreError } from "../errors.js";
import { isA } from "../journal/careful.js";
import { encoded } from "../journal/encoded.js";
import { fingerprint } from "../journal/fingerprint.js";
import { type Call, placeOf } from "../run/call.js";
import { isOurs } from "../run/end/refusals.js";
import type { Execution } from "../run/execution.js";
import { encodeError } from "../run/live/outcome.js";
import type { ChildRequest } from "../run/options.js";
import { checkObject } from "./given.js";
import { type CallSite, identify, rejecting, type Sited } from "./identity.js";
import { checkName } from "./name.js";
import { nobodyThere } from "./without-run.js";
import { checkWorkflow, type Workflow } from "./workflow.js";

export interface ChildOptions {
  /** The child run's id; by default it is made of the parent's id and the call's replay key. */
  id?: string;
}

export interface Child extends Sited {
  /**
   * Runs a workflow as a run of its own, with a journal of its own, and waits for its result. Found again after a crash,
   * never begun twice; cancelled with its parent. (A workflow that is simply _called_ runs inline, within the run.)
   *
   * @throws the child's error; RunCancelledError if it was cancelled; RunExistsError if `id` is that of another run;
   *   SerialisationError for the input
   */
  <I, O>(workflow: Workflow<I, O>, input: I, options?: ChildOptions): Promise<O>;
  <O>(workflow: Workflow<void, O>, input?: undefined, options?: ChildOptions): Promise<O>;
}

export const child = ((...args: unknown[]) => rejecting(() => call(undefined, args))) as Child;

child.at = (frame, index, path, _captures, ...args) => rejecting((at) => call(at, args), { frame, index, path });

function call(at: CallSite | undefined, [workflow, input, options]: unknown[]): Promise<unknown> {
  checkWorkflow(workflow, "Call `child(workflow, input)`.");
  if (options !== undefined) checkObject("The options of `child`", options, "Call `child(workflow, input, { id })`.");
  const { id } = (options ?? {}) as ChildOptions;
  if (id !== undefined) checkName("A child run's id", id, "Leave it out for one made of the parent's.");
  const identity = identify("child", at, undefined);
  if (identity === undefined) throw nobodyThere("child");
  const { execution, chain, within, entry, record } = identity;
  const args = fingerprint([workflow.workflowName, input, id]);
  const key = execution.keyOf(identity, args);
  const place = { runId: execution.id, key, at: placeOf(record) };
  const request: ChildRequest = {
    id: id ?? `${execution.id}/${key}`,
    workflow,
    input: encoded(execution.codec, input, place),
    inputPrint: fingerprint([input]),
    parent: { id: execution.id, key, createdAt: execution.createdAt },
  };
  return execution.ask({
    kind: "child",
    key,
    args,
    chain,
    site: record,
    within,
    entry,
    start(call) {
      const known = call.recorded?.open;
      if (known) return begin(execution, call, request, known.startedAt);
      const now = execution.clock.now();
      const details = { child: request.id, startedAt: now, endedAt: now };
      execution.announce(call, "open", details, () => begin(execution, call, request, now));
    },
  });
}

/** Sees to it that the child run is there and under way, and waits for its end. */
function begin(execution: Execution, call: Call, request: ChildRequest, since: number): void {
  const { id } = request;
  const details = { child: id, startedAt: since };
  let isBegun = false;
  execution.waits.addWait({
    name: "",
    call,
    since,
    details: { child: id },
    // Before that, what there is may be an end that the child is to be resumed from.
    look: async () => (isBegun ? execution.children.outcome(id) : undefined),
  });
  execution.children.start(request, call.recorded?.again === true).then(
    () => {
      isBegun = true;
      // It may wait, or be in other hands.
      execution.wake();
      return execution.inbox.read(call.key);
    },
    (error) => {
      if (!isOurs(error) || isA(error, StoreError)) return execution.lifetime.breakOff(error);
      if (isA(error, ShutdownError) || !execution.waits.close(call.key)) return;
      // What the call asks for in vain is its failure. That this process cannot go on with the child is none of anybody's.
      if (!isA(error, RunExistsError)) return execution.lifetime.refuse(error);
      const value = encodeError(execution.codec, error);
      execution.finished(call, { state: "failed", value }, { ...details, endedAt: execution.clock.now() });
    },
  );
}
