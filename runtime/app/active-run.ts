/** A run that this process drives. */
import { RunCancelledError, RunNotFoundError } from "../errors.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { Ending } from "../run/end/ending.js";
import { storeFailure } from "../run/end/refusals.js";
import type { Execution } from "../run/execution.js";
import type { RunRecord, Store } from "../stores/store.js";
import { decoded } from "./decoded.js";
import { ChangingFeed, type EventFeed, EventStream, pageSize, type Reader } from "./event-stream.js";
import { brokenOff, type EventOptions, endEvent, type RunEvent, startEvent, waitingEvent } from "./events.js";
import { JournalTail } from "./journal-tail.js";
import type { RunSource } from "./run.js";
import type { RunInfo } from "./run-info.js";

export interface ActiveRunOptions {
  id: string;
  /** The ownership under which this process took the run over. */
  fence: number;
  store: Store;
  codec: Codec;
  /** Number of the last entry when this process took the run over. */
  lastSeq: number;
  now(): number;
  readInfo(): Promise<RunInfo>;
  /** Calls back after the time for which a run that waits is kept in memory; returns the way to cancel. */
  afterIdleTime(callback: () => void): () => void;
  /** Lets the run leave memory. */
  putAside(): void;
  /** Where news of it come from then. */
  elsewhere(): RunSource & EventFeed;
}

export class ActiveRun implements RunSource, EventFeed {
  execution!: Execution;
  /** The last ownership under which this process drove the run. */
  fence: number;
  private ending: Ending | undefined;
  private readonly watchers = new Set<() => void>();
  /** Number of the last entry that is durable: listeners see no further, whatever the store may show. */
  private lastSeq: number;
  private readonly tail = new JournalTail();
  /** Listeners that have had all there is and want more. */
  private readonly readers = new Set<Reader>();
  /** Serves the listeners once the run has left memory. */
  private readonly next = new ChangingFeed(() => this.options.elsewhere());
  /** When the run came to wait, to be stalled or to its end. */
  private since = 0;
  private standing: "waiting" | "stalled" | undefined;
  /** The run's record once it has ended. */
  private record: Promise<RunRecord | undefined> | undefined;

  private cancelIdle: (() => void) | undefined;

  constructor(private readonly options: ActiveRunOptions) {
    this.lastSeq = options.lastSeq;
    this.fence = options.fence;
  }

  get id(): string {
    return this.options.id;
  }

  /** Takes charge of an execution that is about to begin; `onEnd` runs once it has ended. */
  attach(execution: Execution, onEnd: () => void): void {
    this.execution = execution;
    void execution.lifetime.ended.then((ending) => {
      this.ending = ending;
      this.cancelIdle?.();
      this.since = this.options.now();
      onEnd();
      this.notify();
      // What is left of a run that this process gave up may be all that a listener can still get.
      if (ending.status !== "left") this.tail.clear();
      execution.clear();
    });
  }

  /** Whether the run has ended in this process. */
  get isOver(): boolean {
    return this.ending !== undefined;
  }

  onEntry(entry: Entry): void {
    this.lastSeq = entry.seq;
    this.tail.push(entry);
    this.standing = undefined;
    this.serveReaders();
  }

  onChange(): void {
    const standing = this.execution.waiting ? "waiting" : this.execution.stalled ? "stalled" : undefined;
    if (standing !== this.standing) this.since = this.options.now();
    this.standing = standing;
    this.cancelIdle?.();
    this.cancelIdle = standing === "waiting" ? this.options.afterIdleTime(() => this.idleTimeIsOver()) : undefined;
    this.notify();
  }

  private idleTimeIsOver(): void {
    if (this.execution.idle) this.options.putAside();
    else this.onChange();
  }

  result(): Promise<unknown> {
    return this.watch(() => {
      if (this.ending?.status === "dormant") return { value: this.options.elsewhere().result() };
      if (this.ending) return { value: outcome(this.ending, this.id, this.options.codec) };
      return this.execution.stalled ? { value: Promise.reject(this.execution.stalled) } : undefined;
    });
  }

  settled(): Promise<RunInfo> {
    return this.watch(() => {
      if (this.dormant) return { value: this.options.elsewhere().settled() };
      const settled = this.ending || this.execution.waiting || this.execution.stalled;
      return settled ? { value: this.options.readInfo() } : undefined;
    });
  }

  events(options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    return new EventStream(this.id, this.options.codec, this, options);
  }

  request(reader: Reader): void {
    if (this.dormant) return this.next.request(reader);
    const { position } = reader;
    const recent = this.tail.after(position, pageSize);
    if (position < 0) void this.begin(reader);
    else if (recent.length > 0) reader.entries(recent);
    else if (position < this.lastSeq) void this.readPage(reader);
    else if (this.ending) void this.end(reader, this.ending);
    else if (this.execution.stalled)
      reader.event(brokenOff("run.stalled", this.id, this.since, this.execution.stalled), true);
    else if (this.execution.waiting && !reader.toldWaiting) reader.event(waitingEvent(this.id, this.since), false);
    else this.readers.add(reader);
  }

  withdraw(reader: Reader): void {
    this.readers.delete(reader);
    this.next.withdraw(reader);
  }

  /** Whether the run has left memory: what is asked of it here is passed on. */
  private get dormant(): boolean {
    return this.ending?.status === "dormant";
  }

  private async begin(reader: Reader): Promise<void> {
    try {
      const run = await this.options.store.read(this.id);
      if (run === undefined) throw new RunNotFoundError(this.id);
      reader.event(startEvent(run), false);
    } catch (error) {
      this.failed(reader, error);
    }
  }

  /** The next entries for a reader that is behind. */
  private async readPage(reader: Reader): Promise<void> {
    try {
      const found = await this.options.store.entries(this.id, reader.position, pageSize);
      const entries = found.filter(({ seq }) => seq <= this.lastSeq).slice(0, pageSize);
      if (entries.length === 0) throw new RunNotFoundError(this.id);
      reader.entries(entries);
    } catch (error) {
      this.failed(reader, error);
    }
  }

  private failed(reader: Reader, error: unknown): void {
    // A store that was closed with the app has no more to tell.
    if (this.ending?.status === "left") void this.end(reader, this.ending);
    else reader.fail(storeFailure(this.id, error));
  }

  private async end(reader: Reader, ending: Ending): Promise<void> {
    if (ending.status === "left") return reader.event(brokenOff("run.left", this.id, this.since, ending.error), true);
    try {
      this.record ??= this.options.store.read(this.id);
      const run = await this.record;
      if (run === undefined) throw new RunNotFoundError(this.id);
      // Another process may have taken the failed run on since.
      const event =
        ending.status === "failed" && run.status !== "failed"
          ? brokenOff("run.failed", this.id, this.since, ending.error)
          : endEvent(run, this.options.codec)!;
      reader.event(event, true);
    } catch (error) {
      this.record = undefined;
      reader.fail(storeFailure(this.id, error));
    }
  }

  /** Waits until `look` finds something; it is asked at once and after every change. */
  private watch<T>(look: () => { value: T | Promise<T> } | undefined): Promise<T> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = look();
        if (found === undefined) return;
        this.watchers.delete(check);
        resolve(found.value);
      };
      this.watchers.add(check);
      check();
    });
  }

  private notify(): void {
    for (const check of [...this.watchers]) check();
    this.serveReaders();
  }

  private serveReaders(): void {
    if (this.readers.size === 0) return;
    const readers = [...this.readers];
    this.readers.clear();
    for (const reader of readers) this.request(reader);
  }
}

async function outcome(ending: Exclude<Ending, { status: "dormant" }>, id: string, codec: Codec): Promise<unknown> {
  switch (ending.status) {
    case "completed":
      return decoded(codec, ending.output, { runId: id });
    case "cancelled":
      throw new RunCancelledError(id);
    default:
      throw ending.error;
  }
}
