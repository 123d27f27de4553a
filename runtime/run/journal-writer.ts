/**
 * A run's way to its store: numbers entries, keeps their order, and holds the ownership under which they are written.
 *
 * While a run waits, ownership is given up, so that any process may go on with it; the next write takes it back.
 */
import type { Entry } from "../journal/entry.js";
import { processName } from "../stores/owner.js";
import type { RunChange, Store } from "../stores/store.js";
import type { Hold } from "./options.js";
import type { PresentCode } from "./record/present-code.js";

export interface JournalWriterOptions {
  id: string;
  store: Store;
  /** Number of the last entry. */
  lastSeq: number;
  /** Name of the process that wrote it. */
  lastProcess?: string | undefined;
  /** The code that takes part in the run: what is new of it stands in the next entry. */
  code?: PresentCode;
  /** What its resume has accepted, as the next entry is to tell. */
  accepted?: { takeNews(): Pick<Entry, "accepted"> | undefined };
  /** The trace that the run goes on in, as the next entry is to tell. */
  trace?: string | undefined;
  fence: number;
  /** The app that wakes the run while it waits; by default none. */
  keeper?: string | undefined;
  /** Takes ownership again; rejects if another process has had it since `fence`. */
  reclaim(fence: number): Promise<number>;
  /** By default no other process ever takes the run. */
  hold?: Hold | undefined;
}

/** An entry that is on its way to the store. */
interface Underway {
  entry: Entry;
  isDurable: boolean;
  then(entry: Entry): void;
  /** When that is known, or that it failed. */
  settled: Promise<unknown>;
}

export class JournalWriter {
  /** Entries that are not acknowledged yet, or failed, in their order. */
  private readonly underway: Underway[] = [];
  private nextSeq: number;
  /** Whether the journal says by whom it goes on. */
  private signed: boolean;
  /** What it is still to say of the trace. */
  private trace: string | undefined;
  private fence: number;
  private ownership: "held" | "giving up" | "given up" = "held";
  private givingUp: Promise<unknown> = Promise.resolve();
  private reclaiming: Promise<void> | undefined;
  /** Writes that wait until the run is taken back, and when the last of them may start: none overtakes them. */
  private queued = 0;
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly options: JournalWriterOptions) {
    this.nextSeq = options.lastSeq + 1;
    this.signed = options.lastProcess === processName();
    this.trace = options.trace;
    this.fence = options.fence;
  }

  get owned(): boolean {
    return this.ownership === "held";
  }

  /** Whether no other process can have taken the run by now, unless it has been given up. */
  get isSure(): boolean {
    return this.options.hold?.isSure() ?? true;
  }

  /** Whether ownership has been given up and the store says so. */
  get givenUp(): boolean {
    return this.ownership === "given up" && this.isSettled;
  }

  /** Whether all that was appended so far is durable. */
  get isSettled(): boolean {
    return this.underway.length === 0;
  }

  /** The fence under which this process owns the run, if it does. */
  get ownedFence(): number | undefined {
    return this.owned ? this.fence : undefined;
  }

  /** When all that was appended so far is durable or has failed, and ownership does not change any more. */
  get settled(): Promise<unknown> {
    return Promise.allSettled([...this.underway.map(({ settled }) => settled), this.givingUp, this.reclaiming]);
  }

  /**
   * Appends one entry, which gets its number here.
   *
   * @param then is called when it and all entries before it are durable: none may be seen before those
   * @param failed is called when it is not; what is appended after that is not acknowledged either
   */
  append(entry: Entry, change: RunChange | undefined, then: (entry: Entry) => void, failed: (error: unknown) => void) {
    entry.seq = this.nextSeq++;
    this.sign(entry);
    const own: Underway = { entry, isDurable: false, then, settled: this.givingUp };
    this.underway.push(own);
    own.settled = this.write([entry], change).then(() => this.acknowledge(own), failed);
  }

  /** Has an entry say how the journal goes on from here, where the entries before do not. */
  private sign(entry: Entry): void {
    const { code, accepted } = this.options;
    if (code?.hasNews) Object.assign(entry, code.takeNews());
    const news = accepted?.takeNews();
    if (news !== undefined) Object.assign(entry, news);
    if (this.trace !== undefined) entry.trace = this.trace;
    this.trace = undefined;
    if (!this.signed) entry.process = processName();
    this.signed = true;
  }

  private acknowledge(own: Underway): void {
    own.isDurable = true;
    while (this.underway[0]?.isDurable) {
      const { entry, then } = this.underway.shift()!;
      then(entry);
    }
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
    const { id, store, keeper = null } = this.options;
    const given = store.append(id, this.fence, [], { status: "waiting", due: due ?? null, keeper, release: true });
    this.givingUp = given.catch(() => {});
    await given;
    if (this.ownership === "giving up") this.ownership = "given up";
  }

  /** Makes sure that this process owns the run: takes it back, if it was given up. Rejects if another process has it. */
  makeSure(): Promise<void> {
    if (!this.owned) return this.reclaim();
    return this.options.hold?.makeSure() ?? Promise.resolve();
  }

  private reclaim(): Promise<void> {
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
    if (this.owned && this.queued === 0) return this.put(entries, change);
    this.queued++;
    const mayStart = this.queue.then(() => this.reclaim());
    // Counted until the very moment at which it starts.
    const written = mayStart.then(
      () => {
        this.queued--;
        return this.put(entries, { status: "running", due: null, ...change });
      },
      (error) => {
        this.queued--;
        throw error;
      },
    );
    this.queue = mayStart.catch(() => {});
    return written;
  }

  private put(entries: Entry[], change: RunChange | undefined): Promise<void> {
    const { id, store } = this.options;
    try {
      return store.append(id, this.fence, entries, change);
    } catch (error) {
      // A store of somebody else's may throw where it should reject.
      return Promise.reject(error);
    }
  }
}
