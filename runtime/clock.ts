/** Time as the runtime sees it; replace it in tests to move time by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `callback` once, `ms` milliseconds from now; returns the way to cancel.
   *
   * @param background nobody waits for it: it need not keep the process alive
   */
  after(ms: number, callback: () => void, background?: boolean): () => void;
}

// Taken when the module loads, so that test tools that replace the globals later cannot stop the runtime.
const { setTimeout, clearTimeout } = globalThis;
const readTime = Date.now;

/** The longest delay a platform timer takes; longer ones are reached in stretches. */
const longest = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => readTime(),
  after(ms, callback, background = false) {
    let timer: NodeJS.Timeout;
    const until = readTime() + ms;
    const arm = (): void => {
      const left = until - readTime();
      timer = left > longest ? setTimeout(arm, longest) : setTimeout(callback, Math.max(0, left));
      if (background) timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
