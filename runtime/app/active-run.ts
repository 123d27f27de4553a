/** A run that this process drives. */
import { RunCancelledError } from "../errors.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { Ending } from "../run/ending.js";
import type { Execution } from "../run/execution.js";
import type { Store } from "../stores/store.js";
import { decodedOnAccess, EventHub, entryEvent, type RunEvent, type RunEventType } from "./events.js";
import type { RunSource } from "./run.js";
import type { RunInfo } from "./run-info.js";

export class ActiveRun implements RunSource {
  execution!: Execution;
  private ending: Ending | undefined;
  private readonly hub = new EventHub();
  private readonly watchers = new Set<() => void>();
  private reported: RunEventType | undefined;

  constructor(
    readonly id: string,
    private readonly store: Store,
    private readonly codec: Codec,
    private readonly now: () => number,
    private readonly readInfo: () => Promise<RunInfo>,
  ) {}

  /** Takes charge of an execution that is about to begin; `onEnd` runs once it has ended. */
  attach(execution: Execution, onEnd: () => void): void {
    this.execution = execution;
    void execution.ended.then((ending) => {
      this.ending = ending;
      onEnd();
      this.hub.publish(() => this.endEvent(ending));
      this.hub.close();
      this.notify();
    });
  }

  onEntry(entry: Entry): void {
    this.reported = undefined;
    this.hub.publish(() => entryEvent(this.id, entry, this.codec));
  }

  onChange(): void {
    const type = this.execution.waiting ? "run.waiting" : this.execution.stalled ? "run.stalled" : undefined;
    if (type !== undefined && type !== this.reported)
      this.hub.publish(() => ({ type, runId: this.id, time: this.now() }));
    this.reported = type;
    this.notify();
  }

  result(): Promise<unknown> {
    return this.watch(() => {
      if (this.ending) return { value: outcome(this.ending, this.id, this.codec) };
      return this.execution.stalled ? { value: Promise.reject(this.execution.stalled) } : undefined;
    });
  }

  settled(): Promise<RunInfo> {
    return this.watch(() => {
      const settled = this.ending || this.execution.waiting || this.execution.stalled;
      return settled ? { value: this.readInfo() } : undefined;
    });
  }

  async *events(): AsyncIterableIterator<RunEvent> {
    const { ending } = this;
    const live = this.hub.listen();
    let last = 0;
    try {
      const run = await this.store.read(this.id);
      yield { type: "run.started", runId: this.id, time: run?.createdAt ?? this.now() };
      for (const entry of await this.store.entries(this.id)) {
        last = entry.seq;
        yield entryEvent(this.id, entry, this.codec);
      }
      if (ending) yield this.endEvent(ending);
      else for await (const event of live) if (event.seq === undefined || event.seq > last) yield event;
    } finally {
      await live.return();
    }
  }

  private endEvent(ending: Ending): RunEvent {
    const event: RunEvent = { type: `run.${ending.status}`, runId: this.id, time: this.now() };
    if (ending.status === "completed") decodedOnAccess(event, "value", () => this.codec.decode(ending.output));
    if (ending.status === "failed" || ending.status === "left") decodedOnAccess(event, "error", () => ending.error);
    return event;
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
  }
}

function outcome(ending: Ending, id: string, codec: Codec): Promise<unknown> {
  switch (ending.status) {
    case "completed":
      return Promise.resolve(codec.decode(ending.output));
    case "cancelled":
      return Promise.reject(new RunCancelledError(id));
    default:
      return Promise.reject(ending.error);
  }
}
