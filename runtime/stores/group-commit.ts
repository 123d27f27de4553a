/**
 * Appends that are committed together: those of one tick, and those that come while others are under way. One group is
 * under way at a time, so appends take effect in call order.
 */
import timers from "node:timers";

/** An append that waits for its commit. */
export interface Pending {
  id: string;
  /** Roughly, in bytes. */
  size: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** A group holds no more than this, unless a single append does. */
const mostAppends = 1_000;
const mostBytes = 8_000_000;

// Taken when the module loads, so that test tools that replace timers later cannot stop the store.
const { setImmediate } = timers;

export class GroupCommit<T extends Pending> {
  private readonly waiting: T[] = [];
  /** Settled when it is, of each append that is not. */
  private readonly unsettled = new Map<T, Promise<void>>();
  private busy = false;

  /**
   * @param commit commits a group
   * @returns what is wrong with each append; undefined for those that are durable
   */
  constructor(private readonly commit: (group: readonly T[]) => Promise<ReadonlyArray<Error | undefined>>) {}

  /** @param append all but the ways to settle it */
  add(append: Omit<T, "resolve" | "reject">): Promise<void> {
    const settled = new Promise<void>((resolve, reject) => {
      this.waiting.push({ ...append, resolve, reject } as T);
    });
    const last = this.waiting.at(-1)!;
    const over = settled.then(
      () => void this.unsettled.delete(last),
      () => void this.unsettled.delete(last),
    );
    this.unsettled.set(last, over);
    this.schedule();
    return settled;
  }

  /** When all appends that were made so far are settled: of the runs `ids`, or of all. */
  async settled(ids?: ReadonlySet<string>): Promise<void> {
    if (this.unsettled.size === 0) return;
    await Promise.all([...this.unsettled].filter(([{ id }]) => ids?.has(id) ?? true).map(([, over]) => over));
  }

  private schedule(): void {
    if (this.busy || this.waiting.length === 0) return;
    this.busy = true;
    // At the end of the tick, with all that it still brings.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const group = this.next();
    const outcomes = await this.commit(group).catch((error: Error) => group.map(() => error));
    group.forEach(({ resolve, reject }, index) => {
      const refused = outcomes[index];
      if (refused) reject(refused);
      else resolve();
    });
    this.busy = false;
    this.schedule();
  }

  private next(): T[] {
    let [length, bytes] = [0, 0];
    for (const { size } of this.waiting) {
      bytes += size;
      if (length > 0 && (bytes > mostBytes || length === mostAppends)) break;
      length++;
    }
    return this.waiting.splice(0, length);
  }
}
