/** A run that this process does not drive: one that has ended, or one that another process owns. */
import { setTimeout } from "node:timers/promises";
import { RunCancelledError, RunNotFoundError } from "../errors.js";
import type { Codec } from "../journal/codec.js";
import type { RunRecord, Store } from "../stores/store.js";
import { decodedOnAccess, entryEvent, type RunEvent } from "./events.js";
import type { RunSource } from "./run.js";
import { type RunInfo, runInfo } from "./run-info.js";

/** How often the store is asked about a run of another process, in milliseconds. */
const interval = 100;

export class StoredRun implements RunSource {
  constructor(
    private readonly id: string,
    private readonly store: Store,
    private readonly codec: Codec,
  ) {}

  async result(): Promise<unknown> {
    for (;;) {
      const run = await this.read();
      switch (run.status) {
        case "completed":
          return this.codec.decode(run.output!);
        case "failed":
          throw this.codec.decode(run.error!);
        case "cancelled":
          throw new RunCancelledError(this.id);
        default:
          await setTimeout(interval);
      }
    }
  }

  async settled(): Promise<RunInfo> {
    for (;;) {
      const run = await this.read();
      if (run.status !== "running") return runInfo(run, await this.store.entries(this.id), this.codec);
      await setTimeout(interval);
    }
  }

  async *events(): AsyncIterableIterator<RunEvent> {
    let last = 0;
    let run = await this.read();
    yield { type: "run.started", runId: this.id, time: run.createdAt };
    for (;;) {
      run = await this.read();
      for (const entry of await this.store.entries(this.id, last)) {
        last = entry.seq;
        yield entryEvent(this.id, entry, this.codec);
      }
      if (run.status !== "running" && run.status !== "waiting") break;
      await setTimeout(interval);
    }
    const event: RunEvent = { type: `run.${run.status}`, runId: this.id, time: run.updatedAt };
    const { output, error } = run;
    if (output !== undefined) decodedOnAccess(event, "value", () => this.codec.decode(output));
    if (error !== undefined) decodedOnAccess(event, "error", () => this.codec.decode(error));
    yield event;
  }

  private async read(): Promise<RunRecord> {
    const run = await this.store.read(this.id);
    if (run === undefined) throw new RunNotFoundError(this.id);
    return run;
  }
}
