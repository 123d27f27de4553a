/**
 * `npm run bench`: how fast stepmark is beside its peers. `-- --quick` takes less than two minutes, `--json` prints data, `--only
 * NAME,...` and `--workload NAME,...` choose, `--rounds N` sets how often each is measured, `--write` puts tables, data and
 * plots into the docs.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { contender, contenders } from "../contenders/index.js";
import { writeData, writeSection } from "../harness/docs.js";
import { machine } from "../harness/machine.js";
import { writePlots } from "./plots.js";
import { measure } from "./rounds.js";
import { page, type Results } from "./table.js";
import { sizeOf, workloads } from "./workloads.js";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    only: { type: "string" },
    workload: { type: "string" },
    durability: { type: "string" },
    rounds: { type: "string" },
  },
});

const chosen = (options.only?.split(",").map(contender) ?? contenders).filter(({ speed }) => speed !== undefined);
const all = workloads(options.quick);
const names = options.workload?.split(",") ?? Object.keys(all);
for (const name of names) {
  if (!(name in all)) throw new Error(`No workload is called "${name}"; there are ${Object.keys(all).join(", ")}`);
}
const rounds = Math.max(1, Number.parseInt(options.rounds ?? (options.quick ? "1" : "3"), 10));
const server = process.env.DATABASE_URL;
for (const { prepare } of chosen) await prepare?.();
const cells = await measure(
  {
    contenders: chosen,
    workloads: Object.fromEntries(names.map((name) => [name, all[name]!])),
    durabilities: (["power", "process"] as const).filter((each) => (options.durability ?? each) === each),
    rounds,
    quick: options.quick,
    patience: options.quick ? 60_000 : 120_000,
    server,
  },
  ({ contender, workload, durability, value, not }) => {
    if (process.stderr.isTTY || process.env.BENCH_VERBOSE) {
      process.stderr.write(`${durability} ${workload} ${contender}: ${value?.median.toFixed(1) ?? not}\n`);
    }
  },
);
const results: Results = {
  machine: await machine(chosen, server),
  quick: options.quick,
  rounds,
  workloads: Object.fromEntries(
    names.map((name) => {
      const { title, unit, shape } = all[name]!;
      const steps = sizeOf(shape);
      return [name, { title, unit, ...(steps !== undefined && { steps }) }];
    }),
  ),
  cells,
};
console.log(options.json ? JSON.stringify(results, null, 2) : page(results, chosen));
if (options.write) {
  writeData("speed", results);
  writeSection("speed", page(results, chosen));
  writePlots(results, chosen);
}
