/** `stepmark import`: exported runs, or a flat history of another system, into a store. */
import { createReadStream, existsSync, readFileSync } from "node:fs";
import type { AnyWorkflow } from "../../runtime/calls/workflow.js";
import { systemClock } from "../../runtime/clock.js";
import { UnknownWorkflowError } from "../../runtime/errors.js";
import { codec as makeCodec } from "../../runtime/journal/codec.js";
import { type FlatHistory, importFlat } from "../../runtime/rehearsal/flat-history.js";
import { importRuns } from "../../runtime/transfer/import.js";
import { command, type Output, UsageError } from "../command.js";
import { openStore, storeOption, using } from "../run-store.js";
import { withWorkflows } from "../workflows.js";

export const importCommand = command({
  usage: ["import FILE... [--store FILE]", "import --flat FILE --workflows MODULE [--store FILE]"],
  about: `Puts runs that \`stepmark export\` has printed into a store, as they were; it is made if it is not there. Nobody owns them
then: \`app.resume(id)\` and \`app.recover()\` go on with them. A run whose id is there is an error, and so is a file that is not
whole; nothing is imported then.`,
  arguments: { FILE: "exported runs" },
  options: {
    ...storeOption,
    flat: {
      type: "string",
      value: "FILE",
      help: `a history of another system instead, or an array of them, as JSON: { "id", "workflow", "input", "steps": [{ "name", "value" } or { "name", "error" }, ...] }. It is refused unless the code leaves no doubt about which outcome belongs to which call`,
    },
    workflows: {
      type: "string",
      value: "MODULE",
      help: "the built module that exports the workflows of flat histories",
    },
  },
  ends: "Ends with 1 if something was refused.",
  async run({ values, positionals }, output) {
    if (values.flat !== undefined) {
      if (positionals.length > 0) throw new UsageError("--flat takes one file, and no other can be named beside it");
      if (values.workflows === undefined) throw new UsageError("--workflows has to name the module of the workflows");
      return importHistories(values.flat, values.workflows, values.store, output);
    }
    if (positionals.length === 0) throw new UsageError("a file has to be named");
    for (const file of positionals) existing(file);
    return using(openStore(values.store), async (store) => {
      for (const file of positionals) {
        const ids = await importRuns(store, () => createReadStream(file, "utf8"));
        output.print(`${ids.length} runs imported from ${file}`);
      }
      return 0;
    });
  },
});

async function importHistories(file: string, module: string, to: string, { print }: Output): Promise<number> {
  const histories = readHistories(file);
  return withWorkflows(module, ({ workflows, codec = makeCodec() }) =>
    using(openStore(to), async (store) => {
      for (const history of histories) {
        const workflow = named(workflows, history);
        await importFlat({ ...history, workflow }, { store, codec, clock: systemClock, grace: 1_000 });
        print(`${history.steps.length} steps of ${JSON.stringify(history.id)} imported from ${file}`);
      }
      return 0;
    }),
  );
}

/** As JSON holds it. */
type WrittenHistory = Omit<FlatHistory, "workflow"> & { workflow: string };

function readHistories(file: string): WrittenHistory[] {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(existing(file), "utf8"));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} holds no JSON: ${(error as Error).message}`);
  }
  const histories = [read].flat() as WrittenHistory[];
  if (histories.every((each) => typeof each === "object" && each !== null)) return histories;
  throw new UsageError(`${file} holds something else than histories`);
}

function named(workflows: readonly AnyWorkflow[], { id, workflow }: WrittenHistory): AnyWorkflow {
  const found = workflows.find(({ workflowName }) => workflowName === workflow);
  if (found !== undefined) return found;
  const known = workflows.map(({ workflowName }) => workflowName);
  throw new UnknownWorkflowError(workflow, known, { runId: id }, "Export it from the module of workflows.");
}

function existing(file: string): string {
  if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
  return file;
}
