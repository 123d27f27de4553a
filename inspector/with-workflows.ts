/** What can be told of a run only with the code at hand. The code is gone through, and no body of it runs. */

import type { AnyWorkflow } from "../runtime/calls/workflow.js";
import { wordsOf } from "../runtime/journal/careful.js";
import type { Codec } from "../runtime/journal/codec.js";
import { rehearse } from "../runtime/rehearsal/rehearse.js";
import { describeReport, replayRun } from "../runtime/rehearsal/replay.js";
import type { OpenWait } from "../runtime/run/live/waiting-room.js";
import type { Store } from "../runtime/stores/store.js";
import { readWhole } from "../runtime/transfer/read-whole.js";
import { errorView } from "./error-view.js";
import type { ReplayView } from "./wire.js";

/** How long code may wait for something outside any call, in milliseconds. */
const grace = 1_000;

export interface Loaded {
  store: Store;
  codec: Codec;
  workflows: readonly AnyWorkflow[];
}

/** @throws RunNotFoundError, RunOwnedError, StoreError */
export async function replayed({ store, codec, workflows }: Loaded, id: string): Promise<ReplayView> {
  const whole = await readWhole(store, id);
  const report = await replayRun({ ...whole, values: true, absent: [] }, { workflows, codec, grace });
  const view: ReplayView = { ok: report.ok, words: describeReport(report) };
  if (report.error !== undefined) view.error = errorView(report.error);
  return view;
}

/**
 * What the schema of an open wait says of an answer.
 *
 * @returns what is wrong with it; undefined if nothing is, or the code at hand does not come to that wait
 */
export async function issuesOf(loaded: Loaded, id: string, key: string, value: unknown): Promise<string[] | undefined> {
  const { store, codec, workflows } = loaded;
  const whole = await readWhole(store, id);
  const workflow = workflows.find(({ workflowName }) => workflowName === whole.run.workflow);
  if (workflow === undefined) return undefined;
  let accept: OpenWait["accept"];
  await rehearse({
    workflow,
    input: codec.decode(whole.run.input),
    whole: { ...whole, inbox: [] },
    codec,
    grace,
    live(execution, calls) {
      for (const call of calls) {
        if (call.kind === "changed") call.start(call);
        if (call.kind !== "wait" || call.key !== key || call.recorded?.open === undefined) continue;
        call.start(call);
        accept = execution.waits.open.get(key)?.accept;
        execution.waits.close(key);
      }
    },
    patience: () => 0,
  });
  if (accept === undefined) return undefined;
  try {
    const answer = await accept(codec.encode(value));
    return answer === undefined || answer.ok ? undefined : answer.issues;
  } catch (error) {
    return [`The check failed: ${wordsOf(error)}`];
  }
}
