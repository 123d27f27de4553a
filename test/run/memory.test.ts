/** What an app and its runs keep in memory, and for how long. */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memoryStore, type Run, Stepmark, step, workflow } from "stepmark";
import { expect, it } from "vitest";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes of the heap that are in use. */
function heap(): number {
  for (let i = 0; i < 4; i++) collect();
  return process.memoryUsage().heapUsed;
}

it("a run that has ended keeps nothing of its journal, though the application holds on to it", async () => {
  const [runs, steps] = [30, 1500];
  const flow = workflow("flow", async () => {
    for (let i = 0; i < steps; i++) await step(async () => i);
  });
  const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
  const held: Array<Run<unknown>> = [];
  for (let i = 0; i < runs; i++) {
    const run = await app.start(flow);
    await run.result();
    held.push(run);
  }
  const before = heap();
  held.length = 0;
  const each = (before - heap()) / runs;
  expect(each).toBeLessThan(40_000);
});
