/** `stepmark resume` and `stepmark retry`: go on with a run in this process. */
import process from "node:process";
import type { ResumeOptions } from "../../runtime/app/options.js";
import { runInfo } from "../../runtime/app/run-info.js";
import { Stepmark } from "../../runtime/app/stepmark.js";
import { fieldOf } from "../../runtime/journal/careful.js";
import type { Store } from "../../runtime/stores/store.js";
import { command, type Given, type Output, UsageError } from "../command.js";
import { cureFor } from "../cures.js";
import { codeOfRun, exitCode, runCodes } from "../exit-code.js";
import { follow, followOptions } from "../follow.js";
import { plainCodec, readField, readRun } from "../run-state.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { counted, errorLines, fromNow, quoted, visible } from "../words.js";
import { checkTransformed, type LoadedWorkflows, withWorkflows, workflowsOption } from "../workflows.js";

const options = {
  ...workflowsOption,
  ...storeOption,
  accept: {
    type: "string",
    value: "edits",
    choices: ["edits"],
    help: "use, or leave, the record of calls whose arguments or place the code has changed",
  },
  divergence: {
    type: "string",
    value: "continue",
    choices: ["continue"],
    help: "go on although unchanged code takes another path than the recorded one",
  },
  code: {
    type: "string",
    value: "CODE",
    help: "instead of RUN: all failed runs whose error has this code, for instance RETIRED_SITE once the code is mended",
  },
  ...followOptions,
} as const;

const runsArgument = { RUN: "ids of runs, which go on one after the other" };
const ends = `${runCodes} Of several runs the first one that has not completed tells.`;

const more = `Prints the run's events until it ends, or until it waits. Ctrl-C gives the run up: nothing is lost, and it can be resumed
again. A run that a living process drives is left to it.`;

export const resume = command({
  usage: [
    "resume RUN... --workflows MODULE [--accept edits] [--divergence continue]",
    "resume --code CODE --workflows MODULE",
  ],
  about: `Goes on with a run that a process left behind, that waits, or that has failed: its workflow runs again from the top, and every
recorded step answers from the journal. Of a run that has failed the steps that failed it run again. ${more}`,
  arguments: runsArgument,
  options,
  ends,
  run: (given, output) => goOn(given, {}, output),
});

export const retry = command({
  usage: [
    "retry RUN... --workflows MODULE [--accept edits] [--divergence continue]",
    "retry --code CODE --workflows MODULE",
  ],
  about: `As \`stepmark resume\`, and every step that has failed runs again, not only those that failed the run. ${more}`,
  arguments: runsArgument,
  options,
  ends,
  run: (given, output) => goOn(given, { retry: "all" }, output),
});

async function goOn(
  { values, positionals }: Given<typeof options>,
  how: ResumeOptions,
  output: Output,
): Promise<number> {
  if (positionals.length === 0 && values.code === undefined) throw new UsageError("a run has to be named");
  if (positionals.length > 0 && values.code !== undefined) throw new UsageError("--code takes the place of runs");
  if (values.workflows === undefined) throw new UsageError("--workflows has to name the module of the workflows");
  if (values.accept !== undefined) how.accept = "edits";
  if (values.divergence !== undefined) how.divergence = "continue";
  const module = values.workflows;
  const store = existingStore(values.store);
  return withWorkflows(module, (loaded) =>
    using(store, async () => {
      const ids = values.code === undefined ? positionals : await failedWith(store, values.code, loaded.codec);
      if (ids.length === 0) output.warn(`No run has failed with ${values.code}.`);
      let code: number = exitCode.ok;
      for (const id of ids) {
        if (ids.length > 1 && !values.json) output.print(`${visible(id)}:`);
        const { run, entries } = await readRun(store, id);
        let own: number;
        if (run.status === "completed" || run.status === "cancelled") {
          output.warn(`The run is ${run.status}: there is nothing to go on with.`);
          own = codeOfRun(run.status);
        } else {
          checkTransformed(
            module,
            entries.some(({ site }) => site !== undefined),
          );
          own = await drive(store, id, loaded, { ...values, how, after: entries.length }, output);
        }
        if (own === exitCode.interrupted) return own;
        if (code === exitCode.ok) code = own;
      }
      return code;
    }),
  );
}

/** Ids of the failed runs whose error has that code, oldest first. */
async function failedWith(store: Store, code: string, codec: LoadedWorkflows["codec"]): Promise<string[]> {
  const failed = await store.list({ status: "failed" });
  return failed
    .map((run) => ({ id: run.id, info: runInfo(run, [], codec ?? plainCodec) }))
    .filter(({ info }) => fieldOf(Object(readField(info, "error")), "code") === code)
    .map(({ id }) => id)
    .reverse();
}

interface Drive {
  how: ResumeOptions;
  /** Number of the last entry that was there before. */
  after: number;
  values?: boolean | undefined;
  json?: boolean | undefined;
}

async function drive(
  store: Store,
  id: string,
  { workflows, codec }: LoadedWorkflows,
  { how, after, values, json }: Drive,
  output: Output,
): Promise<number> {
  const app = new Stepmark({ store, workflows, ...(codec && { codec }) });
  let interrupted = false;
  const stop = (): void => {
    interrupted = true;
    void app.shutdown();
  };
  process.once("SIGINT", stop);
  try {
    const run = await app.resume(id, how);
    const status = await follow(run.events({ after }), { values, json, id, untilWaiting: true }, output);
    if (interrupted) {
      output.warn(`Given up. \`stepmark resume ${quoted(id)} --workflows MODULE\` goes on with it.`);
      return exitCode.interrupted;
    }
    for (const line of await said(app, id)) output.warn(line);
    return codeOfRun(status);
  } finally {
    process.removeListener("SIGINT", stop);
    await app.shutdown();
  }
}

/** What there is to be known when nothing goes on any more. */
async function said(app: Stepmark, id: string): Promise<string[]> {
  const info = await app.get(id);
  if (info.status === "failed") {
    const error = readField(info, "error");
    const cure = cureFor(error, id);
    return [
      "",
      ...errorLines(error),
      ...(cure === undefined ? [] : [`On the command line: ${cure}`]),
      `\`stepmark show ${quoted(id)} --values\` tells how the run came there.`,
    ];
  }
  if (info.status !== "waiting") return [];
  const [first] = info.waits;
  if (first === undefined) {
    const due = (await app.entries(id)).findLast(({ kind, state }) => kind === "timer" && state === "open")?.due;
    const when = due === undefined ? "for a time or a child run" : `for a time, ${fromNow(due, Date.now())}`;
    return [`It waits ${when}: \`app.run()\` of a process takes it up then, or \`stepmark resume\` again.`];
  }
  const names = info.waits.map(({ name }) => visible(name));
  return [
    `It waits for ${counted(names.length, "answer")}: ${names.join(", ")}.`,
    `\`stepmark answer ${quoted(id)} ${quoted(first.name)} JSON\` gives one, \`stepmark resume\` goes on then.`,
  ];
}
