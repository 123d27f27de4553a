/** What instrumented code costs: nanoseconds for a call, for entering a function, for the key of a step; in a run, and where none is. */
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { memoryStore, Stepmark, workflow } from "stepmark";
import { transformText } from "stepmark/transform";
import { inTurn, stopwatch } from "./rounds.js";

const source = `
exports.call = (f, n) => { let x = 0; for (let i = 0; i < n; i++) x = f(x); return x; };
exports.method = (o, n) => { let x = 0; for (let i = 0; i < n; i++) x = o.m(x); return x; };
exports.awaited = async (f, n) => { let x = 0; for (let i = 0; i < n; i++) x = await f(x); return x; };
exports.leaf = (g) => (x) => { if (x < 0) g(x); return x + 1; };
`;

/** The same loop as a step in each iteration, and as a helper with a step in it. */
const stepSource = `import { step } from "stepmark";
exports.steps = async (f, n) => { let x = 0; for (let i = 0; i < n; i++) x = await step(f, x); return x; };
exports.helped = async (f, n) => { let x = 0; for (let i = 0; i < n; i++) x = await help(f, x); return x; };
async function help(f, x) { return await step(f, x); }
`;

type Bare = (x: number) => number;
type Later = (x: number) => Promise<number>;

interface Code {
  call(f: Bare, n: number): number;
  method(o: { m: Bare }, n: number): number;
  awaited(f: Later, n: number): Promise<number>;
  /** A function that opens a frame. */
  leaf(g: Bare): Bare;
}

interface StepCode {
  steps(f: Later, n: number): Promise<number>;
  helped(f: Later, n: number): Promise<number>;
}

const times = 1_000_000;
const file = "calls.js";
const transformed = (code: string): string => transformText(code, { file, root: ".", include: [file] })!.code;

/** Nanoseconds that one call costs more than in the source, where no run is. */
export async function callCost(rounds: number): Promise<Record<string, number>> {
  const alone = await figures(rounds, "");
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const waiting = workflow("waiting", () => released);
  const beside = await inApp(waiting, async () => {
    const figured = await figures(rounds, ", while a run is under way elsewhere");
    release();
    return figured;
  });
  return { ...alone, ...beside };
}

/** Nanoseconds that one call costs more than in the source in a run, and that the key of one step costs: no store, no body. */
export async function runCost(rounds: number): Promise<Record<string, number>> {
  let found: Record<string, number> = {};
  const measured = workflow("measured", async () => {
    found = { ...(await figures(rounds, "")), ...(await keyFigures(rounds)) };
  });
  await inApp(measured, async () => {});
  return found;
}

/** @param beside done while the run is under way; the run ends before the result is there */
async function inApp<T>(flow: ReturnType<typeof workflow<void, void>>, beside: () => Promise<T>): Promise<T> {
  const app = new Stepmark({ store: memoryStore(), workflows: [flow], stallAfter: 3_600_000 });
  const run = await app.start(flow);
  const result = await beside();
  await run.result();
  await app.shutdown();
  return result;
}

/** A step here is its identity, which is asked for as steps do, and the body itself. */
async function keyFigures(rounds: number): Promise<Record<string, number>> {
  const identify = await loadIdentify();
  const step = (f: Later, x: number): Promise<number> => f(x);
  step.at = (frame: object, index: number, path: unknown, _captures: unknown, f: Later, x: number) => {
    identify("step", { frame, index, path }, undefined);
    return f(x);
  };
  const withoutImport = (code: string): string => code.slice(code.indexOf("\n"));
  const plain = evaluate<StepCode>(withoutImport(stepSource), step);
  const marked = evaluate<StepCode>(withoutImport(transformed(stepSource)), step);
  const later: Later = async (x) => x + 1;
  const count = times / 10;
  const found = await inTurn(rounds, {
    "plain step": () => timedAsync(() => plain.steps(later, count), count),
    "marked step": () => timedAsync(() => marked.steps(later, count), count),
    "plain helper": () => timedAsync(() => plain.helped(later, count), count),
    "marked helper": () => timedAsync(() => marked.helped(later, count), count),
  });
  return {
    "the key of a step in a loop": found["marked step"] - found["plain step"],
    "a helper in a loop, and the key of the step in it": found["marked helper"] - found["plain helper"],
  };
}

/** What the library asks for the identity of a call, out of its sources: copies of the library share the runs of a process. */
async function loadIdentify(): Promise<(name: string, at: object, key: undefined) => unknown> {
  const from = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
  const outfile = from("bench/dist/transformer/identity.js");
  const entryPoints = [from("runtime/calls/identity.ts")];
  await build({ entryPoints, outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  return ((await import(pathToFileURL(outfile).href)) as { identify: Awaited<ReturnType<typeof loadIdentify>> })
    .identify;
}

async function figures(rounds: number, when: string): Promise<Record<string, number>> {
  const plain = evaluate<Code>(source);
  const marked = evaluate<Code>(transformed(source));
  const add: Bare = (x) => x + 1;
  const later = async (x: number): Promise<number> => x + 1;
  const object = { m: add };
  const work = (code: Code): Record<string, () => number | Promise<number>> => ({
    call: () => timed(() => code.call(add, times)),
    method: () => timed(() => code.method(object, times)),
    await: async () => timedAsync(() => code.awaited(later, times / 10), times / 10),
    enter: () => {
      const f = code.leaf(add);
      return timed(() => plain.call(f, times));
    },
  });
  const before = prefixed("plain ", work(plain));
  const after = prefixed("marked ", work(marked));
  const found = await inTurn(rounds, { ...before, ...after });
  const more = (name: string): number => found[`marked ${name}`]! - found[`plain ${name}`]!;
  return {
    [`a call in a loop${when}`]: more("call"),
    [`a method call in a loop${when}`]: more("method"),
    [`an awaited call in a loop${when}`]: more("await"),
    [`entering a function${when}`]: more("enter"),
  };
}

function prefixed<T>(prefix: string, record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [prefix + name, value]));
}

/** @param step what code with steps calls them by */
function evaluate<T>(code: string, step?: unknown): T {
  const exports = {};
  new Function("exports", "step", code)(exports, step);
  return exports as T;
}

function timed(work: () => unknown): number {
  const watch = stopwatch();
  work();
  return (watch() * 1e6) / times;
}

async function timedAsync(work: () => Promise<unknown>, count: number): Promise<number> {
  const watch = stopwatch();
  await work();
  return (watch() * 1e6) / count;
}
