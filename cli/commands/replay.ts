/** `stepmark replay`: recorded runs against a build, before it is deployed. */
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { codec as makeCodec } from "../../runtime/journal/codec.js";
import { describeReport, type ReplayOptions, type ReplayReport, replayRun } from "../../runtime/rehearsal/replay.js";
import { type ExportedRun, readExport } from "../../runtime/transfer/read-export.js";
import { readWhole } from "../../runtime/transfer/read-whole.js";
import { command, UsageError } from "../command.js";
import { cureFor } from "../cures.js";
import { durationOption } from "../duration-option.js";
import { defaultStore, existingStore } from "../run-store.js";
import { withWorkflows, workflowsOption } from "../workflows.js";

export const replay = command({
  usage: ["replay [FILE | FOLDER | RUN]... --workflows MODULE [--store FILE] [--json]"],
  about: `Replays recorded runs against a build, without running any step and without writing anything, and tells of each whether
it could be gone on with: what the record answers, what is edited, left over or new, and what would be refused.`,
  arguments: {
    "FILE, FOLDER": "runs that `stepmark export` has printed; of a folder all files that end in .jsonl",
    RUN: "ids of runs in a store; with nothing named, all of its runs that have not completed and were not cancelled",
  },
  options: {
    ...workflowsOption,
    store: { type: "string", value: "FILE", help: `the store of the runs, by default ${defaultStore}` },
    grace: {
      type: "string",
      value: "TIME",
      default: "1s",
      help: "how long code may wait for something outside any step",
    },
    accept: { type: "string", value: "edits", choices: ["edits"], help: 'as `resume(id, { accept: "edits" })`' },
    json: { type: "boolean", help: "print each report as a line of JSON" },
  },
  ends: "Ends with 1 if a run could not be gone on with.",
  async run({ values, positionals }, { print }) {
    if (values.workflows === undefined) throw new UsageError("--workflows has to name the module of the workflows");
    const grace = durationOption("--grace", values.grace);
    const runs = runsOf(positionals, values.store);
    return withWorkflows(values.workflows, async ({ workflows, codec = makeCodec() }) => {
      const options: ReplayOptions = { workflows, codec, grace, accept: values.accept as "edits" | undefined };
      let [all, good] = [0, 0];
      for await (const run of runs) {
        const report = await replayRun(run, options);
        all++;
        if (report.ok) good++;
        print(values.json ? JSON.stringify(plain(report)) : describeReport(report));
        const cure = values.json || report.ok ? undefined : cureFor(report.error, report.runId);
        if (cure !== undefined) print(`       On the command line: ${cure}`);
      }
      if (!values.json) print(summary(all, all - good));
      return good === all ? 0 : 1;
    });
  },
});

async function* runsOf(named: readonly string[], store: string | undefined): AsyncGenerator<ExportedRun, void> {
  // With a store all names are of runs.
  const files = store === undefined ? named.filter((name) => existsSync(name)) : [];
  for (const file of files.flatMap(filesOf)) yield* readExport(createReadStream(file, "utf8"));
  const ids = named.filter((name) => !files.includes(name));
  if (ids.length > 0 || named.length === 0 || store !== undefined) yield* runsIn(store ?? defaultStore, ids);
}

/** The runs of a store that are named, or, if none is, all that are in flight. */
async function* runsIn(file: string, named: readonly string[]): AsyncGenerator<ExportedRun, void> {
  const store = existingStore(file);
  try {
    const inFlight = await store.list({ status: ["running", "waiting", "failed"] });
    const ids = named.length > 0 ? named : inFlight.map(({ id }) => id);
    for (const id of ids) yield { ...(await readWhole(store, id)), values: true, absent: [] };
  } finally {
    await store.close();
  }
}

function summary(all: number, bad: number): string {
  return bad === 0 ? `${all} replayed, and this build can go on with them` : `${bad} of ${all} cannot be gone on with`;
}

function filesOf(file: string): string[] {
  if (!statSync(file).isDirectory()) return [file];
  const names = readdirSync(file).filter((name) => name.endsWith(".jsonl"));
  if (names.length === 0) throw new UsageError(`${file} holds no .jsonl files`);
  return names.sort().map((name) => path.join(file, name));
}

/** As JSON can hold it. */
function plain({ error, ...report }: ReplayReport): unknown {
  if (error === undefined) return report;
  const { code, name, message, key, at } = Object(error) as Record<string, unknown>;
  return { ...report, error: { code, name, message: message ?? String(error), key, at } };
}
