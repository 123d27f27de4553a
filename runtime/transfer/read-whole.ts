/** A run as its store holds it, all of one moment. */
import { setTimeout } from "node:timers/promises";
import { RunNotFoundError, RunOwnedError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import type { Message, RunRecord, Store, WholeRun } from "../stores/store.js";

const mostAttempts = 20;
/** Between two attempts, in milliseconds. */
const pause = 25;

/** @throws RunNotFoundError; RunOwnedError for a run that goes on all the time; StoreError */
export async function readWhole(store: Store, id: string): Promise<WholeRun> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if (attempt > 0) await setTimeout(pause);
    const [run, inbox] = [await store.read(id), await store.inbox(id)];
    if (run === undefined) throw new RunNotFoundError(id);
    const entries = await store.entries(id);
    if (await isStill(store, { run, entries, inbox })) return { run: withoutOwner(run), entries, inbox };
  }
  throw new RunOwnedError("The run goes on while it is being read", { runId: id });
}

/** Whether nothing has happened to a run since it was read. */
async function isStill(store: Store, { run, entries, inbox }: { run: RunRecord; entries: Entry[]; inbox: Message[] }) {
  const { id } = run;
  const [again, messages] = [await store.read(id), await store.inbox(id)];
  if (again === undefined || messages.length !== inbox.length || messages.at(-1)?.number !== inbox.at(-1)?.number)
    return false;
  if (again.fence !== run.fence || again.status !== run.status || again.updatedAt !== run.updatedAt) return false;
  return (await store.entries(id, entries.length, 1)).length === 0;
}

/** In a fixed order. */
function withoutOwner(run: RunRecord): WholeRun["run"] {
  const { id, workflow, status, input, inputPrint, output, error, culprits, orphans, edited } = run;
  const { due, parent, scheme, fence, createdAt, updatedAt } = run;
  return {
    ...{ id, workflow, status, input, inputPrint, output, error, culprits, orphans, edited },
    ...{ due, parent, scheme, fence, createdAt, updatedAt },
  };
}
