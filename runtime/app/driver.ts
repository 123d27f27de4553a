/** Takes runs up, drives them in this process, and lets go of them. */

import { checkId, isKeepable } from "../calls/name.js";
import { type AnyWorkflow, checkWorkflow } from "../calls/workflow.js";
import type { Clock } from "../clock.js";
import {
  DuplicateWorkflowError,
  KeySchemeError,
  RunNotFoundError,
  RunOwnedError,
  RunPoisonedError,
  ShutdownError,
  StaleOwnerError,
  UnknownWorkflowError,
} from "../errors.js";
import type { Executor } from "../executor/executor.js";
import { isA } from "../journal/careful.js";
import { checkJournal } from "../journal/check-journal.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import { type Ending, wakeOf } from "../run/end/ending.js";
import { Execution } from "../run/execution.js";
import { isCancelRequest } from "../run/live/cancel-request.js";
import { encodeError } from "../run/live/outcome.js";
import { arrange, toRunAgain } from "../run/record/record.js";
import { KEY_SCHEME } from "../scope/key.js";
import { outsideRuns } from "../scope/outside.js";
import type { RunRecord, Store } from "../stores/store.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { ActiveRun } from "./active-run.js";
import { Cancellation } from "./cancellation.js";
import { ChildRuns } from "./children.js";
import { decoded } from "./decoded.js";
import { DormantRuns } from "./dormant-runs.js";
import type { EventFeed } from "./event-stream.js";
import { Ownership } from "./ownership.js";
import { Run, type RunSource } from "./run.js";
import type { RunInfo } from "./run-info.js";
import { StoredRun } from "./stored-run.js";
import { Watch } from "./watch.js";

export interface DriverOptions {
  store: Store;
  clock: Clock;
  codec: Codec;
  /** In milliseconds. */
  limits: {
    grace: number;
    stallAfter: number;
    drain: number;
    /** How long a run that waits is kept in memory. */
    idle: number;
    /** How long an app on another machine that is not heard of keeps its runs. */
    lease: number;
  };
  telemetry: Telemetry | undefined;
  executor: Executor | undefined;
  /** Has a child run of a queued run queued too. */
  queueChild(id: string, again: boolean): Promise<void>;
  info(id: string): Promise<RunInfo>;
  /** Told of runs that could not be taken up, if nobody waits for them. */
  onError(error: unknown): void;
}

/** How a run that is driven is to be gone on with: see `Stepmark.resume`. */
export interface DriveOptions {
  accept?: "edits";
  divergence?: "continue";
  retry?: "all";
  /** Where whoever asks for it stands in a trace. */
  caller?: unknown;
  /** It was handed out by a queue: as soon as it waits, it leaves this process, and only the queue brings it back. */
  queued?: boolean;
  /** With how many processes in a row the run may have ended without getting any further; with as many, it fails. No limit by default. */
  maxTakeovers?: number;
}

export class Driver {
  readonly ownership: Ownership;
  /** How often the store has failed under a run that this app drives. */
  interruptions = 0;
  private readonly workflows = new Map<string, AnyWorkflow>();
  private readonly active = new Map<string, ActiveRun>();
  /** Those of them that a queue has handed out. */
  private readonly queued = new Set<string>();
  /** Runs that are being claimed. */
  private readonly driven = new Map<string, Promise<Run<unknown>>>();
  private readonly dormant: DormantRuns;
  private readonly children: ChildRuns;
  readonly cancellation: Cancellation;
  private readonly watch: Watch;
  private readonly stopListening: () => void;
  private over = false;

  constructor(private readonly options: DriverOptions) {
    const { store, clock, codec } = options;
    this.watch = new Watch(store);
    this.ownership = new Ownership(store, clock, options.limits.lease, this.active, (id) => this.news(id));
    this.cancellation = new Cancellation({
      ...{ store, codec, clock, ownership: this.ownership, watch: this.watch },
      patience: options.limits.lease / 3,
      read: (id) => this.read(id),
      here: async (id) => {
        await this.driven.get(id)?.catch(() => {});
        return this.active.get(id);
      },
      over: (id) => this.dormant.remove(id),
    });
    this.children = new ChildRuns({
      store,
      codec,
      now: () => clock.now(),
      drive: ({ id, workflow, parent }, again) => {
        this.register(workflow);
        return this.queued.has(parent.id) ? options.queueChild(id, again) : this.drive(id, {});
      },
      isBusy: (id) => this.isBusy(id),
    });
    this.dormant = new DormantRuns({
      store,
      keeper: this.ownership.owner.token,
      clock,
      codec,
      wake: (id) => this.drive(id, {}),
      isWaking: (id) => this.driven.has(id),
      stored: (id) => this.stored(id),
      current: (id) => this.source(id),
      onError: options.onError,
    });
    this.stopListening = store.onPost((id) => {
      this.watch.expect(id);
      void this.news(id);
    });
  }

  /** @throws InvalidArgumentError; DuplicateWorkflowError if another workflow has its name */
  register(workflow: AnyWorkflow): void {
    checkWorkflow(workflow);
    const known = this.workflows.get(workflow.workflowName);
    if (known !== undefined && known !== workflow) throw new DuplicateWorkflowError(workflow.workflowName);
    this.workflows.set(workflow.workflowName, workflow);
  }

  isKnown(workflow: string): boolean {
    return this.workflows.has(workflow);
  }

  /** A run that this process drives. */
  activeRun(id: string): ActiveRun | undefined {
    return this.active.get(id);
  }

  /** There is a message for a run: if this process has to do with it, it goes on. */
  async news(id: string): Promise<void> {
    const active = this.active.get(id);
    await (active ? active.execution.inbox.read() : this.dormant.wake(id));
  }

  /** Where news of a run come from: this process, if it has to do with it, else the store. */
  source(id: string): RunSource & EventFeed {
    return this.active.get(id) ?? this.dormant.of(id);
  }

  /** @throws InvalidArgumentError, RunNotFoundError, StoreError */
  async read(id: string): Promise<RunRecord> {
    checkId(id);
    const run = isKeepable(id) ? await this.options.store.read(id) : undefined;
    if (run === undefined) throw new RunNotFoundError(id);
    return run;
  }

  /**
   * Goes on with a run; calls that come meanwhile get the same.
   *
   * @throws RunNotFoundError, RunOwnedError, UnknownWorkflowError, KeySchemeError, DecodeError, StoreError
   */
  drive<O>(id: string, options: DriveOptions): Promise<Run<O>> {
    const active = this.active.get(id);
    if (active) return Promise.resolve(new Run<O>(id, active));
    let driven = this.driven.get(id) as Promise<Run<O>> | undefined;
    if (driven === undefined) {
      // A run that is begun in the midst of another one is no part of it, and must not keep it in memory.
      driven = outsideRuns(() => this.take<O>(id, options)).finally(() => this.driven.delete(id));
      this.driven.set(id, driven);
    }
    return driven;
  }

  /**
   * Goes on with a run that a queue has handed out, until it waits or ends, or leaves this process for another reason.
   *
   * @returns undefined if it had ended before
   * @throws as `drive`; RunOwnedError also if this app drives it for somebody else
   */
  async driveQueued(id: string): Promise<Ending | undefined> {
    if (this.active.has(id) || this.driven.has(id))
      throw new RunOwnedError("The run is driven by this `Stepmark`", { runId: id });
    await this.drive(id, { queued: true });
    return this.active.get(id)?.execution.lifetime.ended;
  }

  /** Gives up the runs that a queue has handed out. */
  async leaveQueued(): Promise<void> {
    const runs = [...this.queued].flatMap((id) => this.active.get(id) ?? []);
    const given = await Promise.allSettled(
      runs.map(({ id, execution }) => execution.lifetime.leave(new ShutdownError(id))),
    );
    // The app may live on, and gives up later what the store has not let it.
    given.forEach(({ status }, index) => {
      if (status === "rejected") this.ownership.leave(runs[index]!.id, runs[index]!.fence);
    });
  }

  /** Fails a run that nobody drives. */
  async fail(id: string, error: Error): Promise<void> {
    const { store, codec, clock } = this.options;
    const failed = { status: "failed", output: null, error: encodeError(codec, error) } as const;
    await this.ownership.during(id, ({ fence, parent }) =>
      store.append(id, fence, [], { ...failed, ...wakeOf(parent, clock.now()), release: true }),
    );
  }

  private async take<O>(id: string, options: DriveOptions): Promise<Run<O>> {
    const before = await this.read(id);
    if (await this.cancellation.isDue(before)) {
      await this.cancellation.cancelStored(id);
      return new Run<O>(id, this.stored(id));
    }
    // What this app cannot go on with is refused before anything is written, be it a claim.
    const known = this.ownership.isFree(before) ? await this.look(before) : undefined;
    const takeovers = known && this.ownership.takeoversOf(before, known.entries.length);
    if (takeovers !== undefined && takeovers.count >= (options.maxTakeovers ?? Number.POSITIVE_INFINITY)) {
      await this.fail(id, new RunPoisonedError(takeovers.count, { runId: id }));
      return new Run<O>(id, this.stored(id));
    }
    const goOn = async (run: RunRecord): Promise<Run<O>> => {
      // Deleted and made anew meanwhile, it is another run.
      const isKnown = known !== undefined && run.createdAt === before.createdAt;
      return this.begin<O>(run, isKnown ? known : await this.look(run), options);
    };
    return this.ownership.during(id, goOn, takeovers);
  }

  /** What a run holds that is to be gone on with. */
  private async look(run: RunRecord): Promise<{ input: unknown; entries: Entry[] }> {
    const { id } = run;
    this.workflowOf(run);
    const input = decoded(this.options.codec, run.input, { runId: id });
    const entries = await this.options.store.entries(id);
    checkJournal(id, entries);
    return { input, entries };
  }

  private workflowOf({ id, workflow, scheme }: RunRecord): AnyWorkflow {
    const found = this.workflows.get(workflow);
    if (found === undefined) throw new UnknownWorkflowError(workflow, [...this.workflows.keys()], { runId: id });
    if (scheme === KEY_SCHEME) return found;
    throw new KeySchemeError(
      `The run's keys were minted under key scheme ${scheme}; this version replays scheme ${KEY_SCHEME}`,
      { runId: id },
    );
  }

  private async begin<O>(
    run: RunRecord,
    { input, entries: known }: { input: unknown; entries: Entry[] },
    options: DriveOptions,
  ): Promise<Run<O>> {
    const { id } = run;
    const { store, clock, codec, limits } = this.options;
    // It may have ended since somebody decided to go on with it.
    if (run.status === "completed" || run.status === "cancelled") {
      await store.append(id, run.fence, [], { release: true });
      return new Run<O>(id, this.stored(id));
    }
    const workflow = this.workflowOf(run);
    // Whoever had the run before the claim may have written until then.
    const since = await store.entries(id, known.length);
    const entries = since.length === 0 ? known : [...known, ...since];
    if (since.length > 0) checkJournal(id, entries);
    const rerun = toRunAgain(run, entries, options.retry === "all");
    if (run.status !== "running" || options.retry === "all") {
      // Whoever asked for a cancellation has seen that the run had failed before; and of child runs, news count from now on.
      const before = run.status === "failed" ? await store.inbox(id) : [];
      const moot = before.filter((message) => isCancelRequest(message) || rerun.has(message.target));
      await store.append(id, run.fence, [], {
        status: "running",
        due: null,
        refuse: moot.map(({ number }) => number),
        output: null,
        error: null,
        // Whoever takes the run up after a crash has what is left of them to run again.
        culprits: rerun.size === 0 ? null : [...rerun],
        orphans: null,
        edited: null,
      });
    }
    if (this.over) throw new ShutdownError(id);
    const record = arrange(entries, rerun);
    const active = new ActiveRun({
      id,
      fence: run.fence,
      store,
      codec,
      lastSeq: record.lastSeq,
      now: () => clock.now(),
      readInfo: () => this.options.info(id),
      afterIdleTime: (callback) => clock.after(limits.idle, callback, true),
      putAside: () => this.putAside(active),
      elsewhere: () => this.source(id),
    });
    const trace = this.options.telemetry?.begin({
      id,
      workflow: run.workflow,
      recorded: entries.length,
      before: entries.findLast((entry) => entry.trace !== undefined)?.trace,
      caller: options.caller,
      parent: run.parent?.id,
    });
    const execution = new Execution({
      id,
      createdAt: run.createdAt,
      workflow: run.workflow,
      trace,
      store,
      codec,
      clock,
      ...limits,
      acceptEdits: options.accept === "edits",
      continueDivergence: options.divergence === "continue",
      fence: run.fence,
      keeper: options.queued ? undefined : this.ownership.owner.token,
      record,
      rerun,
      children: this.children,
      executor: this.options.executor,
      parent: run.parent,
      reclaim: async (fence) => {
        if (options.queued) return this.handBack(active);
        active.fence = await this.ownership.reclaim(id, fence);
        // Left while it was taken back: nobody goes on with it here, and others are to be able to.
        if (active.isOver) await this.ownership.letGo(id, active.fence);
        return active.fence;
      },
      hold: { isSure: () => this.ownership.isSure(id), makeSure: () => this.ownership.makeSure() },
      onEntry: (entry) => active.onEntry(entry),
      // If the store fails, the run is left, and whoever takes it up finds the request.
      onCancelRequest: () => void this.cancellation.cancel(id).catch(() => {}),
      onChange: () => {
        active.onChange();
        this.wakeParent(run);
        if (!options.queued) return;
        if (execution.waiting) void this.handBack(active);
        // It would take a place for ever.
        else if (execution.stalled) execution.lifetime.refuse(execution.stalled);
      },
    });
    this.active.set(id, active);
    if (options.queued) this.queued.add(id);
    active.attach(execution, () => {
      if (this.active.get(id) === active) {
        this.active.delete(id);
        this.ownership.forget(id);
      }
      if (this.active.get(id) === undefined) this.queued.delete(id);
      this.wakeParent(run);
    });
    void execution.lifetime.ended.then((ending) => {
      trace?.end(ending.status, "error" in ending ? ending.error : undefined);
      if (ending.status !== "left") return;
      // Given up by now, or lost.
      if (isA(ending.error, ShutdownError) || isA(ending.error, StaleOwnerError)) return;
      this.interruptions++;
      this.ownership.leave(id, active.fence);
      this.leaveParent(run, ending.error);
    });
    this.ownership.keep();
    this.dormant.remove(id);
    execution.begin(workflow.body as (input: unknown) => unknown, input);
    return new Run<O>(id, active);
  }

  /** The run waits, and has for long: what is needed of it later is in its journal. */
  private putAside(active: ActiveRun): void {
    const { id, execution } = active;
    const due = execution.waits.nextDue;
    execution.lifetime.forget();
    this.active.delete(id);
    this.ownership.forget(id);
    this.dormant.add(due);
  }

  /** A queued run waits: whatever it waits for brings it back by the queue, to whatever process, and in its turn. */
  private handBack({ id, execution }: ActiveRun): Promise<never> {
    this.queued.delete(id);
    this.active.delete(id);
    execution.lifetime.forget();
    // What is left of it here never gets the run back.
    return new Promise(() => {});
  }

  private isBusy(id: string): boolean {
    const execution = this.active.get(id)?.execution;
    // Until its end has been stored, a run that is over is not.
    return execution !== undefined && !execution.waiting && execution.stalled === undefined;
  }

  /** A run that was begun by another one goes on, pauses or has come to its end: that one may have to pause itself. */
  private wakeParent({ parent }: RunRecord): void {
    if (parent !== undefined) this.active.get(parent.id)?.execution.wake();
  }

  /** The store has failed under a run that was begun by another one: that one does not get on here either. */
  private leaveParent({ parent }: RunRecord, error: Error): void {
    if (parent === undefined) return;
    const active = this.active.get(parent.id);
    // One that has left memory is taken up again, and its child with it.
    if (active === undefined) void this.dormant.wake(parent.id);
    else active.execution.lifetime.leave(error).catch(() => {});
  }

  private stored(id: string): StoredRun {
    const { store, codec, clock } = this.options;
    return new StoredRun(id, store, codec, this.watch, () => clock.now());
  }

  /**
   * Gives all runs up.
   *
   * @throws StoreError when all is over, if a run could not be given up
   */
  async shutdown(): Promise<void> {
    this.over = true;
    this.stopListening();
    this.ownership.stop();
    this.dormant.stop();
    // What is being taken up gives itself up as soon as it owns its run.
    await Promise.allSettled(this.driven.values());
    const left = await Promise.allSettled(
      [...this.active.values()].map(({ id, execution }) => execution.lifetime.leave(new ShutdownError(id))),
    );
    await this.ownership.giveUpLeft();
    this.watch.close();
    this.dormant.clear();
    const failed = left.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
