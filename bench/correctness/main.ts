/**
 * `npm run bench:correctness`: what comes out, with each contender, of workflows that are killed, replayed in another order, or
 * edited. `-- --json` prints data, `--only NAME,...` and `--scenario NAME,...` choose, `--times N` sets how
 * often each is tried (the worst outcome counts), `--write` puts the table into the docs.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import pLimit from "p-limit";
import { contender, contenders } from "../contenders/index.js";
import { writeData, writeSection } from "../harness/docs.js";
import { machine } from "../harness/machine.js";
import type { Outcome } from "./judge.js";
import { play } from "./play.js";
import { type ScenarioName, scenarios } from "./scenarios.js";
import { type Outcomes, page } from "./table.js";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    only: { type: "string" },
    times: { type: "string", default: "2" },
    scenario: { type: "string" },
  },
});

const chosen = (options.only?.split(",").map(contender) ?? contenders).filter(
  ({ correctness }) => correctness !== undefined,
);
const names = (options.scenario?.split(",") ?? Object.keys(scenarios)) as ScenarioName[];
for (const name of names) {
  if (!(name in scenarios))
    throw new Error(`No scenario is called "${name}"; there are ${Object.keys(scenarios).join(", ")}`);
}
const times = Math.max(1, Number.parseInt(options.times, 10));
const server = process.env.DATABASE_URL;
for (const { prepare } of chosen) await prepare?.();
const outcomes: Outcomes["outcomes"] = {};
// Most of the time they wait: for a lease, for their turn.
const limit = pLimit(3 * availableParallelism());
await Promise.all(
  chosen.flatMap((each) => {
    const row: Partial<Record<ScenarioName, Outcome>> = {};
    outcomes[each.name] = row;
    return names.map((name) =>
      limit(async () => {
        row[name] = await play(each, name, server, times);
        if (process.stderr.isTTY || process.env.BENCH_VERBOSE) {
          process.stderr.write(`${each.name} ${name}: ${row[name].verdict} ${row[name].reason ?? ""}\n`);
        }
      }),
    );
  }),
);
const all: Outcomes = { machine: await machine(chosen, server), outcomes };
console.log(options.json ? JSON.stringify(all, null, 2) : page(all, chosen));
if (options.write) {
  writeData("correctness", all);
  writeSection("correctness", page(all, chosen));
}
