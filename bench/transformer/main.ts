/**
 * What the transformer costs: in builds, in size, and where instrumented code runs, outside any run and in one.
 * `npm run bench:transformer` prints medians of several rounds; `-- --rounds N` sets how many, `-- --only text` which part.
 */
import { parseArgs } from "node:util";
import { transformText } from "stepmark/transform";
import { callCost, runCost } from "./calls.js";
import { compileCost } from "./compile.js";
import { lockCost } from "./lock.js";
import type { Comparison, Cost } from "./project.js";
import { plainFile } from "./sources.js";
import { emittedSizes, textSpeed } from "./text.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    only: { type: "string", default: "calls,run,text,size,compile,lock" },
  },
});
const rounds = Math.max(1, Number.parseInt(values.rounds, 10));
const parts = new Set(values.only.split(","));
const line = (name: string, figure: string): void => console.log(`  ${name.padEnd(58)} ${figure}`);

console.log(`Node ${process.version}, medians of ${rounds} rounds`);
if (parts.has("calls")) {
  console.log("outside any run, more than in the source:");
  for (const [name, ns] of Object.entries(await callCost(rounds))) line(name, `${ns.toFixed(1)} ns`);
  const left = transformText(plainFile(0), { file: "plain.ts" });
  line("in a file that does not import the library", left === undefined ? "0 ns: it is not touched" : "touched");
}
if (parts.has("run")) {
  console.log("in a run, more than in the source; no store, no body:");
  for (const [name, ns] of Object.entries(await runCost(rounds))) line(name, `${ns.toFixed(0)} ns`);
}
if (parts.has("text")) {
  console.log("speed, in source text a second of processor time:");
  for (const [name, speed] of Object.entries(await textSpeed(rounds))) line(name, `${speed.toFixed(2)} MB/s`);
}
if (parts.has("size")) {
  console.log("mean size of a workflow file, from the source to transformed:");
  const { source, transformed } = emittedSizes();
  for (const kind of ["raw", "minified", "gzip"] as const) {
    const growth = `x ${(transformed[kind] / source[kind]).toFixed(2)}`;
    line(kind, `${Math.round(source[kind])} to ${Math.round(transformed[kind])} bytes, ${growth}`);
  }
}
if (parts.has("compile")) {
  console.log("tspc on 1,000 files, 200 of them with workflows:");
  compared(compileCost(process.cwd(), rounds), "without the plugin", "with the plugin");
}
if (parts.has("lock")) {
  const { places, check, checkEdited, build } = lockCost(process.cwd(), rounds);
  console.log(`the lock file of 1,000 files, 200 of them with workflows, ${places} lines:`);
  line("stepmark check, the whole process", cost(check));
  line("the same, 20 of the files edited", cost(checkEdited));
  compared(build, "tspc without the lock file", "tspc with it");
}

function compared({ one, other, ratio }: Comparison, nameOfOne: string, nameOfOther: string): void {
  line(nameOfOne, cost(one));
  line(nameOfOther, cost(other));
  line("ratio, median of the rounds", `${ratio.wall.toFixed(3)}, ${ratio.cpu.toFixed(3)} of processor time`);
}

function cost({ wall, cpu }: Cost): string {
  return `${(wall / 1000).toFixed(2)} s, ${(cpu / 1000).toFixed(2)} s of processor time`;
}
