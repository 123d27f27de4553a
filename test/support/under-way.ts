/** Calls of a store that takes its time: while one is under way, a test that waits until nothing more happens waits on. */
class UnderWay {
  private count = 0;

  /** @returns to be called when it is over */
  begin(): () => void {
    this.count++;
    return () => {
      this.count--;
    };
  }

  get any(): boolean {
    return this.count > 0;
  }
}

export const underWay = new UnderWay();
