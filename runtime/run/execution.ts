/**
 * One run under way in this process: it answers the calls of the workflow's code from the record, starts what the
 * record does not hold, writes what comes of it, and delivers that.
 *
 * Everything that the code gets to see goes through `turn`, one outcome a macrotask, live and on replay alike, so
 * that all microtasks of one delivery have run before the next. A turn delivers the next recorded outcome; when the
 * record is used up, it starts the bodies that wait and delivers what is durable, in journal order.
 */
import type { Clock } from "../clock.js";
import type { StalledError } from "../errors.js";
import type { Executor } from "../executor/executor.js";
import type { Codec } from "../journal/codec.js";
import { type Entry, isOutcome } from "../journal/entry.js";
import { escapePart } from "../scope/key.js";
import type { ModuleTable, Place } from "../scope/module-table.js";
import { Origins } from "../scope/origins.js";
import { inMark, type OtherName, type RunScope, type StepExtent, WorkflowBody } from "../scope/place.js";
import { state } from "../scope/process-state.js";
import type { RunChange } from "../stores/store.js";
import type { RunTrace } from "../telemetry/telemetry.js";
import { Alarms } from "./alarms.js";
import { AskedCalls, latest } from "./asked-calls.js";
import { type Call, type CallRequest, newCall } from "./call.js";
import { Failures } from "./end/failures.js";
import { Lifetime } from "./end/lifetime.js";
import { duplicateKey, endlessBodies, stalled, unreadable } from "./end/refusals.js";
import { JournalWriter } from "./journal-writer.js";
import { Inbox, type Taken } from "./live/inbox.js";
import { LiveCalls } from "./live/live-calls.js";
import type { Outcome } from "./live/outcome.js";
import { WaitingRoom } from "./live/waiting-room.js";
import { acceptEntry, newEntry } from "./new-entry.js";
import type { Children, ExecutionOptions } from "./options.js";
import { Patience } from "./patience.js";
import { Acceptance } from "./record/acceptance.js";
import { type ChangeRequest, Changes } from "./record/changes.js";
import { Checks } from "./record/checks.js";
import { CodeAtHand } from "./record/code-at-hand.js";
import { EditedCode } from "./record/edited-code.js";
import { type Named, otherwise } from "./record/other-name.js";
import type { AskingPlace } from "./record/own-key.js";
import { PresentCode } from "./record/present-code.js";
import { recordedHere } from "./record/record.js";
import { Replay } from "./record/replay.js";
import { Standstill } from "./standstill.js";
import { Turns } from "./turns.js";
import { keepVigil } from "./vigil.js";

export class Execution implements RunScope {
  readonly id: string;
  /** When the run was created, in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly clock: Clock;
  readonly codec: Codec;
  readonly children: Children;
  readonly executor: Executor | undefined;
  readonly trace: RunTrace | undefined;
  readonly origins: Origins;
  /** The first part of every key of the run. */
  readonly rootKey: string;

  readonly lifetime: Lifetime;
  readonly inbox: Inbox;
  readonly waits = new WaitingRoom();
  readonly alarms: Alarms;
  readonly failures: Failures;
  readonly checks: Checks;
  stalled: StalledError | undefined;

  private readonly decode: Codec["decode"];
  private readonly replay: Replay;
  private readonly present: PresentCode;
  private readonly changes: Changes;
  private readonly journal: JournalWriter;
  private readonly asked: AskedCalls;
  private readonly calls = new LiveCalls();
  private readonly turns: Turns;
  private readonly standstill: Standstill;
  private readonly patience: Patience;
  private readonly acceptance: Acceptance;
  private endVigil = (): void => {};

  constructor(private readonly options: ExecutionOptions) {
    const { id, store, codec, clock, children, record, workflow } = options;
    this.id = id;
    this.createdAt = options.createdAt;
    this.clock = clock;
    this.codec = codec;
    this.decode = codec.decode.bind(codec);
    this.children = children;
    this.executor = options.executor;
    this.trace = options.trace;
    this.rootKey = escapePart(workflow);
    this.alarms = new Alarms(clock);
    this.patience = new Patience(clock);
    this.failures = new Failures(options.rerun);
    this.replay = new Replay(record);
    this.asked = new AskedCalls(this.replay);
    this.present = new PresentCode(record);
    const code = new EditedCode(this.replay, this.present, new CodeAtHand(this.present, state.tables ?? new Map()));
    this.origins = new Origins(record.origins);
    this.acceptance = new Acceptance(options, record.accepted, code);
    this.checks = new Checks(id, this.replay, code, this.acceptance, this.origins);
    this.changes = new Changes(this.replay, code, this.present, (within) => this.accepts(within));
    const { lastSeq, process: lastProcess } = record;
    const { fence, keeper, hold } = options;
    this.journal = new JournalWriter({
      ...{ id, store, lastSeq, lastProcess, fence, keeper, hold },
      code: this.present,
      accepted: this.acceptance,
      trace: options.trace?.id,
      reclaim: (before) => options.reclaim(before),
    });
    this.lifetime = new Lifetime(
      {
        ...{ id, codec, clock, parent: options.parent },
        onWindUp: () => this.windUp(),
        onAbort: () => this.drain(),
        onClose: () => this.close(),
      },
      this.journal,
    );
    const { calls, lifetime, replay, changes, waits } = this;
    this.inbox = new Inbox({
      ...{ id, store, codec, clock, waits, lifetime },
      take: (taken) => this.take(taken),
      onCancelRequest: () => options.onCancelRequest?.(),
      onRead: () => this.callTurn(),
    });
    this.standstill = new Standstill({ lifetime, replay, calls, waits, changes, children, clock });
    this.turns = new Turns(this.turn, () => replay.peek() !== undefined);
  }

  /** Whether the run is under way in this process. */
  get open(): boolean {
    return this.lifetime.open;
  }

  /** The fence under which this process owns the run now, if it does. */
  get ownedFence(): number | undefined {
    return this.open ? this.journal.ownedFence : undefined;
  }

  /** Whether nothing goes on until an answer or a timer comes, and the store says so. */
  get waiting(): boolean {
    return this.open && this.journal.givenUp && this.calls.wanted.length === 0;
  }

  /** Whether all that this process holds of the run can be had from its journal again. */
  get idle(): boolean {
    return this.waiting && this.calls.inFlight.size === 0 && !this.inbox.isBeingRead;
  }

  /** Runs the workflow's function from the top. */
  begin(fn: (input: unknown) => unknown, input: unknown): void {
    state.liveRuns++;
    const { calls, waits, journal } = this;
    const onEndless = (bodies: readonly Call[]): void => {
      if (this.stalled === undefined) this.stall(endlessBodies(this.id, bodies));
    };
    this.endVigil = keepVigil({ calls, waits, journal, onEndless });
    const body = new WorkflowBody(this, this.rootKey, "", null, null);
    this.origins.noteResult(input, this.rootKey);
    const start = (): Promise<unknown> => inMark(body, async () => fn(input));
    const finished = this.trace === undefined ? start() : this.trace.within(start);
    finished.then(
      (value) => this.lifetime.settle({ ok: true, value }),
      (error) => this.lifetime.settle({ ok: false, error }),
    );
    this.callTurn();
  }

  // --- what the code around the calls does ---------------------------------------------------------------------------

  /** Where the workflow's own function stands, once it has begun: see `rootOf`. */
  get root(): string | undefined {
    return this.present.root;
  }

  setRoot(module: ModuleTable, place: Place): void {
    this.present.setRoot(module, place);
  }

  contribute(module: ModuleTable): void {
    this.present.contribute(module);
  }

  whereabouts(module: ModuleTable, place: Place): string {
    return this.present.whereabouts(module, place);
  }

  fatal(error: Error): void {
    this.lifetime.refuse(error);
  }

  // --- what the code asks for ----------------------------------------------------------------------------------------

  /**
   * A call's key and chain; or those that it has if the function around is called by its other name, if that is what is
   * recorded, or if another call has the key.
   */
  nameOf(named: Named, names: OtherName | undefined): Named {
    if (names === undefined) return named;
    const isTaken = this.asked.isTaken(named.key);
    if (!isTaken && (this.replay.isEmpty || this.replay.holds(named))) return named;
    const other = otherwise(named, names);
    if (other === undefined || this.replay.holds(named)) return named;
    if (this.replay.holds(other)) return other;
    const isFree = !this.asked.isTaken(other.key) && this.replay.find(other.key) === undefined;
    return isTaken && isFree ? other : named;
  }

  /** The replay key of a call, from that of its place and what else tells it apart. */
  keyOf(place: AskingPlace, args: string, origins?: string): string {
    return this.checks.keyOf(place, args, origins);
  }

  /** Whether the record holds the outcome of a call, so that nothing of it will be done live. */
  answers(key: string): boolean {
    return this.replay.find(key)?.outcome !== undefined;
  }

  /** Takes a call: its promise settles when its outcome has its turn, or never, if the run ends before. */
  ask(request: CallRequest): Promise<unknown> {
    const recorded = isOfAttempt(request) ? undefined : this.replay.find(request.key);
    const call = newCall(request, recorded);
    if (!this.accepts(request.within)) return call.promise;
    // The record's own copy of the key, if there is one: keys may be long, and many.
    if (!this.asked.claim(recorded?.key ?? request.key)) {
      this.fatal(duplicateKey(this.id, request));
      return call.promise;
    }
    const earlier = this.asked.noteInside(call);
    if (earlier !== undefined && !isOfAttempt(call)) {
      this.join(call, earlier);
      return call.promise;
    }
    const refusal = recorded ? this.checks.refusalOf(call, recorded) : this.checks.refusalOfNew(call);
    if (refusal !== undefined) {
      this.fatal(refusal);
      return call.promise;
    }
    if (recorded !== undefined) recorded.asked = true;
    if (recorded?.outcome !== undefined) {
      if (recorded.outcome.state === "failed") this.failures.expect(call.key);
      this.replay.ask(call);
    } else this.calls.wanted.push(call);
    this.wake();
    return call.promise;
  }

  /** A call of a step's body is to get what the call of an earlier attempt comes to, if that is the same call. */
  private join(call: Call, earlier: Call): void {
    const open = newEntry(earlier, { state: "open" }, {}, this.clock);
    const refusal = this.checks.refusalOf(call, { ...recordedHere(open), open });
    if (refusal === undefined) earlier.heir = call;
    else this.fatal(refusal);
  }

  /** Takes a call of `changed`. */
  askChanged(request: ChangeRequest): Promise<unknown> {
    if (!this.accepts(request.within)) return new Promise(() => {});
    const { promise, first } = this.changes.ask(request);
    if (first?.late) {
      const details = { name: request.id, value: this.codec.encode(false), within: request.within?.key };
      this.save(first.call, { state: "done" }, { ...details, late: true }, () => {});
    } else if (first?.call.recorded) this.replay.ask(first.call);
    else if (first !== undefined) this.calls.wanted.push(first.call);
    this.wake();
    return promise;
  }

  private accepts(within: StepExtent | null): boolean {
    if (within === null) return this.lifetime.phase === "running";
    return !within.over && this.serves(within);
  }

  /** Whether code still gets anything done and told: that of a step's body, or of the run itself. */
  private serves(within: StepExtent | null): boolean {
    const { phase } = this.lifetime;
    return phase === "running" || (phase !== "closed" && this.calls.isInFlight(within));
  }

  // --- what live calls use -----------------------------------------------------------------------------------------

  /** A body has started. */
  started(call: Call): void {
    this.calls.inFlight.set(call.key, call);
  }

  /**
   * Announces an attempt, an open wait or a timer; `then` runs when that is durable, unless the run has come to an end by then
   * that leaves the call undone.
   */
  announce(call: Call, state: "attempt" | "open", details: Partial<Entry>, then: () => void): void {
    const begin = (): void => {
      if (this.mayBegin(call)) then();
      else this.abandoned(call);
    };
    if (this.open) this.save(call, { state }, details, () => this.asOwner(begin));
  }

  /** Whether the run's failure, if it has failed, leaves room for a call that has not begun: a body in flight may need it. */
  private mayBegin({ within }: Call): boolean {
    const { phase, refused } = this.lifetime;
    return phase !== "failing" || (!refused && this.calls.isInFlight(within));
  }

  /** The body of step `key` begins again. */
  beginAgain(key: string): void {
    this.calls.dropThoseOver();
    this.asked.beginAgain(key);
  }

  /** Writes the outcome of a call and delivers it in its turn. */
  finished(call: Call, outcome: Outcome, details: Partial<Entry>): void {
    if (!this.open) return;
    this.save(call, outcome, details, () => {
      const { key } = call;
      this.calls.inFlight.delete(key);
      if (outcome.state === "failed") this.failures.expect(key);
      else {
        this.asked.over(key);
        if (this.failures.isRerun(key)) this.replay.mend(key);
        this.failures.settle(key);
      }
      this.calls.ready.push({ call, outcome });
    });
  }

  /** A call that has not come to its outcome, and will not in this process: nothing is written of it. */
  abandoned(call: Call): void {
    this.calls.inFlight.delete(call.key);
    this.wake();
  }

  /** Writes what a message does to a wait. */
  private take({ call, details, outcome, messages }: Taken): void {
    this.wake();
    const then = (): void => {
      if (outcome === undefined) return;
      if (outcome.state === "failed") this.failures.expect(call.key);
      this.calls.ready.push({ call, outcome });
    };
    const used = messages.map(({ number }) => number);
    this.save(call, details, details, then, outcome === undefined ? { refuse: used } : { consume: used });
  }

  private save(
    call: Call,
    outcome: Pick<Entry, "state" | "value">,
    details: Partial<Entry>,
    then: () => void,
    change?: RunChange,
  ): void {
    const redone = isOutcome(outcome.state) ? this.failures.redone(call.key) : undefined;
    const changes = redone === undefined ? change : { ...change, ...redone };
    this.write(newEntry(call, outcome, details, this.clock), changes, (entry) => {
      this.asked.recorded(call, entry);
      then();
    });
  }

  /** Writes an entry; `then` is called when it is durable, if the run is still under way. */
  private write(unwritten: Entry, change: RunChange | undefined, then: (entry: Entry) => void): void {
    const isDurable = (entry: Entry): void => {
      this.options.onEntry(entry);
      if (!this.open) return;
      then(entry);
      this.wake();
    };
    this.journal.append(unwritten, change, isDurable, this.lifetime.breakOff);
    // Behind the commit, so that what it brings has its turn in the same round.
    this.turns.layOn();
  }

  // --- the loop ----------------------------------------------------------------------------------------------------

  /** Something happened: look again what is to be done. */
  wake(): void {
    this.patience.lift();
    if (this.stalled) {
      this.stalled = undefined;
      this.options.onChange();
    }
    this.callTurn();
  }

  private callTurn(): void {
    if (this.open) this.turns.call();
  }

  private readonly turn = (): void => {
    if (!this.open) return;
    const next = this.replay.take();
    if (next !== undefined) {
      const recorded = next.recorded!;
      this.deliver(next, recorded.outcome as Outcome);
      this.replay.spend(recorded);
      return this.callTurn();
    }
    if (this.mayStart() && this.owns()) {
      this.sayWhatIsAccepted();
      this.start(this.calls.takeWanted());
    }
    if (this.replay.peek() === undefined || this.lifetime.phase !== "running") {
      const live = this.calls.ready.shift();
      if (live !== undefined) {
        this.deliver(live.call, live.outcome);
        return this.callTurn();
      }
    }
    this.rest();
  };

  private start(calls: readonly Call[]): void {
    const { instead } = this.options;
    if (instead !== undefined) return instead.start(calls);
    for (const call of calls) {
      this.asked.started(call);
      call.start(call);
    }
  }

  /**
   * What the workflow asked for before it returned is still done; after a failure nothing new starts, but for what bodies
   * in flight need; after a refusal nothing at all.
   */
  private mayStart(): boolean {
    const { calls, lifetime } = this;
    if (calls.wanted.length === 0) return false;
    if (lifetime.phase === "failing") calls.dropAllButThoseOfBodies();
    if (lifetime.refused) return false;
    if (lifetime.phase === "failing") return true;
    return !(lifetime.phase === "running" && this.replay.unfinished) && !this.isInDoubt();
  }

  /** Whether the code was edited so that a body that wants to start may do recorded work again. */
  private isInDoubt(): boolean {
    const refusal = this.checks.refusalOfAll();
    if (refusal !== undefined) this.fatal(refusal);
    return refusal !== undefined || this.checks.suspects(this.calls.wanted);
  }

  /** Whether this process owns the run; if a pause gave it up, or that is not sure any more, sets out to see to it. */
  private owns(): boolean {
    if (this.journal.owned && this.journal.isSure) return true;
    this.journal.makeSure().then(() => this.wake(), this.lifetime.breakOff);
    return false;
  }

  /** Does something that only the run's owner may do, unless the run turns out to be lost. */
  private asOwner(work: () => void): void {
    if (!this.open) return;
    if (this.journal.isSure) return work();
    this.journal.makeSure().then(() => this.asOwner(work), this.lifetime.breakOff);
  }

  private deliver(asked: Call, outcome: Outcome): void {
    const call = latest(asked);
    // What is told of a change is for whoever asks, be it a body that is in flight.
    if (call.kind !== "changed" && !this.serves(call.within)) return;
    let value: unknown;
    try {
      value = this.decode(outcome.value);
    } catch (error) {
      return this.fatal(unreadable(this.id, call, error));
    }
    this.failures.settle(call.key);
    if (outcome.state === "done") {
      if (call.entry === undefined) this.origins.noteResult(value, call.key);
      return call.resolve(value);
    }
    this.failures.add(value, call.key, call.within?.key);
    // A failure that nobody awaits is the run's to report; it must not end the process.
    call.promise.catch(() => {});
    call.reject(value);
  }

  /** There is nothing to deliver and nothing to start. */
  private rest(): void {
    const { lifetime, calls } = this;
    if (!this.journal.isSettled || this.turns.areDue || this.patience.isLimited || calls.ready.length > 0) return;
    // There may be an answer to go on with; a workflow that has ended needs none.
    if (this.inbox.isBeingRead && lifetime.phase === "running") return;
    switch (this.standstill.kind) {
      case "over":
        return void this.finish();
      case "held back":
        return this.heldBack();
      case "pause":
        return this.pause();
      case "stall":
        return this.stallLater();
    }
  }

  private heldBack(): void {
    const found = this.checks.heldBack();
    if (found === "go on") this.callTurn();
    else if (found === "may ask") this.patience.limit(this.options.grace, () => this.unexplained());
    else this.fatal(found);
  }

  private unexplained(): void {
    const refusal = this.checks.unexplained(this.calls.wanted);
    if (refusal === undefined) this.callTurn();
    else this.fatal(refusal);
  }

  private pause(): void {
    if (!this.journal.owned || this.sayWhatIsAccepted()) return;
    this.journal.giveUp(this.waits.nextDue).then(() => this.options.onChange(), this.lifetime.breakOff);
  }

  /**
   * Writes what the resume has accepted, where no other entry has said it: whoever takes the run up next needs it.
   *
   * @returns whether there was anything to say
   */
  private sayWhatIsAccepted(): boolean {
    const { unsaid } = this.acceptance;
    if (unsaid === undefined || this.options.instead !== undefined) return false;
    this.write(acceptEntry(this.rootKey, unsaid, this.codec, this.clock), undefined, () => {});
    return true;
  }

  private stallLater(): void {
    const { instead, stallAfter } = this.options;
    const patience = instead?.patience() ?? stallAfter;
    if (instead !== undefined && patience === 0) this.stall();
    else this.patience.limit(patience, () => this.stall());
  }

  private stall(error = stalled(this.id)): void {
    this.stalled = error;
    this.options.onChange();
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  /** The workflow's code is at its end: only what bodies in flight need is still done. */
  private windUp(): void {
    // What the code has not asked for by now, it never will: it must not hold back what a body has asked for.
    this.replay.lenient = true;
    this.waits.keep(({ call }) => this.calls.isInFlight(call.within));
    this.wake();
  }

  /** Bodies that have been told to stop may take some time to. */
  private drain(): void {
    const { inFlight } = this.calls;
    if (inFlight.size === 0) return;
    this.alarms.after(this.options.drain, () => {
      inFlight.clear();
      this.wake();
    });
  }

  private finish(): Promise<void> {
    return this.lifetime.finish({
      orphans: this.replay.orphans().map(({ key }) => key),
      edited: this.checks.edited,
      culpritsOf: (error) => this.failures.culpritsOf(error, this.lifetime.refused),
    });
  }

  /** Nothing is kept but how the run has ended, whoever holds on to it. */
  clear(): void {
    this.replay.clear();
    this.asked.clear();
  }

  private close(): void {
    this.endVigil();
    this.patience.lift();
    this.alarms.clear();
    this.waits.clear();
    state.liveRuns--;
  }
}

/** Whether a call is done in each attempt of the body around: who watches a body is to see what this one publishes. */
function isOfAttempt({ kind, within }: CallRequest): boolean {
  return kind === "publish" && within !== null;
}
