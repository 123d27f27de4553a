/**
 * `npm run edits`: what edits of code do to runs in flight. Each flow is recorded, edited by a machine at places of its own, and
 * resumed: without a lock file, with that of the code before the edit, and with the one that was accepted for the code after it.
 */
import { parseArgs } from "node:util";
import { seeded } from "../support/schedule.js";
import { type Before, before, type Mode, modes, tryEdit } from "./case.js";
import { type Case, corpus, hash, sample } from "./corpus.js";
import { type Project, readFlows } from "./project.js";
import { type Scheme, schemes } from "./schemes.js";

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
    json: { type: "boolean", default: false },
    /** What became of each call that was not kept. */
    calls: { type: "boolean", default: false },
  },
});

/** How often recorded calls came to what: by mode, and whether a person would say that the call is still there. */
type Tally = Map<string, number>;

interface Row {
  cases: number;
  readonly fates: Tally;
  readonly papers: Tally;
}

const rows = new Map<string, Row>();
/** Faults. */
const notes: string[] = [];
/** Edits that a person would not have made. */
const unusable: string[] = [];
const known = new Map<Project, Promise<Before>>();

for await (const each of corpus(readFlows(), {
  seed: Number(values.seed),
  places: Number(values.places),
  pairs: Number(values.pairs),
  only: values.only,
}))
  try {
    await take(each);
  } catch (error) {
    // The edit of the machine has made code that does not run: that says nothing of the record.
    unusable.push(`${each.flow} | ${each.edit} | ${each.where}: ${(error as Error).message}`);
  }

if (values.json) console.log(JSON.stringify([...rows].map(asData), undefined, 2));
else print();
process.exitCode = notes.length > 0 ? 1 : 0;

async function take({ flow, family, edit, where, before: source, after }: Case): Promise<void> {
  const name = family === "pairs" ? "pairs of edits" : edit;
  const row = rows.get(name) ?? { cases: 0, fates: new Map(), papers: new Map() };
  rows.set(name, row);
  row.cases++;
  if (!known.has(source)) known.set(source, before(source));
  const next = seeded(hash(flow + edit + where));
  const { resumptions, papers } = await tryEdit(await known.get(source)!, after, (entries) => cutsOf(entries, next));
  for (const { mode, kept, calls, expected, error } of resumptions) {
    for (const [ask, { fate, same }] of calls) {
      count(row.fates, fateKey(mode, same, fate));
      if (values.calls && fate !== "kept")
        console.log(
          `${mode}: ${flow} | ${edit} | ${where} after ${kept}: ${fate}, ${same ? "same" : "gone"}: ${ask.key}`,
        );
      const isFault = fate === "taken" || fate === "redone";
      if (isFault) notes.push(`${fate}, ${mode}: ${flow} | ${edit} | ${where} after ${kept}: ${ask.key}`);
    }
    if (!expected) notes.push(`unexpected, ${mode}: ${flow} | ${edit} | ${where} after ${kept}: ${error}`);
  }
  for (const scheme of Object.keys(schemes) as Scheme[])
    for (const [fate, number] of Object.entries(papers[scheme])) count(row.papers, `${scheme} ${fate}`, number);
}

function cutsOf(entries: number, next: () => number): number[] {
  const all = Array.from({ length: entries }, (_, index) => index + 1);
  return values.cuts === "all" ? all : [entries, ...sample(all.slice(0, -1), Number(values.cuts) - 1, next)];
}

function fateKey(mode: Mode, same: boolean, fate: string): string {
  return `${mode} ${same ? "same" : "gone"} ${fate}`;
}

function count(tally: Tally, key: string, by = 1): void {
  tally.set(key, (tally.get(key) ?? 0) + by);
}

function print(): void {
  console.log(`| edit | cases | ${[...modes, ...Object.keys(schemes)].join(" | ")} |`);
  console.log(`| --- | --- | ${[...modes, ...Object.keys(schemes)].map(() => "---").join(" | ")} |`);
  const total: Row = { cases: 0, fates: new Map(), papers: new Map() };
  for (const [name, row] of rows) {
    console.log(line(name, row));
    total.cases += row.cases;
    for (const [key, number] of row.fates) count(total.fates, key, number);
    for (const [key, number] of row.papers) count(total.papers, key, number);
  }
  console.log(line("all", total));
  for (const note of notes) console.log(note);
  for (const each of unusable) console.log(`not usable: ${each}`);
}

function line(name: string, { cases, fates, papers }: Row): string {
  const ours = modes.map((mode) => share(fates, `${mode} same `, "kept", ["taken", "redone"]));
  const others = (Object.keys(schemes) as Scheme[]).map((scheme) => share(papers, `${scheme} `, "kept", ["taken"]));
  return `| ${[name, cases, ...ours, ...others].join(" | ")} |`;
}

/** `93 %`, and behind it what should not have happened. */
function share(tally: Tally, prefix: string, good: string, bad: readonly string[]): string {
  const found = [...tally].filter(([key]) => key.startsWith(prefix));
  const all = found.reduce((sum, [, number]) => sum + number, 0);
  if (all === 0) return "-";
  const percent = Math.floor(((tally.get(prefix + good) ?? 0) / all) * 1000) / 10;
  const faults = bad.flatMap((fate) => {
    const number = tally.get(prefix + fate) ?? 0;
    return number === 0 ? [] : [`${number} ${fate}`];
  });
  return [`${percent} %`, ...faults].join(", ");
}

function asData([edit, { cases, fates, papers }]: [string, Row]): object {
  return { edit, cases, fates: Object.fromEntries(fates), papers: Object.fromEntries(papers) };
}
