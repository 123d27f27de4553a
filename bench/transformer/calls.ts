/** What instrumented code costs where no run is: nanoseconds for a call, for entering a function, for an iteration. */

import { memoryStore, Stepmark, workflow } from "stepmark";
import { transformText } from "stepmark/transform";
import { inTurn, stopwatch } from "./rounds.js";

const source = `
exports.call = (f, n) => { let x = 0; for (let i = 0; i < n; i++) x = f(x); return x; };
exports.method = (o, n) => { let x = 0; for (let i = 0; i < n; i++) x = o.m(x); return x; };
exports.awaited = async (f, n) => { let x = 0; for (let i = 0; i < n; i++) x = await f(x); return x; };
exports.leaf = (g) => (x) => { if (x < 0) g(x); return x + 1; };
`;

type Bare = (x: number) => number;
interface Code {
  call(f: Bare, n: number): number;
  method(o: { m: Bare }, n: number): number;
  awaited(f: (x: number) => Promise<number>, n: number): Promise<number>;
  /** A function that opens a frame. */
  leaf(g: Bare): Bare;
}

const times = 1_000_000;

/** Nanoseconds that one call costs more than in the source. */
export async function callCost(rounds: number): Promise<Record<string, number>> {
  const transformed = transformText(source, { file: "calls.js", root: ".", include: ["calls.js"] })!.code;
  const plain = evaluate(source);
  const marked = evaluate(transformed);
  const held = await figures(rounds, plain, marked, "");
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const waiting = workflow("waiting", () => released);
  const app = new Stepmark({ store: memoryStore(), workflows: [waiting], stallAfter: 3_600_000 });
  const run = await app.start(waiting);
  const beside = await figures(rounds, plain, marked, ", while a run is under way elsewhere");
  release();
  await run.result();
  await app.shutdown();
  return { ...held, ...beside };
}

async function figures(rounds: number, plain: Code, marked: Code, when: string): Promise<Record<string, number>> {
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

function evaluate(code: string): Code {
  const exports = {};
  new Function("exports", code)(exports);
  return exports as Code;
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
