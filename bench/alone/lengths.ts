/**
 * How the cost of a step and of its replay grows with the length of a run, and what a recorded entry costs in memory.
 * `npm run bench:lengths` prints the table; `-- --most N` sets the longest run.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Stepmark, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";

const { values, positionals } = parseArgs({
  options: { most: { type: "string", default: "100000" } },
  allowPositionals: true,
});
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

const flows = [chain, fan, tree, retried];

/** One half of a run's life: what it took in milliseconds, and for a resume the bytes of memory for each entry. */
interface Half {
  took: number;
  held: number;
}

/** In a process of its own: what is left of recording a run is not what resuming it costs. */
async function measure(half: string, name: string, length: number, path: string): Promise<Half> {
  const flow = flows.find(({ workflowName }) => workflowName === name)!;
  const app = new Stepmark({ store: sqliteStore(path, { synchronous: "NORMAL" }), workflows: [flow] });
  // The file is opened, and its statements are prepared, before.
  await app.list({ limit: 1 });
  const before = used();
  const start = performance.now();
  await (half === "fresh" ? await app.start(flow, length, { id: "run" }) : await app.resume("run")).settled();
  const took = performance.now() - start;
  const held = (used() - before) / (await app.entries("run")).length;
  await app.shutdown();
  return { took, held };
}

function used(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

function apart(...half: Parameters<typeof measure>): Half {
  const args = [fileURLToPath(import.meta.url), ...half.map(String)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8", maxBuffer: 2 ** 26 })) as Half;
}

const [half, name, length, path] = positionals;
if (half !== undefined) {
  console.log(JSON.stringify(await measure(half, name!, Number(length), path!)));
} else {
  const folder = mkdtempSync(join(tmpdir(), "stepmark-bench-"));
  for (const { workflowName } of flows) {
    for (const steps of [1_000, 10_000, Number(values.most)]) {
      const file = join(folder, `${workflowName}-${steps}.db`);
      const [fresh, again] = ["fresh", "resume"].map((which) => apart(which, workflowName, steps, file)) as [
        Half,
        Half,
      ];
      const each = ({ took }: Half): string => `${((took * 1000) / steps).toFixed(1)} us`.padStart(10);
      const columns = [workflowName.padEnd(8), String(steps).padStart(8), "fresh", each(fresh), "resume", each(again)];
      console.log(...columns, "memory", `${Math.round(again.held)} B an entry`);
    }
  }
  rmSync(folder, { recursive: true });
}
