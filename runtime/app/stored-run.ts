/** A run that this process does not drive: one that has ended, or one that another process owns. */
import { RunCancelledError, ShutdownError } from "../errors.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { RunRecord, Store } from "../stores/store.js";
import { decoded } from "./decoded.js";
import { hasEnded } from "./ended.js";
import { type EventFeed, EventStream, type Reader } from "./event-stream.js";
import { brokenOff, type EventOptions, endEvent, type RunEvent, startEvent, waitingEvent } from "./events.js";
import type { RunSource } from "./run.js";
import { type RunInfo, runInfo } from "./run-info.js";
import type { Watch, Watcher } from "./watch.js";

export class StoredRun implements RunSource, EventFeed {
  /** What watches the run for which listener. */
  private readonly requests = new Map<Reader, Watcher>();

  constructor(
    private readonly id: string,
    private readonly store: Store,
    private readonly codec: Codec,
    private readonly watch: Watch,
    private readonly now: () => number,
  ) {}

  async result(): Promise<unknown> {
    const run = await this.until(({ status }) => hasEnded(status));
    if (run.status === "cancelled") throw new RunCancelledError(this.id);
    if (run.status === "failed") throw decoded(this.codec, run.error!, { runId: this.id });
    return decoded(this.codec, run.output!, { runId: this.id });
  }

  async settled(): Promise<RunInfo> {
    const run = await this.until(({ status }) => status !== "running");
    return runInfo(run, await this.store.entries(this.id), this.codec);
  }

  events(options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    return new EventStream(this.id, this.codec, this, options);
  }

  request(reader: Reader): void {
    const watcher: Watcher = {
      // The start of the run is no entry.
      position: reader.position < 0 ? Number.POSITIVE_INFINITY : reader.position,
      look: (run, entries) => this.serve(reader, run, entries),
      fail: (error) => {
        this.requests.delete(reader);
        if (error instanceof ShutdownError) reader.event(brokenOff("run.left", this.id, this.now(), error), true);
        else reader.fail(error);
      },
    };
    this.requests.set(reader, watcher);
    this.watch.add(this.id, watcher);
  }

  withdraw(reader: Reader): void {
    const watcher = this.requests.get(reader);
    this.requests.delete(reader);
    if (watcher !== undefined) this.watch.remove(this.id, watcher);
  }

  /** @returns whether the reader was served */
  private serve(reader: Reader, run: RunRecord, entries: readonly Entry[]): boolean {
    const start = reader.position < 0 ? startEvent(run) : undefined;
    const end = endEvent(run, this.codec);
    const waits = run.status === "waiting" && !reader.toldWaiting;
    if (start === undefined && entries.length === 0 && end === undefined && !waits) return false;
    this.requests.delete(reader);
    if (start !== undefined) reader.event(start, false);
    else if (entries.length > 0) reader.entries(entries);
    else if (end !== undefined) reader.event(end, true);
    else reader.event(waitingEvent(this.id, run.updatedAt), false);
    return true;
  }

  /** The run's record when `enough` holds of it. */
  private until(enough: (run: RunRecord) => boolean): Promise<RunRecord> {
    return new Promise((resolve, reject) => {
      this.watch.add(this.id, {
        position: Number.POSITIVE_INFINITY,
        look: (run) => {
          if (!enough(run)) return false;
          resolve(run);
          return true;
        },
        fail: reject,
      });
    });
  }
}
