/**
 * `npm run storm:workers -- --workers 4 --runs 10000 --steps 20 [--concurrency 10] [--kill-every 1000]`: exits with 1 if anything
 * is wrong. With `--kill-every 0` it only measures.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { buildChild } from "../support/build-child.js";
import { storm } from "./storm.js";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "4" },
    runs: { type: "string", default: "2000" },
    steps: { type: "string", default: "20" },
    concurrency: { type: "string", default: "10" },
    "kill-every": { type: "string", default: "1000" },
  },
});
const [workers, runs, steps] = [Number(values.workers), Number(values.runs), Number(values.steps)];
let last = 0;
const outcome = await storm({
  url: process.env.DATABASE_URL!,
  schema: `stepmark_storm_${process.pid}`,
  worker: await buildChild("test/workerstorm/worker.ts"),
  ...{ workers, runs, steps, concurrency: Number(values.concurrency), killEvery: Number(values["kill-every"]) },
  report: (text) => {
    if (performance.now() - last < 5_000) return;
    last = performance.now();
    console.log(text);
  },
});
const { unfinished, wrong, repeated, ownedTwice, executions, cut, kills, milliseconds, queueing } = outcome;
for (const [what, list] of Object.entries({ unfinished, wrong, repeated, ownedTwice }))
  for (const each of list.slice(0, 10)) console.log(`${what}: ${each}`);
const perSecond = (count: number, ms: number): string => ((count / ms) * 1_000).toFixed(0);
console.log(`queued ${runs} runs in ${(queueing / 1_000).toFixed(1)} s (${perSecond(runs, queueing)} runs/s)`);
console.log(
  `${workers} workers, ${kills} kills, ${runs} runs of ${steps} steps in ${(milliseconds / 1_000).toFixed(1)} s ` +
    `(${perSecond(runs, milliseconds)} runs/s, ${perSecond(runs * steps, milliseconds)} steps/s); ` +
    `${executions} executions, ${cut} of them cut by a kill; unfinished: ${unfinished.length}; wrong values: ${wrong.length}; ` +
    `finished steps repeated: ${repeated.length}; owned twice: ${ownedTwice.length}`,
);
process.exit(unfinished.length + wrong.length + repeated.length + ownedTwice.length > 0 ? 1 : 0);
