/**
 * `npm run edits`: what edits of code do to runs in flight. Each flow is recorded, edited by a machine at places of its own, and
 * resumed: without a lock file, with that of the code before the edit, and with the one that was accepted for the code after it.
 */
import { parseArgs } from "node:util";
import { casesOf } from "./case.js";
import { corpus } from "./corpus.js";
import { histories } from "./histories.js";
import { HistoryReport } from "./history-report.js";
import { readFlows } from "./project.js";
import { Report } from "./report.js";

const { values } = parseArgs({
  options: {
    /** Part of the name of flows or kinds of edits. */
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    /** Places for each kind of edit in a flow. */
    places: { type: "string", default: "2" },
    /** Pairs of edits in each flow. */
    pairs: { type: "string", default: "6" },
    /** How many prefixes of the journal a run is resumed from, or "all". */
    cuts: { type: "string", default: "2" },
    /** So many runs of each flow that several builds record; nothing else is tried then. */
    histories: { type: "string" },
    /** What became of each call that was not kept, and how far it is, on the way. */
    verbose: { type: "boolean", default: false },
    /** The tables of docs/edits.md. */
    markdown: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

if (values.histories !== undefined) {
  const options = { seed: Number(values.seed), count: Number(values.histories), only: values.only };
  const told = new HistoryReport();
  for await (const each of histories(readFlows(), options)) told.add(each);
  console.log(told.markdown());
  for (const fault of told.faults) console.error(fault);
  process.exit(told.faults.length > 0 ? 1 : 0);
}

const report = new Report();
/** Edits that a person would not have made. */
const unusable: string[] = [];
const cases = corpus(readFlows(), {
  seed: Number(values.seed),
  places: Number(values.places),
  pairs: Number(values.pairs),
  only: values.only,
});
for await (const [each, outcome] of casesOf(cases, values.cuts === "all" ? "all" : Number(values.cuts))) {
  const { flow, edit, where } = each;
  // The edit of the machine has made code that does not run: that says nothing of the record.
  if (outcome instanceof Error) unusable.push(`${flow} | ${edit} | ${where}: ${outcome.message}`);
  else report.add(each, outcome);
  if (!values.verbose || outcome instanceof Error) continue;
  for (const { mode, kept, calls } of outcome.resumptions)
    for (const [{ key }, { fate, same }] of calls)
      if (fate !== "kept")
        console.error(
          `${mode}: ${flow} | ${edit} | ${where} after ${kept}: ${fate}, ${same ? "same" : "gone"}: ${key}`,
        );
}

if (values.json) console.log(JSON.stringify({ ...report.toJSON(), unusable }, undefined, 2));
else console.log(values.markdown ? report.markdown() : report.table());
for (const fault of report.faults) console.error(fault);
for (const each of unusable) console.error(`not usable: ${each}`);
process.exitCode = report.faults.length > 0 ? 1 : 0;
