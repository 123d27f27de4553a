/**
 * Appends that are committed together: those of one tick, and those that come while others are under way. One group is
 * under way at a time, so appends take effect in call order.
 */
import timers from "node:timers";

export interface Groupable {
  /** The run's. */
  id: string;
  /** Roughly, in bytes. */
  size: number;
}

/** An append that waits for its commit. */
interface Unsettled<T> {
  append: T;
  settled: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/** A group holds no more than this, unless a single append does. */
const mostAppends = 1_000;
const mostBytes = 8_000_000;

// Taken when the module loads, so that test tools that replace timers later cannot stop the store.
const { setImmediate } = timers;

export class GroupCommit<T extends Groupable> {
  /** In the order in which they were made: first those of the group that is under way. */
  private readonly unsettled: Unsettled<T>[] = [];
  private busy = false;

  /**
   * @param commit commits a group
   * @returns what is wrong with each append; undefined for those that are durable
   */
  constructor(private readonly commit: (group: readonly T[]) => Promise<ReadonlyArray<Error | undefined>>) {}

  add(append: T): Promise<void> {
    let resolve!: () => void;
    let reject!: (error: unknown) => void;
    const settled = new Promise<void>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.unsettled.push({ append, settled, resolve, reject });
    this.schedule();
    return settled;
  }

  /** When all appends that were made so far are settled: of the runs `ids`, or of all. */
  async settled(ids?: ReadonlySet<string>): Promise<void> {
    if (this.unsettled.length === 0) return;
    const asked = this.unsettled.filter(({ append }) => ids?.has(append.id) ?? true);
    await Promise.allSettled(asked.map(({ settled }) => settled));
  }

  private schedule(): void {
    if (this.busy || this.unsettled.length === 0) return;
    this.busy = true;
    // At the end of the tick, with all that it still brings.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const group = this.next();
    const outcomes = await this.commit(group).catch((error: Error) => group.map(() => error));
    this.unsettled.splice(0, group.length).forEach(({ resolve, reject }, index) => {
      const refused = outcomes[index];
      if (refused) reject(refused);
      else resolve();
    });
    this.busy = false;
    this.schedule();
  }

  private next(): T[] {
    const group: T[] = [];
    let bytes = 0;
    for (const { append } of this.unsettled) {
      bytes += append.size;
      if (group.length > 0 && (bytes > mostBytes || group.length === mostAppends)) break;
      group.push(append);
    }
    return group;
  }
}
