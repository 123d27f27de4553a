/** A run's events: its journal entries as they become durable, and how it ends. */
import type { Codec } from "../journal/codec.js";
import type { Entry, EntryKind, EntryState } from "../journal/entry.js";

export type RunEventType =
  | "step.attempted"
  | "step.completed"
  | "step.failed"
  | "wait.opened"
  | "wait.answered"
  | "timer.set"
  | "timer.fired"
  | "value.recorded"
  | "run.started"
  | "run.waiting"
  | "run.stalled"
  | "run.completed"
  | "run.failed"
  | "run.cancelled"
  | "run.left";

export interface RunEvent {
  type: RunEventType;
  runId: string;
  /** Milliseconds since the epoch. */
  time: number;
  /** Position in the journal, for events of entries. */
  seq?: number;
  /** Replay key. */
  key?: string;
  /** `file:line` of the call. */
  at?: string;
  attempt?: number;
  /** Name of a wait. */
  name?: string;
  /** Milliseconds since the epoch: when the body started. */
  startedAt?: number;
  /** The recorded value, the payload of an open wait, or the run's output. Decoded on access. */
  readonly value?: unknown;
  /** The recorded error, or the run's. Decoded on access. */
  readonly error?: unknown;
}

const types: Record<EntryKind, Partial<Record<EntryState, RunEventType>>> = {
  step: { attempt: "step.attempted", done: "step.completed", failed: "step.failed" },
  wait: { open: "wait.opened", done: "wait.answered" },
  timer: { open: "timer.set", done: "timer.fired" },
  value: { done: "value.recorded" },
};

export function entryEvent(runId: string, entry: Entry, codec: Codec): RunEvent {
  const event: RunEvent = {
    type: types[entry.kind][entry.state]!,
    runId,
    time: entry.endedAt,
    seq: entry.seq,
    key: entry.key,
    at: entry.site && `${entry.site.module}:${entry.site.line}`,
    attempt: entry.attempt,
    startedAt: entry.startedAt,
  };
  if (entry.name !== undefined) event.name = entry.name;
  const { value } = entry;
  if (value !== undefined)
    decodedOnAccess(event, entry.state === "failed" ? "error" : "value", () => codec.decode(value));
  return event;
}

export function decodedOnAccess(event: RunEvent, field: "value" | "error", decode: () => unknown): void {
  Object.defineProperty(event, field, { get: decode, enumerable: false });
}

/** Where a run's events are put; each listener has a queue of its own, so that a slow one holds up nobody. */
export class EventHub {
  private readonly listeners = new Set<Listener>();
  private closed = false;

  /** @param make called only if somebody listens */
  publish(make: () => RunEvent): void {
    if (this.listeners.size === 0) return;
    const event = make();
    for (const listener of this.listeners) listener.put(event);
  }

  close(): void {
    this.closed = true;
    for (const listener of this.listeners) listener.end();
  }

  /** Events from now on; ends when the hub closes. */
  listen(): Listener {
    const listener = new Listener(() => this.listeners.delete(listener));
    if (this.closed) listener.end();
    else this.listeners.add(listener);
    return listener;
  }
}

export class Listener implements AsyncIterableIterator<RunEvent, undefined> {
  private readonly queue: RunEvent[] = [];
  private readonly pending: Array<(result: IteratorResult<RunEvent, undefined>) => void> = [];
  private over = false;

  constructor(private readonly leave: () => void) {}

  put(event: RunEvent): void {
    const waiting = this.pending.shift();
    if (waiting) waiting({ value: event, done: false });
    else this.queue.push(event);
  }

  end(): void {
    this.over = true;
    for (const waiting of this.pending.splice(0)) waiting({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<RunEvent, undefined>> {
    const event = this.queue.shift();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.pending.push(resolve));
  }

  return(): Promise<IteratorResult<RunEvent, undefined>> {
    this.leave();
    this.queue.length = 0;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
