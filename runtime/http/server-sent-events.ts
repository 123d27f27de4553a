/**
 * A run's events as server-sent events. An event is taken from the run only when the connection can take it: a client that
 * is slow, or has stopped reading, costs no more than one frame and what a listener holds.
 */
import { clearTimeout, setTimeout } from "node:timers";
import type { RunEvent } from "../app/events.js";
import { shownEvent } from "./shown.js";

export interface EventStreamOptions {
  /** Begins to listen; called when the connection first asks for something. */
  listen(): AsyncIterator<RunEvent, undefined>;
  /** `seq` of the event that `listen` goes on after. */
  after: number;
  /** Milliseconds. */
  heartbeat: number;
  /** Aborted when the client has gone: not every host cancels the stream then. */
  signal: AbortSignal;
  /** Told of why the stream has ended before the run's events have. */
  onError(error: unknown): void;
}

export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return new ReadableStream(new Frames(options), { highWaterMark: 0 });
}

const encoder = new TextEncoder();
/** The first bytes, sent at once, for whoever waits for some; after so many milliseconds a browser connects again. */
const beginning = encoder.encode("retry: 1000\n\n");
const stillHere = encoder.encode(":\n\n");

class Frames {
  private events: AsyncIterator<RunEvent, undefined> | undefined;
  private position: number;
  /** An event has been asked for and has not come. */
  private asked = false;
  /** What came while nothing was wanted, since a heartbeat had been sent instead. */
  private ready: { frame: Uint8Array | undefined } | undefined;
  /** Gives the connection what it waits for: a frame, or undefined for the end. */
  private deliver: ((frame: Uint8Array | undefined) => void) | undefined;
  private cancelled = false;

  constructor(private readonly options: EventStreamOptions) {
    this.position = options.after;
  }

  pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> | undefined {
    if (this.events === undefined) return this.begin(controller);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.deliver?.(stillHere), this.options.heartbeat).unref();
      this.deliver = (frame) => {
        this.deliver = undefined;
        clearTimeout(timer);
        resolve();
        // What was under way when the stream was cancelled finds nobody.
        if (this.cancelled) return;
        if (frame === undefined) controller.close();
        else controller.enqueue(frame);
      };
      this.ask();
    });
  }

  cancel(): void {
    this.cancelled = true;
    this.stop();
  }

  private begin(controller: ReadableStreamDefaultController<Uint8Array>): undefined {
    const { listen, signal } = this.options;
    this.events = listen();
    signal.addEventListener("abort", () => this.stop(), { once: true });
    if (signal.aborted) this.stop();
    controller.enqueue(beginning);
  }

  private stop(): void {
    void this.events?.return?.();
  }

  private ask(): void {
    const { ready } = this;
    this.ready = undefined;
    if (ready !== undefined) return this.deliver?.(ready.frame);
    if (this.asked) return;
    this.asked = true;
    this.events!.next().then(
      ({ value, done }) => this.arrived(done ? undefined : this.frameOf(value)),
      (error) => {
        this.options.onError(error);
        this.arrived(undefined);
      },
    );
  }

  private arrived(frame: Uint8Array | undefined): void {
    this.asked = false;
    if (this.deliver !== undefined) this.deliver(frame);
    else this.ready = { frame };
  }

  private frameOf(event: RunEvent): Uint8Array {
    this.position = event.seq ?? this.position;
    const id = isEnd(event) ? `${this.position}.${statusOf(event)}` : event.seq;
    const lines = [`event: ${event.type}`, `data: ${JSON.stringify(shownEvent(event))}`];
    return encoder.encode(`${id === undefined ? "" : `id: ${id}\n`}${lines.join("\n")}\n\n`);
  }
}

/** How a run has ended, in the words of `RunInfo.status`. */
export type EndStatus = "completed" | "failed" | "cancelled";

function isEnd({ type }: RunEvent): boolean {
  return type === "run.completed" || type === "run.failed" || type === "run.cancelled";
}

/** @param event the last one of a run that has ended */
function statusOf({ type }: RunEvent): EndStatus {
  return type.slice("run.".length) as EndStatus;
}

/** Where a client stands that has had events before: after which one, and whether that was the run's end. */
export interface Position {
  seq: number;
  end?: EndStatus;
}

/**
 * @param id of the last event that the client has had, as it was given with the event
 * @returns undefined if that is none of ours
 */
export function positionOf(id: string): Position | undefined {
  const [, number, end] = /^(\d{1,15})(?:\.(completed|failed|cancelled))?$/.exec(id) ?? [];
  if (number === undefined) return undefined;
  return end === undefined ? { seq: Number(number) } : { seq: Number(number), end: end as EndStatus };
}
