/**
 * One listener's way through a run's events. It remembers how far it has come and nothing else, and asks for more only
 * when its user does: a listener that is slow, or forgotten, holds up nobody and gathers nothing.
 */
import { InvalidArgumentError } from "../errors.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import { type EventOptions, entryEvent, type RunEvent } from "./events.js";

/** Most entries that a listener is handed at once: what it may hold, whatever it does. */
export const pageSize = 32;

/** Where a listener stands, and how it is served: by one of the last four, once for each request. */
export interface Reader {
  /** The last entry that it has; 0: the start of the run, -1: not even that. */
  readonly position: number;
  /** Whether it knows that the run waits here. */
  readonly toldWaiting: boolean;
  /** @param entries those that follow `position`: at least one, at most `pageSize` */
  entries(entries: readonly Entry[]): void;
  /** @param last whether no event follows */
  event(event: RunEvent, last: boolean): void;
  fail(error: unknown): void;
  /** Lets it ask its feed once more. */
  retry(): void;
}

/** Where the events of a run come from. */
export interface EventFeed {
  /** Serves a reader that has used up what it had: at once, or as soon as there is something. */
  request(reader: Reader): void;
  /** Forgets a reader's request. */
  withdraw(reader: Reader): void;
}

/** A feed whose events come from one place now and from another one later. */
export class ChangingFeed implements EventFeed {
  private readonly serving = new WeakMap<Reader, EventFeed>();

  /** @param current where they come from now */
  constructor(private readonly current: () => EventFeed) {}

  request(reader: Reader): void {
    const feed = this.current();
    this.serving.set(reader, feed);
    feed.request(reader);
  }

  withdraw(reader: Reader): void {
    this.serving.get(reader)?.withdraw(reader);
  }
}

type Result = IteratorResult<RunEvent, undefined>;

export class EventStream implements AsyncIterableIterator<RunEvent, undefined>, Reader {
  position: number;
  toldWaiting = false;
  private page: readonly Entry[] = [];
  /** How much of the page has been read. */
  private read = 0;
  private single: RunEvent | undefined;
  /** No event follows those at hand. */
  private last = false;
  private requested = false;
  /** Calls of `next` that have no result yet. */
  private readonly asked: Array<{ resolve(result: Result): void; reject(error: unknown): void }> = [];

  /** @throws InvalidArgumentError for an `after` that is no position */
  constructor(
    private readonly runId: string,
    private readonly codec: Codec,
    private readonly feed: EventFeed,
    { after = 0 }: EventOptions = {},
  ) {
    if (!Number.isInteger(after) || after < 0) {
      throw new InvalidArgumentError(
        `\`after\` must be the \`seq\` of an event, not ${String(JSON.stringify(after) ?? after)}`,
        "Give a whole number from 0; leave it out for all events.",
        { runId },
      );
    }
    this.position = after === 0 ? -1 : after;
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.asked.push({ resolve, reject });
      this.serve();
    });
  }

  /** Ends the stream, and a `next` that waits, at once. */
  return(): Promise<Result> {
    this.stop();
    return Promise.resolve({ value: undefined, done: true });
  }

  throw(error?: unknown): Promise<Result> {
    this.stop();
    return Promise.reject(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  entries(entries: readonly Entry[]): void {
    if (this.last) return;
    this.requested = false;
    this.page = entries;
    this.read = 0;
    this.toldWaiting = false;
    this.serve();
  }

  event(event: RunEvent, last: boolean): void {
    if (this.last) return;
    this.requested = false;
    this.single = event;
    this.last = last;
    if (event.type === "run.started") this.position = 0;
    if (event.type === "run.waiting") this.toldWaiting = true;
    this.serve();
  }

  fail(error: unknown): void {
    if (this.last) return;
    this.requested = false;
    this.last = true;
    this.asked.shift()?.reject(error);
    this.serve();
  }

  retry(): void {
    if (!this.last) this.feed.request(this);
  }

  private serve(): void {
    while (this.asked.length > 0) {
      const event = this.take();
      if (event !== undefined) this.asked.shift()!.resolve({ value: event, done: false });
      else if (this.last) this.asked.shift()!.resolve({ value: undefined, done: true });
      else if (this.requested) return;
      else {
        this.requested = true;
        this.feed.request(this);
      }
    }
  }

  private take(): RunEvent | undefined {
    const { single } = this;
    this.single = undefined;
    if (single !== undefined) return single;
    const entry = this.page[this.read];
    if (entry === undefined) return undefined;
    this.read++;
    this.position = entry.seq;
    if (this.read === this.page.length) this.page = [];
    return entryEvent(this.runId, entry, this.codec);
  }

  private stop(): void {
    this.last = true;
    this.page = [];
    this.single = undefined;
    if (this.requested) this.feed.withdraw(this);
    this.serve();
  }
}
