/**
 * How the cost of a step and of its replay grows with the length of a run, and what a recorded entry costs in memory.
 * `npm run bench:lengths` prints the table; `-- --most N` sets the longest run.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Stepmark, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";

const { values } = parseArgs({ options: { most: { type: "string", default: "100000" } } });
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const work = async (x: number): Promise<number> => x + 1;

const chain = workflow("chain", async (count: number) => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await step(work, i);
  await waitFor("never");
  return sum;
});

const fan = workflow("fan", async (count: number) => {
  const parts = await Promise.all(Array.from({ length: count }, (_, i) => step(work, i)));
  await waitFor("never");
  return parts.length;
});

const tree = workflow("tree", async (count: number) => {
  const grow = async (size: number): Promise<number> => {
    if (size <= 1) return step(work, size);
    const half = size >> 1;
    const [a, b] = await Promise.all([grow(half), grow(size - half)]);
    return a + b;
  };
  const sum = await grow(count);
  await waitFor("never");
  return sum;
});

const retried = workflow("retried", async (count: number) => {
  let sum = 0;
  for (let i = 0; i < count / 2; i++) {
    sum += await step({ retries: 1, backoff: 0 }, async () => (await step(work, i)) + 1);
  }
  await waitFor("never");
  return sum;
});

const folder = mkdtempSync(join(tmpdir(), "stepmark-bench-"));
const lengths = [1_000, 10_000, Number(values.most)];
for (const flow of [chain, fan, tree, retried]) {
  for (const length of lengths) {
    const path = join(folder, `${flow.workflowName}-${length}.db`);
    const options = { synchronous: "NORMAL" } as const;
    const fresh = await timed(async () => {
      const app = new Stepmark({ store: sqliteStore(path, options), workflows: [flow] });
      await (await app.start(flow, length, { id: "run" })).settled();
      await app.shutdown();
    });
    collect();
    const before = process.memoryUsage().heapUsed;
    const app = new Stepmark({ store: sqliteStore(path, options), workflows: [flow] });
    const again = await timed(async () => (await app.resume("run")).settled());
    collect();
    const held = process.memoryUsage().heapUsed - before;
    const entries = (await app.entries("run")).length;
    await app.shutdown();
    const each = (ms: number): string => `${((ms * 1000) / length).toFixed(1)} us`.padStart(10);
    console.log(
      flow.workflowName.padEnd(8),
      String(length).padStart(8),
      "fresh",
      each(fresh),
      "resume",
      each(again),
      "memory",
      `${Math.round(held / entries)} B an entry`,
    );
  }
}
rmSync(folder, { recursive: true });

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
