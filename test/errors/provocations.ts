/**
 * For each code, code that a user could write and the error that it gets. In messages `:#` stands for the line of the
 * call, which bears the error's code as a comment in this file, or stands in the text of a build.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AnyWorkflow,
  child,
  codec,
  type Entry,
  type ExportOptions,
  keyed,
  type MemoryStore,
  memoryStore,
  NonRetryableError,
  type Queue,
  type ResumeOptions,
  RetryableError,
  Stepmark,
  type StepmarkOptions,
  type Store,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { restateExecutor } from "stepmark/restate";
import { sqliteStore } from "stepmark/sqlite";
import ts from "typescript";
import { openDatabase } from "../../runtime/stores/sqlite-driver.js";
import { schemaVersion } from "../../runtime/stores/sqlite-schema.js";
import { transformFile } from "../../transformer/index.js";
import { parseLock } from "../../transformer/lock/lock-file.js";
import { scripts } from "../events/child.js";
import { build } from "../support/build.js";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { scatter } from "../support/unseen.js";

export interface Provocation {
  code: string;
  /** What the user does. */
  when: string;
  /** Does it, and returns the error that comes of it. */
  provoke(): Promise<unknown>;
  message: string;
}

const id = "run";
const one = async (): Promise<number> => 1;
const work = async (x: string): Promise<string> => x;
const workOn = (x: string): Promise<string> => step(work, x); // AMBIGUOUS_SCOPE

class Point {
  constructor(readonly x: number) {}
}

/** The error that `make` throws or rejects with. */
async function errorOf(make: () => unknown): Promise<unknown> {
  try {
    await make();
  } catch (error) {
    return error;
  }
  throw new Error("Nothing went wrong");
}

/** The error of a run of `flow`. */
async function failure(flow: AnyWorkflow, options: StepmarkOptions = {}): Promise<unknown> {
  const app = new Stepmark({ store: memoryStore(), ...options });
  return errorOf(async () => (await app.start(flow, undefined, { id })).result());
}

/** The error of a run whose code is `before` until all but its last `left` entries are recorded, and then `after`. */
async function edited(
  before: string,
  after: string,
  left = 1,
  options: ResumeOptions = {},
  globals: [unknown, unknown] = [undefined, undefined],
): Promise<unknown> {
  const head = `import { step, workflow } from "stepmark"; import { env } from "env";\nconst charge = async (x) => x; const mail = async (x) => x;\n`;
  const flow = (source: string, env: unknown): AnyWorkflow =>
    build(`${head}export const w = workflow("pay", async () => {\n${source}\n});`, { imports: { env: { env } } })
      .w as AnyWorkflow;
  const store = memoryStore();
  const first = flow(before, globals[0]);
  await (await new Stepmark({ store, workflows: [first] }).start(first, undefined, { id })).result();
  const fork = store.fork(id, (await store.entries(id)).length - left);
  const app = new Stepmark({ store: fork, workflows: [flow(after, globals[1])], grace: 0 });
  return errorOf(async () => (await app.resume(id, options)).result());
}

/** A run that waits for `approve`. */
async function waiting(): Promise<Stepmark> {
  const asks = workflow("asks", async () => waitFor("approve"));
  const app = new Stepmark({ store: memoryStore(), workflows: [asks] });
  await (await app.start(asks, undefined, { id })).settled();
  return app;
}

/** Run `id` of an app as text. */
async function textOf(app: Stepmark, options: ExportOptions = {}): Promise<string> {
  let text = "";
  for await (const line of app.export(id, options)) text += line;
  return text;
}

/** A run of one step as text. */
async function exported(options: ExportOptions = {}): Promise<string> {
  const flow = workflow("whole", async () => step(one));
  const app = new Stepmark({ store: memoryStore() });
  await (await app.start(flow, undefined, { id })).result();
  return textOf(app, options);
}

function override(store: MemoryStore, methods: Partial<Store>): Store {
  return Object.assign(Object.create(store) as Store, methods);
}

const never = workflow("never", async () => step(() => new Promise<void>(() => {})));

export const provocations: Provocation[] = [
  {
    code: "NOT_TRANSFORMED",
    when: "code that was compiled by plain tsc calls a step",
    provoke: () => {
      const source =
        'import { step, workflow } from "stepmark"; export const w = workflow("plain", async () => step(async () => 1));';
      const { outputText } = ts.transpileModule(source, { compilerOptions: { module: ts.ModuleKind.CommonJS } });
      const exports: { w?: AnyWorkflow } = {};
      new Function("exports", "require", outputText)(exports, () => ({ step, workflow }));
      return failure(exports.w!);
    },
    message:
      'This `step` call has no identity: it was compiled without the stepmark transformer, or in a form that hides it, such as `step.call(...)` or a variable that may change (run "run"). Add { "transform": "stepmark/transformer" } to compilerOptions.plugins in tsconfig.json and build with `tspc`, or add the plugin of your bundler or `node --import stepmark/register` (docs/hosts.md); call `step` by its imported name; or give a step an explicit `key`. [NOT_TRANSFORMED]',
  },
  {
    code: "OUTSIDE_RUN",
    when: "a step is called outside any run",
    provoke: () => errorOf(() => step(one)), // OUTSIDE_RUN
    message:
      "`step` was called outside any run, so nothing could record it (at test/errors/provocations.ts:#). Call it from a workflow that `app.start` runs; in a unit test wrap the code in `withoutRun(() => ...)`. [OUTSIDE_RUN]",
  },
  {
    code: "OUTSIDE_RUN",
    when: "stepContext is called outside any body",
    provoke: () => errorOf(() => stepContext()),
    message: `\`stepContext\` was called outside any step's body, so there is no step to tell of. Call it in the function that \`step\` is given, or in what that calls. [OUTSIDE_RUN]`,
  },
  {
    code: "DUPLICATE_KEY",
    when: "two calls have one explicit key",
    provoke: () =>
      failure(
        workflow("twice", async () => {
          await step({ key: "a" }, one);
          return step({ key: "a" }, one); // DUPLICATE_KEY
        }),
      ),
    message:
      'Two calls of one run have the same key (run "run", key twice/one#a, at test/errors/provocations.ts:#). Give each call an explicit `key` of its own (it must be unique within the run or the step body around it). [DUPLICATE_KEY]',
  },
  {
    code: "INVALID_KEY",
    when: "a key is empty",
    provoke: () => failure(workflow("empty", async () => step({ key: "" }, one))), // INVALID_KEY
    message: `A step's \`key\` must be a non-empty string, not "" (run "run", at test/errors/provocations.ts:#). Give a non-empty string that is unique within the run or the step body. [INVALID_KEY]`,
  },
  {
    code: "INVALID_KEY",
    when: "two items of keyed have one key",
    provoke: () => errorOf(() => keyed(["a", "a"], (item) => item)),
    message:
      'Two items of `keyed` have the key "a". Let the second argument of `keyed` give each item a key of its own that is not empty. [INVALID_KEY]',
  },
  {
    code: "INVALID_ARGUMENT",
    when: "a duration cannot be read",
    provoke: () => failure(workflow("soon", async () => step({ timeout: "soon" as never }, one))), // INVALID_ARGUMENT
    message:
      '`timeout` must be a duration, not "soon" (run "run", at test/errors/provocations.ts:#). Give milliseconds or text such as "2h" or "30s". [INVALID_ARGUMENT]',
  },
  {
    code: "INVALID_ARGUMENT",
    when: "an app is used after its shutdown",
    provoke: async () => {
      const app = new Stepmark({ store: memoryStore() });
      await app.shutdown();
      return errorOf(() => app.start(never));
    },
    message: "This Stepmark was shut down. Make a new one. [INVALID_ARGUMENT]",
  },
  {
    code: "INVALID_ARGUMENT",
    when: "a class with private fields is registered",
    provoke: () => {
      class Money {
        readonly #cents = 5;
        get cents(): number {
          return this.#cents;
        }
      }
      return errorOf(() => codec({ classes: [Money] }));
    },
    message:
      'Instances of "Money" keep more than their own fields show (`#cents`), and a copy would be without it. Tell how they are kept, in `types: { "Money": { class, encode, decode } }`. [INVALID_ARGUMENT]',
  },
  {
    code: "AMBIGUOUS_SCOPE",
    when: "untransformed code calls a module-level function several times at once",
    provoke: () => failure(workflow("scatter", async () => scatter(["a", "b"], workOn))),
    message: `Code that is not transformed called a module-level function a second time from one place, where only timing would tell the calls apart (run "run", key scatter/scatter()~[1], at test/errors/provocations.ts:#). Add that code's file to the transformer's "include" option, or pass a function made in the workflow instead, or give the step a \`key\`. [AMBIGUOUS_SCOPE]`,
  },
  {
    code: "VERSION_CONFLICT",
    when: "two versions that cannot share a process are loaded",
    provoke: async () => {
      const children = scripts();
      try {
        const { output } = await children.run(`
          // As another version would have left it.
          Object.defineProperty(globalThis, Symbol.for("stepmark@1"), { value: { protocol: 0 } });
          const { code, message } = await import("stepmark").catch((error) => error);
          console.log(JSON.stringify({ code, message }));
        `);
        return Object.assign(new Error(), JSON.parse(output));
      } finally {
        children.remove();
      }
    },
    message:
      "Two copies of stepmark that cannot work together are loaded (protocols 0 and 1). Install one version of stepmark: see `npm ls stepmark`. [VERSION_CONFLICT]",
  },
  {
    code: "REPLAY_MISMATCH",
    when: "unchanged code gives a recorded step other arguments",
    provoke: () => {
      const source = "const a = await step(charge, env);\nreturn step(mail, a);";
      return edited(source, source, 1, {}, ["5 EUR", "6 EUR"]);
    },
    message:
      'The recorded outcome is for other arguments: recorded ["5 EUR"], asked for ["6 EUR"] (run "run", key pay/charge, at flow.ts:4). The code is as it was, so what differs comes from outside the record: take time, randomness, environment and I/O from recorded calls (`await now()`, `await step(...)`); `resume(id, { divergence: "continue" })` does the call anew, as another one. [REPLAY_MISMATCH]',
  },
  {
    code: "AMBIGUOUS_SITE",
    when: "a call of the same name is put before a recorded one",
    provoke: () =>
      edited(
        "const a = await step(charge, 1);\nreturn step(mail, a);",
        "await step(charge, 2);\nconst a = await step(charge, 1);\nreturn step(mail, a);",
      ),
    message:
      'The code changed and `charge` (flow.ts:4) has namesakes in its function, so the recorded outcome of `charge` (flow.ts:4) may belong to another of them (run "run", key pay/charge, at flow.ts:4). Undo the edit, give the calls different names (`step("name", ...)`), or resume the run with the code that recorded it. [AMBIGUOUS_SITE]',
  },
  {
    code: "RETIRED_SITE",
    when: "a recorded call is taken out",
    provoke: () => edited("await step(charge, 1);\nreturn step(mail, 1);", "return step(mail, 1);"),
    message:
      '1 recorded call has no site in this build: `charge` (flow.ts:4) as pay/charge (run "run", key pay/charge, at flow.ts:4). Bring the call back, resume with the code that recorded it, or accept that its record is not used: `resume(id, { accept: "edits" })`. [RETIRED_SITE]',
  },
  {
    code: "DIVERGENCE",
    when: "unchanged code takes another branch",
    provoke: () => {
      const source = "if (env) await step(charge, 1);\nelse await step(mail, 1);\nreturn step(mail, 2);";
      return edited(source, source, 1, {}, [true, false]);
    },
    message:
      'The code is unchanged but took another path: `charge` (flow.ts:4) is recorded next and was not asked for; `mail` (flow.ts:5) (key pay/mail) was (run "run", key pay/charge, at flow.ts:4). Take time, randomness, environment and I/O from steps (a wait for something raw, such as a timer or a request outside a step, is a likely cause); `resume(id, { divergence: "continue" })` goes on regardless. [DIVERGENCE]',
  },
  {
    code: "KEY_SCHEME",
    when: "a run of another key scheme is resumed",
    provoke: async () => {
      const store = memoryStore();
      const old = override(store, { create: (run) => store.create({ ...run, scheme: 0 }) });
      return failure(never, { store: old });
    },
    message: `The run's keys were minted under key scheme 0; this version replays scheme 1 (run "run"). Finish the run with the version of stepmark that recorded it. [KEY_SCHEME]`,
  },
  {
    code: "RUN_EXISTS",
    when: "another input is started under the id of a run",
    provoke: async () => {
      const flow = workflow("flow", async (x: string) => step(work, x));
      const app = new Stepmark({ store: memoryStore() });
      await app.start(flow, "a", { id });
      return errorOf(() => app.start(flow, "b", { id }));
    },
    message:
      'A run with this id exists with another input (run "run"). Choose another id, or `resume` the run that exists. [RUN_EXISTS]',
  },
  {
    code: "RUN_NOT_FOUND",
    when: "a run that does not exist is resumed",
    provoke: () => errorOf(() => new Stepmark({ store: memoryStore() }).resume("nobody")),
    message:
      'No such run (run "nobody"). Check the id and the store; `app.list()` shows what there is. [RUN_NOT_FOUND]',
  },
  {
    code: "RUN_OWNED",
    when: "a run is resumed that another process drives",
    provoke: async () => {
      const store = memoryStore();
      await new Stepmark({ store, workflows: [never] }).start(never, undefined, { id });
      return errorOf(() => new Stepmark({ store, workflows: [never] }).resume(id));
    },
    message:
      'The run is driven by another `Stepmark` of this process (run "run"). Wait until it has finished, or shut it down; `resume` takes over from the dead only. `app.events(id)` follows the run meanwhile. [RUN_OWNED]',
  },
  {
    code: "RUN_POISONED",
    when: "workers keep dying with a run",
    provoke: async () => {
      const store = memoryStore();
      let queued = "";
      const queue: Queue = {
        put: (id, _, create) => {
          queued = id;
          return create(store);
        },
        join: async ({ drive }) => {
          await drive({ id: queued, takeovers: 5 });
          return { stop: async () => {} };
        },
        close: async () => {},
      };
      const app = new Stepmark({ store, queue, workflows: [never] });
      const run = await app.enqueue(never, undefined, { id });
      await app.work();
      return errorOf(() => run.result());
    },
    message:
      '5 processes in a row have ended while they drove the run, and it got no further, so no other takes it up (run "run"). Find out what in it ends the process (memory, `process.exit`, a native fault); then `resume` the run. [RUN_POISONED]',
  },
  {
    code: "RUN_POISONED",
    when: "processes that recover the run keep dying with it",
    provoke: async () => {
      const store = memoryStore();
      await new Stepmark({ store }).start(never, undefined, { id });
      const owner = { ...(await store.read(id))!.owner!, token: "dead", pid: 2 ** 31 - 1 };
      const takeovers = { count: 4, reached: 0 };
      await store.claim(id, { ...owner, takeovers }, () => true, { now: 0, until: 0 });
      const [run] = await new Stepmark({ store, workflows: [never] }).recover({ maxTakeovers: 5 });
      return errorOf(() => run!.result());
    },
    message:
      '5 processes in a row have ended while they drove the run, and it got no further, so no other takes it up (run "run"). Find out what in it ends the process (memory, `process.exit`, a native fault); then `resume` the run. [RUN_POISONED]',
  },
  {
    code: "STALE_OWNER",
    when: "another process has taken a waiting run over",
    provoke: async () => {
      const asks = workflow("asks", async () => waitFor("approve"));
      const store = memoryStore();
      const [first, second] = [0, 1].map(() => new Stepmark({ store, workflows: [asks] }));
      const run = await first!.start(asks, undefined, { id });
      await run.settled();
      await (await second!.resume(id)).settled();
      await second!.answer(id, "approve", true);
      return errorOf(() => run.result());
    },
    message:
      'Another process has taken the run over, so this one no longer drives it (run "run"). Nothing was lost: `app.get(id)` and `app.events(id)` tell how the run goes on. [STALE_OWNER]',
  },
  {
    code: "UNKNOWN_WORKFLOW",
    when: "a run is resumed without its workflow",
    provoke: async () => {
      const store = memoryStore();
      await new Stepmark({ store }).start(never, undefined, { id });
      return errorOf(() => new Stepmark({ store: store.fork(), workflows: [workflow("other", one)] }).resume(id));
    },
    message:
      'No workflow named "never" is registered (known: "other") (run "run"). Pass it in `new Stepmark({ workflows: [...] })`. [UNKNOWN_WORKFLOW]',
  },
  {
    code: "DUPLICATE_WORKFLOW",
    when: "an app gets two workflows of one name",
    provoke: () =>
      errorOf(() => new Stepmark({ store: memoryStore(), workflows: [workflow("same", one), workflow("same", one)] })),
    message:
      'Two workflows are named "same". Give each workflow a name of its own; where a module is loaded anew while the process runs (hot reload), make a new `Stepmark` with it. [DUPLICATE_WORKFLOW]',
  },
  {
    code: "SERIALISATION",
    when: "a step returns what cannot be kept",
    provoke: () => failure(workflow("socket", async () => step(async () => ({ items: [1, () => {}] })))), // SERIALISATION
    message:
      'Cannot record a function at $.items[1] (run "run", key socket/step, at test/errors/provocations.ts:#). Record plain data in its place. [SERIALISATION]',
  },
  {
    code: "SERIALISATION",
    when: "the workflow returns what cannot be kept",
    provoke: () => failure(workflow("output", async () => ({ close: () => {} }))),
    message: 'Cannot record a function at $.close (run "run"). Record plain data in its place. [SERIALISATION]',
  },
  {
    code: "SERIALISATION",
    when: "a run is started with what cannot be kept",
    provoke: () => errorOf(() => new Stepmark({ store: memoryStore() }).start(never as AnyWorkflow, () => {}, { id })),
    message: 'Cannot record a function at $ (run "run"). Record plain data in its place. [SERIALISATION]',
  },
  {
    code: "SERIALISATION",
    when: "the payload of a wait cannot be kept",
    provoke: () => failure(workflow("payload", async () => waitFor("ok", { payload: Symbol("no") }))), // SERIALISATION
    message:
      'Cannot record a symbol at $ (run "run", key payload/ok, at test/errors/provocations.ts:#). Record plain data in its place. [SERIALISATION]',
  },
  {
    code: "SERIALISATION",
    when: "a step returns an instance of a class that is not registered",
    provoke: () => failure(workflow("place", async () => step(async () => ({ at: new Point(1) })))), // SERIALISATION
    message:
      'Cannot record an instance of the class Point at $.at (run "run", key place/step, at test/errors/provocations.ts:#). Record plain data in its place, or register the class: `codec({ classes: [...] })`. [SERIALISATION]',
  },
  {
    code: "SERIALISATION",
    when: "a step returns a response that it has not read",
    provoke: () => failure(workflow("ask", async () => step(async () => new Response("x")))), // SERIALISATION
    message:
      'Cannot record a Response at $ (run "run", key ask/Response, at test/errors/provocations.ts:#). Record what you need of it, as `await response.json()`. [SERIALISATION]',
  },
  {
    code: "SERIALISATION",
    when: "an answer is nested too deeply",
    provoke: async () => {
      let deep: unknown = 0;
      for (let i = 0; i < 2_000; i++) deep = [deep];
      const app = await waiting();
      return errorOf(() => app.answer(id, "approve", deep));
    },
    message:
      'The value is nested too deeply, more than 1000 levels at $ (run "run"). Record it in a flatter form, for instance as a list. [SERIALISATION]',
  },
  {
    code: "DECODE",
    when: "a recorded value's class is no longer registered",
    provoke: async () => {
      const flow = workflow("points", async () => {
        const { x } = await step(async () => new Point(1)); // DECODE
        await step(one);
        return x;
      });
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow], codec: codec({ classes: [Point] }) });
      await (await app.start(flow, undefined, { id })).result();
      return errorOf(async () =>
        (await new Stepmark({ store: store.fork(id, 1), workflows: [flow] }).resume(id)).result(),
      );
    },
    message:
      'A recorded value is of the type "Point", which is not registered (run "run", key points/Point, at test/errors/provocations.ts:#). Register the class again under that name: `codec({ classes: { "Point": Class } })`. [DECODE]',
  },
  {
    code: "DECODE",
    when: "a run is looked at by an app that does not know a class of its output",
    provoke: async () => {
      const flow = workflow("point", async () => new Point(1));
      const store = memoryStore();
      const app = new Stepmark({ store, codec: codec({ classes: [Point] }) });
      await (await app.start(flow, undefined, { id })).result();
      return errorOf(async () => (await new Stepmark({ store }).get(id)).output);
    },
    message:
      'A recorded value is of the type "Point", which is not registered (run "run"). Register the class again under that name: `codec({ classes: { "Point": Class } })`. [DECODE]',
  },
  {
    code: "DAMAGED_JOURNAL",
    when: "an entry was deleted from a journal by hand",
    provoke: async () => {
      const twice = workflow("twice", async () => [await step(one), await step(one)]);
      const store = memoryStore();
      await (await new Stepmark({ store }).start(twice, undefined, { id })).result();
      const fork = store.fork(id, 2);
      const entries = async (...args: Parameters<Store["entries"]>): Promise<Entry[]> =>
        (await fork.entries(...args)).slice(1);
      return errorOf(() => new Stepmark({ store: override(fork, { entries }), workflows: [twice] }).resume(id));
    },
    message:
      'The journal has entry 2 where entry 1 should be (run "run", key twice/one~1). Nothing was changed: restore the store from a backup. A journal is not to be edited; to run failed steps again there is `resume(id, { retry: "all" })`. [DAMAGED_JOURNAL]',
  },
  {
    code: "NEWER_VERSION",
    when: "the database's file is of a newer version",
    provoke: async () => {
      const folder = mkdtempSync(join(tmpdir(), "stepmark-errors-"));
      const connection = openDatabase(join(folder, "runs.db"));
      connection.exec("PRAGMA user_version = 99");
      connection.close();
      const app = new Stepmark({ store: sqliteStore(join(folder, "runs.db")) });
      const error = (await errorOf(() => app.list())) as Error;
      rmSync(folder, { recursive: true });
      error.message = error.message.replace(folder, "/data");
      return error;
    },
    message: `The database /data/runs.db was written by a newer version of stepmark (its tables have version 99, this one knows ${schemaVersion}). Install that version, or give this one another file. [NEWER_VERSION]`,
  },
  {
    code: "EXPORT_FILE",
    when: "a file of exported runs was cut off",
    provoke: async () => {
      const text = await exported();
      return errorOf(() => new Stepmark({ store: memoryStore() }).import(text.slice(0, -150)));
    },
    message:
      "Line 4 cannot be read, or the file ends in its midst. Export the runs again, or copy the file again. Nothing was imported. [EXPORT_FILE]",
  },
  {
    code: "EXPORT_FILE",
    when: "a run is imported without the child run that it waits for",
    provoke: async () => {
      const outer = workflow("outer", async () => child(never));
      const store = memoryStore();
      const app = new Stepmark({ store });
      await app.start(outer, undefined, { id });
      await rest();
      return errorOf(async () => new Stepmark({ store: memoryStore() }).import(await textOf(app)));
    },
    message:
      'The run waits for its child run "run/outer/never", which is neither in the file nor in the store: it would begin it anew (run "run"). Export it with its children: `app.export(id, { children: true })`, or `stepmark export --children`. Nothing was imported. [EXPORT_FILE]',
  },
  {
    code: "VALUES_LEFT_OUT",
    when: "a run is imported that was exported without its values",
    provoke: async () => {
      const text = await exported({ values: false });
      return errorOf(() => new Stepmark({ store: memoryStore() }).import(text));
    },
    message:
      'The run was exported without its values, so it cannot be imported (run "run"). Export it with them: leave `values: false`, or `--no-values`, away. [VALUES_LEFT_OUT]',
  },
  {
    code: "FLAT_HISTORY",
    when: "a flat history may hold another call's outcome",
    provoke: () => {
      const flow = workflow("flat", async () => Promise.all([step("left", one), step("right", one)])); // FLAT_HISTORY
      const steps = [{ name: "left", value: 1 }];
      return errorOf(() =>
        new Stepmark({ store: memoryStore() }).importFlat({ id, workflow: flow, input: undefined, steps }),
      );
    },
    message:
      'The history is not imported, at step 1 of 1: the code makes 2 calls at once, `left` (test/errors/provocations.ts:#), `right` (test/errors/provocations.ts:#), and the history does not tell whose outcome is whose (run "run", key flat/left, at test/errors/provocations.ts:#). Finish the run with the program that recorded it, or start it anew. Nothing was imported, and no body ran. [FLAT_HISTORY]',
  },
  {
    code: "STORE",
    when: "the store fails while a run is under way",
    provoke: async () => {
      const store = memoryStore();
      const append = async (...args: Parameters<Store["append"]>): Promise<void> => {
        if (args[2].length > 0) throw new Error("disk full");
        return store.append(...args);
      };
      return failure(
        workflow("saves", async () => step(one)),
        { store: override(store, { append }) },
      );
    },
    message:
      'The store failed: disk full (run "run"). What was being written does not count as done; mend the store and `resume` the run. [STORE]',
  },
  {
    code: "STORE",
    when: "the database's file is none",
    provoke: async () => {
      const folder = mkdtempSync(join(tmpdir(), "stepmark-errors-"));
      writeFileSync(join(folder, "runs.db"), "no database, but long enough to be taken for one ".repeat(40));
      const app = new Stepmark({ store: sqliteStore(join(folder, "runs.db")) });
      const error = (await errorOf(() => app.list())) as Error;
      rmSync(folder, { recursive: true });
      error.message = error.message.replace(folder, "/data");
      return error;
    },
    message: `The database /data/runs.db failed: file is not a database. Give the path of a file of stepmark's own, or restore the file from a backup. What was being written does not count as done: \`resume\` the run after that. [STORE]`,
  },
  {
    code: "STORE",
    when: "the command line is to write to a file of an older version",
    provoke: async () => {
      const folder = mkdtempSync(join(tmpdir(), "stepmark-errors-"));
      const path = join(folder, "runs.db");
      const made = sqliteStore(path);
      await made.list({});
      await made.close();
      const file = openDatabase(path);
      file.exec("PRAGMA user_version = 2");
      file.close();
      const error = (await errorOf(() =>
        new Stepmark({ store: sqliteStore(path, { migrate: false }) }).start(never),
      )) as Error;
      rmSync(folder, { recursive: true });
      error.message = error.message.replace(folder, "/data");
      return error;
    },
    message: `The database /data/runs.db was written by an older version of stepmark (its tables have version 2, this one writes ${schemaVersion}), and only an app brings it up to date. Use the command of the version that the app has, or stop all processes of the file and start the app with this version. [STORE]`,
  },
  {
    code: "BLOB",
    when: "a large value is gone from where it was put",
    provoke: async () => {
      const place = { put: async () => {}, get: async () => undefined, remove: async () => {} };
      const app = new Stepmark({ store: memoryStore(), blobs: { place, above: 10 } });
      const long = workflow("long", async (input: string) => input.length);
      await errorOf(() => app.start(long, "a long text", { id }));
      return errorOf(() => app.resume(id));
    },
    message:
      'A value of 15 bytes (SHA-256 72f58bb20368fd8a931617818a283d56e36447ff145ce692504821419345a92d) is not in its place (run "run"). Nothing was changed: put the blob back from a backup of its place, then `resume` the run. [BLOB]',
  },
  {
    code: "STALLED",
    when: "the workflow waits for a promise that nothing settles",
    provoke: async () => {
      const clock = new FakeClock();
      const lost = workflow("lost", async () => new Promise<void>(() => {}));
      const run = await new Stepmark({ store: memoryStore(), clock }).start(lost, undefined, { id });
      const error = errorOf(() => run.result());
      await clock.advance(3_000);
      return error;
    },
    message:
      'Nothing is under way and nothing is awaited that could go on, but the workflow has not returned (run "run"). The workflow waits for a promise outside any step: it was settled only in the process that died, or never. Put such waiting into `step` or `waitFor`. [STALLED]',
  },
  {
    code: "RUN_CANCELLED",
    when: "a run is cancelled whose result is awaited",
    provoke: async () => {
      const app = new Stepmark({ store: memoryStore() });
      const error = errorOf(async () => (await app.start(never, undefined, { id })).result());
      await rest();
      await app.cancel(id);
      return error;
    },
    message: 'The run was cancelled (run "run"). A cancelled run is final: start a new one. [RUN_CANCELLED]',
  },
  {
    code: "SHUTDOWN",
    when: "the app is shut down while a result is awaited",
    provoke: async () => {
      const app = new Stepmark({ store: memoryStore() });
      const error = errorOf(async () => (await app.start(never, undefined, { id })).result());
      await rest();
      await app.shutdown();
      return error;
    },
    message: 'The app was shut down before the run ended (run "run"). `resume` the run in any process. [SHUTDOWN]',
  },
  {
    code: "ANSWER",
    when: "a wait is answered twice",
    provoke: async () => {
      const app = await waiting();
      const run = await app.resume(id);
      await app.answer(id, "approve", true);
      await run.result();
      return errorOf(() => app.answer(id, "approve", true));
    },
    message:
      'The run is completed and takes no answers (run "run"). Nothing waits any more: `app.get(id)` tells how it ended. [ANSWER]',
  },
  {
    code: "ANSWER",
    when: "no wait has the key",
    provoke: async () => {
      const app = await waiting();
      return errorOf(() => app.answer(id, "asks/aprove", true));
    },
    message:
      'No open wait has the key asks/aprove (run "run"). Open now: "approve" (key asks/approve). What begins as keys do is not taken for the name of a wait that is still to come. [ANSWER]',
  },
  {
    code: "ANSWER",
    when: "two waits have the name",
    provoke: async () => {
      const asks = workflow("asks", async () => Promise.all([waitFor("approve"), waitFor("approve")]));
      const app = new Stepmark({ store: memoryStore(), workflows: [asks] });
      await (await app.start(asks, undefined, { id })).settled();
      return errorOf(() => app.answer(id, "approve", true));
    },
    message:
      '2 open waits are named "approve" (run "run"). Answer one by its key. Open now: "approve" (key asks/approve), "approve" (key asks/approve~1). [ANSWER]',
  },
  {
    code: "STEP_TIMEOUT",
    when: "a body takes too long",
    provoke: async () => {
      const clock = new FakeClock();
      const slow = workflow("slow", async () => step({ timeout: "1s" }, () => new Promise<void>(() => {}))); // STEP_TIMEOUT
      const run = await new Stepmark({ store: memoryStore(), clock }).start(slow, undefined, { id });
      const error = errorOf(() => run.result());
      await clock.advance(1_000);
      return error;
    },
    message:
      'The step took longer than 1000 ms (run "run", key slow/Promise, at test/errors/provocations.ts:#). Raise its `timeout`, or let the body heed `stepContext().signal`. [STEP_TIMEOUT]',
  },
  {
    code: "STEP_DEADLINE",
    when: "no attempt comes to an end in time",
    provoke: async () => {
      const clock = new FakeClock();
      const slow = workflow("slow", async () => step({ deadline: "1s" }, () => new Promise<void>(() => {}))); // STEP_DEADLINE
      const run = await new Stepmark({ store: memoryStore(), clock }).start(slow, undefined, { id });
      const error = errorOf(() => run.result());
      await clock.advance(1_000);
      return error;
    },
    message:
      'The step was not done by its deadline, 1970-01-01T00:00:01.000Z (run "run", key slow/Promise, at test/errors/provocations.ts:#). Raise its `deadline`, or let the body heed `stepContext().signal`; `resume` runs the step again, and a deadline that is a duration is counted anew then. [STEP_DEADLINE]',
  },
  {
    code: "ATTEMPTS_USED_UP",
    when: "the process has died in the last attempt",
    provoke: async () => {
      const deadly = workflow("deadly", async () => step({ retries: 0 }, () => new Promise<void>(() => {}))); // ATTEMPTS_USED_UP
      const store = memoryStore();
      await new Stepmark({ store }).start(deadly, undefined, { id });
      await rest();
      return errorOf(async () =>
        (await new Stepmark({ store: store.fork(), workflows: [deadly] }).resume(id)).result(),
      );
    },
    message:
      'The step\'s only attempt was begun, and the process ended during it (run "run", key deadly/Promise, at test/errors/provocations.ts:#). Find out whether the body ends the process; then raise `retries`, or `resume(id, { retry: "all" })` to try again from the first. [ATTEMPTS_USED_UP]',
  },
  {
    code: "EXECUTOR",
    when: "Restate does not know a function",
    provoke: async () => {
      const charge = async (): Promise<void> => {};
      const executor = restateExecutor({
        ingress: "http://restate:8080",
        functions: { charge },
        fetch: async () => new Response("service not found", { status: 404 }),
      });
      const pay = workflow("pay", async () => step(charge));
      const run = await new Stepmark({ store: memoryStore(), executor }).start(pay, undefined, { id });
      return errorOf(() => run.result());
    },
    message:
      'Restate knows no function "charge" of this service (run "run", key pay/charge). Give it to `restateService`, serve that, and register its address with Restate. [EXECUTOR]',
  },
  {
    code: "NON_RETRYABLE",
    when: "a body says that another attempt cannot help",
    provoke: async () => {
      let attempts = 0;
      const refuse = async (): Promise<void> => {
        throw new NonRetryableError(`The card was declined at attempt ${++attempts}`);
      };
      return failure(workflow("declined", async () => step({ retries: 5 }, refuse)));
    },
    message: "The card was declined at attempt 1",
  },
  {
    code: "RETRYABLE",
    when: "a body asks for another attempt, and there is none left",
    provoke: async () => {
      let attempts = 0;
      const busy = async (): Promise<void> => {
        throw new RetryableError(`Too many requests at attempt ${++attempts}`, { retryAfter: 0 });
      };
      return failure(workflow("busy", async () => step({ retries: 1, backoff: "1h" }, busy)));
    },
    message: "Too many requests at attempt 2",
  },
  {
    code: "LOCK_FILE",
    when: "a merge has left its marks in the lock file",
    provoke: () => errorOf(() => parseLock("# stepmark.lock 1\n<<<<<<< HEAD\n", "stepmark.lock")),
    message:
      "stepmark.lock:2: a merge has left a conflict. Keep the lines of both sides, without the marks, and run `stepmark accept`. [LOCK_FILE]",
  },
  {
    code: "LOCK_FILE",
    when: "a line of the lock file is cut off",
    provoke: () => errorOf(() => parseLock("# stepmark.lock 1\nflow.ts w() charge site 92907b06c0\n", "stepmark.lock")),
    message:
      "stepmark.lock:2: the line cannot be read: it has 5 columns, not at least 6. Take the file from version control again, or correct the line. [LOCK_FILE]",
  },
  {
    code: "LOCK_FILE",
    when: "the lock file is of a later version",
    provoke: () => errorOf(() => parseLock("# stepmark.lock 2\n", "stepmark.lock")),
    message:
      "stepmark.lock:1: this is no lock file that this version of stepmark can read. Use the version that wrote it, or a later one; or correct its first line. [LOCK_FILE]",
  },
  {
    code: "TRANSFORMER_OPTIONS",
    when: "the plugin gets an option that it does not have",
    provoke: () => errorOf(() => transformFile(ts, { includes: ["src"] } as never)),
    message: `stepmark/transformer has no option "includes"; its options are include, root, lock, diagnostics. Correct the plugin's entry in tsconfig.json. [TRANSFORMER_OPTIONS]`,
  },
  {
    code: "TRANSFORMER_OPTIONS",
    when: "the compiler target is ES5",
    provoke: () =>
      errorOf(() =>
        ts.transpileModule("export {};", {
          compilerOptions: { target: ts.ScriptTarget.ES5, ignoreDeprecations: "6.0" },
          transformers: { before: [transformFile(ts)] },
        }),
      ),
    message:
      'stepmark/transformer needs a compiler target of ES2015 or later, since in earlier ones the iterations of a loop share one variable. Set "target" in tsconfig.json, for instance to "ES2022". [TRANSFORMER_OPTIONS]',
  },
];
