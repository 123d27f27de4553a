/** Calls of a store that takes its time: while one is under way, a test that waits until nothing more happens waits on. */
class UnderWay {
  private count = 0;
  private waiting: Array<() => void> = [];

  /** @returns to be called when it is over */
  begin(): () => void {
    this.count++;
    return () => {
      if (--this.count === 0) for (const resolve of this.waiting.splice(0)) resolve();
    };
  }

  get any(): boolean {
    return this.count > 0;
  }

  /** When none is under way. */
  async over(): Promise<void> {
    while (this.any) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}

export const underWay = new UnderWay();
