/** A clock for tests: time stands still until the test moves it on. */
// Taken when the module loads, so that a test tool that replaces the globals later cannot stop it.
import { setImmediate } from "node:timers";
import { type Duration, milliseconds } from "../calls/duration.js";
import type { Clock } from "../clock.js";

interface Timer {
  at: number;
  readonly ms: number;
  readonly callback: () => void;
  /** Nobody waits for it: a look that is taken every few seconds, say. */
  readonly background: boolean;
}

/** How often the event loop may go round before all has happened that needs nothing from outside. */
const rounds = 20;

/** `new Stepmark({ store: memoryStore(), clock: new FakeClock() })`: sleeps, timeouts, backoffs and `now()` go by it. */
export class FakeClock implements Clock {
  private time: number;
  private readonly timers = new Set<Timer>();

  /** @param start milliseconds since the epoch, or a date */
  constructor(start: number | Date = 0) {
    this.time = Number(start);
  }

  now(): number {
    return this.time;
  }

  after(ms: number, callback: () => void, background = false): () => void {
    const timer = { at: this.time + ms, ms, callback, background };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /**
   * Moves time on. Timers fire in their order, and what each brings about has happened before the next one fires, as far as it
   * needs nothing but the runtime and a memory store: for steps with I/O of their own, await `run.settled()` in between.
   *
   * @throws InvalidArgumentError
   */
  async advance(by: Duration): Promise<void> {
    const until = this.time + milliseconds(by, "the time to move on by");
    /** How often those that are laid on for so long have repeated themselves, and nothing has come of it. */
    const idle = new Map<number, number>();
    await this.rest();
    for (;;) {
      const [next] = [...this.timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      const others = new Set(this.timers);
      others.delete(next);
      this.timers.delete(next);
      this.time = Math.max(this.time, next.at);
      next.callback();
      await this.rest();
      const again = next.background ? onlyRepeated(next, others, this.timers) : undefined;
      if (again === undefined) idle.clear();
      else {
        // Else a month of looks, ten seconds apart, would take the test minutes.
        const times = (idle.get(next.ms) ?? 0) + 1;
        idle.set(next.ms, times);
        again.at = Math.max(again.at, Math.min(until, this.time + next.ms * 2 ** times));
      }
    }
    this.time = until;
    await this.rest();
  }

  protected async rest(): Promise<void> {
    for (let i = 0; i < rounds; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** The timer that has taken the place of one that has fired, if that is all that has become of it. */
function onlyRepeated(fired: Timer, before: ReadonlySet<Timer>, after: ReadonlySet<Timer>): Timer | undefined {
  const again = [...after].find((timer) => !before.has(timer) && timer.background && timer.ms === fired.ms);
  const others = [...after].filter((timer) => timer !== again);
  return timesOf(others) === timesOf(before) ? again : undefined;
}

/** Timers may be set anew for the same time. */
const timesOf = (timers: Iterable<Timer>): string =>
  [...timers]
    .map(({ at }) => at)
    .sort((a, b) => a - b)
    .join();
