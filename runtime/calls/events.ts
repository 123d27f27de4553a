/** `events`: a stream of messages to one run. */

import type { Duration } from "./duration.js";
import { type CallSite, identify, type Sited } from "./identity.js";
import { checkName } from "./name.js";
import type { StandardSchema } from "./schema.js";
import { ask, readOptions, type WaitResult } from "./wait-for.js";
import { nobodyThere } from "./without-run.js";

export interface StreamOptions<T = unknown> {
  /** Shown with the open wait for the next message. */
  payload?: unknown;
  /** Checks each message; what it makes of it is what the code receives. Any Standard Schema. */
  schema?: StandardSchema<T>;
  /** How long to wait for each message, from when it is first asked for, or until when for all of them. */
  timeout?: Duration | Date;
}

export interface Events extends Sited<AsyncIterableIterator<unknown, undefined>> {
  /** The same, but where no message comes in time, that is told in its place: the stream goes on after it. */
  <T>(
    name: string,
    options: StreamOptions<T> & { timeout: Duration | Date },
  ): AsyncIterableIterator<WaitResult<T>, undefined>;
  /**
   * The messages that `app.send(runId, name, value)` gives to this run, in order, each once, over as many processes as it
   * takes: `for await (const message of events<T>("name"))`. The stream has no end of its own: leave the loop.
   */
  <T>(name: string, options?: StreamOptions<T> & { timeout?: undefined }): AsyncIterableIterator<T, undefined>;
}

export const events = ((...args: unknown[]) => stream(undefined, args)) as Events;

events.at = (frame, index, path, _captures, ...args) => stream({ frame, index, path }, args);

function stream(at: CallSite | undefined, [name, options]: unknown[]): AsyncIterableIterator<unknown, undefined> {
  checkName("The name of a stream", name, 'Call `events("name")`.');
  const asked = readOptions("events", options);
  const identity = identify("events", at, undefined);
  if (identity === undefined) throw nobodyThere("events");
  let number = 0;
  let over = false;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (over) return { value: undefined, done: true };
      // A wait for the message of that number.
      const value = await ask({ ...identity, key: `${identity.key}[${number++}]` }, name, asked);
      return { value, done: false };
    },
    async return() {
      over = true;
      return { value: undefined, done: true };
    },
  };
}
