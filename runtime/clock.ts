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
const readSteadyTime = performance.now.bind(performance);

/** The longest delay a platform timer takes, in milliseconds: with a longer one it goes off at once. */
export const longestDelay = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => readTime(),
  after(ms, callback, background = false) {
    let timer: NodeJS.Timeout;
    const until = readTime() + ms;
    const arm = (): void => {
      const left = until - readTime();
      timer = left > longestDelay ? setTimeout(arm, longestDelay) : setTimeout(callback, Math.max(0, left));
      if (background) timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Milliseconds that do not depend on the machine's time of day: nobody can set them. They stand still while the machine sleeps. */
export const steadyClock = { now: readSteadyTime };

/** How long the machine's clock is believed to run on as it does, in milliseconds. */
const stretch = 60_000;

/**
 * Calls `callback` once, when the clock shows `time`: not before, should it be put back meanwhile, and soon after, should it be
 * put forward or the machine sleep, of which its timers know nothing.
 *
 * @param time milliseconds since the epoch
 * @param background as for `Clock.after`
 * @returns the way to cancel
 */
export function at(clock: Clock, time: number, callback: () => void, background?: boolean): () => void {
  let cancel: () => void;
  const look = (): void => {
    const left = time - clock.now();
    if (left <= 0) callback();
    else wait(left);
  };
  const wait = (ms: number): void => {
    cancel = clock.after(clock === systemClock ? Math.min(ms, stretch) : ms, look, background);
  };
  wait(Math.max(0, time - clock.now()));
  return () => cancel();
}

/** A moment in the future, on two clocks: one may be put back, and the other stands still while the machine sleeps. */
export interface Deadline {
  time: number;
  steadyTime: number;
}

/** @param ms from now */
export function deadlineIn(ms: number): Deadline {
  return { time: systemClock.now() + ms, steadyTime: steadyClock.now() + ms };
}

export function isOver({ time, steadyTime }: Deadline): boolean {
  return systemClock.now() >= time || steadyClock.now() >= steadyTime;
}
