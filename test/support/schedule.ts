/** Deterministic schedules: bodies wait for their turn, and a seed decides whose turn it is. */
import { setImmediate } from "node:timers/promises";

/** A small seeded generator of numbers from 0 to 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Schedule {
  private readonly pending: Array<() => void> = [];
  private pumping = false;
  private readonly next: () => number;

  constructor(seed: number) {
    this.next = seeded(seed);
  }

  /** Resolves when the seed says so: one at a time, after everything else has come to rest. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.pending.push(resolve);
      if (!this.pumping) void this.pump();
    });
  }

  private async pump(): Promise<void> {
    this.pumping = true;
    while (this.pending.length > 0) {
      for (let i = 0; i < 4; i++) await setImmediate();
      const [release] = this.pending.splice(Math.floor(this.next() * this.pending.length), 1);
      release!();
    }
    this.pumping = false;
  }
}
