/** How long nothing may happen before something is done about it: one limit at a time, and whatever happens lifts it. */
import type { Clock } from "../clock.js";

export class Patience {
  private cancel: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** Whether there is a limit at the moment. */
  get isLimited(): boolean {
    return this.cancel !== undefined;
  }

  /**
   * @param ms the limit in milliseconds
   * @param then what is done when it is reached
   */
  limit(ms: number, then: () => void): void {
    this.cancel = this.clock.after(ms, () => {
      this.cancel = undefined;
      then();
    });
  }

  lift(): void {
    this.cancel?.();
    this.cancel = undefined;
  }
}
