/** When disturbances come. */
import { setTimeout as delay } from "node:timers/promises";

/** Each time that so much time has passed, in milliseconds, or that so many more runs have ended. */
export type Pace = { milliseconds: number } | { runs: number };

/** How many runs have ended, for those who wait until there are enough. */
export class Progress {
  private ended = 0;
  private readonly waiting = new Set<{ until: number; go: () => void }>();

  get count(): number {
    return this.ended;
  }

  set(ended: number): void {
    this.ended = ended;
    for (const each of this.waiting) {
      if (each.until > ended) continue;
      this.waiting.delete(each);
      each.go();
    }
  }

  /** Resolves when `runs` more have ended, or `signal` is aborted. */
  more(runs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.add({ until: this.ended + runs, go: resolve });
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

/** Does something at a pace, or never, until it is over. */
export async function again(
  pace: Pace | undefined,
  progress: Progress,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (pace !== undefined && !signal.aborted) {
    if ("runs" in pace) await progress.more(pace.runs, signal);
    else await pause(pace.milliseconds, signal);
    if (!signal.aborted) await work();
  }
}

/** @param milliseconds cut short when `signal` is aborted */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
}
