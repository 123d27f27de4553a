/**
 * `npm run storm:postgres -- --processes 4 --runs 1000 --steps 20 --seed 1`: see `storm.ts`. Exits with 1 if anything is wrong.
 * `--executor PATH` takes another program that executes runs, as it is built: it is given what `executor.ts` is.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { buildChild } from "../../support/build-child.js";
import { storm, summary } from "./storm.js";

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "4" },
    runs: { type: "string", default: "1000" },
    steps: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
    executor: { type: "string" },
  },
});
const damage = await storm({
  executor: values.executor ?? (await buildChild("test/postgres/storm/executor.ts")),
  processes: Number(values.processes),
  runs: Number(values.runs),
  steps: Number(values.steps),
  seed: Number(values.seed),
  report: (text) => console.log(text),
});
for (const each of damage.repeated.slice(0, 10)) console.log(`repeated: ${each}`);
for (const each of damage.wrong.slice(0, 10)) console.log(`wrong: ${each}`);
console.log(`seed ${values.seed}: ${summary(damage)}`);
process.exit(damage.repeated.length + damage.wrong.length > 0 ? 1 : 0);
