/** `events`: a stream of messages to one run. */
import { type CallSite, identify, type Sited } from "./identity.js";
import { checkName } from "./name.js";
import type { StandardSchema } from "./schema.js";
import { type Asked, ask, readOptions } from "./wait-for.js";
import { nobodyThere } from "./without-run.js";

export interface StreamOptions<T = unknown> {
  /** Shown with the open wait for the next message. */
  payload?: unknown;
  /** Checks each message; what it makes of it is what the code receives. Any Standard Schema. */
  schema?: StandardSchema<T>;
}

export interface Events extends Sited<AsyncIterableIterator<unknown, undefined>> {
  /**
   * The messages that `app.send(runId, name, value)` gives to this run, in order, each once, over as many processes as it
   * takes: `for await (const message of events<T>("name"))`. The stream has no end of its own: leave the loop.
   */
  <T>(name: string, options?: StreamOptions<T>): AsyncIterableIterator<T, undefined>;
}

export const events = ((...args: unknown[]) => stream(undefined, args)) as Events;

events.at = (frame, index, path, _captures, ...args) => stream({ frame, index, path }, args);

function stream(at: CallSite | undefined, [name, options]: unknown[]): AsyncIterableIterator<unknown, undefined> {
  checkName("The name of a stream", name, 'Call `events("name")`.');
  const { payload, schema } = readOptions("events", options);
  const asked: Asked = { payload, schema, limit: undefined };
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
