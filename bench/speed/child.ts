/**
 * One life of one contender in a process of its own: `node child.js ORDER`. It tells its parent what it has measured; an
 * order with a `killAt` does not come to its end.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Engine, Place } from "../contenders/contender.js";
import { contender } from "../contenders/index.js";
import { clearMarks, marks, now } from "./marks.js";

export interface Order {
  contender: string;
  place: Place;
  task:
    | { kind: "run"; flow: string; input: unknown; id: string; output: unknown; killAt?: number }
    | { kind: "resume"; flow: string; id: string }
    | { kind: "together"; runs: number; count: number }
    | { kind: "memory"; runs: number }
    | { kind: "cold" };
}

/** Times are in milliseconds since the epoch. */
export interface Report {
  /** The contender's library was loaded, its store open. */
  opened: number;
  /** It was told to begin. */
  began: number;
  /** The flow's function was entered. */
  entered?: number;
  /** The first body ran. */
  body?: number;
  /** The flow's function returned. */
  left?: number;
  /** The caller had the output. */
  done: number;
  /** For each waiting run. */
  bytes?: number;
}

const { contender: name, place, task } = JSON.parse(process.argv[2]!) as Order;

async function main(): Promise<void> {
  const loading = now();
  const open = await contender(name).speed!();
  const engine = await open(place);
  const opened = now();
  if ((task.kind === "run" && task.killAt === undefined) || task.kind === "together") await warmUp(engine);
  const began = task.kind === "cold" ? loading : now();
  const report = { opened, began, ...(await perform(engine)) };
  await tell({ report: { ...report, entered: marks.entered, body: marks.body, left: marks.left } });
  process.exit(0);
}

/** Code that has never run is slow in another way: that is what `cold` measures. */
async function warmUp(engine: Engine): Promise<void> {
  const most = contender(name).most?.steps ?? Number.POSITIVE_INFINITY;
  const count = Math.min(100, most / 10);
  expect(await engine.run("chain", { count }, "warm-up"), (count * (count + 1)) / 2);
  clearMarks();
}

async function perform(engine: Engine): Promise<{ done: number; bytes?: number }> {
  switch (task.kind) {
    case "run": {
      marks.killAt = task.killAt;
      expect(await engine.run(task.flow, task.input, task.id), task.output);
      break;
    }
    case "resume":
      await engine.resume(task.flow, task.id);
      break;
    case "together": {
      const { runs, count } = task;
      const outputs = await Promise.all(
        Array.from({ length: runs }, (_, i) => engine.run("chain", { count }, `run-${i}`)),
      );
      for (const output of outputs) expect(output, (count * (count + 1)) / 2);
      break;
    }
    case "memory":
      return { done: now(), bytes: await bytesOfWaiting(engine, task.runs) };
    case "cold":
      expect(await engine.run("chain", { count: 1 }, "run"), 1);
      break;
  }
  return { done: now() };
}

/** @returns by how much the heap has grown for each run that waits */
async function bytesOfWaiting(engine: Engine, runs: number): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used = (): number => {
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const atOnce = 50;
  const park = async (name: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i += atOnce)
      await Promise.all(
        Array.from({ length: Math.min(atOnce, count - i) }, (_, j) => engine.park!(`${name}-${i + j}`)),
      );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  };
  // Some beforehand: what is loaded and compiled with the first ones is not the runs'.
  await park("first", runs / 5);
  const before = used();
  await park("run", runs);
  return (used() - before) / runs;
}

function expect(output: unknown, expected: unknown): void {
  if (output !== expected) throw new Error(`The output is ${JSON.stringify(output)}, not ${JSON.stringify(expected)}`);
}

function tell(message: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

main().catch(async (error: unknown) => {
  await tell({ error: error instanceof Error ? error.message : String(error) });
  process.exit(1);
});
