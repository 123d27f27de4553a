/**
 * `npm run storm -- --by workers|recovery --runs 1000 --steps 20 [--processes 4] [--concurrency 10] [--kills 1s] [--restarts 7s]
 * [--cuts 8s] [--seed 1]`: see `storm.ts`. What is told how often it comes never does with 0. Exits with 1 if anything is wrong.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { type Duration, milliseconds } from "../../runtime/calls/duration.js";
import { faultsOf } from "./judge.js";
import { type KindName, kinds } from "./kinds.js";
import type { Pace } from "./pace.js";
import { storm, summary } from "./storm.js";

const { values } = parseArgs({
  options: {
    by: { type: "string", default: "workers" },
    processes: { type: "string", default: "4" },
    runs: { type: "string", default: "1000" },
    steps: { type: "string", default: "20" },
    concurrency: { type: "string", default: "10" },
    kills: { type: "string", default: "1s" },
    restarts: { type: "string", default: "7s" },
    cuts: { type: "string", default: "8s" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
  },
});
if (!Object.hasOwn(kinds, values.by)) throw new Error(`--by takes one of: ${Object.keys(kinds).join(", ")}`);

function pace(option: "kills" | "restarts" | "cuts"): Pace | undefined {
  const every = values[option] === "0" ? 0 : milliseconds(values[option] as Duration, `--${option}`);
  return every === 0 ? undefined : { milliseconds: every };
}

let told = performance.now();
const damage = await storm({
  by: values.by as KindName,
  ...{ processes: Number(values.processes), runs: Number(values.runs), steps: Number(values.steps) },
  ...{ concurrency: Number(values.concurrency), seed: Number(values.seed) },
  ...{ kills: pace("kills"), restarts: pace("restarts"), cuts: pace("cuts") },
  report: (text) => {
    if (performance.now() - told < 5_000) return;
    told = performance.now();
    console.log(text);
  },
});
const faults = Object.entries(faultsOf(damage.verdict));
for (const [what, list] of faults) for (const each of list.slice(0, 10)) console.log(`${what}: ${each}`);
console.log(`by ${values.by}, ${values.processes} processes, seed ${values.seed}: ${summary(damage)}`);
process.exit(faults.some(([, list]) => list.length > 0) ? 1 : 0);
