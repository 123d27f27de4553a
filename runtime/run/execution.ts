/**
 * One run under way in this process: it answers the calls of the workflow's code from the record, starts what the
 * record does not hold, writes the journal, and closes the run.
 *
 * Everything that the code gets to see goes through `turn`, one outcome a macrotask, live and on replay alike, so
 * that all microtasks of one delivery have run before the next. A turn delivers the next recorded outcome; when the
 * record is used up, it starts the bodies that wait and delivers what is durable, in journal order.
 */
import { setImmediate } from "node:timers";
import type { AnyWorkflow } from "../calls/workflow.js";
import type { Clock } from "../clock.js";
import { RunCancelledError, ShutdownError, StaleOwnerError, type StalledError } from "../errors.js";
import type { Executor } from "../executor/executor.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import { judge } from "../journal/judge.js";
import { escapePart } from "../scope/key.js";
import type { ModuleTable, Place } from "../scope/module-table.js";
import { outsideRuns } from "../scope/outside.js";
import { inMark, type RunScope, type StepExtent, WorkflowBody } from "../scope/place.js";
import { state } from "../scope/process-state.js";
import type { ParentCall, RunChange, Store } from "../stores/store.js";
import type { RunTrace } from "../telemetry/telemetry.js";
import { type Call, type CallRequest, newCall } from "./call.js";
import { isCancelRequest } from "./cancel-request.js";
import { type ChangeRequest, Changes } from "./changes.js";
import { callerOf, changedPlaces } from "./closure-order.js";
import { EditedCode } from "./edited-code.js";
import { conclude, type Ending, type Result, wakeOf } from "./ending.js";
import { DeliveredFailures } from "./failures.js";
import { type Taken, takeMessages, takeOutcome } from "./inbox.js";
import { JournalWriter } from "./journal-writer.js";
import { latest, NestedCalls } from "./nested-calls.js";
import type { Outcome } from "./outcome.js";
import { PresentCode } from "./present-code.js";
import type { RecordedCall, RunRecordView } from "./record.js";
import {
  anotherPath,
  duplicateKey,
  enteredInAnotherOrder,
  notAHit,
  retiredSites,
  sameWorkElsewhere,
  shiftedSite,
  stalled,
  storeFailure,
  uncertainSites,
  unreadable,
} from "./refusals.js";
import { Replay } from "./replay.js";
import { type Answer, WaitingRoom } from "./waiting-room.js";

/** A child run that a call asks for. */
export interface ChildRequest {
  id: string;
  workflow: AnyWorkflow;
  /** Encoded. */
  input: string;
  inputPrint: string;
  parent: ParentCall;
}

/** What a run has child runs done by. */
export interface Children {
  /**
   * Begins a child run, or goes on with it.
   *
   * @param again whether a child that has failed is to be resumed
   */
  start(request: ChildRequest, again: boolean): Promise<void>;
  /** How a child has ended; undefined while it has not. */
  outcome(id: string): Promise<Answer | undefined>;
  /** Whether a child goes on in this process at the moment: then its parent has something under way. */
  isBusy(id: string): boolean;
}

/** What takes the place of live calls, where a run is only gone through. */
export interface Instead {
  /** Gets the calls that would start now. */
  start(calls: readonly Call[]): void;
  /** As `stallAfter`, asked each time. */
  patience(): number;
}

export interface ExecutionOptions {
  id: string;
  workflow: string;
  store: Store;
  codec: Codec;
  clock: Clock;
  /** How long an unchanged replay waits for the code to ask for what the record holds, in milliseconds. */
  grace: number;
  /** After how long without anything to wait for a run is reported as stalled, in milliseconds. */
  stallAfter: number;
  /** How long bodies in flight may go on after the run has failed, in milliseconds. */
  drain: number;
  /** Accept what edits of the code did to the record. */
  acceptEdits: boolean;
  /** Go on although unchanged code took another path. */
  continueDivergence: boolean;
  fence: number;
  /** The app that wakes the run while it waits, as its owner's `token`; by default none does by itself. */
  keeper?: string | undefined;
  record: RunRecordView;
  /** Keys of failed calls that are to be run again. */
  rerun: ReadonlySet<string>;
  children: Children;
  /** Runs the bodies that it takes; by default all run in this process. */
  executor?: Executor | undefined;
  /** The run that waits for this one's end. */
  parent: ParentCall | undefined;
  /** Takes ownership again after a pause; rejects if another process has had it since `fence`. */
  reclaim(fence: number): Promise<number>;
  /** Whether no other process can have taken the run by now, and the way to find out; by default none ever can. */
  hold?: { isSure(): boolean; makeSure(): Promise<void> };
  /** By default calls are live. */
  instead?: Instead;
  /** By default nobody is told. */
  trace?: RunTrace | undefined;
  /** Called with each durable entry, in journal order. */
  onEntry(entry: Entry): void;
  /** Called when another process has asked for the run's cancellation. */
  onCancelRequest?(): void;
  /** Called whenever `phase`, `waiting` or `stalled` changed. */
  onChange(): void;
}

/** How many turns are laid on at once. A live step takes two: one to begin its body, one to deliver its outcome. */
const liveTurns = 2;
/** A recorded one takes one. */
const replayTurns = 16;

/** In milliseconds: a run that sleeps for less stays with this process. */
const longSleep = 5_000;

type Phase = "running" | "returning" | "failing" | "closed";

export class Execution implements RunScope {
  readonly ended: Promise<Ending>;
  readonly waits = new WaitingRoom();
  readonly failures = new DeliveredFailures();
  /** Keys of calls that were answered although their text has changed. */
  readonly edited: string[] = [];
  stalled: StalledError | undefined;
  /** Aborts the bodies in flight when the run fails, is cancelled or shut down. */
  readonly abort = new AbortController();

  private phase: Phase = "running";
  private ending!: (ending: Ending) => void;
  private result: Result | undefined;
  /** Whether it is the runtime that ended the run. */
  refused = false;
  private readonly replay: Replay;
  private readonly present: PresentCode;
  private readonly code: EditedCode;
  private readonly journal: JournalWriter;
  private readonly nested: NestedCalls;
  private readonly changes: Changes;
  /** What the next entry is to say of the trace. */
  private untold: string | undefined;
  private readonly claimed = new Set<string>();
  /** Calls that the record does not answer and that have not started. */
  private wanted: Call[] = [];
  /** Calls whose bodies run, by key. */
  private readonly inFlight = new Map<string, Call>();
  /** Failed calls whose failure nobody has dealt with: it was recorded and not delivered, or is to be tried again. */
  private readonly unseenFailures: Set<string>;
  /** Durable outcomes that wait for their turn, in journal order. */
  private readonly ready: Array<{ call: Call; outcome: Outcome }> = [];
  /** How many readings of the inbox are under way. */
  private reading = 0;
  /** Whether there is to be a turn. */
  private due = false;
  /** How many macrotasks are laid on for turns. */
  private laidOn = 0;
  private disarm: (() => void) | undefined;

  constructor(private readonly options: ExecutionOptions) {
    const { id, store, fence, keeper, record, rerun, reclaim } = options;
    this.replay = new Replay(record);
    this.present = new PresentCode(record);
    this.code = new EditedCode(this.replay, this.present, state.modules);
    this.nested = new NestedCalls(this.replay);
    this.changes = new Changes(this.replay, this.code, this.present, (within) => this.accepts(within));
    const { lastSeq, process: lastProcess } = record;
    this.journal = new JournalWriter({ id, store, lastSeq, lastProcess, fence, keeper, reclaim });
    this.unseenFailures = new Set(rerun);
    this.untold = options.trace?.id;
    this.ended = new Promise((resolve) => {
      this.ending = resolve;
    });
  }

  /** The fence under which this process owns the run now, if it does. */
  get ownedFence(): number | undefined {
    return this.open ? this.journal.ownedFence : undefined;
  }

  /** The first part of every key of the run. */
  get rootKey(): string {
    return escapePart(this.options.workflow);
  }

  /** Where the workflow's own function stands, once it has begun: see `rootOf`. */
  get root(): string | undefined {
    return this.present.root;
  }

  get id(): string {
    return this.options.id;
  }

  get clock(): Clock {
    return this.options.clock;
  }

  get codec(): Codec {
    return this.options.codec;
  }

  get executor(): Executor | undefined {
    return this.options.executor;
  }

  get trace(): RunTrace | undefined {
    return this.options.trace;
  }

  get children(): Children {
    return this.options.children;
  }

  /** Whether a failed call is to be run again. */
  isRerun(key: string): boolean {
    return this.options.rerun.has(key);
  }

  get open(): boolean {
    return this.phase !== "closed";
  }

  /** Whether nothing goes on until an answer or a timer comes, and the store says so. */
  get waiting(): boolean {
    return this.open && this.journal.givenUp && this.wanted.length === 0;
  }

  /** Whether all that this process holds of the run can be had from its journal again. */
  get idle(): boolean {
    return this.waiting && this.inFlight.size === 0 && this.reading === 0;
  }

  /** Runs the workflow's function from the top. */
  begin(fn: (input: unknown) => unknown, input: unknown): void {
    state.liveRuns++;
    const body = new WorkflowBody(this, escapePart(this.options.workflow), "", null, null);
    const start = (): Promise<unknown> => inMark(body, async () => fn(input));
    const { trace } = this.options;
    const finished = trace === undefined ? start() : trace.within(start);
    finished.then(
      (value) => this.settle({ ok: true, value }),
      (error) => this.settle({ ok: false, error }),
    );
    this.schedule();
  }

  contribute(module: ModuleTable): void {
    this.present.contribute(module);
  }

  whereabouts(module: ModuleTable, place: Place): string {
    return this.present.whereabouts(module, place);
  }

  setRoot(module: ModuleTable, place: Place): void {
    this.present.setRoot(module, place);
  }

  /** Whether the record holds the outcome of a call, so that nothing of it will be done live. */
  answers(key: string): boolean {
    return this.replay.find(key)?.outcome !== undefined;
  }

  /** Takes a call: its promise settles when its outcome has its turn, or never, if the run ends before. */
  ask(request: CallRequest): Promise<unknown> {
    const recorded = this.replay.find(request.key);
    const call = newCall(request, recorded);
    if (!this.accepts(request.within)) return call.promise;
    if (this.claimed.has(request.key)) {
      this.fatal(duplicateKey(this.id, request));
      return call.promise;
    }
    // The record's own copy, if there is one: keys may be long, and many.
    this.claimed.add(recorded?.key ?? request.key);
    if (this.nested.made(call)) return call.promise;
    if (recorded !== undefined) {
      if (!this.check(call, recorded.outcome ?? recorded.open)) return call.promise;
      recorded.asked = true;
    }
    if (recorded?.outcome !== undefined) {
      if (recorded.outcome.state === "failed") this.unseenFailures.add(call.key);
      this.replay.ask(call);
    } else this.wanted.push(call);
    this.wake();
    return call.promise;
  }

  /** Takes a call of `changed`. */
  askChanged(request: ChangeRequest): Promise<unknown> {
    if (!this.accepts(request.within)) return new Promise(() => {});
    const { promise, first } = this.changes.ask(request);
    if (first?.late) {
      const details = { name: request.id, value: this.codec.encode(false), within: request.within?.key };
      this.save(first.call, { state: "done" }, { ...details, late: true }, () => {});
    } else if (first?.call.recorded) this.replay.ask(first.call);
    else if (first !== undefined) this.wanted.push(first.call);
    this.wake();
    return promise;
  }

  /** Ends the run with an error that no code of the workflow can catch. */
  fatal(error: Error): void {
    if (this.phase !== "running" && this.phase !== "returning") return;
    this.result = { ok: false, error };
    this.refused = true;
    this.fail();
  }

  /** Ends the run for good. */
  async cancel(): Promise<void> {
    if (this.phase === "closed") return void (await this.ended);
    this.abort.abort(new RunCancelledError(this.id));
    this.close();
    try {
      await this.journal.settled;
      const change: RunChange = { status: "cancelled", output: null, error: null, culprits: null, release: true };
      await this.journal.change({ ...change, ...this.wakeParent() });
    } catch (thrown) {
      const error = storeFailure(this.id, thrown);
      this.ending({ status: "left", error });
      throw error;
    }
    this.ending({ status: "cancelled" });
  }

  /** Stops driving the run and gives it up; what bodies in flight still do is not recorded. */
  async leave(error: Error = new ShutdownError(this.id)): Promise<void> {
    // What ends a run is on its way to the store: until it is there, the run is not given up.
    if (this.phase === "closed") return void (await this.ended);
    this.abort.abort(error);
    this.close();
    try {
      await this.journal.settled;
      if (this.journal.owned && !(error instanceof StaleOwnerError)) await this.journal.change({ release: true });
    } catch (thrown) {
      throw storeFailure(this.id, thrown);
    } finally {
      this.ending({ status: "left", error });
    }
  }

  /** Leaves a run that is idle where it is. Its code is not told: it simply does not go on here. */
  forget(): void {
    this.close();
    this.ending({ status: "dormant" });
  }

  // --- what live calls use -----------------------------------------------------------------------------------------

  /** A body has started. */
  started(call: Call): void {
    this.inFlight.set(call.key, call);
  }

  /** Writes the outcome of a call and delivers it in its turn. */
  finished(call: Call, outcome: Outcome, details: Partial<Entry>): void {
    if (this.phase === "closed") return;
    this.save(call, outcome, details, () => {
      this.inFlight.delete(call.key);
      if (outcome.state === "done") this.nested.over(call.key);
      if (outcome.state === "done" && this.isRerun(call.key)) this.replay.mend(call.key);
      if (outcome.state === "failed") this.unseenFailures.add(call.key);
      else this.unseenFailures.delete(call.key);
      this.ready.push({ call, outcome });
    });
  }

  /** A call that has not come to its outcome, and will not in this process: nothing is written of it. */
  abandoned(call: Call): void {
    this.inFlight.delete(call.key);
    this.wake();
  }

  /** The body of step `key` begins again. */
  beginAgain(key: string): void {
    this.wanted = this.wanted.filter((call) => call.within?.over !== true);
    this.nested.beginAgain(key, this.claimed);
  }

  /** Announces an attempt, an open wait or a timer; `then` runs when that is durable. */
  announce(call: Call, state: "attempt" | "open", details: Partial<Entry>, then: () => void): void {
    if (this.phase !== "closed") this.save(call, { state }, details, () => this.asOwner(then));
  }

  /**
   * Takes answers out of the run's inbox for the waits that are open, and looks whether the run is to be cancelled.
   *
   * @param key of a wait whose outcome may be there without a message
   */
  async readInbox(key?: string): Promise<void> {
    if (!this.open) return;
    this.reading++;
    try {
      const outcome = key === undefined ? undefined : await this.waits.open.get(key)?.look?.();
      const messages = await this.options.store.inbox(this.id);
      if (messages.some(isCancelRequest)) return this.options.onCancelRequest?.();
      // The inbox was read across a pause of this code: only now is it certain which waits are open.
      await takeMessages(this, messages);
      if (key !== undefined && outcome !== undefined) takeOutcome(this, key, outcome);
    } catch (error) {
      this.broken(error);
    } finally {
      this.reading--;
      this.schedule();
    }
  }

  /** Writes what a message does to a wait. */
  take({ call, details, outcome, messages }: Taken): void {
    this.wake();
    const then = (): void => {
      if (outcome === undefined) return;
      if (outcome.state === "failed") this.unseenFailures.add(call.key);
      this.ready.push({ call, outcome });
    };
    const used = messages.map(({ number }) => number);
    this.save(call, details, details, then, outcome === undefined ? { refuse: used } : { consume: used });
  }

  /** Something happened: look again what is to be done. */
  wake(): void {
    this.disarm?.();
    this.disarm = undefined;
    if (this.stalled) {
      this.stalled = undefined;
      this.options.onChange();
    }
    this.schedule();
  }

  // --- the loop ----------------------------------------------------------------------------------------------------

  private schedule(): void {
    if (this.phase === "closed") return;
    this.due = true;
    this.layOn();
  }

  /** Sees to it that turns can come. */
  private layOn(): void {
    if (this.laidOn === 0) outsideRuns(this.setTurns);
  }

  // Several at once: each is a macrotask of its own, yet all of them pass in one round of the event loop.
  private readonly setTurns = (): void => {
    this.laidOn = this.replay.peek() === undefined ? liveTurns : replayTurns;
    for (let i = 0; i < this.laidOn; i++) setImmediate(this.takeTurn);
  };

  private readonly takeTurn = (): void => {
    this.laidOn--;
    if (!this.due) return;
    this.due = false;
    this.turn();
  };

  private turn(): void {
    if (this.phase === "closed") return;
    const next = this.replay.take();
    if (next !== undefined) {
      const { outcome } = next.recorded!;
      this.deliver(next, { state: outcome!.state as Outcome["state"], value: outcome!.value! });
      return this.schedule();
    }
    if (this.mayStart() && this.owns()) {
      const calls = this.wanted;
      this.wanted = [];
      const { instead } = this.options;
      instead?.start(calls);
      if (instead === undefined) {
        for (const call of calls) {
          this.nested.started(call);
          call.start(this, call);
        }
      }
    }
    if (this.replay.peek() === undefined || this.phase !== "running") {
      const live = this.ready.shift();
      if (live !== undefined) {
        this.deliver(live.call, live.outcome);
        return this.schedule();
      }
    }
    this.rest();
  }

  /**
   * What the workflow asked for before it returned is still done; after a failure nothing new starts, but for what bodies
   * in flight need; after a refusal nothing at all.
   */
  private mayStart(): boolean {
    if (this.wanted.length === 0) return false;
    if (this.phase === "failing")
      this.wanted = this.wanted.filter(({ kind, within }) => kind === "changed" || this.inFlightBody(within));
    if (this.refused) return false;
    if (this.phase === "returning") return !this.isInDoubt();
    return this.phase !== "running" || !(this.replay.unfinished || this.isInDoubt());
  }

  /** Whether this process owns the run; if a pause gave it up, or that is not sure any more, sets out to see to it. */
  private owns(): boolean {
    const { owned } = this.journal;
    if (owned && this.isSure) return true;
    (owned ? this.options.hold!.makeSure() : this.journal.reclaim()).then(
      () => this.wake(),
      (error) => this.broken(error),
    );
    return false;
  }

  private get isSure(): boolean {
    return this.options.hold?.isSure() ?? true;
  }

  /** Does something that only the run's owner may do, unless the run turns out to be lost. */
  private asOwner(work: () => void): void {
    if (this.phase === "closed") return;
    if (this.isSure) return work();
    this.options.hold!.makeSure().then(
      () => this.asOwner(work),
      (error) => this.broken(error),
    );
  }

  private deliver(asked: Call, outcome: Outcome): void {
    const call = latest(asked);
    // What is told of a change is for whoever asks, be it a body that is in flight.
    if (this.phase !== "running" && call.kind !== "changed" && !this.inFlightBody(call.within)) return;
    let value: unknown;
    try {
      value = this.codec.decode(outcome.value);
    } catch (error) {
      return this.fatal(unreadable(this.id, call, error));
    }
    this.unseenFailures.delete(call.key);
    if (outcome.state === "done") return call.resolve(value);
    this.failures.add(value, call.key);
    call.reject(value);
  }

  /** There is nothing to deliver and nothing to start: what does the run wait for? */
  private rest(): void {
    if (!this.journal.isSettled || this.due || this.disarm || this.ready.length > 0) return;
    // There may be an answer to go on with; a workflow that has ended needs none.
    if (this.reading > 0 && this.phase === "running") return;
    if (this.inFlight.size > 0) {
      if (!this.bodiesAllAsk()) return;
      if (this.refused) void this.finish();
      else if (this.phase === "failing") return;
      else if (this.wanted.length > 0) this.heldBack();
      else if (!this.childrenAreBusy()) this.pause();
    } else if (this.phase === "failing" || (this.phase === "returning" && this.wanted.length === 0)) {
      void this.finish();
    } else if (this.replay.peek() !== undefined || this.wanted.length > 0) {
      this.heldBack();
    } else if (this.childrenAreBusy()) {
      // The child's end comes as a message, and its pause wakes this run.
    } else if (this.waits.open.size > 0 || this.sleepsLong()) {
      this.pause();
    } else if (this.waits.timers === 0) {
      const { instead, stallAfter } = this.options;
      const patience = instead?.patience() ?? stallAfter;
      if (instead !== undefined && patience === 0) this.stall();
      else this.arm(patience, () => this.stall());
    }
  }

  private childrenAreBusy(): boolean {
    if (this.waits.open.size === 0) return false;
    const { children } = this.options;
    return [...this.waits.open.values()].some(({ details }) => details?.child && children.isBusy(details.child));
  }

  /** Whether it is worth while to give the run up until the next timer is due. */
  private sleepsLong(): boolean {
    const { nextDue } = this.waits;
    return nextDue !== undefined && nextDue - this.clock.now() >= longSleep;
  }

  /** Whether each body in flight, or a body inside it, has an open question or a call that is held back. */
  private bodiesAllAsk(): boolean {
    if (this.waits.open.size + this.wanted.length + this.changes.waiting.length === 0) return false;
    const asking = new Set<string>();
    const waits = [...this.waits.open.values()].map(({ call }) => call);
    for (const call of [...waits, ...this.wanted, ...this.changes.waiting]) {
      let within = call.within;
      while (within !== null && !asking.has(within.key)) {
        asking.add(within.key);
        within = this.inFlight.get(within.key)?.within ?? null;
      }
    }
    return [...this.inFlight.keys()].every((key) => asking.has(key));
  }

  /** Calls wait although the record is not used up: the code was edited, or asks late, or diverged. */
  private heldBack(): void {
    const { acceptEdits, continueDivergence, grace } = this.options;
    // What wants to start is taken for recorded work under another key, unless that is asked for after all.
    if (!this.replay.unfinished) return this.arm(grace, () => this.mistaken());
    const missing = this.replay.missing();
    if (missing[0] !== undefined && this.code.changedSince(missing[0])) {
      const old = missing.filter((call) => this.code.changedSince(call));
      if (!acceptEdits && this.refusesFor(old)) return;
      this.replay.excuse(old);
      this.schedule();
    } else if (continueDivergence) {
      this.replay.lenient = true;
      this.schedule();
    } else {
      this.arm(grace, () => this.diverged());
    }
  }

  private diverged(): void {
    const [missing] = this.replay.missing();
    const asking = this.wanted[0] ?? this.replay.peek();
    if (missing === undefined || asking === undefined) return this.schedule();
    this.fatal(anotherPath(this.id, missing, asking));
  }

  /** Whether the code was edited so that a body that wants to start may do recorded work again. */
  private isInDoubt(): boolean {
    if (this.options.acceptEdits) return false;
    return this.refusesFor(this.code.firstLook()) || this.code.suspicion(this.wanted) !== undefined;
  }

  /** Ends the run if there are calls that cannot have their records any more, or may have those of others. */
  private refusesFor(calls: readonly RecordedCall[]): boolean {
    if (calls.length === 0) return false;
    const retired = this.code.retired(calls);
    const uncertain = retired.length === 0 ? this.code.uncertain(calls) : [];
    if (retired.length > 0) this.fatal(retiredSites(this.id, retired));
    else if (uncertain.length > 0) this.fatal(uncertainSites(this.id, uncertain));
    return retired.length + uncertain.length > 0;
  }

  private mistaken(): void {
    const suspicion = this.code.suspicion(this.wanted);
    if (suspicion === undefined) return this.schedule();
    this.fatal(sameWorkElsewhere(this.id, suspicion.call, suspicion.recorded));
  }

  private pause(): void {
    if (!this.journal.owned) return;
    this.journal.giveUp(this.waits.nextDue).then(
      () => this.options.onChange(),
      (error) => this.broken(error),
    );
  }

  private stall(): void {
    this.stalled = stalled(this.id);
    this.options.onChange();
  }

  private arm(ms: number, then: () => void): void {
    const cancel = this.clock.after(ms, () => {
      this.disarm = undefined;
      then();
    });
    this.disarm = cancel;
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  private settle(result: Result): void {
    if (this.phase !== "running") return;
    this.result = result;
    if (result.ok) this.windUp("returning");
    else this.fail();
  }

  /** The workflow's code is at its end: only what bodies in flight need is still done. */
  private windUp(phase: "returning" | "failing"): void {
    this.phase = phase;
    // What the code has not asked for by now, it never will: it must not hold back what a body has asked for.
    this.replay.lenient = true;
    this.waits.keep(({ call }) => this.inFlightBody(call.within));
    this.wake();
  }

  private fail(): void {
    this.windUp("failing");
    this.abort.abort(this.result!.ok ? undefined : this.result!.error);
    if (this.inFlight.size === 0) return;
    const stop = this.clock.after(this.options.drain, () => {
      this.inFlight.clear();
      this.wake();
    });
    void this.ended.then(stop);
  }

  private async finish(): Promise<void> {
    this.close();
    const { change, ending } = conclude(this.result!, this.codec, { runId: this.id }, (error) =>
      this.culpritsOf(error),
    );
    try {
      await this.journal.change({ ...change, ...this.report(), ...this.wakeParent(), release: true });
      this.ending(ending);
    } catch (error) {
      this.ending({ status: "left", error: storeFailure(this.id, error) });
    }
  }

  /** Keys of the calls that a resume is to run again, when the run fails with `error`. */
  private culpritsOf(error: unknown): string[] {
    // A refusal comes from no failed call, and leaves what was to be run again as it is.
    if (this.refused) return [...this.options.rerun].filter((key) => this.unseenFailures.has(key));
    return [...new Set([...this.failures.heldBy(error), ...this.unseenFailures])];
  }

  /** What the run's record says of the replay: entries that nobody asked for, calls answered although edited. */
  private report(): Pick<RunChange, "orphans" | "edited"> {
    return { orphans: this.replay.orphans().map(({ key }) => key), edited: this.edited };
  }

  private wakeParent(): Pick<RunChange, "wake"> {
    const { parent, clock } = this.options;
    return wakeOf(parent, clock.now());
  }

  private close(): void {
    if (this.phase === "closed") return;
    this.phase = "closed";
    this.disarm?.();
    this.waits.clear();
    state.liveRuns--;
  }

  private readonly isBroken = (error: unknown): void => this.broken(error);

  /** The store failed or refused: what is not written does not count, and nothing more can be. */
  broken(error: unknown): void {
    if (this.phase === "closed") return;
    this.abort.abort(error);
    this.close();
    this.ending({ status: "left", error: storeFailure(this.id, error) });
  }

  // --- the journal -------------------------------------------------------------------------------------------------

  private save(
    call: Call,
    { state, value }: Pick<Entry, "state" | "value">,
    details: Partial<Entry>,
    then: () => void,
    change?: RunChange,
  ): void {
    const { attempt = 1, endedAt = this.clock.now(), startedAt = endedAt } = details;
    // The fields that most entries have come first, so that all have one shape; it costs a small step less than spreading.
    const entry: Entry = {
      seq: 0,
      key: call.key,
      kind: call.kind,
      args: call.args === "" ? undefined : call.args,
      site: call.site,
      chain: call.chain === "" ? undefined : call.chain,
      within: call.within?.key,
      caller: callerOf(call),
      attempt,
      startedAt,
      endedAt,
      state,
      value,
    };
    Object.assign(entry, details);
    if (this.present.hasNews) Object.assign(entry, this.present.takeNews());
    if (this.untold !== undefined) entry.trace = this.untold;
    this.untold = undefined;
    const isDurable = (durable: Entry): void => {
      this.options.onEntry(durable);
      if (this.phase === "closed") return;
      this.nested.recorded(call, durable);
      then();
      this.wake();
    };
    this.journal.append(entry, change, isDurable, this.isBroken);
    // Behind the commit, so that what it brings has its turn in the same round.
    this.layOn();
  }

  // --- checks ------------------------------------------------------------------------------------------------------

  private accepts(within: StepExtent | null): boolean {
    if (within?.over) return false;
    return this.phase === "running" || this.inFlightBody(within);
  }

  private inFlightBody(within: StepExtent | null): boolean {
    return within !== null && this.phase !== "closed" && this.inFlight.has(within.key);
  }

  private check(call: Call, entry: Entry | undefined): boolean {
    if (entry === undefined) return true;
    const verdict = judge(entry, call, this.code.rootChanged, this.options.acceptEdits);
    if (!verdict.hit) this.fatal(notAHit(this.id, call, verdict));
    else if (call.recorded !== undefined && this.code.isShifted(call, call.recorded)) {
      this.fatal(shiftedSite(this.id, call, call.recorded));
      return false;
    } else if (changedPlaces(call, entry, this.options.record)) {
      this.fatal(enteredInAnotherOrder(this.id, call));
      return false;
    } else if (verdict.edited) this.edited.push(call.key);
    return verdict.hit;
  }
}
