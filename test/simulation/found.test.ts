/** Programs that the simulator has found to go wrong, as it has shrunk them. */
import { expect, it } from "vitest";
import type { Block, Program, Statement, Task } from "./program.js";
import { simulate } from "./simulate.js";

const step: Task = { task: "call", call: { call: "step", form: "plain" } };
const wait: Task = { task: "call", call: { call: "wait" } };
const crash: Task = { task: "crash" };
const nested = (...body: Block): Task => ({ task: "call", call: { call: "nested", retries: false, body } });
const awaited = (task: Task): Statement => ({ statement: "await", task });

const found: Record<string, Statement> = {
  "a body that nobody awaits asks a question, and the workflow returns": {
    statement: "background",
    task: nested(awaited(wait)),
  },
  "a body is in flight when the workflow returns, and the record holds a call that is asked for too late": {
    statement: "join",
    how: "race",
    tasks: [
      nested(awaited(step)),
      step,
      { task: "branch", body: [{ statement: "foreign", use: "sequence", times: 1 }] },
    ],
  },
  "a step that may be tried again fails while the run fails": {
    statement: "join",
    how: "all",
    tasks: [{ task: "call", call: { call: "retry", failures: 1, backoff: 0 } }, crash],
  },
  "a failure is compensated for, and the run is resumed": {
    statement: "try",
    throws: "crash",
    rethrow: true,
    body: [awaited(step)],
    handler: [awaited(step), awaited(step)],
    end: [awaited(step)],
  },
  "a body starts over after a call in it has failed": {
    statement: "await",
    task: { task: "call", call: { call: "nested", retries: true, body: [awaited(step), awaited(crash)] } },
  },
};

it.each(Object.entries(found))(
  "%s",
  async (_, statement) => {
    const program: Program = { main: [statement], helpers: [] };
    for (let seed = 1; seed <= 30; seed++) expect((await simulate(program, seed)).wrong, `seed ${seed}`).toEqual([]);
  },
  120_000,
);
