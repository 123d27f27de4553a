/**
 * `npm run bench:nodes`: stepmark on one version of Node beside others, and what an `AsyncLocalStorage` costs each of them, which is most
 * of the difference: until Node 24 it is built on hooks that run for every promise.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import type { Contender } from "../contenders/contender.js";
import { stepmarkSqlite } from "../contenders/stepmark/about.js";
import { inChild } from "../harness/processes.js";
import { measure } from "../speed/rounds.js";
import { spread } from "../speed/statistics.js";
import { workloads } from "../speed/workloads.js";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
const child = new URL("async-context.js", import.meta.url);
const rounds = Number.parseInt(values.rounds, 10);
const { sequential, concurrent, resume } = workloads(false);
const contenders: Contender[] = [stepmarkSqlite, { ...stepmarkSqlite, node: 22 }, { ...stepmarkSqlite, node: 24 }];

const rows: Record<string, Record<string, string>> = {};
for (const contender of contenders) {
  const version = contender.node ?? process.versions.node.split(".")[0];
  const row: Record<string, string> = {};
  rows[`Node ${version}`] = row;
  const cells = await measure(
    {
      contenders: [contender],
      workloads: { sequential: sequential!, concurrent: concurrent!, resume: resume! },
      durabilities: ["process"],
      rounds,
      quick: false,
      patience: 120_000,
      server: undefined,
    },
    () => {},
  );
  for (const { workload, value, not } of cells) row[workload] = value ? `${value.median.toFixed(1)} ms` : not!;
  const costs: Array<{ plain: number; stored: number }> = [];
  for (let round = 0; round < rounds; round++) {
    const { message } = await inChild(contender, child, {}, 60_000);
    costs.push(message as { plain: number; stored: number });
  }
  row["an await"] = `${spread(costs.map(({ plain }) => plain)).median.toFixed(0)} ns`;
  row["in a store's context"] = `${spread(costs.map(({ stored }) => stored)).median.toFixed(0)} ns`;
}
console.table(rows);
