/** Transformed code in a real run does what the source does, live and on replay from every prefix of the journal (I9). */
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../support/schedule.js";
import { appliers, type BothOptions, runPlain, runTransformed, targets, transformed } from "./both.js";
import { randomProgram } from "./programs.js";
import { respell } from "./respell.js";
import { snippets } from "./snippets.js";
import { randomTypeScript } from "./typescript-programs.js";

/** Node 20 has no `using`, decorators or `accessor` of its own. */
const lowered = [ts.ScriptTarget.ES2017, ts.ScriptTarget.ES2022];

/** Where TypeScript's own lowering reads a receiver twice or makes of `eval?.()` a direct call. */
const loweredOtherwise = ["global getter receiver", "direct eval in wrappers"];

describe.each(targets)("target %s", (target) => {
  it.each(Object.entries(snippets))("%s", async (name, [source, { only = targets, ...options } = {}]) => {
    if (!only.includes(target)) return;
    if (target === ts.ScriptTarget.ES2017 && loweredOtherwise.includes(name)) return;
    const both = { target, ...options };
    const plain = await runPlain(source, both);
    expect(plain.error).toBeUndefined();
    for (const applier of appliers) {
      const { observed, store, replay } = await runTransformed(source, { ...both, applier });
      expect(observed, transformed(source, { ...both, applier })).toEqual(plain);
      const { length } = await store.entries("run");
      for (let kept = 0; kept <= length; kept++) {
        expect(await replay(kept), `on ${applier}, after ${kept} entries`).toEqual(plain);
      }
    }
  });
});

it("a getter of a class leads to no step, and may be read by concurrent branches after they have waited", async () => {
  const source = `import { step, workflow } from "stepmark";
    class Order { constructor(readonly items: number[]) {} get total() { return this.items.reduce((a, b) => a + b, 0); } }
    const price = async (x: number) => x;
    export const w = workflow("w", async () => {
      const gate = step(price, 1);
      const orders = [new Order([1, 2]), new Order([3])];
      return Promise.all(orders.map(async (order) => { await gate; return order.total; }));
    });`;
  expect((await runTransformed(source)).observed).toEqual({ log: [], result: "[3,3]" });
});

describe("random programs", () => {
  const seeds = Array.from({ length: 200 }, (_, seed) => seed);
  const chunk = 20;
  // A program may leave a promise of its own that rejects; that is not the runner's business.
  const listeners = process.listeners("unhandledRejection");
  beforeAll(() => {
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", () => {});
  });
  afterAll(() => {
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  });

  /** Compares one program's traces: as it stands, transformed by either applier, and on replay. */
  const compare = async (source: string, options: BothOptions, seed: number): Promise<void> => {
    const plain = await runPlain(source, options);
    // Some are none: an \`await\` where no parameter may have one.
    if (plain.error?.startsWith("SyntaxError")) return;
    for (const applier of appliers) {
      const { observed, store, replay } = await runTransformed(source, { ...options, applier });
      expect(observed, `seed ${seed} on ${applier}`).toEqual(plain);
      if (plain.error !== undefined) continue;
      const { length } = await store.entries("run");
      // The appliers take turns at resuming after half of the entries.
      const half = (seed % 2 === 0) === (applier === "text") && length <= 60 ? [Math.floor(length / 2)] : [];
      for (const kept of [length, ...half]) {
        expect(await replay(kept), `seed ${seed} on ${applier} after ${kept} entries`).toEqual(plain);
      }
    }
  };
  const chunks = seeds.filter((seed) => seed % chunk === 0);
  const fewer = chunks.slice(0, 3);

  it.each(chunks)("seeds from %s", { timeout: 60_000 }, async (from) => {
    for (const seed of seeds.slice(from, from + chunk)) {
      await compare(randomProgram(seed), { target: targets[seed % targets.length]! }, seed);
    }
  });

  it.each(fewer)("in TypeScript's own syntax, seeds from %s", { timeout: 60_000 }, async (from) => {
    for (const seed of seeds.slice(from, from + chunk)) {
      const { source, options } = randomTypeScript(seed);
      const target = lowered[seed % lowered.length]!;
      await compare(source, { ...options, target }, seed);
    }
  });

  it.each(fewer)("in another hand, seeds from %s", { timeout: 60_000 }, async (from) => {
    for (const seed of seeds.slice(from, from + chunk)) {
      const { source, options } = randomTypeScript(seed);
      const respelt = respell(source, options.fileName!, seeded(seed));
      if (respelt === undefined) continue;
      const target = lowered[seed % lowered.length]!;
      await compare(respelt, { ...options, target }, seed);
    }
  });
});

it.each(["order.nope(1)", "nope(1)", "new order.Nope()", "order?.nope(1)"])(
  "the stack of an error about %s begins where the code stands",
  async (call) => {
    const source = `import { step, workflow } from "stepmark"; let nope: any; const id = (x: any) => x;
    function wrong(order: any) { return ${call}; }
    const told = (f: any) => { try { f({}); } catch (error: any) { return [error.name, error.stack.split("\\n")[1]]; } };
    const outside = told(wrong);
    export const w = workflow("w", async () => [outside, told(wrong)]);`;
    for (const applier of appliers) {
      const { result, error } = (await runTransformed(source, { applier })).observed;
      expect(error).toBeUndefined();
      for (const [name, frame] of JSON.parse(result!) as [string, string][]) {
        expect(name).toBe("TypeError");
        expect(frame).toMatch(/^ +at wrong \(/);
      }
    }
  },
);
