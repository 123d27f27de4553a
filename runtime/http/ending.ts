/** Waits for the end of a run, but not for ever. */
import { clearTimeout, setTimeout } from "node:timers";
import type { RunEvent } from "../app/events.js";

/**
 * Resolves when the run has ended or this process can no longer tell, when so much time has passed, or when nobody wants to
 * know any more.
 *
 * @param events of the run; the listener is ended with the waiting
 * @param limit milliseconds
 * @param signal aborted when whoever asks has gone
 * @throws what reading the events throws
 */
export function untilEnd(
  events: AsyncIterator<RunEvent, undefined>,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve();
      void events.return?.();
    };
    const timer = setTimeout(stop, limit);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    lastOf(events).then(
      (last) => {
        // A stalled run may go on after all, and whoever asks again and again is not to be answered at once each time.
        if (last?.type !== "run.stalled") stop();
      },
      (error) => {
        reject(error);
        stop();
      },
    );
  });
}

async function lastOf(events: AsyncIterator<RunEvent, undefined>): Promise<RunEvent | undefined> {
  let last: RunEvent | undefined;
  for (;;) {
    const { value, done } = await events.next();
    if (done) return last;
    last = value;
  }
}
