/**
 * A run's way to its store: numbers entries, keeps their order, and holds the ownership under which they are written.
 *
 * While a run waits, ownership is given up, so that any process may go on with it; the next write takes it back.
 */
import type { Entry } from "../journal/entry.js";
import { processName } from "../stores/owner.js";
import type { RunChange, Store } from "../stores/store.js";

export interface JournalWriterOptions {
  id: string;
  store: Store;
  /** Number of the last entry. */
  lastSeq: number;
  /** Name of the process that wrote it. */
  lastProcess?: string | undefined;
  fence: number;
  /** Takes ownership again; rejects if another process has had it since `fence`. */
  reclaim(fence: number): Promise<number>;
}

export class JournalWriter {
  /** Writes that are not acknowledged yet, or failed. */
  pending = 0;
  private nextSeq: number;
  /** Whether the journal says by whom it goes on. */
  private signed: boolean;
  private fence: number;
  private last: Promise<unknown> = Promise.resolve();
  private ownership: "held" | "giving up" | "given up" = "held";
  private givingUp: Promise<unknown> = Promise.resolve();
  private reclaiming: Promise<void> | undefined;
  /** Writes that wait until the run is taken back, and when the last of them may start: none overtakes them. */
  private queued = 0;
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly options: JournalWriterOptions) {
    this.nextSeq = options.lastSeq + 1;
    this.signed = options.lastProcess === processName();
    this.fence = options.fence;
  }

  get owned(): boolean {
    return this.ownership === "held";
  }

  /** Whether ownership has been given up and the store says so. */
  get givenUp(): boolean {
    return this.ownership === "given up" && this.pending === 0;
  }

  /** The fence under which this process owns the run, if it does. */
  get ownedFence(): number | undefined {
    return this.owned ? this.fence : undefined;
  }

  /** When all that was appended so far is durable or has failed, and ownership does not change any more. */
  get settled(): Promise<unknown> {
    return Promise.allSettled([this.last, this.givingUp, this.reclaiming]);
  }

  /**
   * Appends one entry.
   *
   * @returns the entry, when it and all entries before it are durable: none may be seen before those
   */
  append(entry: Omit<Entry, "seq">, change?: RunChange): Promise<Entry> {
    const numbered: Entry = { seq: this.nextSeq++, ...entry };
    if (!this.signed) numbered.process = processName();
    this.signed = true;
    const { last } = this;
    const isNext = this.pending++ === 0;
    const written = this.write([numbered], change);
    const durable = (isNext ? written : Promise.all([last, written])).then(() => {
      this.pending--;
      return numbered;
    });
    // What is written after a failure is not acknowledged either.
    this.last = durable;
    durable.catch(() => {});
    return durable;
  }

  /** Changes the run's own record. */
  change(change: RunChange): Promise<void> {
    return this.write([], change);
  }

  /**
   * Gives the run up until something happens.
   *
   * @param due when the run goes on by itself, in milliseconds since the epoch
   */
  async giveUp(due: number | undefined): Promise<void> {
    if (!this.owned) return;
    this.ownership = "giving up";
    const { id, store } = this.options;
    const given = store.append(id, this.fence, [], { status: "waiting", due: due ?? null, release: true });
    this.givingUp = given.catch(() => {});
    await given;
    if (this.ownership === "giving up") this.ownership = "given up";
  }

  /** Takes the run back, if it was given up. */
  reclaim(): Promise<void> {
    if (this.owned) return Promise.resolve();
    this.reclaiming ??= this.givingUp
      .then(() => this.options.reclaim(this.fence))
      .then((fence) => {
        this.fence = fence;
        this.ownership = "held";
        this.reclaiming = undefined;
      });
    return this.reclaiming;
  }

  private write(entries: Entry[], change?: RunChange): Promise<void> {
    const { id, store } = this.options;
    if (this.owned && this.queued === 0) return store.append(id, this.fence, entries, change);
    this.queued++;
    const mayStart = this.queue.then(() => this.reclaim());
    // Counted until the very moment at which it starts.
    const written = mayStart.then(
      () => {
        this.queued--;
        return store.append(id, this.fence, entries, { status: "running", due: null, ...change });
      },
      (error) => {
        this.queued--;
        throw error;
      },
    );
    this.queue = mayStart.catch(() => {});
    return written;
  }
}
