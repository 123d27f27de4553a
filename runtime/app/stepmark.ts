/** `Stepmark`: an application's door to its runs. */
import { randomUUID } from "node:crypto";
import { type Duration, milliseconds } from "../calls/duration.js";
import { checkName, isKeepable } from "../calls/name.js";
import type { AnyWorkflow, Workflow } from "../calls/workflow.js";
import { type Clock, systemClock } from "../clock.js";
import {
  DuplicateWorkflowError,
  InvalidArgumentError,
  KeySchemeError,
  RunExistsError,
  RunNotFoundError,
  RunOwnedError,
  ShutdownError,
  StoreError,
  UnknownWorkflowError,
} from "../errors.js";
import { isA } from "../journal/careful.js";
import { checkJournal } from "../journal/check-journal.js";
import { type Codec, codec as makeCodec } from "../journal/codec.js";
import { encoded } from "../journal/encoded.js";
import type { Entry } from "../journal/entry.js";
import { fingerprint } from "../journal/fingerprint.js";
import { Execution } from "../run/execution.js";
import { check } from "../run/inbox.js";
import { arrange, withCauses } from "../run/record.js";
import { KEY_SCHEME } from "../scope/key.js";
import { isolated } from "../scope/outside.js";
import { sqliteStore } from "../stores/sqlite.js";
import type { ListFilter, RunRecord, Store } from "../stores/store.js";
import { ActiveRun } from "./active-run.js";
import { answeredAlready, checkAnswer, refusedAnswer, takesNothing } from "./check-answer.js";
import { ChildRuns } from "./children.js";
import { decoded } from "./decoded.js";
import type { EventOptions, RunEvent } from "./events.js";
import { Ownership } from "./ownership.js";
import { Run, type RunSource } from "./run.js";
import { type RunInfo, type RunStatus, runInfo } from "./run-info.js";
import { StoredRun } from "./stored-run.js";
import { wakeRuns } from "./wake.js";
import { Watch } from "./watch.js";

export interface StepmarkOptions {
  /** Where runs are kept; default: a SQLite file at `./.stepmark/runs.db`. */
  store?: Store;
  /** The workflows that this app can start and resume. */
  workflows?: readonly AnyWorkflow[];
  clock?: Clock;
  codec?: Codec;
  /**
   * How long a replay of unchanged code may take to ask for what the record holds, before that counts as a
   * divergence (default 1 s). Raise it for workflows that wait for raw I/O outside steps.
   */
  grace?: Duration;
  /** After how long with nothing to wait for a run is reported as stalled (default 3 s). */
  stallAfter?: Duration;
  /** How long step bodies in flight may go on after their run has failed (default 10 s). */
  drain?: Duration;
}

export interface StartOptions {
  /** Default: a random UUID. */
  id?: string;
}

export interface ResumeOptions {
  /** `"edits"`: recorded calls whose arguments or place the code has changed are used, or left, as they are. */
  accept?: "edits";
  /** `"continue"`: go on although unchanged code took another path than the recorded one. */
  divergence?: "continue";
  /** `"all"`: run every failed step again, not only those that failed the run. */
  retry?: "all";
}

export interface ListOptions {
  status?: Exclude<RunStatus, "stalled"> | Array<Exclude<RunStatus, "stalled">>;
  workflow?: string;
  /** At most this many, newest first (default 100). */
  limit?: number;
}

export interface RunOptions {
  /** Between two looks at the store (default 1 s). */
  interval?: Duration;
  /** Ends the loop. */
  signal?: AbortSignal;
  /** Told of runs that could not be taken up, once each, and of a store that fails; by default a process warning. */
  onError?(error: unknown, runId: string | undefined): void;
}

function warn(error: unknown): void {
  process.emitWarning(isA(error, Error) ? error : String(error));
}

export class Stepmark {
  private readonly store: Store;
  private readonly ownsStore: boolean;
  private readonly clock: Clock;
  private readonly codec: Codec;
  private readonly limits: { grace: number; stallAfter: number; drain: number };
  private readonly workflows = new Map<string, AnyWorkflow>();
  private readonly active = new Map<string, ActiveRun>();
  /** Runs that are being claimed. */
  private readonly driven = new Map<string, Promise<Run<unknown>>>();
  /** The last answer to each run that is being given. */
  private readonly answering = new Map<string, Promise<void>>();
  private readonly ownership: Ownership;
  private readonly stopListening: () => void;
  private readonly watch: Watch;
  private readonly children: ChildRuns;
  /** Aborted when the app is shut down. */
  private readonly ending = new AbortController();
  private down = false;

  constructor(options: StepmarkOptions = {}) {
    const { store, workflows = [], clock = systemClock, codec = makeCodec() } = options;
    this.limits = {
      grace: milliseconds(options.grace ?? 1_000, "`grace`"),
      stallAfter: milliseconds(options.stallAfter ?? 3_000, "`stallAfter`"),
      drain: milliseconds(options.drain ?? 10_000, "`drain`"),
    };
    for (const workflow of workflows) this.register(workflow);
    this.store = isolated(store ?? sqliteStore("./.stepmark/runs.db"));
    this.ownsStore = store === undefined;
    this.clock = isolated(clock);
    this.codec = isolated(codec);
    this.watch = new Watch(this.store);
    this.ownership = new Ownership(this.store, this.clock, this.active);
    this.children = new ChildRuns({
      store: this.store,
      codec: this.codec,
      now: () => this.clock.now(),
      drive: ({ id, workflow }) => {
        this.register(workflow);
        return this.drive(id, {});
      },
    });
    this.stopListening = this.store.onPost((id) => void this.active.get(id)?.execution.readInbox());
  }

  /**
   * Starts a run. With the id of a run that exists, and the same workflow and input, returns that run.
   *
   * @returns once this process owns the run (or follows the process that does)
   * @throws RunExistsError, SerialisationError for the input, StoreError
   */
  async start<I, O>(workflow: Workflow<I, O>, input: I, options?: StartOptions): Promise<Run<O>>;
  async start<O>(workflow: Workflow<void, O>, input?: undefined, options?: StartOptions): Promise<Run<O>>;
  async start(workflow: AnyWorkflow, input?: unknown, options: StartOptions = {}): Promise<Run<never>> {
    this.checkUp();
    this.register(workflow);
    const id = options.id ?? randomUUID();
    checkName("A run's id", id, "Leave it out for a random one.");
    const { created, run } = await this.store.create({
      id,
      workflow: workflow.workflowName,
      input: encoded(this.codec, input, { runId: id }),
      inputPrint: fingerprint([input]),
      scheme: KEY_SCHEME,
      createdAt: this.clock.now(),
    });
    if (created) return this.join(run);
    if (run.workflow !== workflow.workflowName || run.inputPrint !== fingerprint([input])) {
      const what =
        run.workflow === workflow.workflowName ? "another input" : `workflow ${JSON.stringify(run.workflow)}`;
      throw new RunExistsError(`A run with this id exists with ${what}`, { runId: id });
    }
    return this.join(run);
  }

  /**
   * Goes on with a run that a process left behind, that waits, or that failed: the workflow runs again from the top and
   * every recorded step answers from the journal. A run that has completed or was cancelled is returned as it is.
   *
   * @returns once this process owns the run
   * @throws RunNotFoundError, RunOwnedError, UnknownWorkflowError, KeySchemeError, DecodeError, StoreError
   */
  async resume<O = unknown>(id: string, options: ResumeOptions = {}): Promise<Run<O>> {
    this.checkUp();
    const active = this.active.get(id);
    if (active) return new Run(id, active);
    const run = await this.read(id);
    if (run.status === "completed" || run.status === "cancelled") return this.stored(id);
    return this.drive(id, options);
  }

  /**
   * Resumes every run that a dead process left behind, and every waiting run that has an answer or a timer to go on
   * with. Runs of workflows that this app does not know are left alone.
   *
   * @throws the first error, if some runs could not be resumed; all others have been, and `resume(id)` returns them
   */
  async recover(): Promise<Run[]> {
    this.checkUp();
    const recovered: Run[] = [];
    const failures: unknown[] = [];
    const left = await this.store.list({ status: "running" });
    const waiting = await this.store.ready(Number.POSITIVE_INFINITY);
    for (const run of [...left, ...waiting]) {
      if (this.active.has(run.id) || !this.workflows.has(run.workflow)) continue;
      try {
        recovered.push(await this.drive(run.id, {}));
      } catch (error) {
        if (!(error instanceof RunOwnedError)) failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return recovered;
  }

  /** @throws RunNotFoundError */
  async get(id: string): Promise<RunInfo> {
    const run = await this.read(id);
    return this.info(run, await this.store.entries(id));
  }

  /** Runs, newest first. */
  async list({ status, workflow, limit = 100 }: ListOptions = {}): Promise<RunInfo[]> {
    const filter: ListFilter = { limit };
    if (status !== undefined) filter.status = status;
    if (workflow !== undefined) filter.workflow = workflow;
    const runs = await this.store.list(filter);
    return Promise.all(
      runs.map(async (run) => this.info(run, run.status === "waiting" ? await this.store.entries(run.id) : [])),
    );
  }

  /** The run's journal in order. */
  async entries(id: string): Promise<Entry[]> {
    await this.read(id);
    return this.store.entries(id);
  }

  /**
   * A run's events, whatever its state and whoever drives it, without taking it over: as `run.events()` if this app drives
   * it now, else as the store tells them. See `Run.events`.
   *
   * @throws InvalidArgumentError for an `after` that is no position; from `next`: StoreError, RunNotFoundError
   */
  events(id: string, options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    return (this.active.get(id) ?? this.source(id)).events(options);
  }

  /**
   * Answers an open wait, by its replay key, or by its name if only one of that name is open. An answer to a wait
   * that has not been asked yet, given by name, is kept until it is.
   *
   * @throws AnswerError if the run has ended, the wait was answered already, or the name is ambiguous
   */
  async answer(id: string, nameOrKey: string, value: unknown): Promise<void> {
    // One after the other, or two answers to one wait could both find it open.
    const before = this.answering.get(id) ?? Promise.resolve();
    const answered = before.catch(() => {}).then(() => this.giveAnswer(id, nameOrKey, value));
    this.answering.set(id, answered);
    try {
      await answered;
    } finally {
      if (this.answering.get(id) === answered) this.answering.delete(id);
    }
  }

  /**
   * Gives a message to the stream `events(name)` of a run; messages of one stream are delivered in the order in which they
   * are sent, each once. One that comes before the run asks for it is kept.
   *
   * @throws AnswerError if the run has ended, or the stream's schema does not take the message and the run is at hand
   */
  async send(id: string, name: string, value: unknown): Promise<void> {
    checkName("The name of a stream", name);
    const run = await this.read(id);
    const info = runInfo(run, [], this.codec);
    if (run.status !== "running" && run.status !== "waiting") throw takesNothing(info);
    const message = encoded(this.codec, value, { runId: id });
    const waits = [...(this.active.get(id)?.execution.waits.open.values() ?? [])];
    const wait = waits.find((each) => each.name === name);
    const checked = wait?.accept && (await check(message, wait));
    if (checked?.ok === false) throw refusedAnswer(id, name, info, checked.issues);
    await this.store.post(id, { target: name, value: message, at: this.clock.now() });
    await this.active.get(id)?.execution.readInbox();
  }

  private async giveAnswer(id: string, nameOrKey: string, value: unknown): Promise<void> {
    const run = await this.read(id);
    checkName("The name or key of a wait", nameOrKey);
    const answer = encoded(this.codec, value, { runId: id });
    // The inbox first: an answer that is taken out of it meanwhile is then among the entries.
    const queued = new Set((await this.store.inbox(id)).map(({ target }) => target));
    const entries = await this.store.entries(id);
    const info = runInfo(run, entries, this.codec);
    const { target, once } = checkAnswer(run, nameOrKey, info, entries, queued);
    // Checked at the door where the wait is at hand, and in any case when the run takes the answer.
    const wait = this.active.get(id)?.execution.waits.open.get(target);
    const checked = wait?.accept && (await check(answer, wait));
    if (checked?.ok === false) throw refusedAnswer(id, nameOrKey, info, checked.issues);
    // Another process may have answered since.
    const posted = await this.store.post(id, { target, value: answer, at: this.clock.now() }, { once });
    if (posted === undefined) throw answeredAlready(id, nameOrKey, info);
    await this.active.get(id)?.execution.readInbox();
  }

  /** Ends a run for good, and with it its child runs; bodies in flight are told and their outcomes are not recorded. */
  async cancel(id: string): Promise<void> {
    await this.driven.get(id)?.catch(() => {});
    const active = this.active.get(id);
    if (active) await active.execution.cancel();
    else await this.cancelStored(id);
    for (const { id: child, status } of runInfo(await this.read(id), await this.store.entries(id), this.codec).children)
      if (status === "open") await this.cancel(child);
  }

  private async cancelStored(id: string): Promise<void> {
    const run = await this.read(id);
    if (run.status === "completed" || run.status === "failed" || run.status === "cancelled") return;
    const { fence, parent } = await this.ownership.claim(id);
    const wake = parent && { run: parent.id, target: parent.key, at: this.clock.now() };
    await this.store.append(id, fence, [], { status: "cancelled", ...(wake && { wake }), release: true });
  }

  /**
   * A long-lived loop: goes on with runs whose timer is due or that were answered, from whatever process, and with those
   * that a dead process left behind.
   *
   * @returns when `signal` is aborted or the app is shut down
   */
  async run({ interval = 1_000, signal, onError = warn }: RunOptions = {}): Promise<void> {
    this.checkUp();
    await wakeRuns({
      store: this.store,
      now: () => this.clock.now(),
      interval: milliseconds(interval, "`interval`"),
      signal: signal === undefined ? this.ending.signal : AbortSignal.any([this.ending.signal, signal]),
      canTake: (run) => this.workflows.has(run.workflow) && this.ownership.isFree(run),
      wake: async ({ id }) => {
        const active = this.active.get(id);
        return active ? active.execution.readInbox() : this.drive(id, {});
      },
      onError,
    });
  }

  /**
   * Stops driving runs and gives them up; they stay resumable. Nothing is recorded for bodies that this interrupts.
   *
   * @throws StoreError when all is over, if a run could not be given up: another process gets it once its lease has run out
   */
  async shutdown(): Promise<void> {
    if (this.down) return;
    this.down = true;
    this.ending.abort();
    this.stopListening();
    this.ownership.stop();
    // What is being taken up gives itself up as soon as it owns its run.
    await Promise.allSettled(this.driven.values());
    const left = await Promise.allSettled(
      [...this.active.values()].map(({ id, execution }) => execution.leave(new ShutdownError(id))),
    );
    await this.ownership.giveUpLeft();
    this.watch.close();
    if (this.ownsStore) await this.store.close();
    const failed = left.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  private register(workflow: AnyWorkflow): void {
    const known = this.workflows.get(workflow.workflowName);
    if (known !== undefined && known !== workflow) throw new DuplicateWorkflowError(workflow.workflowName);
    this.workflows.set(workflow.workflowName, workflow);
  }

  /** Goes on with a run; calls that come meanwhile get the same. */
  private drive<O>(id: string, options: ResumeOptions): Promise<Run<O>> {
    const active = this.active.get(id);
    if (active) return Promise.resolve(new Run<O>(id, active));
    let driven = this.driven.get(id) as Promise<Run<O>> | undefined;
    if (driven === undefined) {
      driven = this.take<O>(id, options).finally(() => this.driven.delete(id));
      this.driven.set(id, driven);
    }
    return driven;
  }

  private async take<O>(id: string, options: ResumeOptions): Promise<Run<O>> {
    const before = await this.read(id);
    // What this app cannot go on with is refused before anything is written, be it a claim.
    const known = this.ownership.isFree(before) ? await this.look(before) : undefined;
    const run = await this.ownership.claim(id);
    try {
      // Deleted and made anew meanwhile, it is another run.
      const isKnown = known !== undefined && run.createdAt === before.createdAt;
      return await this.begin(run, isKnown ? known : await this.look(run), options);
    } catch (error) {
      this.ownership.leave(id, run.fence);
      await this.ownership.giveUpLeft();
      throw error;
    }
  }

  /** What a run holds that is to be gone on with. */
  private async look(run: RunRecord): Promise<{ input: unknown; entries: Entry[] }> {
    const { id } = run;
    this.workflowOf(run);
    const input = decoded(this.codec, run.input, { runId: id });
    const entries = await this.store.entries(id);
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
    options: ResumeOptions,
  ): Promise<Run<O>> {
    const { id } = run;
    // It may have ended since somebody decided to go on with it.
    if (run.status === "completed" || run.status === "cancelled") {
      await this.store.append(id, run.fence, [], { release: true });
      return this.stored(id);
    }
    const workflow = this.workflowOf(run);
    // Whoever had the run before the claim may have written until then.
    const entries = [...known, ...(await this.store.entries(id, known.length))];
    checkJournal(id, entries);
    const culprits =
      options.retry === "all"
        ? entries.filter(({ state }) => state === "failed").map(({ key }) => key)
        : (run.culprits ?? []);
    if (run.status !== "running") {
      await this.store.append(id, run.fence, [], {
        status: "running",
        output: null,
        error: null,
        culprits: null,
        orphans: null,
        edited: null,
      });
    }
    if (this.down) throw new ShutdownError(id);
    const rerun = withCauses(entries, culprits);
    const record = arrange(entries, rerun);
    const active = new ActiveRun({
      id,
      fence: run.fence,
      store: this.store,
      codec: this.codec,
      lastSeq: record.lastSeq,
      now: () => this.clock.now(),
      readInfo: () => this.get(id),
    });
    const execution = new Execution({
      id,
      workflow: run.workflow,
      store: this.store,
      codec: this.codec,
      clock: this.clock,
      ...this.limits,
      acceptEdits: options.accept === "edits",
      continueDivergence: options.divergence === "continue",
      fence: run.fence,
      record,
      rerun,
      children: this.children,
      parent: run.parent,
      reclaim: async (fence) => {
        active.fence = await this.ownership.reclaim(id, fence);
        return active.fence;
      },
      onEntry: (entry) => active.onEntry(entry),
      onChange: () => active.onChange(),
    });
    this.active.set(id, active);
    active.attach(execution, () => {
      if (this.active.get(id) === active) this.active.delete(id);
    });
    void execution.ended.then((ending) => {
      if (ending.status === "left" && isA(ending.error, StoreError)) this.ownership.leave(id, active.fence);
    });
    this.ownership.keep();
    execution.begin(workflow.body as (input: unknown) => unknown, input);
    return new Run<O>(id, active);
  }

  /** The run of a `start` that found it existing. */
  private async join<O>(run: RunRecord): Promise<Run<O>> {
    const active = this.active.get(run.id);
    if (active) return new Run<O>(run.id, active);
    if (run.status !== "running" && run.status !== "waiting") return this.stored(run.id);
    try {
      return await this.drive(run.id, {});
    } catch (error) {
      if (error instanceof RunOwnedError) return this.stored(run.id);
      throw error;
    }
  }

  private stored<O>(id: string): Run<O> {
    return new Run<O>(id, this.source(id));
  }

  /** What the store tells of a run. */
  private source(id: string): RunSource {
    return new StoredRun(id, this.store, this.codec, this.watch, () => this.clock.now());
  }

  private info(run: RunRecord, entries: readonly Entry[]): RunInfo {
    const info = runInfo(run, entries, this.codec);
    if (this.active.get(run.id)?.execution.stalled) info.status = "stalled";
    return info;
  }

  private async read(id: string): Promise<RunRecord> {
    const run = isKeepable(id) ? await this.store.read(id) : undefined;
    if (run === undefined) throw new RunNotFoundError(id);
    return run;
  }

  private checkUp(): void {
    if (this.down) throw new InvalidArgumentError("This Stepmark was shut down", "Make a new one.");
  }
}
