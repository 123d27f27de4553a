/** Decides, by a seed, what happens next: everything that a simulated run waits for comes here for its turn. */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "stepmark";
import { seeded } from "../support/schedule.js";
import { underWay } from "../support/under-way.js";

/** So many macrotasks without anything to do, and only time can bring more. */
const quietAfter = 12;

/** So many, and nothing will ever happen again. */
const hopelessAfter = 300;

/** So many timers, one after the other, that bring nothing, and only those are left that look for news again and again. */
const vainTimers = 200;

/** Timers that are due sooner than this, in milliseconds, may fire before other things that could happen. */
const soon = 100;

export class Scheduler implements Clock {
  private readonly next: () => number;
  private readonly waiting: Array<() => void> = [];
  private timers: Array<{ at: number; callback: () => void }> = [];

  constructor(
    seed: number,
    private time: number,
  ) {
    this.next = seeded(seed);
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Resolves when the seed says so. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  now(): number {
    return this.time;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.time + ms, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((each) => each !== timer);
    };
  }

  /**
   * Lets things happen until `over`.
   *
   * @param offers what else could be done now
   * @param progress a number that changes as long as something happens of itself
   * @returns whether it came to an end; if not, nothing is left that could happen
   */
  async run(over: () => boolean, offers: () => Array<() => void>, progress: () => number): Promise<boolean> {
    let last = progress();
    let vain = 0;
    for (let quiet = 0; ; quiet++) {
      for (let i = this.below(3); i >= 0; i--) await setImmediate();
      // A store that is a real one takes its time, and that is nothing to choose from.
      while (underWay.any) {
        await underWay.over();
        await setImmediate();
      }
      if (over()) return true;
      const choices = [...this.turns(), ...this.dueSoon(), ...offers()];
      if (choices.length === 0) {
        if (progress() !== last) quiet = vain = -1;
        last = progress();
        if (quiet < quietAfter) continue;
        if (++vain > vainTimers) return false;
        if (!this.fireNext()) {
          if (quiet < hopelessAfter) continue;
          return false;
        }
      } else choices[this.below(choices.length)]!();
      quiet = -1;
    }
  }

  private turns(): Array<() => void> {
    return this.waiting.map((resolve) => () => {
      this.waiting.splice(this.waiting.indexOf(resolve), 1);
      resolve();
    });
  }

  private dueSoon(): Array<() => void> {
    return this.timers.some(({ at }) => at <= this.time + soon) ? [() => this.fireNext()] : [];
  }

  private fireNext(): boolean {
    const [first] = this.timers.sort((a, b) => a.at - b.at);
    if (first === undefined) return false;
    this.timers.shift();
    this.time = Math.max(this.time, first.at);
    first.callback();
    return true;
  }
}
