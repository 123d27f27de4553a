/** `stepmark resume` and `stepmark retry`: go on with a run in this process. */
import process from "node:process";
import type { ResumeOptions } from "../../runtime/app/options.js";
import { Stepmark } from "../../runtime/app/stepmark.js";
import type { Store } from "../../runtime/stores/store.js";
import { command, type Given, type Output, UsageError } from "../command.js";
import { cureFor } from "../cures.js";
import { codeOfRun, exitCode, runCodes } from "../exit-code.js";
import { follow, followOptions } from "../follow.js";
import { readField, readRun } from "../run-state.js";
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
  ...followOptions,
} as const;

const more = `Prints the run's events until it ends, or until it waits. Ctrl-C gives the run up: nothing is lost, and it can be resumed
again. A run that a living process drives is left to it.`;

export const resume = command({
  usage: ["resume RUN --workflows MODULE [--accept edits] [--divergence continue]"],
  about: `Goes on with a run that a process left behind, that waits, or that has failed: its workflow runs again from the top, and every
recorded step answers from the journal. Of a run that has failed the steps that failed it run again. ${more}`,
  arguments: { RUN: "the run's id" },
  options,
  ends: runCodes,
  run: (given, output) => goOn(given, {}, output),
});

export const retry = command({
  usage: ["retry RUN --workflows MODULE [--accept edits] [--divergence continue]"],
  about: `As \`stepmark resume\`, and every step that has failed runs again, not only those that failed the run. ${more}`,
  arguments: { RUN: "the run's id" },
  options,
  ends: runCodes,
  run: (given, output) => goOn(given, { retry: "all" }, output),
});

async function goOn(
  { values, positionals }: Given<typeof options>,
  how: ResumeOptions,
  output: Output,
): Promise<number> {
  const [id, ...rest] = positionals;
  if (id === undefined || rest.length > 0) throw new UsageError("one run has to be named");
  if (values.workflows === undefined) throw new UsageError("--workflows has to name the module of the workflows");
  if (values.accept !== undefined) how.accept = "edits";
  if (values.divergence !== undefined) how.divergence = "continue";
  const module = values.workflows;
  const store = existingStore(values.store);
  return withWorkflows(module, (loaded) =>
    using(store, async () => {
      const { run, entries } = await readRun(store, id);
      if (run.status === "completed" || run.status === "cancelled") {
        output.warn(`The run is ${run.status}: there is nothing to go on with.`);
        return codeOfRun(run.status);
      }
      checkTransformed(
        module,
        entries.some(({ site }) => site !== undefined),
      );
      return drive(store, id, loaded, { ...values, how, after: entries.length }, output);
    }),
  );
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
