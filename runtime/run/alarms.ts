/** What a run has its clock call back: no longer than it is under way in this process, which may have to end. */
import type { Clock } from "../clock.js";

export class Alarms {
  private readonly set = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  /**
   * Calls back once, `ms` milliseconds from now, unless the run has been closed by then.
   *
   * @returns the way to cancel
   */
  after(ms: number, callback: () => void): () => void {
    const stop = (): void => {
      this.set.delete(stop);
      cancel();
    };
    this.set.add(stop);
    const cancel = this.clock.after(ms, () => {
      this.set.delete(stop);
      callback();
    });
    return stop;
  }

  clear(): void {
    for (const stop of [...this.set]) stop();
  }
}
