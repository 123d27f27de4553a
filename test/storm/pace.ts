/** When disturbances come. */
import { setTimeout as delay } from "node:timers/promises";

/** Each time that so much time has passed, in milliseconds, or that so many more runs have ended. */
export type Pace = { milliseconds: number } | { runs: number };

/** How many runs have ended, for those who wait until there are enough, or the storm is over. */
export class Progress {
  private ended = 0;
  private readonly waiting = new Set<{ until: number; go: () => void }>();

  constructor(readonly over: AbortSignal) {
    over.addEventListener("abort", () => this.set(Number.POSITIVE_INFINITY));
  }

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

  /** Resolves when `runs` more have ended. */
  more(runs: number): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.add({ until: this.ended + runs, go: resolve });
    });
  }
}

/** Does something at a pace, or never, until the storm is over. */
export async function again(pace: Pace | undefined, progress: Progress, work: () => Promise<void>): Promise<void> {
  const { over } = progress;
  while (pace !== undefined && !over.aborted) {
    await ("runs" in pace ? progress.more(pace.runs) : pause(pace.milliseconds, over));
    if (!over.aborted) await work();
  }
}

/** @param milliseconds cut short when the storm is over */
export async function pause(milliseconds: number, over: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal: over }).catch(() => {});
}
