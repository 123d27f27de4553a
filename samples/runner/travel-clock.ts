/** A clock for runs that take days: time stands still while code works, and jumps to the next timer when it is told to. */
import type { Clock } from "stepmark";

export class TravelClock implements Clock {
  private readonly timers = new Set<{ at: number; ring: () => void }>();

  /** @param time milliseconds since the epoch */
  constructor(private time: number) {}

  now(): number {
    return this.time;
  }

  after(ms: number, callback: () => void, background = false): () => void {
    // Nobody waits for it, and there is no need to hurry on for its sake.
    if (background) return () => {};
    const timer = { at: this.time + ms, ring: callback };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  /** Jumps to the next timer and lets it ring, or to `until`, if there is none before. Returns whether there was one. */
  jump(until: number): boolean {
    const [next] = [...this.timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
    this.time = Math.max(this.time, next?.at ?? until);
    if (next === undefined) return false;
    this.timers.delete(next);
    next.ring();
    return true;
  }
}
