/** `Stepmark`: an application's door to its runs. */
import { randomUUID } from "node:crypto";
import { storeWithBlobs } from "../blobs/store-with-blobs.js";
import { delay, milliseconds } from "../calls/duration.js";
import { checkObject, checkOneOf } from "../calls/given.js";
import { checkId, checkName } from "../calls/name.js";
import type { AnyWorkflow, Workflow } from "../calls/workflow.js";
import { type Clock, systemClock } from "../clock.js";
import { InvalidArgumentError, RunExistsError, RunOwnedError, UnknownWorkflowError } from "../errors.js";
import { fetchOf } from "../http/fetch.js";
import type { HttpOptions } from "../http/options.js";
import type { Served } from "../http/served.js";
import { isA } from "../journal/careful.js";
import { type Codec, codec as makeCodec } from "../journal/codec.js";
import { encoded } from "../journal/encoded.js";
import type { Entry } from "../journal/entry.js";
import { fingerprint } from "../journal/fingerprint.js";
import { type FlatHistory, importFlat } from "../rehearsal/flat-history.js";
import { KEY_SCHEME } from "../scope/key.js";
import { isolated } from "../scope/outside.js";
import { sqliteStore } from "../stores/sqlite.js";
import type { NewRun, RunRecord, Store } from "../stores/store.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { type ExportOptions, exportText } from "../transfer/export.js";
import { importRuns } from "../transfer/import.js";
import type { ExportText } from "../transfer/read-export.js";
import { checkCount } from "../work/count.js";
import { orderOf } from "../work/order.js";
import type { Queue } from "../work/queue.js";
import { startWorker, type Worker, type WorkOptions } from "../work/worker.js";
import { Answers } from "./answers.js";
import { checkOptions } from "./check-options.js";
import { Driver } from "./driver.js";
import { hasEnded } from "./ended.js";
import type { EventOptions, RunEvent } from "./events.js";
import { inTurns } from "./in-turns.js";
import { listFilter } from "./list-filter.js";
import type {
  EnqueueOptions,
  ListOptions,
  RecoverOptions,
  ResumeOptions,
  RunOptions,
  SendOptions,
  StartOptions,
  StepmarkOptions,
} from "./options.js";
import { type PruneOptions, prune } from "./prune.js";
import { Run } from "./run.js";
import { type RunInfo, runInfo } from "./run-info.js";
import { takenAtOnce, wakeRuns } from "./wake.js";

/** See `RecoverOptions`. */
const manyTakeovers = 100;

function warn(error: unknown): void {
  process.emitWarning(isA(error, Error) ? error : String(error));
}

export class Stepmark<Session = unknown> {
  private readonly store: Store;
  /** A store whose large values are kept where this app keeps them. */
  private readonly withBlobs: (store: Store) => Store;
  private readonly ownsStore: boolean;
  private readonly clock: Clock;
  private readonly codec: Codec;
  /** In milliseconds. */
  private readonly grace: number;
  private readonly telemetry: Telemetry | undefined;
  private readonly driver: Driver;
  private readonly answers: Answers;
  private readonly queue: Queue<Session> | undefined;
  private readonly workflows: readonly AnyWorkflow[];
  /** In milliseconds. */
  private readonly lease: number;
  private readonly workers = new Set<Worker>();
  /** Aborted when the app is shut down. */
  private readonly ending = new AbortController();
  private shuttingDown: Promise<void> | undefined;

  /**
   * Runs over HTTP, for any host that serves a function from a request to its response: see `docs/http.md`. Can be passed on
   * by itself; never rejects. Starts the workflows that were given as `workflows`, and refuses everything unless
   * `http.authorize` says otherwise.
   */
  readonly fetch: (request: Request) => Promise<Response>;

  constructor(options: StepmarkOptions<Session> = {}) {
    checkOptions(options);
    const { store, workflows = [], clock = systemClock, codec = makeCodec() } = options;
    this.fetch = this.fetchOf(workflows, options.http ?? {});
    const limits = {
      grace: milliseconds(options.grace ?? 1_000, "`grace`"),
      stallAfter: milliseconds(options.stallAfter ?? 3_000, "`stallAfter`"),
      drain: milliseconds(options.drain ?? 10_000, "`drain`"),
      idle: milliseconds(options.idle ?? 300_000, "`idle`"),
      lease: delay(options.lease ?? 30_000, "`lease`"),
    };
    if (limits.lease === 0) {
      throw new InvalidArgumentError(
        "With a `lease` of 0 this process could never be sure of a run",
        "Give it longer than the store takes to answer; leave it out for 30 s.",
      );
    }
    this.withBlobs = (inner) => storeWithBlobs(inner, options.blobs);
    this.store = this.withBlobs(isolated(store ?? sqliteStore("./.stepmark/runs.db")));
    this.ownsStore = store === undefined;
    this.clock = clock === systemClock ? clock : isolated(clock);
    this.codec = isolated(codec);
    this.grace = limits.grace;
    const parts = { store: this.store, clock: this.clock, codec: this.codec };
    this.telemetry = options.telemetry;
    this.queue = options.queue && isolated(options.queue);
    this.workflows = workflows;
    this.lease = limits.lease;
    this.driver = new Driver({
      ...parts,
      limits,
      telemetry: this.telemetry,
      executor: options.executor && isolated(options.executor),
      queueChild: (id, again) => this.queueUp("child").put(id, { priority: 0, again }, async () => {}),
      info: (id) => this.get(id),
      onError: warn,
    });
    for (const workflow of workflows) this.driver.register(workflow);
    this.answers = new Answers({ ...parts, driver: this.driver, now: () => this.clock.now() });
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
    const caller = this.telemetry?.here();
    const { run } = await this.createRun(this.newRun(workflow, input, options));
    return this.join(run, caller);
  }

  /**
   * Stores a run and queues it, in one transaction, to be driven by whichever worker gets it. With the id of a run that exists,
   * and the same workflow and input, returns that run.
   *
   * @returns once the run is queued: `result()` and `events()` follow it, wherever it is driven
   * @throws InvalidArgumentError without a `queue`; RunExistsError, SerialisationError for the input, StoreError
   */
  async enqueue<I, O>(workflow: Workflow<I, O>, input: I, options?: EnqueueOptions<Session>): Promise<Run<O>>;
  async enqueue<O>(workflow: Workflow<void, O>, input?: undefined, options?: EnqueueOptions<Session>): Promise<Run<O>>;
  async enqueue(workflow: AnyWorkflow, input?: unknown, options: EnqueueOptions<Session> = {}): Promise<Run<never>> {
    const { id, ...rest } = options;
    const order = orderOf(rest, this.clock.now());
    const queue = this.queueUp("enqueue");
    const made = this.newRun(workflow, input, { id });
    await queue.put(made.id, order, (store) => this.createRun(made, this.withBlobs(store)));
    return this.found(made.id);
  }

  /**
   * Takes part in the work: drives runs that were queued, by this process or any other, until it is stopped. The workflows are
   * those that were given as `workflows`. Needs a `queue`; see `docs/workers.md`.
   *
   * @returns once this process takes runs
   * @throws InvalidArgumentError, StoreError
   */
  async work(options: WorkOptions = {}): Promise<Worker> {
    this.checkUp();
    const { workflows, driver, codec, lease } = this;
    const place = {
      ...{ queue: this.queueUp("work"), driver, codec, workflows, lease },
      enqueue: (workflow: AnyWorkflow, input: unknown, order: EnqueueOptions<Session>) =>
        this.enqueue(workflow, input, order),
    };
    const worker = await startWorker(place, { ...options, onError: options.onError ?? warn });
    const registered: Worker = {
      stop: () => worker.stop().finally(() => this.workers.delete(registered)),
    };
    this.workers.add(registered);
    return registered;
  }

  private queueUp(method: string): Queue<Session> {
    if (this.queue !== undefined) return this.queue;
    throw new InvalidArgumentError(
      `\`${method}\` needs a queue, and this Stepmark was given none`,
      "Pass one: `new Stepmark({ store: postgresStore(url), queue: graphileQueue(url) })`.",
    );
  }

  /** What is to be stored of a new run: the input as it is now, whatever the caller does to it later. */
  private newRun(workflow: AnyWorkflow, input: unknown, options: StartOptions): NewRun {
    this.checkUp();
    checkObject("What a run is started with", options, "Call `start(workflow, input, { id })`.");
    const { id = randomUUID() } = options;
    this.driver.register(workflow);
    checkName("A run's id", id, "Leave it out for a random one.");
    return {
      id,
      workflow: workflow.workflowName,
      input: encoded(this.codec, input, { runId: id }),
      inputPrint: fingerprint([input]),
      scheme: KEY_SCHEME,
      createdAt: this.clock.now(),
    };
  }

  /** The run of a `start`, new or found; it is not driven by that. */
  private async createRun(made: NewRun, store = this.store): Promise<{ created: boolean; run: RunRecord }> {
    const { id, workflow, inputPrint } = made;
    const { created, run } = await store.create(made);
    if (!created && (run.workflow !== workflow || run.inputPrint !== inputPrint)) {
      const what = run.workflow === workflow ? "another input" : `workflow ${JSON.stringify(run.workflow)}`;
      throw new RunExistsError(`A run with this id exists with ${what}`, { runId: id });
    }
    return { created, run };
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
    checkObject("What a run is resumed with", options, "Call `resume(id, { accept, divergence, retry })`.");
    checkOneOf("`accept`", options.accept, ["edits", undefined]);
    checkOneOf("`divergence`", options.divergence, ["continue", undefined]);
    checkOneOf("`retry`", options.retry, ["all", undefined]);
    const caller = this.telemetry?.here();
    const active = this.driver.activeRun(id);
    if (active) return new Run(id, active);
    const run = await this.driver.read(id);
    if (run.status === "completed" || run.status === "cancelled") return this.found(id);
    return this.driver.drive(id, { ...options, caller });
  }

  /**
   * Resumes every run that a dead process left behind, and every waiting run that has an answer or a timer to go on
   * with, a few at a time. Runs of workflows that this app does not know are left alone; one with which too many processes have ended fails.
   *
   * @throws the first error, if some runs could not be resumed; all others have been, and `resume(id)` returns them
   */
  async recover({ maxTakeovers = manyTakeovers }: RecoverOptions = {}): Promise<Run[]> {
    this.checkAlone("recover");
    checkCount(maxTakeovers, "maxTakeovers", "Correct it.");
    const left = await this.store.left((...of) => this.driver.ownership.isLeft(...of));
    const waiting = await this.store.ready(Number.POSITIVE_INFINITY);
    const known = [...left, ...waiting].filter(({ workflow }) => this.driver.isKnown(workflow));
    const taken = await inTurns(known, takenAtOnce, async ({ id }): Promise<{ run?: Run; error?: unknown }> => {
      if (this.driver.activeRun(id)) return {};
      try {
        return { run: await this.driver.drive(id, { maxTakeovers }) };
      } catch (error) {
        return isA(error, RunOwnedError) ? {} : { error };
      }
    });
    const failed = taken.find((each) => "error" in each);
    if (failed !== undefined) throw failed.error;
    return taken.flatMap(({ run }) => run ?? []);
  }

  /** @throws RunNotFoundError */
  async get(id: string): Promise<RunInfo> {
    const run = await this.driver.read(id);
    return this.info(run, await this.store.entries(id));
  }

  /**
   * A run by its id, for its `result()`, `settled()` and `events()`: it is followed, whatever its state and whoever drives it,
   * and not taken over.
   *
   * @throws RunNotFoundError, StoreError
   */
  async follow<O = unknown>(id: string): Promise<Run<O>> {
    await this.driver.read(id);
    return this.found(id);
  }

  /**
   * Runs, newest first.
   *
   * @throws RunNotFoundError if there is no run `after` (any more); InvalidArgumentError, StoreError
   */
  async list(options: ListOptions = {}): Promise<RunInfo[]> {
    const runs = await this.store.list(listFilter(options));
    return Promise.all(
      runs.map(async (run) => this.info(run, run.status === "waiting" ? await this.store.entries(run.id) : [])),
    );
  }

  /** The run's journal in order. */
  async entries(id: string): Promise<Entry[]> {
    await this.driver.read(id);
    return this.store.entries(id);
  }

  /**
   * A run's events, whatever its state and whoever drives it, without taking it over: as `run.events()` if this app drives
   * it now, else as the store tells them. See `Run.events`.
   *
   * @throws InvalidArgumentError for an `after` that is no position; from `next`: StoreError, RunNotFoundError
   */
  events(id: string, options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    checkId(id);
    return this.driver.source(id).events(options);
  }

  /**
   * Answers an open wait, by its replay key, or by its name if only one of that name is open. An answer to a wait
   * that has not been asked yet, given by name, is kept until it is.
   *
   * @throws AnswerError if the run has ended, the wait was answered already, or the name is ambiguous
   */
  async answer(id: string, nameOrKey: string, value: unknown, options?: SendOptions): Promise<void> {
    return this.answers.answer(id, nameOrKey, value, options);
  }

  /**
   * Gives a message to the stream `events(name)` of a run; messages of one stream are delivered in the order in which they
   * are sent, each once. One that comes before the run asks for it is kept.
   *
   * @throws AnswerError if the run has ended, or the stream's schema does not take the message and the run is at hand
   */
  async send(id: string, name: string, value: unknown, options?: SendOptions): Promise<void> {
    return this.answers.send(id, name, value, options);
  }

  /**
   * Runs as text, one JSON value a line: to be kept, replayed against another build, or imported elsewhere.
   *
   * @returns the lines with their line ends
   * @throws from `next`: RunNotFoundError, RunOwnedError for a run that goes on all the time, StoreError
   */
  export(id: string | readonly string[], options?: ExportOptions): AsyncGenerator<string, void> {
    const ids = typeof id === "string" ? [id] : id;
    checkObject("What `export` is given", ids, "Give the id of a run, or an array of ids.");
    ids.forEach(checkId);
    return exportText(this.store, ids, options);
  }

  /**
   * Puts exported runs into the store, as they were: nobody owns them, and they do not go on by themselves. Checks everything
   * before anything is written, and writes over no run.
   *
   * @returns the runs' ids
   * @throws ExportFileError, ValuesLeftOutError, RunExistsError, NewerVersionError, DamagedJournalError, StoreError
   */
  async import(text: ExportText): Promise<string[]> {
    if (typeof text !== "string") checkObject("What `import` is given", text, "Give the text that `export` gave.");
    const pieces: string[] = [];
    for await (const piece of typeof text === "string" ? [text] : text) pieces.push(piece);
    return importRuns(this.store, () => pieces);
  }

  /**
   * Puts a run into the store that was recorded under another scheme of keys, by the names of its steps and their order, if the
   * workflow's code leaves no doubt about which outcome belongs to which call. No body runs.
   *
   * @throws FlatHistoryError with the reason; RunExistsError, SerialisationError, StoreError
   */
  async importFlat<I>(history: FlatHistory<I>): Promise<void> {
    const { store, codec, clock } = this;
    await importFlat(history as FlatHistory, { store, codec, clock, grace: this.grace });
  }

  /**
   * Deletes runs that ended long ago, with their journals and blobs.
   *
   * @returns the ids of those that are gone (with `dryRun`: that would be)
   * @throws InvalidArgumentError, StoreError, what `archive` throws
   */
  async prune(options: PruneOptions): Promise<string[]> {
    const deleted: string[] = [];
    for await (const ids of prune(this.store, this.clock.now(), options)) deleted.push(...ids);
    return deleted;
  }

  /**
   * Ends a run for good, and with it its child runs; bodies in flight are told and their outcomes are not recorded. A run that
   * another process drives is ended there: that is asked for in the store, and holds even if this process or that one dies.
   *
   * @returns when the run has ended: another process may take as long to notice as a third of the `lease`
   * @throws RunNotFoundError, StoreError; ShutdownError if this app is shut down before that
   */
  async cancel(id: string): Promise<void> {
    await this.driver.cancellation.cancel(id);
  }

  /**
   * A long-lived loop: goes on with runs whose timer is due or that were answered, from whatever process, and with those
   * that a dead process left behind.
   *
   * @returns when `signal` is aborted or the app is shut down
   */
  async run({
    interval = 1_000,
    signal,
    maxTakeovers = manyTakeovers,
    onError = warn,
  }: RunOptions = {}): Promise<void> {
    this.checkAlone("run");
    checkCount(maxTakeovers, "maxTakeovers", "Correct it.");
    await wakeRuns({
      store: this.store,
      now: () => this.clock.now(),
      interval: delay(interval, "`interval`"),
      signal: signal === undefined ? this.ending.signal : AbortSignal.any([this.ending.signal, signal]),
      isLeft: (...of) => this.driver.ownership.isLeft(...of),
      drives: (id) => this.driver.activeRun(id) !== undefined,
      canTake: (run) => this.driver.isKnown(run.workflow) && this.driver.ownership.isFree(run),
      wake: async ({ id }) => {
        const active = this.driver.activeRun(id);
        return active ? active.execution.inbox.read() : this.driver.drive(id, { maxTakeovers });
      },
      attend: () => this.driver.ownership.readNews(),
      interruptions: () => this.driver.interruptions,
      onError,
    });
  }

  /**
   * Stops driving runs and gives them up; they stay resumable. Nothing is recorded for bodies that this interrupts.
   *
   * @throws StoreError when all is over, if a run could not be given up: another process gets it once its lease has run out
   */
  shutdown(): Promise<void> {
    // Whoever asks again, as a second signal does, waits for the same.
    this.shuttingDown ??= this.shutDown();
    return this.shuttingDown;
  }

  private async shutDown(): Promise<void> {
    this.ending.abort();
    // Whatever a queue that fails could not be told, others find out.
    await Promise.allSettled([...this.workers].map((worker) => worker.stop()));
    try {
      await this.driver.shutdown();
    } finally {
      if (this.ownsStore) await this.store.close();
    }
  }

  private fetchOf(workflows: readonly AnyWorkflow[], options: HttpOptions): Stepmark["fetch"] {
    const served: Served = {
      app: this,
      isDown: () => this.ending.signal.aborted,
      start: async (name, input, id) => {
        const workflow = workflows.find(({ workflowName }) => workflowName === name);
        if (workflow === undefined) throw new UnknownWorkflowError(name, []);
        const caller = this.telemetry?.here();
        const { created, run } = await this.createRun(this.newRun(workflow, input, { id }));
        await this.join(run, caller);
        return { created, id: run.id };
      },
      brief: async (id) => this.info(await this.driver.read(id), []),
    };
    return fetchOf(served, options, warn);
  }

  /** The run of a `start` that found it existing. */
  private async join<O>(run: RunRecord, caller: unknown): Promise<Run<O>> {
    const active = this.driver.activeRun(run.id);
    if (active) return new Run<O>(run.id, active);
    if (hasEnded(run.status)) return this.found(run.id);
    try {
      return await this.driver.drive(run.id, { caller });
    } catch (error) {
      if (error instanceof RunOwnedError) return this.found(run.id);
      throw error;
    }
  }

  /** A run as it is, without driving it. */
  private found<O>(id: string): Run<O> {
    return new Run<O>(id, this.driver.source(id));
  }

  private info(run: RunRecord, entries: readonly Entry[]): RunInfo {
    const info = runInfo(run, entries, this.codec);
    if (this.driver.activeRun(run.id)?.execution.stalled) info.status = "stalled";
    return info;
  }

  /** What takes up whatever it finds would take up what is queued, before its turn. */
  private checkAlone(method: string): void {
    this.checkUp();
    if (this.queue === undefined) return;
    throw new InvalidArgumentError(
      `\`${method}\` takes up all runs that could go on, and this Stepmark has a queue that hands them out`,
      "Call `app.work()` instead: workers also go on with what dead processes left behind.",
    );
  }

  private checkUp(): void {
    if (this.ending.signal.aborted) throw new InvalidArgumentError("This Stepmark was shut down", "Make a new one.");
  }
}
