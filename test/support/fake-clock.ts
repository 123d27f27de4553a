/** A clock that moves by hand. */
import type { Clock } from "stepmark";
import { rest } from "./kill.js";

export class FakeClock implements Clock {
  private time: number;
  private timers: Array<{ at: number; callback: () => void }> = [];

  constructor(start = 0) {
    this.time = start;
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

  /** Moves on by `ms`, letting each timer's consequences happen before the next fires. */
  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    await rest();
    for (;;) {
      const [next] = this.timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.timers = this.timers.filter((each) => each !== next);
      this.time = Math.max(this.time, next.at);
      next.callback();
      await rest();
    }
    this.time = until;
    await rest();
  }
}
