/** `stepmark answer` and `stepmark send`: what people have to say to a run. */
import { readFileSync } from "node:fs";
import type { SendOptions } from "../../runtime/app/options.js";
import { Stepmark } from "../../runtime/app/stepmark.js";
import { command, type Output, UsageError } from "../command.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { quoted, visible } from "../words.js";

const valueHelp = "the value as JSON: true, 42, '\"yes\"', '{\"ok\": true}'; - reads it from stdin";

const undefinedOption = {
  undefined: { type: "boolean", help: "the value `undefined`, which JSON does not have, in its place" },
} as const;

const keyOption = {
  "idempotency-key": {
    type: "string",
    value: "KEY",
    help: "a name of your own for what is said: said again under that name, it is not given to the run a second time",
  },
} as const;

export const answer = command({
  usage: ["answer RUN WAIT JSON [--idempotency-key KEY]", "answer RUN WAIT --undefined"],
  about: `Answers a question that a run asks with \`waitFor\`. An answer to a wait that has not been asked yet, given by name, is kept until
it is. A value that begins with a - is written behind --, as in \`stepmark answer order-17 discount -- -5\`.`,
  arguments: {
    RUN: "the run's id",
    WAIT: "the wait's name, or its replay key where several of one name are open",
    JSON: valueHelp,
  },
  options: { ...storeOption, ...undefinedOption, ...keyOption },
  ends: "Ends with 1 if no open wait can take it.",
  run: (given, output) =>
    give(given, output, async (app, id, name, value, options) => {
      await app.answer(id, name, value, options);
      const { waits } = await app.get(id);
      if (waits.some((wait) => wait.name === name || wait.key === name)) return "answered";
      const open = waits.map((wait) => visible(wait.name)).join(", ");
      return open === "" ? "kept until it is asked" : `kept until it is asked (open now: ${open})`;
    }),
});

export const send = command({
  usage: ["send RUN STREAM JSON [--idempotency-key KEY]", "send RUN STREAM --undefined"],
  about: `Gives a message to a stream that a run reads with \`events\`. Messages of one stream are delivered in the order in which they are
sent, each once; one that comes before the run asks for it is kept.`,
  arguments: { RUN: "the run's id", STREAM: "the stream's name", JSON: valueHelp },
  options: { ...storeOption, ...undefinedOption, ...keyOption },
  ends: "Ends with 1 if the run has ended.",
  run: (given, output) =>
    give(given, output, async (app, id, name, value, options) => {
      await app.send(id, name, value, options);
      return "sent";
    }),
});

interface Given {
  values: { store: string; undefined?: boolean; "idempotency-key"?: string };
  positionals: string[];
}

async function give(
  { values, positionals }: Given,
  { print, warn }: Output,
  how: (app: Stepmark, id: string, name: string, value: unknown, options: SendOptions) => Promise<string>,
): Promise<number> {
  const [id, name, ...rest] = positionals;
  if (id === undefined || name === undefined) throw new UsageError("a run and a name have to be given");
  const value = values.undefined ? nothing(rest) : parsed(rest);
  return using(existingStore(values.store), async (store) => {
    const app = new Stepmark({ store });
    try {
      const idempotencyKey = values["idempotency-key"];
      const done = await how(app, id, name, value, idempotencyKey === undefined ? {} : { idempotencyKey });
      print(`${visible(id)}  ${visible(name)}  ${done}`);
      const { status } = await app.get(id);
      if (status === "waiting") {
        warn(
          `The run goes on in a process with \`app.run()\`, or by \`stepmark resume ${quoted(id)} --workflows MODULE\`.`,
        );
      }
      return 0;
    } finally {
      await app.shutdown();
    }
  });
}

function nothing(rest: readonly string[]): undefined {
  if (rest.length > 0) throw new UsageError("--undefined takes the place of a value");
  return undefined;
}

function parsed(rest: readonly string[]): unknown {
  const [given] = rest;
  if (given === undefined) throw new UsageError("a value has to be given, as JSON, or --undefined");
  if (rest.length > 1)
    throw new UsageError("one value has to be given: quote it, so that the shell keeps it in one piece");
  const text = given === "-" ? readFileSync(0, "utf8") : given;
  try {
    return JSON.parse(text);
  } catch (error) {
    const cure = /^[\w -]+$/.test(text.trim()) ? `; a text is written '${JSON.stringify(text.trim())}'` : "";
    throw new UsageError(`the value is no JSON: ${(error as Error).message}${cure}`);
  }
}
