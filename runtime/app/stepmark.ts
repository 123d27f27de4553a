/** `Stepmark`: an application's door to its runs. */
import { randomUUID } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";
import { type Duration, milliseconds } from "../calls/duration.js";
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
  StaleOwnerError,
  StepmarkError,
  UnknownWorkflowError,
} from "../errors.js";
import { type Codec, codec as makeCodec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import { fingerprint } from "../journal/fingerprint.js";
import { Execution } from "../run/execution.js";
import { arrange, withCauses } from "../run/record.js";
import { KEY_SCHEME } from "../scope/key.js";
import { isolated } from "../scope/outside.js";
import { isDead, thisProcess } from "../stores/owner.js";
import { sqliteStore } from "../stores/sqlite.js";
import type { Lease, ListFilter, Owner, RunRecord, Store } from "../stores/store.js";
import { ActiveRun } from "./active-run.js";
import { checkAnswer } from "./check-answer.js";
import { Run } from "./run.js";
import { type RunInfo, type RunStatus, runInfo } from "./run-info.js";
import { StoredRun } from "./stored-run.js";

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

/** How long an owner on another machine counts as alive without renewing, in milliseconds. */
const leaseTime = 30_000;

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
  private readonly owner: Owner = thisProcess(randomUUID());
  private readonly stopListening: () => void;
  private heartbeat: NodeJS.Timeout | undefined;
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
    if (typeof id !== "string" || id === "")
      throw new InvalidArgumentError("A run's id must be a non-empty string", "Leave it out for a random one.");
    const { created, run } = await this.store.create({
      id,
      workflow: workflow.workflowName,
      input: this.codec.encode(input),
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
   */
  async recover(): Promise<Run[]> {
    this.checkUp();
    const recovered: Run[] = [];
    for (const run of await this.store.list({ status: ["running", "waiting"] })) {
      if (this.active.has(run.id) || !this.workflows.has(run.workflow)) continue;
      if (run.status === "waiting" && !(await this.hasNews(run.id))) continue;
      try {
        recovered.push(await this.drive(run.id, {}));
      } catch (error) {
        if (!(error instanceof RunOwnedError)) throw error;
      }
    }
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

  private async giveAnswer(id: string, nameOrKey: string, value: unknown): Promise<void> {
    const run = await this.read(id);
    const encoded = this.codec.encode(value);
    const entries = await this.store.entries(id);
    const inbox = await this.store.inbox(id);
    checkAnswer(run, nameOrKey, runInfo(run, entries, this.codec), entries, new Set(inbox.map(({ target }) => target)));
    await this.store.post(id, { target: nameOrKey, value: encoded, at: this.clock.now() });
    await this.active.get(id)?.execution.readInbox();
  }

  /** Ends a run for good; bodies in flight are told and their outcomes are not recorded. */
  async cancel(id: string): Promise<void> {
    const active = this.active.get(id);
    if (active) return active.execution.cancel();
    const run = await this.read(id);
    if (run.status === "completed" || run.status === "failed" || run.status === "cancelled") return;
    const { fence } = await this.claim(id);
    await this.store.append(id, fence, [], { status: "cancelled", release: true });
  }

  /** Stops driving runs and gives them up; they stay resumable. Nothing is recorded for bodies that this interrupts. */
  async shutdown(): Promise<void> {
    if (this.down) return;
    this.down = true;
    this.stopListening();
    clearInterval(this.heartbeat);
    await Promise.all([...this.active.values()].map(({ id, execution }) => execution.leave(new ShutdownError(id))));
    if (this.ownsStore) await this.store.close();
  }

  private register(workflow: AnyWorkflow): void {
    const known = this.workflows.get(workflow.workflowName);
    if (known !== undefined && known !== workflow) throw new DuplicateWorkflowError(workflow.workflowName);
    this.workflows.set(workflow.workflowName, workflow);
  }

  /** Goes on with a run; calls that come meanwhile get the same. */
  private drive<O>(id: string, options: ResumeOptions): Promise<Run<O>> {
    let driven = this.driven.get(id) as Promise<Run<O>> | undefined;
    if (driven === undefined) {
      driven = this.take<O>(id, options).finally(() => this.driven.delete(id));
      this.driven.set(id, driven);
    }
    return driven;
  }

  private async take<O>(id: string, options: ResumeOptions): Promise<Run<O>> {
    const run = await this.claim(id);
    try {
      return await this.begin(run, options);
    } catch (error) {
      await this.store.append(id, run.fence, [], { release: true });
      throw error;
    }
  }

  private async begin<O>(run: RunRecord, options: ResumeOptions): Promise<Run<O>> {
    const { id } = run;
    const workflow = this.workflows.get(run.workflow);
    if (workflow === undefined) throw new UnknownWorkflowError(run.workflow, [...this.workflows.keys()], { runId: id });
    if (run.scheme !== KEY_SCHEME) {
      throw new KeySchemeError(
        `The run's keys were minted under key scheme ${run.scheme}; this version replays scheme ${KEY_SCHEME}`,
        { runId: id },
      );
    }
    const input = this.codec.decode(run.input);
    const entries = await this.store.entries(id);
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
    const rerun = withCauses(entries, culprits);
    const active = new ActiveRun(
      id,
      this.store,
      this.codec,
      () => this.clock.now(),
      () => this.get(id),
    );
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
      record: arrange(entries, rerun),
      rerun,
      reclaim: (fence) => this.reclaim(id, fence),
      onEntry: (entry) => active.onEntry(entry),
      onChange: () => active.onChange(),
    });
    this.active.set(id, active);
    active.attach(execution, () => {
      if (this.active.get(id) === active) this.active.delete(id);
    });
    this.keepLeases();
    execution.begin(workflow.body as (input: unknown) => unknown, input);
    return new Run<O>(id, active);
  }

  private async claim(id: string): Promise<RunRecord> {
    const lease = this.lease();
    const claim = await this.store.claim(id, this.owner, (owner, until) => isDead(owner, until, lease.now), lease);
    if (claim.claimed) return claim.run;
    const { host, pid } = claim.owner;
    throw new RunOwnedError(`The run is driven by process ${pid} on ${host}, which is alive`, { runId: id });
  }

  /** Takes a run back after a pause, if nobody else had it meanwhile: what is in memory would be out of date. */
  private async reclaim(id: string, fence: number): Promise<number> {
    // Looked up first, so as not to get in the way of whoever has it.
    if ((await this.read(id)).fence !== fence) throw new StaleOwnerError(id);
    const run = await this.claim(id);
    if (run.fence === fence + 1) return run.fence;
    await this.store.append(id, run.fence, [], { release: true });
    throw new StaleOwnerError(id);
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
    return new Run<O>(id, new StoredRun(id, this.store, this.codec));
  }

  private info(run: RunRecord, entries: readonly Entry[]): RunInfo {
    const info = runInfo(run, entries, this.codec);
    if (this.active.get(run.id)?.execution.stalled) info.status = "stalled";
    return info;
  }

  private async read(id: string): Promise<RunRecord> {
    const run = await this.store.read(id);
    if (run === undefined) throw new RunNotFoundError(id);
    return run;
  }

  private async hasNews(id: string): Promise<boolean> {
    if ((await this.store.inbox(id)).length > 0) return true;
    const timers = new Set<string>();
    for (const { kind, state, key } of await this.store.entries(id)) {
      if (kind === "timer") state === "open" ? timers.add(key) : timers.delete(key);
    }
    return timers.size > 0;
  }

  private lease(): Lease {
    const now = this.clock.now();
    return { now, until: now + leaseTime };
  }

  private keepLeases(): void {
    this.heartbeat ??= setInterval(() => void this.renewLeases(), leaseTime / 3).unref();
  }

  private async renewLeases(): Promise<void> {
    const fences = new Map<string, number>();
    for (const [id, { execution }] of this.active)
      if (execution.ownedFence !== undefined) fences.set(id, execution.ownedFence);
    if (fences.size === 0) return;
    try {
      for (const id of await this.store.renew(fences, this.lease())) {
        const execution = this.active.get(id)?.execution;
        if (execution?.ownedFence === fences.get(id)) await execution?.leave(new StaleOwnerError(id));
      }
    } catch (error) {
      // The next append will tell; a lease that could not be renewed is no reason to stop before.
      if (!(error instanceof StepmarkError)) throw error;
    }
  }

  private checkUp(): void {
    if (this.down) throw new InvalidArgumentError("This Stepmark was shut down", "Make a new one.");
  }
}
