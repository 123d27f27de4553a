/**
 * Runs that wait and have left memory. Which they are, and when they go on, is only in the store; here is known when the next of
 * them is due, and who waits for which. A message that comes through this app, a timer that is due, or the app's taking the
 * run up again wakes them.
 */
import { at, type Clock } from "../clock.js";
import { RunOwnedError, ShutdownError, StaleOwnerError, StoreError } from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import { storeFailure } from "../run/end/refusals.js";
import type { KeptRun, Store, Timer } from "../stores/store.js";
import { ChangingFeed, type EventFeed, EventStream, type Reader } from "./event-stream.js";
import { brokenOff, type EventOptions, type RunEvent } from "./events.js";
import type { RunSource } from "./run.js";
import type { RunInfo } from "./run-info.js";

/**
 * How often the store is asked whether another process has gone on with a run that somebody waits for, and after how long
 * a store that has failed is asked again, in milliseconds.
 */
const lookInterval = 10_000;

/** How many timers the store is asked for at once: of those that are due there may be very many. */
const timersAtOnce = 32;

export interface DormantRunsOptions {
  store: Store;
  /** This app, as the runs say by whom they are woken. */
  keeper: string;
  clock: Clock;
  codec: Codec;
  /** Takes a run up again. */
  wake(id: string): Promise<unknown>;
  /** Whether the app is taking a run up. */
  isWaking(id: string): boolean;
  /** What the store tells of a run. */
  stored(id: string): RunSource & EventFeed;
  /** Where news of a run come from now. */
  current(id: string): RunSource & EventFeed;
  /** Told of runs that could not be taken up, if nobody waits for them, and of a store that fails when it is asked for them. */
  onError(error: unknown): void;
}

/** Somebody who waits until a run is no longer dormant. One of these is called, once. */
interface Waiter {
  over(): void;
  /** The run is not dormant here. */
  elsewhere(): void;
  /** It could not be taken up. */
  fail(error: unknown): void;
}

/** The store failed when it was asked whether the run is dormant here, or when it was taken up; or it is not to be tried again. */
type Failure = "asked for" | "taken up" | "refused";

export class DormantRuns {
  /** Who waits, by the run's id. */
  private readonly waiters = new Map<string, Set<Waiter>>();
  /** Runs that somebody waits for and that go on by themselves. */
  private readonly timed = new Set<string>();
  /** Runs that could not be taken up, and why. */
  private readonly failed = new Map<string, Failure>();
  private readonly waking = new Map<string, Promise<void>>();
  /** What the store will be asked for at the end of this tick. */
  private asked: { ids: Set<string>; kept: Promise<Map<string, KeptRun>> } | undefined;
  /** When the next run is due, as far as is known. */
  private nextDue = Number.POSITIVE_INFINITY;
  /** Whether what is due is being woken. */
  private ringing = false;
  /** Whether the store failed when it was asked last. */
  private failing = false;
  private stopped = false;
  private arranging = false;
  private cancelAlarm: (() => void) | undefined;
  private cancelLook: (() => void) | undefined;

  constructor(private readonly options: DormantRunsOptions) {}

  /**
   * A run has left memory.
   *
   * @param due when it goes on by itself, in milliseconds since the epoch
   */
  add(due: number | undefined): void {
    if (due === undefined || due >= this.nextDue) return;
    this.nextDue = due;
    this.arrange();
  }

  /** A run that this app does not drive, dormant or not. */
  of(id: string): RunSource & EventFeed {
    return new DormantRun(id, this.options, this);
  }

  /** The run was taken up, here or elsewhere, or has come to its end. */
  remove(id: string): void {
    this.failed.delete(id);
    for (const waiter of this.takeWaiters(id)) waiter.over();
  }

  /** From now on none is woken. */
  stop(): void {
    this.stopped = true;
    this.arrange();
  }

  /** Turns away all who wait. */
  clear(): void {
    for (const id of [...this.waiters.keys()]) this.remove(id);
  }

  /** A message has come for a run: it is taken up again, if it is dormant. */
  async wake(id: string): Promise<void> {
    if (this.stopped) return;
    try {
      if ((await this.ask(id)) === undefined) return;
    } catch (error) {
      this.failing = true;
      return this.fail(id, storeFailure(id, error), "asked for");
    }
    await this.takeUp(id);
  }

  /** Has `waiter` told when a run is no longer dormant, or at once that it is not. */
  async wait(id: string, waiter: Waiter): Promise<void> {
    if (this.stopped) return waiter.elsewhere();
    // Before the store is asked: what happens to the run meanwhile must not be missed.
    const waiters = this.waiters.get(id) ?? new Set();
    this.waiters.set(id, waiters.add(waiter));
    // A store that fails is found out by whoever asks it for the run.
    const run = await this.ask(id).catch(() => undefined);
    if (!waiters.has(waiter)) return;
    if (run?.due !== undefined) this.timed.add(id);
    this.arrange();
    if (run !== undefined || this.options.isWaking(id)) return;
    this.withdraw(id, waiter);
    waiter.elsewhere();
  }

  withdraw(id: string, waiter: Waiter): void {
    const waiters = this.waiters.get(id);
    if (waiters?.delete(waiter) && waiters.size === 0) this.takeWaiters(id);
  }

  private takeWaiters(id: string): Waiter[] {
    const waiters = this.waiters.get(id);
    if (waiters === undefined) return [];
    this.waiters.delete(id);
    this.timed.delete(id);
    this.arrange();
    const taken = [...waiters];
    waiters.clear();
    return taken;
  }

  /** The run, if it is dormant here. All that are asked for in one tick are asked for together. */
  private async ask(id: string): Promise<KeptRun | undefined> {
    if (this.asked === undefined) {
      const ids = new Set<string>();
      const kept = Promise.resolve().then(async () => {
        this.asked = undefined;
        const runs = await this.options.store.kept(this.options.keeper, [...ids]);
        return new Map(runs.map((run) => [run.id, run]));
      });
      this.asked = { ids, kept };
    }
    const { ids, kept } = this.asked;
    ids.add(id);
    return (await kept).get(id);
  }

  private takeUp(id: string): Promise<void> {
    const under = this.waking.get(id) ?? this.tryUp(id).finally(() => this.waking.delete(id));
    this.waking.set(id, under);
    return under;
  }

  private async tryUp(id: string): Promise<void> {
    try {
      await this.options.wake(id);
      this.remove(id);
    } catch (thrown) {
      const error = storeFailure(id, thrown);
      // Whoever has it now goes on with it; or the app is being shut down, which all who wait are told.
      const isLeft = isA(error, RunOwnedError) || isA(error, StaleOwnerError) || isA(error, ShutdownError);
      if (isLeft) this.remove(id);
      else this.fail(id, error, isA(error, StoreError) ? "taken up" : "refused");
    }
  }

  private fail(id: string, error: Error, failure: Failure): void {
    const isNews = !this.failed.has(id);
    this.failed.set(id, failure);
    if (failure !== "refused") this.askLater();
    const waiters = this.takeWaiters(id);
    if (waiters.length === 0 && isNews) this.options.onError(error);
    for (const waiter of waiters) waiter.fail(error);
  }

  /** The store has failed. When it is back, nothing of the runs need have changed. */
  private askLater(): void {
    this.add(this.options.clock.now() + lookInterval);
  }

  /** Sets the clock anew, once for all that changes now. */
  private arrange(): void {
    if (this.arranging) return;
    this.arranging = true;
    queueMicrotask(() => {
      this.arranging = false;
      this.setAlarm();
      this.setLook();
    });
  }

  /** The alarm keeps the process alive only for somebody who waits. */
  private setAlarm(): void {
    const { clock } = this.options;
    this.cancelAlarm?.();
    this.cancelAlarm = undefined;
    if (this.stopped || this.ringing || this.nextDue === Number.POSITIVE_INFINITY) return;
    const background = this.timed.size === 0;
    this.cancelAlarm = at(clock, this.nextDue, () => void this.ring(), background);
  }

  private async ring(): Promise<void> {
    this.ringing = true;
    this.nextDue = Number.POSITIVE_INFINITY;
    try {
      await this.wakeFailed();
      this.add(await this.wakeDue());
      this.failing = false;
    } catch (error) {
      this.askLater();
      if (!this.failing && !this.stopped) this.options.onError(error);
      this.failing = true;
    }
    this.ringing = false;
    this.arrange();
  }

  /** What woke a run when the store failed may have been a message: no timer would bring it back. */
  private async wakeFailed(): Promise<void> {
    for (const [id, failure] of [...this.failed]) {
      if (this.stopped) return;
      if (failure === "refused") continue;
      if (failure === "taken up" || (await this.ask(id)) !== undefined) await this.takeUp(id);
      else this.failed.delete(id);
    }
  }

  /**
   * Takes up what is due, one after the other: they may be many.
   *
   * @returns when the next one is due
   */
  private async wakeDue(): Promise<number | undefined> {
    const { store, keeper, clock } = this.options;
    for (let last: Timer | undefined; ; ) {
      const timers = await store.timers(keeper, timersAtOnce, last);
      for (const timer of timers) {
        if (this.stopped) return undefined;
        if (timer.due > clock.now()) return timer.due;
        if (!this.failed.has(timer.id)) await this.takeUp(timer.id);
        last = timer;
      }
      if (timers.length < timersAtOnce) return undefined;
    }
  }

  private setLook(): void {
    const { clock } = this.options;
    if (this.waiters.size > 0 && !this.stopped) {
      this.cancelLook ??= clock.after(lookInterval, () => void this.look(), true);
    } else {
      this.cancelLook?.();
      this.cancelLook = undefined;
    }
  }

  private async look(): Promise<void> {
    this.cancelLook = undefined;
    const ids = [...this.waiters.keys()];
    const { store, keeper, isWaking } = this.options;
    // A store that fails is found out by whoever needs it.
    const kept = await store.kept(keeper, ids).catch(() => undefined);
    const here = new Set(kept?.map(({ id }) => id) ?? ids);
    // What this app is taking up itself comes back here.
    for (const id of ids) if (!here.has(id) && !isWaking(id)) this.remove(id);
    this.arrange();
  }
}

/** A run that is not driven here, for those who ask for it. */
class DormantRun implements RunSource, EventFeed {
  /** How listeners are sent away that wait for it. */
  private readonly withdrawals = new WeakMap<Reader, () => void>();

  constructor(
    private readonly id: string,
    private readonly options: DormantRunsOptions,
    private readonly runs: DormantRuns,
  ) {}

  result(): Promise<unknown> {
    const { current, stored } = this.options;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        over: () => resolve(current(this.id).result()),
        elsewhere: () => resolve(stored(this.id).result()),
        fail: reject,
      };
      void this.runs.wait(this.id, waiter);
    });
  }

  settled(): Promise<RunInfo> {
    return this.options.stored(this.id).settled();
  }

  events(options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    const feed = new ChangingFeed(() => this.options.current(this.id));
    return new EventStream(this.id, this.options.codec, feed, options);
  }

  request(reader: Reader): void {
    // Whoever has been told that the run waits has had all there is.
    if (!reader.toldWaiting) return this.passOn(reader);
    const left = (error: unknown): RunEvent => brokenOff("run.left", this.id, this.options.clock.now(), error);
    const waiter: Waiter = {
      over: () => reader.retry(),
      elsewhere: () => this.passOn(reader),
      fail: (error) => reader.event(left(error), true),
    };
    this.withdrawals.set(reader, () => this.runs.withdraw(this.id, waiter));
    void this.runs.wait(this.id, waiter);
  }

  withdraw(reader: Reader): void {
    this.withdrawals.get(reader)?.();
  }

  private passOn(reader: Reader): void {
    const stored = this.options.stored(this.id);
    this.withdrawals.set(reader, () => stored.withdraw(reader));
    stored.request(reader);
  }
}
