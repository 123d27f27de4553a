/**
 * One run under way in this process: it answers the calls of the workflow's code from the record, starts what the
 * record does not hold, writes the journal, and closes the run.
 *
 * Everything that the code gets to see goes through `turn`, one outcome a macrotask, live and on replay alike, so
 * that all microtasks of one delivery have run before the next. A turn delivers the next recorded outcome; when the
 * record is used up, it starts the bodies that wait and delivers what is durable, in journal order.
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../clock.js";
import {
  AmbiguousSiteError,
  DecodeError,
  DivergenceError,
  DuplicateKeyError,
  ReplayMismatchError,
  RetiredSiteError,
  RunCancelledError,
  ShutdownError,
  StaleOwnerError,
  StalledError,
  StoreError,
} from "../errors.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import { describe, judge } from "../journal/judge.js";
import { escapePart } from "../scope/key.js";
import type { ModuleTable, Place } from "../scope/module-table.js";
import { outsideRuns } from "../scope/outside.js";
import { inMark, type RunScope, type StepExtent, WorkflowBody } from "../scope/place.js";
import { state } from "../scope/process-state.js";
import type { Message, RunChange, Store } from "../stores/store.js";
import { anyChanged, Build, isSameSite, rootModule, rootOf, whereabouts } from "./build.js";
import { type Call, type CallRequest, newCall, placeOf } from "./call.js";
import { DeliveredFailures } from "./failures.js";
import { encodeError, type Outcome } from "./outcome.js";
import type { RecordedCall, RunRecordView } from "./record.js";
import { Replay } from "./replay.js";
import { WaitingRoom } from "./waiting-room.js";

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
  record: RunRecordView;
  /** Keys of failed calls that are to be run again. */
  rerun: ReadonlySet<string>;
  /** Takes ownership again after a pause; rejects if another process has had it since `fence`. */
  reclaim(fence: number): Promise<number>;
  /** Called with each durable entry, in journal order. */
  onEntry(entry: Entry): void;
  /** Called whenever `phase`, `waiting` or `stalled` changed. */
  onChange(): void;
}

/** How a run ended in this process. */
export type Ending =
  | { status: "completed"; output: string }
  | { status: "failed"; error: unknown }
  | { status: "cancelled" }
  /** The run goes on elsewhere, or later: this process only stopped driving it. */
  | { status: "left"; error: Error };

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
  private result: { ok: true; value: unknown } | { ok: false; error: unknown } | undefined;
  private readonly replay: Replay;
  private readonly claimed = new Set<string>();
  /** Keys of the calls that step bodies made, by the step's key. */
  private readonly inner = new Map<string, Set<string>>();
  /** Those of them that have started and have no durable outcome. */
  private readonly unsettled = new Map<string, Call>();
  /** Calls that the record does not answer and that have not started. */
  private wanted: Call[] = [];
  /** Calls whose bodies run, by key. */
  private readonly inFlight = new Map<string, Call>();
  /** Failed calls whose failure nobody has dealt with: it was recorded and not delivered, or is to be tried again. */
  private readonly unseenFailures: Set<string>;
  /** Durable outcomes that wait for their turn, in journal order. */
  private readonly ready: Array<{ call: Call; outcome: Outcome }> = [];
  private saves = 0;
  private lastSave: Promise<unknown> = Promise.resolve();
  private nextSeq: number;
  private fence: number;
  /** While nothing can go on until an answer or a timer comes, ownership is given up. */
  private ownership: "held" | "giving up" | "given up" = "held";
  private givingUp: Promise<unknown> = Promise.resolve();
  private reclaiming: Promise<void> | undefined;
  private scheduled = false;
  private disarm: (() => void) | undefined;
  private lastModule: ModuleTable | undefined;
  /** Paths of the modules whose code has taken part in this process. */
  private readonly present = new Set<string>();
  private readonly known = new Map<Place, string>();
  /** Calls that another build recorded and that this one has not asked for; undefined until a body wants to start. */
  private unasked: RecordedCall[] | undefined;
  private readonly newModules = new Map<string, string>();
  private root: string | undefined;
  private rootRecorded: boolean;

  constructor(private readonly options: ExecutionOptions) {
    this.replay = new Replay(options.record);
    this.unseenFailures = new Set(options.rerun);
    this.nextSeq = options.record.lastSeq + 1;
    this.rootRecorded = options.record.root !== undefined;
    this.fence = options.fence;
    this.ended = new Promise((resolve) => {
      this.ending = resolve;
    });
  }

  /** The fence under which this process owns the run now, if it does. */
  get ownedFence(): number | undefined {
    return this.open && this.ownership === "held" ? this.fence : undefined;
  }

  /** The first part of every key of the run. */
  get rootKey(): string {
    return escapePart(this.options.workflow);
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

  get open(): boolean {
    return this.phase !== "closed";
  }

  /** Whether nothing goes on until an answer or a timer comes, and the store says so. */
  get waiting(): boolean {
    return this.open && this.ownership === "given up" && this.saves === 0 && this.wanted.length === 0;
  }

  /** Runs the workflow's function from the top. */
  begin(fn: (input: unknown) => unknown, input: unknown): void {
    state.liveRuns++;
    const body = new WorkflowBody(this, escapePart(this.options.workflow), "", null, null);
    const finished = inMark(body, async () => fn(input));
    finished.then(
      (value) => this.settle({ ok: true, value }),
      (error) => this.settle({ ok: false, error }),
    );
    this.schedule();
  }

  contribute(module: ModuleTable): void {
    if (module === this.lastModule) return;
    this.lastModule = module;
    this.present.add(module.path);
    if (this.options.record.modules.get(module.path) !== module.text) this.newModules.set(module.path, module.text);
  }

  whereabouts(module: ModuleTable, place: Place): string {
    let digest = this.known.get(place);
    if (digest === undefined) {
      digest = whereabouts(this.root, module, place);
      this.known.set(place, digest);
    }
    return digest;
  }

  setRoot(module: ModuleTable, place: Place): void {
    this.root = rootOf(module, place.container === "" ? place.anchor : `${place.container}>${place.anchor}`);
  }

  /** Takes a call: its promise settles when its outcome has its turn, or never, if the run ends before. */
  ask(request: CallRequest): Promise<unknown> {
    const recorded = this.replay.find(request.key);
    const call = newCall(request, recorded);
    if (!this.accepts(request.within)) return call.promise;
    if (this.claimed.has(request.key)) {
      this.fatal(duplicate(this.id, request));
      return call.promise;
    }
    this.claimed.add(request.key);
    if (request.within !== null) this.noteInner(request.within.key, request.key);
    const underWay = this.unsettled.get(request.key);
    if (underWay !== undefined) {
      underWay.heir = call;
      return call.promise;
    }
    if (recorded !== undefined) {
      if (!this.check(call, recorded.outcome ?? recorded.open)) return call.promise;
      recorded.asked = true;
    }
    if (recorded?.outcome !== undefined) this.replay.ask(call);
    else this.wanted.push(call);
    this.wake();
    return call.promise;
  }

  /** Ends the run with an error that no code of the workflow can catch. */
  fatal(error: Error): void {
    if (this.phase !== "running" && this.phase !== "returning") return;
    this.result = { ok: false, error };
    this.fail();
  }

  /** Ends the run for good. */
  async cancel(): Promise<void> {
    if (this.phase === "closed") return;
    this.abort.abort(new RunCancelledError(this.id));
    const saves = this.lastSave;
    this.close();
    await saves;
    await this.write([], { status: "cancelled", output: null, error: null, culprits: null, release: true });
    this.ending({ status: "cancelled" });
  }

  /** Stops driving the run and gives it up; what bodies in flight still do is not recorded. */
  async leave(error: Error = new ShutdownError(this.id)): Promise<void> {
    if (this.phase === "closed") return;
    const owned = this.ownership === "held";
    const saves = this.lastSave;
    this.abort.abort(error);
    this.close();
    await saves;
    if (owned && !(error instanceof StaleOwnerError)) await this.write([], { release: true });
    this.ending({ status: "left", error });
  }

  // --- what live calls use -----------------------------------------------------------------------------------------

  /** A body has started. */
  started(call: Call): void {
    this.inFlight.set(call.key, call);
  }

  /** Writes the outcome of a call and delivers it in its turn. */
  finished(call: Call, outcome: Outcome, details: Partial<Entry>): void {
    if (this.phase === "closed") return;
    const causes = outcome.state === "failed" ? details.causes : undefined;
    this.save(call, { ...details, state: outcome.state, value: outcome.value, causes }, () => {
      this.inFlight.delete(call.key);
      if (outcome.state === "done") this.forgetInner(call.key);
      if (outcome.state === "failed") this.unseenFailures.add(call.key);
      else this.unseenFailures.delete(call.key);
      this.ready.push({ call, outcome });
    });
  }

  /** A step's body begins again: what was done in it is used again, what is under way is joined, what failed starts over. */
  renew(key: string): void {
    this.wanted = this.wanted.filter((call) => call.within?.over !== true);
    for (const inner of this.inner.get(key) ?? []) {
      this.claimed.delete(inner);
      this.renew(inner);
    }
    this.replay.forgetFailures(key);
  }

  /** Announces an attempt, an open wait or a timer; `then` runs when that is durable. */
  announce(call: Call, state: "attempt" | "open", details: Partial<Entry>, then: () => void): void {
    if (this.phase !== "closed") this.save(call, { ...details, state }, then);
  }

  /** Takes answers out of the run's inbox for the waits that are open. */
  async readInbox(): Promise<void> {
    if (this.phase !== "running" || this.waits.open.size === 0) return;
    let messages: Message[];
    try {
      messages = await this.options.store.inbox(this.id);
    } catch (error) {
      return this.broken(error);
    }
    // The inbox was read across a pause of this code: only now is it certain which waits are open.
    if (this.phase !== "running") return;
    for (const message of messages) {
      // What fell due before the answer came was first, also if no process was there to see it.
      this.waits.fireDue(Math.min(message.at, this.clock.now()));
      this.take(message);
    }
  }

  private take(message: Message): void {
    for (const { wait } of this.waits.match([message])) {
      this.wake();
      this.save(
        wait.call,
        {
          name: wait.name,
          state: "done",
          value: message.value,
          attempt: 1,
          startedAt: wait.since,
          endedAt: message.at,
        },
        () => this.ready.push({ call: wait.call, outcome: { state: "done", value: message.value } }),
        { consume: [message.number] },
      );
    }
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
    if (this.scheduled || this.phase === "closed") return;
    this.scheduled = true;
    outsideRuns(() =>
      setImmediate(() => {
        this.scheduled = false;
        this.turn();
      }),
    );
  }

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
      for (const call of calls) {
        if (call.within !== null) this.unsettled.set(call.key, call);
        call.start(this, call);
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

  /** What the workflow asked for before it returned is still done; after a failure nothing new starts, but for what bodies in flight need. */
  private mayStart(): boolean {
    if (this.wanted.length === 0) return false;
    if (this.phase === "failing") this.wanted = this.wanted.filter((call) => this.inFlightBody(call.within));
    return this.phase !== "running" || !(this.replay.unfinished || this.isInDoubt());
  }

  /** Whether this process owns the run; if a pause gave it up, sets out to take it back. */
  private owns(): boolean {
    if (this.ownership === "held") return true;
    this.reclaim().then(
      () => this.wake(),
      (error) => this.broken(error),
    );
    return false;
  }

  private reclaim(): Promise<void> {
    this.reclaiming ??= this.givingUp
      .then(() => this.options.reclaim(this.fence))
      .then((fence) => {
        this.fence = fence;
        this.ownership = "held";
        this.reclaiming = undefined;
      });
    return this.reclaiming;
  }

  private deliver(asked: Call, outcome: Outcome): void {
    let call = asked;
    while (call.heir !== undefined) call = call.heir;
    if (this.phase !== "running" && !this.inFlightBody(call.within)) return;
    let value: unknown;
    try {
      value = this.codec.decode(outcome.value);
    } catch (error) {
      return this.fatal(undecodable(this.id, call, error));
    }
    this.unseenFailures.delete(call.key);
    if (outcome.state === "done") return call.resolve(value);
    this.failures.add(value, call.key);
    call.reject(value);
  }

  /** There is nothing to deliver and nothing to start: what does the run wait for? */
  private rest(): void {
    if (this.saves > 0 || this.scheduled || this.disarm || this.ready.length > 0) return;
    if (this.inFlight.size > 0) {
      if (this.phase === "running" && this.wanted.length === 0 && this.bodiesAllAsk()) this.pause();
    } else if (this.phase !== "running") {
      void this.finish();
    } else if (this.replay.peek() !== undefined || this.wanted.length > 0) {
      this.heldBack();
    } else if (this.waits.open.size > 0) {
      this.pause();
    } else if (this.waits.timers === 0) {
      this.arm(this.options.stallAfter, () => this.stall());
    }
  }

  /** Whether each body in flight has an open question, or a body inside it has. */
  private bodiesAllAsk(): boolean {
    const asking = new Set<string>();
    for (const { call } of this.waits.open.values()) {
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
    if (missing[0] !== undefined && this.changedSince(missing[0])) {
      const old = missing.filter((call) => this.changedSince(call));
      const retired = acceptEdits ? [] : this.retired(old);
      if (retired.length > 0) return this.fatal(retiredError(this.id, retired));
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
    const asked = `${describe(asking.site)} (key ${asking.key})`;
    this.fatal(
      new DivergenceError(
        `The code is unchanged but took another path: ${describe(missing.site)} is recorded next and was not asked for; ${asked} was`,
        { runId: this.id, key: missing.key, at: placeOf(missing.site) },
      ),
    );
  }

  /** Those of the calls that this build has no way to. */
  private retired(calls: readonly RecordedCall[]): RecordedCall[] {
    const then = this.options.record.root;
    // Where the workflow has moved to another file, what is left in the old one is an old build, unless it takes part.
    const left = rootModule(then) === rootModule(this.root) ? undefined : rootModule(then);
    const modules = [...state.modules.values()].filter(({ path }) => path !== left || this.present.has(path));
    const build = new Build(this.root, modules);
    return calls.filter(({ site, chain }) => site !== undefined && !build.reaches(site, chain, then));
  }

  /** Whether the code was edited so that a body that wants to start may do recorded work again. */
  private isInDoubt(): boolean {
    if (this.options.acceptEdits) return false;
    if (this.unasked === undefined) {
      this.unasked = this.replay.unasked().filter((call) => this.changedSince(call));
      const retired = this.retired(this.unasked);
      if (retired.length > 0) {
        this.fatal(retiredError(this.id, retired));
        return true;
      }
    }
    return this.suspects() !== undefined;
  }

  /** A call that wants to start, and recorded work of the same site, with the same arguments, that nobody asked for. */
  private suspects(): { call: Call; recorded: RecordedCall } | undefined {
    if (this.unasked === undefined || this.unasked.length === 0) return undefined;
    this.unasked = this.unasked.filter(({ asked }) => !asked);
    for (const call of this.wanted) {
      const recorded = this.unasked.find((other) => this.isSameWork(call, other));
      if (recorded !== undefined) return { call, recorded };
    }
    return undefined;
  }

  private isSameWork({ kind, site, args, chain }: Call, recorded: RecordedCall): boolean {
    if (kind !== "step" || site === undefined || recorded.site === undefined || chain === "") return false;
    if ((recorded.outcome ?? recorded.open)?.kind !== kind || recorded.args !== args) return false;
    return isSameSite(recorded.site, this.options.record.root, site, this.root);
  }

  private mistaken(): void {
    const found = this.suspects();
    if (found === undefined) return this.schedule();
    const { call, recorded } = found;
    this.fatal(
      new AmbiguousSiteError(
        `The code changed and asks for ${describe(call.site)} as ${call.key}, while the record holds the same call as ${recorded.key}, which was not asked for`,
        { runId: this.id, key: call.key, at: placeOf(call.site) },
      ),
    );
  }

  /** Whether the code is another than the one that recorded the call; a run may have met several builds. */
  private changedSince({ build }: RecordedCall): boolean {
    return this.options.record.root !== this.root || anyChanged(build, state.modules);
  }

  private pause(): void {
    if (this.ownership !== "held") return;
    this.ownership = "giving up";
    const given = this.options.store.append(this.id, this.fence, [], { status: "waiting", release: true });
    this.givingUp = given.catch(() => {});
    given.then(
      () => {
        if (this.ownership === "giving up") this.ownership = "given up";
        this.options.onChange();
      },
      (error) => this.broken(error),
    );
  }

  private stall(): void {
    this.stalled = new StalledError(
      "Nothing is under way and nothing is awaited that could go on, but the workflow has not returned",
      {
        runId: this.id,
      },
    );
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

  private settle(result: { ok: true; value: unknown } | { ok: false; error: unknown }): void {
    if (this.phase !== "running") return;
    this.result = result;
    if (!result.ok) return this.fail();
    this.phase = "returning";
    this.wake();
  }

  private fail(): void {
    this.phase = "failing";
    this.abort.abort(this.result!.ok ? undefined : this.result!.error);
    this.wake();
    if (this.inFlight.size === 0) return;
    const stop = this.clock.after(this.options.drain, () => {
      this.inFlight.clear();
      this.wake();
    });
    void this.ended.then(stop);
  }

  private async finish(): Promise<void> {
    let change: RunChange;
    let ending: Ending;
    const result = this.result!;
    this.close();
    try {
      if (!result.ok) throw result.error;
      const output = this.codec.encode(result.value);
      change = { status: "completed", output, error: null, culprits: null };
      ending = { status: "completed", output };
    } catch (error) {
      const encoded = encodeError(this.codec, error);
      const culprits = new Set([...this.failures.heldBy(error), ...this.unseenFailures]);
      change = { status: "failed", output: null, error: encoded, culprits: [...culprits] };
      ending = { status: "failed", error: isOurs(error) ? error : this.codec.decode(encoded) };
    }
    try {
      await this.write([], { ...change, ...this.report(), release: true });
      this.ending(ending);
    } catch (error) {
      this.ending({ status: "left", error: storeError(this.id, error) });
    }
  }

  /** What the run's record says of the replay: entries that nobody asked for, calls answered although edited. */
  private report(): Pick<RunChange, "orphans" | "edited"> {
    return { orphans: this.replay.orphans().map(({ key }) => key), edited: this.edited };
  }

  private close(): void {
    if (this.phase === "closed") return;
    this.phase = "closed";
    this.disarm?.();
    this.waits.clear();
    state.liveRuns--;
  }

  /** The store failed or refused: what is not written does not count, and nothing more can be. */
  private broken(error: unknown): void {
    if (this.phase === "closed") return;
    this.abort.abort(error);
    this.close();
    this.ending({ status: "left", error: storeError(this.id, error) });
  }

  // --- the journal -------------------------------------------------------------------------------------------------

  private save(call: Call, details: Partial<Entry> & Pick<Entry, "state">, then: () => void, change?: RunChange): void {
    const now = this.clock.now();
    const entry: Entry = {
      seq: this.nextSeq++,
      key: call.key,
      kind: call.kind,
      args: call.args === "" ? undefined : call.args,
      site: call.site,
      chain: call.chain === "" ? undefined : call.chain,
      within: call.within?.key,
      attempt: 1,
      startedAt: now,
      endedAt: now,
      ...details,
    };
    if (this.newModules.size > 0) {
      entry.modules = [...this.newModules];
      this.newModules.clear();
    }
    if (!this.rootRecorded) {
      this.rootRecorded = true;
      entry.root = this.root;
    }
    this.saves++;
    const written = this.write([entry], change);
    // An outcome must not be seen before the entries that come before it in the journal are durable.
    const durable = Promise.all([this.lastSave, written]);
    this.lastSave = durable.catch(() => {});
    durable.then(
      () => {
        this.saves--;
        this.options.onEntry(entry);
        if (this.phase === "closed") return;
        if (call.within !== null) this.remember(call, entry);
        then();
        this.wake();
      },
      (error) => this.broken(error),
    );
  }

  /** Keeps the outcome of a call that a step's body made, for the next attempt of that body. */
  private remember(call: Call, entry: Entry): void {
    if (entry.state === "open" || entry.state === "attempt") return;
    this.unsettled.delete(call.key);
    this.replay.learn(entry);
  }

  private async write(entries: Entry[], change?: RunChange): Promise<void> {
    if (this.ownership !== "held") {
      await this.reclaim();
      change = { status: "running", ...change };
    }
    await this.options.store.append(this.id, this.fence, entries, change);
  }

  // --- checks ------------------------------------------------------------------------------------------------------

  private noteInner(outer: string, key: string): void {
    const keys = this.inner.get(outer);
    if (keys === undefined) this.inner.set(outer, new Set([key]));
    else keys.add(key);
  }

  /** A step is over, so that its body will not ask again. */
  private forgetInner(outer: string): void {
    for (const key of this.inner.get(outer) ?? []) this.replay.forget(key);
    this.inner.delete(outer);
  }

  private accepts(within: StepExtent | null): boolean {
    if (within?.over) return false;
    return this.phase === "running" || this.inFlightBody(within);
  }

  private inFlightBody(within: StepExtent | null): boolean {
    return within !== null && this.phase !== "closed" && this.inFlight.has(within.key);
  }

  private check(call: Call, entry: Entry | undefined): boolean {
    if (entry === undefined) return true;
    const { record, acceptEdits } = this.options;
    const verdict = judge(entry, call, record.root !== this.root, acceptEdits);
    if (verdict.hit) {
      if (verdict.edited) this.edited.push(call.key);
      return true;
    }
    const place = { runId: this.id, key: call.key, at: placeOf(call.site) };
    this.fatal(
      verdict.reason === "ambiguous"
        ? new AmbiguousSiteError(verdict.what, place)
        : new ReplayMismatchError(
            verdict.what,
            'Give the call the arguments that it was recorded with; if the code was edited on purpose, `resume(id, { accept: "edits" })`.',
            place,
          ),
    );
    return false;
  }
}

function duplicate(runId: string, request: CallRequest): DuplicateKeyError {
  return new DuplicateKeyError(
    `Two calls of one run have the same key`,
    "Give each call an explicit `key` of its own (it must be unique within the run or the step body around it).",
    { runId, key: request.key, at: placeOf(request.site) },
  );
}

function retiredError(runId: string, calls: readonly RecordedCall[]): RetiredSiteError {
  const sites = calls.map(({ site, key }) => `${describe(site)} as ${key}`);
  return new RetiredSiteError(
    `${calls.length} recorded call${calls.length > 1 ? "s have" : " has"} no site in this build: ${sites.join(", ")}`,
    { runId, key: calls[0]!.key },
  );
}

function undecodable(runId: string, call: Call, error: unknown): DecodeError {
  return new DecodeError(
    `The recorded outcome cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    "Resume the run with the code and the codec that recorded it.",
    { runId, key: call.key, at: placeOf(call.site), cause: error },
  );
}

function storeError(runId: string, error: unknown): Error {
  if (isOurs(error)) return error;
  return new StoreError(`The store failed: ${error instanceof Error ? error.message : String(error)}`, {
    runId,
    cause: error,
  });
}

function isOurs(error: unknown): error is Error {
  return error instanceof Error && typeof (error as { code?: unknown }).code === "string" && "runId" in error;
}
