/** Child runs: what a run's `child` calls have the app do. */
import { RunCancelledError, RunExistsError, RunNotFoundError, RunOwnedError, StaleOwnerError } from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import { isRefusal } from "../run/end/refusals.js";
import { encodeError } from "../run/live/outcome.js";
import type { Answer } from "../run/live/waiting-room.js";
import type { ChildRequest, Children } from "../run/options.js";
import { KEY_SCHEME } from "../scope/key.js";
import type { NewRun, ParentCall, RunRecord, Store } from "../stores/store.js";
import { hasEnded } from "./ended.js";
import { isBegunBy } from "./parenthood.js";

export interface ChildRunsOptions {
  store: Store;
  codec: Codec;
  now(): number;
  /** Goes on with a run in this process, or has it done: with one that has failed only `again`. */
  drive(request: ChildRequest, again: boolean): Promise<unknown>;
  /** Whether a run goes on in this process at the moment. */
  isBusy(id: string): boolean;
}

export class ChildRuns implements Children {
  private readonly starting = new Set<string>();

  constructor(private readonly options: ChildRunsOptions) {}

  async start(request: ChildRequest, again: boolean): Promise<void> {
    this.starting.add(request.id);
    try {
      await this.goOn(request, again);
    } finally {
      this.starting.delete(request.id);
    }
  }

  private async goOn(request: ChildRequest, again: boolean): Promise<void> {
    const { store, now } = this.options;
    const { id, workflow, input, inputPrint, parent } = request;
    const made: NewRun = {
      id,
      workflow: workflow.workflowName,
      input,
      inputPrint,
      parent,
      scheme: KEY_SCHEME,
      createdAt: now(),
    };
    const { created, run } = await store.create(made);
    if (!created && !isOwn(run, request)) throw taken(run, request);
    const resumed =
      run.status === "failed" && (this.refusalOf(run) !== undefined || (again && !(await this.isTold(parent))));
    if (hasEnded(run.status) && !resumed) return;
    try {
      await this.options.drive(request, resumed);
    } catch (error) {
      // Whoever has it will bring it to its end, and tell.
      if (!isA(error, RunOwnedError) && !isA(error, StaleOwnerError)) throw error;
    }
  }

  /** Whether a parent that was resumed has news of its child: then that has been resumed, and has ended again since. */
  private async isTold({ id, key }: ParentCall): Promise<boolean> {
    return (await this.options.store.inbox(id)).some(({ target }) => target === key);
  }

  isBusy(id: string): boolean {
    return this.starting.has(id) || this.options.isBusy(id);
  }

  async outcome(id: string): Promise<Answer | undefined> {
    const { store, codec } = this.options;
    const run = await store.read(id);
    const failed = (error: Error): Answer => ({ ok: true, failed: true, value: encodeError(codec, error) });
    if (run === undefined) return failed(new RunNotFoundError(id));
    switch (run.status) {
      case "completed":
        return { ok: true, value: run.output! };
      case "failed": {
        const refusal = this.refusalOf(run);
        return refusal === undefined ? { ok: true, failed: true, value: run.error! } : { ok: false, refusal };
      }
      case "cancelled":
        return failed(new RunCancelledError(id));
      default:
        return undefined;
    }
  }

  /** Why a run could not be gone on with: no failure of its own, since it goes on when that is mended. */
  private refusalOf({ error }: RunRecord): Error | undefined {
    try {
      const value = this.options.codec.decode(error!);
      return isRefusal(value) ? value : undefined;
    } catch {
      // A type of the user's that cannot be read is none of ours.
      return undefined;
    }
  }
}

/** Whether a run is the one that the call has begun. */
function isOwn(run: RunRecord, { workflow, inputPrint, parent }: ChildRequest): boolean {
  return isBegunBy(run, parent) && run.workflow === workflow.workflowName && run.inputPrint === inputPrint;
}

function taken({ id, parent: before }: RunRecord, { parent }: ChildRequest): RunExistsError {
  if (before?.id !== parent.id || (before.createdAt ?? parent.createdAt) === parent.createdAt)
    return new RunExistsError("Another run has the id of a child run", { runId: id });
  return new RunExistsError(
    "Another run has the id of a child run: it was begun by a run with the parent's id that has been deleted since",
    { runId: id },
    "Delete that one too (`app.prune` with its `status`), or give the child, or its parent, an id of its own.",
  );
}
