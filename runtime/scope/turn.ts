/** How functions were entered whose keys the order of entries has a part in. */

/** How a function was entered whose key the order of entries has a part in. */
export interface FrameEntry {
  /** Of a closure that goes by the number of its entries: key of its frames without the number. */
  readonly closure: string | undefined;
  /** Key of the frame that was opened. */
  readonly entered: string;
  /** What tells the entry apart: key of the place that entered the closure, the turn of what has waited in a queue. */
  readonly caller: string;
  /** Whether it was entered while other calls waited in the same queue. */
  readonly queued?: boolean;
}

/** An entry by rule 3 in the async extent of a call, whose callee may have begun in it what waited. */
export class Turn {
  private told = false;
  private known: FrameEntry | undefined;

  private readonly around: FrameEntry | undefined;

  /**
   * @param call in whose extent it is
   * @param key of the frame that is opened
   * @param given entry of the frame around
   */
  constructor(
    private readonly call: { enter(): string | undefined },
    private readonly key: string,
    given: FrameEntry | Turn | undefined,
  ) {
    this.around = given instanceof Turn ? given.around : given;
  }

  /** Found out when the first call in it needs an identity: most functions that are entered have none, and wait for no turn. */
  get entry(): FrameEntry | undefined {
    if (!this.told) {
      this.told = true;
      this.known = this.find();
    }
    return this.known;
  }

  private find(): FrameEntry | undefined {
    const { around } = this;
    const other = this.call.enter();
    if (other === undefined) return around;
    return {
      closure: around?.closure,
      entered: this.key,
      caller: `${around?.caller ?? ""}~${other}`,
      queued: true,
    };
  }
}
