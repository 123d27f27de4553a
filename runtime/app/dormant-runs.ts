/**
 * Runs that wait and have left memory: what is kept of them is when they go on by themselves, and who wants to know.
 * A message that comes through this app, a timer that is due, or the app's taking the run up again wakes them.
 */
import type { Clock } from "../clock.js";
import { RunOwnedError, ShutdownError } from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import { storeFailure } from "../run/end/refusals.js";
import { ChangingFeed, type EventFeed, EventStream, type Reader } from "./event-stream.js";
import { brokenOff, type EventOptions, type RunEvent } from "./events.js";
import type { RunSource } from "./run.js";
import type { RunInfo } from "./run-info.js";

/** How often the store is asked whether another process has gone on with a run that somebody waits for, in milliseconds. */
const lookInterval = 10_000;

export interface DormantRunsOptions {
  clock: Clock;
  codec: Codec;
  /** Takes a run up again. */
  wake(id: string): Promise<unknown>;
  /** What the store tells of a run. */
  stored(id: string): RunSource & EventFeed;
  /** Where news of a run come from now. */
  current(id: string): RunSource & EventFeed;
  /** Whether another process has had the run since `fence`. */
  isTaken(id: string, fence: number): Promise<boolean>;
  /** Told of runs that could not be taken up, if nobody waits for them. */
  onError(error: unknown): void;
}

/** Somebody who waits until a run is no longer dormant. */
interface Waiter {
  over(): void;
  /** It could not be taken up. */
  fail(error: unknown): void;
}

/** All that is kept of a dormant run, of which there may be very many. */
interface Dormant {
  /** The last ownership under which this process had the run. */
  readonly fence: number;
  /** When the run goes on by itself, in milliseconds since the epoch. */
  readonly due: number | undefined;
  /** Absent while nobody waits. */
  waiters?: Set<Waiter>;
}

/** Listeners of dormant runs: those that wait until their run goes on, and those that the store has more for. */
interface Listeners {
  readonly parked: WeakMap<Reader, Waiter>;
  readonly behind: WeakMap<Reader, EventFeed>;
}

export class DormantRuns {
  private readonly runs = new Map<string, Dormant>();
  private readonly listeners: Listeners = { parked: new WeakMap(), behind: new WeakMap() };
  private arranging = false;
  /** When the next run is due. */
  private nextDue = Number.POSITIVE_INFINITY;
  private cancelAlarm: (() => void) | undefined;
  private cancelLook: (() => void) | undefined;

  constructor(private readonly options: DormantRunsOptions) {}

  /**
   * @param fence the last ownership under which this process had the run
   * @param due when the run goes on by itself, in milliseconds since the epoch
   */
  add(id: string, fence: number, due: number | undefined): void {
    this.runs.set(id, { fence, due });
    if (due !== undefined && due < this.nextDue) this.arrange();
  }

  get(id: string): (RunSource & EventFeed) | undefined {
    const run = this.runs.get(id);
    return run && new DormantRun(id, run, this.options, this.listeners, () => this.arrange());
  }

  /** The run was taken up, here or elsewhere, or has come to its end. */
  remove(id: string): void {
    const run = this.runs.get(id);
    if (run !== undefined) this.drop(id, run);
  }

  private drop(id: string, run: Dormant): void {
    // It may have been taken up meanwhile, and have left memory again.
    if (this.runs.get(id) !== run) return;
    this.runs.delete(id);
    for (const waiter of run.waiters ?? []) waiter.over();
    if (run.waiters !== undefined || run.due === this.nextDue) this.arrange();
  }

  clear(): void {
    for (const id of [...this.runs.keys()]) this.remove(id);
  }

  /** Takes a run up again, if it is dormant. */
  async wake(id: string): Promise<void> {
    const run = this.runs.get(id);
    if (run === undefined) return;
    try {
      await this.options.wake(id);
      this.drop(id, run);
    } catch (thrown) {
      const error = storeFailure(id, thrown);
      // Whoever has it now goes on with it; or the app is being shut down, which all who wait are told.
      if (isA(error, RunOwnedError) || isA(error, ShutdownError)) return this.drop(id, run);
      if (this.runs.get(id) !== run) return;
      this.runs.delete(id);
      if (!isAwaited(run)) this.options.onError(error);
      for (const waiter of run.waiters ?? []) waiter.fail(error);
      this.arrange();
    }
  }

  /** Sets the clock anew for the runs that there are, once for all that changes now. */
  private arrange(): void {
    if (this.arranging) return;
    this.arranging = true;
    queueMicrotask(() => {
      this.arranging = false;
      this.setAlarm([...this.runs.values()].filter(({ due }) => due !== undefined));
      this.setLook();
    });
  }

  /** The alarm keeps the process alive only for somebody who waits. */
  private setAlarm(timed: readonly Dormant[]): void {
    const { clock } = this.options;
    this.cancelAlarm?.();
    this.cancelAlarm = undefined;
    this.nextDue = timed.reduce((least, { due }) => Math.min(least, due!), Number.POSITIVE_INFINITY);
    if (timed.length === 0) return;
    const background = !timed.some(isAwaited);
    this.cancelAlarm = clock.after(Math.max(0, this.nextDue - clock.now()), () => void this.wakeDue(), background);
  }

  private async wakeDue(): Promise<void> {
    const now = this.options.clock.now();
    // One after the other: they may be many.
    for (const [id, { due }] of [...this.runs]) if (due !== undefined && due <= now) await this.wake(id);
    this.arrange();
  }

  private setLook(): void {
    if ([...this.runs.values()].some(isAwaited)) {
      this.cancelLook ??= this.options.clock.after(lookInterval, () => void this.look(), true);
    } else {
      this.cancelLook?.();
      this.cancelLook = undefined;
    }
  }

  private async look(): Promise<void> {
    this.cancelLook = undefined;
    for (const [id, run] of [...this.runs]) {
      if (!isAwaited(run)) continue;
      // A store that fails is found out by whoever needs it.
      if (await this.options.isTaken(id, run.fence).catch(() => false)) this.drop(id, run);
    }
    this.arrange();
  }
}

function isAwaited({ waiters }: Dormant): boolean {
  return waiters !== undefined && waiters.size > 0;
}

/** A dormant run for those who ask for it. */
class DormantRun implements RunSource, EventFeed {
  constructor(
    private readonly id: string,
    private readonly run: Dormant,
    private readonly options: DormantRunsOptions,
    private readonly listeners: Listeners,
    private readonly changed: () => void,
  ) {}

  result(): Promise<unknown> {
    const { current } = this.options;
    return new Promise((resolve, reject) =>
      this.wait({ over: () => resolve(current(this.id).result()), fail: (error) => reject(error) }),
    );
  }

  settled(): Promise<RunInfo> {
    return this.options.stored(this.id).settled();
  }

  events(options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    const feed = new ChangingFeed(() => this.options.current(this.id));
    return new EventStream(this.id, this.options.codec, feed, options);
  }

  request(reader: Reader): void {
    this.listeners.behind.delete(reader);
    // Whoever has been told that the run waits has had all there is.
    if (!reader.toldWaiting) {
      const feed = this.options.stored(this.id);
      this.listeners.behind.set(reader, feed);
      return feed.request(reader);
    }
    const left = (error: unknown): RunEvent => brokenOff("run.left", this.id, this.options.clock.now(), error);
    const waiter: Waiter = { over: () => reader.retry(), fail: (error) => reader.event(left(error), true) };
    this.listeners.parked.set(reader, waiter);
    this.wait(waiter);
  }

  withdraw(reader: Reader): void {
    this.listeners.behind.get(reader)?.withdraw(reader);
    this.run.waiters?.delete(this.listeners.parked.get(reader)!);
    this.changed();
  }

  private wait(waiter: Waiter): void {
    this.run.waiters ??= new Set();
    this.run.waiters.add(waiter);
    this.changed();
  }
}
