/** `events`: a stream of messages to one run. */
import { OutsideRunError } from "../errors.js";
import { encoded } from "../journal/encoded.js";
import { placeOf } from "../run/call.js";
import type { Frame, OutsideFrame } from "../scope/place.js";
import type { Captures, LoopPath } from "../scope/site-table.js";
import { type CallSite, type Identity, identify } from "./identity.js";
import { checkName } from "./name.js";
import type { StandardSchema } from "./schema.js";
import { acceptance, readOptions } from "./wait-for.js";

export interface StreamOptions<T = unknown> {
  /** Shown with the open wait for the next message. */
  payload?: unknown;
  /** Checks each message; what it makes of it is what the code receives. Any Standard Schema. */
  schema?: StandardSchema<T>;
}

export interface Events {
  /**
   * The messages that `app.send(runId, name, value)` gives to this run, in order, each once, over as many processes as it
   * takes: `for await (const message of events<T>("name"))`. The stream has no end of its own: leave the loop.
   */
  <T>(name: string, options?: StreamOptions<T>): AsyncIterableIterator<T, undefined>;
  /** @internal What transformed code calls. */
  at(
    frame: Frame | OutsideFrame,
    index: number,
    path: LoopPath,
    captures: Captures,
    ...args: unknown[]
  ): AsyncIterableIterator<unknown, undefined>;
}

export const events = ((...args: unknown[]) => stream(undefined, args)) as Events;

events.at = (frame, index, path, _captures, ...args) => stream({ frame, index, path }, args);

function stream(at: CallSite | undefined, [name, options]: unknown[]): AsyncIterableIterator<unknown, undefined> {
  checkName("The name of a stream", name, 'Call `events("name")`.');
  const { payload, schema } = readOptions("events", options);
  const identity = identify("events", at, undefined);
  if (identity === undefined) throw new OutsideRunError("events");
  let asked = 0;
  let over = false;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (over) return { value: undefined, done: true };
      return { value: await ask(identity, asked++, name, payload, schema), done: false };
    },
    async return() {
      over = true;
      return { value: undefined, done: true };
    },
  };
}

/** A wait for the message of that number. */
function ask(
  { execution, key: stream, chain, within, entry, record }: Identity,
  number: number,
  name: string,
  payload: unknown,
  schema: StandardSchema | undefined,
): Promise<unknown> {
  const key = `${stream}[${number}]`;
  const shown = encoded(execution.codec, payload, { runId: execution.id, key, at: placeOf(record) });
  return execution.ask({
    kind: "wait",
    key,
    args: "",
    chain,
    site: record,
    within,
    entry,
    start(_, call) {
      const known = call.recorded?.open;
      const since = known?.startedAt ?? execution.clock.now();
      const accept = acceptance(execution, schema, false);
      const open = (): void => {
        execution.waits.addWait({ name, call, since, ...(accept && { accept }) });
        void execution.readInbox();
      };
      if (known) open();
      else execution.announce(call, "open", { name, value: shown, startedAt: since, endedAt: since }, open);
    },
  });
}
