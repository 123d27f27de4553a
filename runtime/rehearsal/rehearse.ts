/**
 * Goes through a run without doing anything of it: the workflow's code runs from the top over a record, by the same engine that
 * resumes runs, on a copy in memory. Nothing that is not recorded starts; whoever rehearses is handed it instead.
 */
import type { AnyWorkflow } from "../calls/workflow.js";
import { systemClock } from "../clock.js";
import type { Codec } from "../journal/codec.js";
import type { Call } from "../run/call.js";
import type { Ending } from "../run/end/ending.js";
import { Execution } from "../run/execution.js";
import type { Children } from "../run/options.js";
import { arrange, type RunRecordView, toRunAgain } from "../run/record/record.js";
import { memoryStore } from "../stores/memory.js";
import type { Owner, WholeRun } from "../stores/store.js";

export interface Rehearsal {
  workflow: AnyWorkflow;
  input: unknown;
  /** What the run is resumed from. */
  whole: WholeRun;
  codec: Codec;
  /** How long the code may wait for something outside any call, in milliseconds. */
  grace: number;
  acceptEdits?: boolean;
  continueDivergence?: boolean;
  /** Gets the calls that would start now. What it does not bring about by `execution.finished` stays as it is. */
  live(execution: Execution, calls: readonly Call[]): void;
  /** How long to wait when nothing goes on, in milliseconds; `grace` by default. */
  patience?(): number;
}

export interface Rehearsed {
  execution: Execution;
  record: RunRecordView;
  /** Undefined if the code waits for what does not come. */
  ending: Ending | undefined;
  /** The journal as it would be, were what was handed over done in this way. */
  entries: WholeRun["entries"];
}

/** @throws what `live` throws */
export async function rehearse(rehearsal: Rehearsal): Promise<Rehearsed> {
  const { workflow, input, whole, codec, grace, acceptEdits = false, continueDivergence = false } = rehearsal;
  const { id } = whole.run;
  const store = memoryStore();
  await store.restore([{ ...whole, run: { ...whole.run, status: "running" } }]);
  const claim = await store.claim(id, nobody, () => true, { now: 0, until: 0 });
  if (!claim.claimed) throw new Error("A copy that nobody owns could not be claimed");
  const rerun = toRunAgain(whole.run, whole.entries, false);
  const record = arrange(whole.entries, rerun);
  let stalled!: () => void;
  let failed!: (error: unknown) => void;
  const over = new Promise<undefined>((resolve, reject) => {
    stalled = () => resolve(undefined);
    failed = reject;
  });
  const execution: Execution = new Execution({
    id,
    createdAt: whole.run.createdAt,
    workflow: whole.run.workflow,
    store,
    codec,
    clock: systemClock,
    grace,
    stallAfter: grace,
    drain: 0,
    acceptEdits,
    continueDivergence,
    fence: claim.run.fence,
    record,
    rerun,
    children: noChildren,
    parent: undefined,
    reclaim: async (fence) => fence,
    instead: {
      start(calls) {
        try {
          rehearsal.live(execution, calls);
        } catch (error) {
          failed(error);
        }
      },
      patience: () => rehearsal.patience?.() ?? grace,
    },
    onEntry: () => {},
    onChange: () => execution.stalled && stalled(),
  });
  execution.begin(workflow.body as (input: unknown) => unknown, input);
  const ending = await Promise.race([execution.lifetime.ended, over]).finally(() => execution.lifetime.forget());
  return { execution, record, ending, entries: await store.entries(id) };
}

const nobody: Owner = { token: "rehearsal", host: "", pid: 0, processStart: "" };

/** Child runs are answered from the record alone. */
const noChildren: Children = {
  start: () => Promise.reject(new Error("A rehearsal begins no child runs")),
  outcome: async () => undefined,
  isBusy: () => false,
};
