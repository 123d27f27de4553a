/** Rules I1, I2, I8, I10, I11 and the rules of scopes. */

import { transform } from "esbuild";
import * as library from "stepmark";
import {
  type AnyWorkflow,
  child,
  events,
  keyed,
  memoryStore,
  Stepmark,
  type StepmarkError,
  step,
  waitFor,
  withoutRun,
  workflow,
} from "stepmark";
import ts from "typescript";
import { describe, expect, it, vi } from "vitest";
import { build, compile } from "../support/build.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";
import { Schedule } from "../support/schedule.js";
import { Emitter, limiter, retry, scatter, sequence } from "../support/unseen.js";

const id = "run";
const bodies = new Bodies();
let schedule = new Schedule(1);

const work = async (item: unknown): Promise<string> => {
  bodies.note(String(item));
  await schedule.turn();
  return `work(${item})`;
};
const workOn = (item: unknown): Promise<string> => step(work, item);

async function keysOf(flow: AnyWorkflow, input?: unknown): Promise<string[]> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [flow] });
  await (await app.start(flow, input, { id })).result();
  return (await store.entries(id)).map(({ key }) => key);
}

async function failure(flow: AnyWorkflow): Promise<StepmarkError> {
  const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
  return (await (await app.start(flow, undefined, { id })).result().catch((error: unknown) => error)) as StepmarkError;
}

describe("keys", () => {
  it("I2: are readable paths of scope, loop path and call site", async () => {
    const flow = workflow("fulfil", async (items: string[]) => {
      await step(work, "first");
      await Promise.all(items.map(async (item) => step(work, item)));
      for (const item of items) for (const part of ["x", "y"]) await step(work, item + part);
      await workOn("a");
      await workOn("b");
      await step("named", work, "c");
      await step(() => work("d"));
    });
    expect(await keysOf(flow, ["p", "q"])).toEqual([
      "fulfil/work",
      "fulfil/map()/work",
      "fulfil/map()[1]/work",
      "fulfil/work~1",
      "fulfil/work~1@1",
      "fulfil/work~1@1.0",
      "fulfil/work~1@1.1",
      "fulfil/workOn()/work",
      "fulfil/workOn~1()/work",
      "fulfil/named",
      "fulfil/work~2",
    ]);
  });

  it("I1: parts that a user names cannot collide with paths", async () => {
    const flow = workflow("a/b", async () => {
      await step("x/y", work, 1);
      await step("x", async () => step("y", work, 2));
      await step("x~1", work, 3);
      await step("x", work, 4);
      await step("100%", work, 5);
    });
    const keys = await keysOf(flow);
    expect(new Set(keys).size).toBe(6);
    expect(keys).toContain("a%002Fb/x%002Fy");
  });

  it("I1: a second call with the same explicit key is an error that code cannot catch", async () => {
    const flow = workflow("twice", async () => {
      try {
        await Promise.all([step({ key: "k" }, work, 1), step({ key: "k" }, work, 2)]);
      } catch {
        return "caught";
      }
    });
    const error = await failure(flow);
    expect(error).toMatchObject({ code: "DUPLICATE_KEY", runId: id, key: "twice/work#k" });
    expect(error.message).toMatch(/test\/rules\/identity\.test\.ts:\d+/);
  });

  it("an empty key is an error", async () => {
    const flow = workflow("empty", async () => step({ key: "" }, work, 1));
    expect(await failure(flow)).toMatchObject({ code: "INVALID_KEY" });
  });

  it("keyed items keep their entries when the collection changes", async () => {
    const flow = workflow("keyed", async (names: string[]) => {
      const looped: string[] = [];
      for (const name of keyed(names, (n) => n)) looped.push(await step(work, name));
      return [looped, await Promise.all(keyed(names, (n) => n).map(async (name) => step(work, name)))];
    });
    expect(await keysOf(flow, ["a", "b"])).toEqual([
      'keyed/work@"a"',
      'keyed/work@"b"',
      'keyed/map()["a"]/work',
      'keyed/map()["b"]/work',
    ]);
    const twice = workflow("keyed-twice", async () => keyed(["a", "a"], (n) => n).length);
    expect(await failure(twice)).toMatchObject({ code: "INVALID_KEY" });
  });

  it("keyed items go by their own keys, whatever order they are gone through in", async () => {
    const letters = ["a", "b", "c"];
    const by = (x: string): string => x;
    const flow = workflow("keyed-orders", async () => {
      const sorted = keyed(letters, by).sort().reverse();
      const grown = keyed(letters, by);
      grown.push("d");
      grown.shift();
      const right: Promise<string>[] = [];
      keyed(letters, by).reduceRight((_, x) => right.push(step("right", work, x)), 0);
      const last: Promise<string>[] = [];
      keyed(letters, by).findLast((x) => last.push(step("last", work, x)) === 0);
      return [
        await Promise.all(sorted.map((x) => step("sorted", work, x))),
        await Promise.all(grown.map((x) => step("grown", work, x))),
        await Promise.all(right),
        await Promise.all(last),
        await keyed(letters, by).reduce(
          async (all, x) => (await all) + (await step("first", work, x)),
          Promise.resolve(""),
        ),
        await (keyed(letters, by) as unknown[]).reduce(
          async (all, x) => `${await all} ${await step("none", work, `${x}`)}`,
        ),
      ];
    });
    const store = await replayFromEveryPrefix({
      workflow: flow,
      bodies,
      expected: [
        ["work(c)", "work(b)", "work(a)"],
        ["work(b)", "work(c)", "work(d)"],
        ["work(c)", "work(b)", "work(a)"],
        ["work(c)", "work(b)", "work(a)"],
        "work(a)work(b)work(c)",
        "a work(b) work(c)",
      ],
    });
    const items = (await store.entries(id)).map(({ key, args }) => [/\["?(\w+)"?\]\/\w+$/.exec(key)?.[1], args]);
    // The one that came later has no key.
    expect(items.filter(([key, args]) => args !== `["${key}"]`)).toEqual([["2", '["d"]']]);
  });

  it("deep recursion keeps keys bounded and unique", async () => {
    const flow = workflow("deep", async () => {
      const descend = async (depth: number): Promise<number> =>
        depth === 0 ? 0 : (await step(async () => 1)) + (await descend(depth - 1));
      return descend(200);
    });
    const keys = await keysOf(flow);
    expect(new Set(keys).size).toBe(200);
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(450);
  });
});

const everyHost = `
  import { step, workflow } from "stepmark";
  const poll = async (x: number) => x;
  class Shop {
    prices = new Map([["a", 1]]);
    async price(item: string): Promise<number> { return step(() => poll(this.prices.get(item) ?? 0)); }
  }
  async function helper(n: number): Promise<number> {
    let sum = 0;
    for (let i = 0; i < n; i++) { sum += await step(poll, i); if (i === 1) continue; }
    let j = 0;
    while (j < 2) { sum += await step("while", poll, j++); }
    do { sum += await step("do", poll, j--); } while (j > 0);
    for await (const x of numbers()) sum += x;
    return sum;
  }
  async function* numbers() { yield await step(poll, 1); yield await step(poll, 2); }
  export const w = workflow("everywhere", async (items: string[]) => {
    const shop = new Shop();
    const [first, ...rest] = await Promise.all(items.map(async (item) => shop?.price(item)));
    const nested = async () => step(async () => { await step(poll, 1); return step(poll, 2); });
    return [first, rest, await helper(2), await nested()];
  });`;

describe("I10: the same keys everywhere", () => {
  const { ScriptTarget, ModuleKind } = ts;
  const load = (code: string): AnyWorkflow => {
    const exports: { w?: AnyWorkflow } = {};
    new Function("exports", "require", code)(exports, () => library);
    return exports.w!;
  };
  it("under targets ES2017, ES2022 and ESNext, minified or not", async () => {
    const seen = new Set<string>();
    for (const target of [ScriptTarget.ES2017, ScriptTarget.ES2022, ScriptTarget.ESNext]) {
      const code = compile(everyHost, "flow.ts", target);
      const { code: minified } = await transform(code, { minify: true, format: "cjs" });
      for (const each of [code, minified]) seen.add(JSON.stringify(await keysOf(load(each), ["a", "b"])));
    }
    expect(seen.size).toBe(1);
    const [keys] = [...seen].map((each) => JSON.parse(each) as string[]);
    expect(keys!.length).toBeGreaterThan(12);
    void ModuleKind;
  });
});

describe("I11: calls without identity", () => {
  const untransformed = (source: string): AnyWorkflow => {
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
    });
    const exports: { w?: AnyWorkflow } = {};
    new Function("exports", "require", outputText)(exports, () => library);
    return exports.w!;
  };

  it("code that was not transformed is refused at its first step, with the cure", async () => {
    const w = untransformed(
      'import { step, workflow } from "stepmark"; export const w = workflow("plain", async () => step(async () => 1));',
    );
    const error = await failure(w);
    expect(error.code).toBe("NOT_TRANSFORMED");
    expect(error.message).toContain('{ "transform": "stepmark/transformer" }');
  });

  it("an explicit key is the only way to go without the transformer", async () => {
    const w = untransformed(
      `import { step, workflow } from "stepmark";
       const inner = async () => "inner";
       export const w = workflow("plain", async () => [
         await step({ key: "a" }, async () => step({ key: "x" }, inner)),
         await step({ key: "b" }, async () => step({ key: "x" }, inner)),
       ]);`,
    );
    expect(await keysOf(w)).toEqual(["plain/#a/#x", "plain/#a", "plain/#b/#x", "plain/#b"]);
  });

  it("a step outside any run is an error, and just calls through under withoutRun", async () => {
    await expect(workOn("x")).rejects.toMatchObject({ code: "OUTSIDE_RUN" });
    expect(await withoutRun(() => step(async (x: number) => x + 1, 1))).toBe(2);
  });

  it("what waits for somebody else is told so under withoutRun, where nobody is", async () => {
    const told = /^`(waitFor|events|child)` was called in `withoutRun`, .*Test such code as a run/;
    const leaf = workflow("leaf", async () => 1);
    const calls = [
      () => waitFor("ok"),
      () => child(leaf),
      async () => {
        for await (const message of events("notes")) bodies.note(String(message));
      },
    ];
    for (const call of calls) await expect(withoutRun(async () => call())).rejects.toThrow(told);
  });

  for (const [form, call] of [
    ["call", "step.call(null, f)"],
    ["apply", "Reflect.apply(step, null, [f])"],
    ["a variable that may change", "again(f)"],
  ]) {
    it(`B63: step through ${form} is refused, never given a default id`, async () => {
      const w = build(
        `import { step, workflow } from "stepmark"; let again = step; const f = async () => 1;
         export const w = workflow("forms", async () => ${call});`,
      ).w as AnyWorkflow;
      expect(await failure(w)).toMatchObject({ code: "NOT_TRANSFORMED" });
    });
  }

  it("B63: every direct form has its own id", async () => {
    const w = build(
      `import { step as s, workflow } from "stepmark"; import * as L from "stepmark"; const q = L.step; const f = async () => 1;
       export const w = workflow("forms", async () => [
         await s(f), await L.step(f), await q(f), await L?.step?.(f), await L["step"](f), await (0, L.step)(f), await [f].map((x) => s(x))[0],
       ]);`,
    ).w as AnyWorkflow;
    expect(await keysOf(w)).toEqual([
      "forms/f",
      "forms/f~1",
      "forms/f~2",
      "forms/f~3",
      "forms/f~4",
      "forms/f~5",
      "forms/map()/x",
    ]);
  });

  it("B21: two copies of the package serve one run", async () => {
    vi.resetModules();
    const copy: typeof library = await import("stepmark");
    expect(copy.step).not.toBe(step);
    const { helper } = build(
      'import { step } from "stepmark"; const load = async () => "loaded"; export const helper = () => step(load);',
      {
        path: "dep.js",
        imports: { stepmark: copy },
      },
    ) as unknown as { helper: () => Promise<string> };
    const w = workflow("copies", async () => {
      const x = await helper();
      return [x, await step(work, 1)];
    });
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [w] });
    expect(await (await app.start(w, undefined, { id })).result()).toEqual(["loaded", "work(1)"]);
    expect((await store.entries(id)).map(({ key }) => key)).toEqual(["copies/helper()/load", "copies/work"]);
  });
});

describe("scopes", () => {
  const replayed = async (flow: AnyWorkflow, expected: unknown, seeds = 10): Promise<void> => {
    for (let seed = 1; seed <= seeds; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        expected,
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  };

  it("rule 1: a local helper called from concurrent branches is a scope in each", async () => {
    const flow = workflow("local", async () => {
      const helper = async (x: string): Promise<string> => step(work, await step(work, x));
      return Promise.all(["a", "b", "c"].map(async (x) => helper(x)));
    });
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => `work(work(${x}))`),
    );
  });

  it("rule 2: closures through a limiter that is not transformed", async () => {
    const flow = workflow("limiter", async () => {
      const limit = limiter(2);
      return Promise.all(["a", "b", "c", "d"].map((x) => limit(async () => step(work, await step(work, x)))));
    });
    await replayed(
      flow,
      ["a", "b", "c", "d"].map((x) => `work(work(${x}))`),
    );
  });

  it("rule 2: a closure that is called again and again, by code that is not transformed", async () => {
    let failures = 0;
    const flaky = async (): Promise<string> => {
      bodies.note();
      if (failures++ % 3 < 2) throw new Error("not yet");
      return "done";
    };
    const flow = workflow("retries", async () => retry(async () => step(flaky)));
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    expect(await (await app.start(flow, undefined, { id })).result()).toBe("done");
    expect((await store.entries(id)).map(({ key }) => key)).toEqual([
      "retries/retry()/flaky",
      "retries/retry()[1]/flaky",
      "retries/retry()[2]/flaky",
    ]);
    const resumed = new Stepmark({ store: store.fork(id, 3), workflows: [flow] });
    bodies.reset();
    expect(await (await resumed.resume(id)).result()).toBe("done");
    expect(bodies.ran).toEqual([]);
  });

  it("rule 2: listeners born in different branches, called by whoever emits", async () => {
    const flow = workflow("emitter", async () => {
      const emitter = new Emitter();
      const heard: Array<Promise<string>> = [];
      await Promise.all(
        ["a", "b", "c"].map(async (x) => {
          await step(work, x);
          emitter.on((value) => heard.push(step(work, `${x}:${value}`)));
        }),
      );
      emitter.emit("one");
      emitter.emit("two");
      return (await Promise.all(heard)).sort();
    });
    await replayed(flow, ["a", "b", "c"].flatMap((x) => [`work(${x}:one)`, `work(${x}:two)`]).sort());
  });

  it("rule 3: a module-level function that unseen code calls one after the other", async () => {
    const flow = workflow("sequence", async () => sequence(["a", "b", "c"], workOn));
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => `work(${x})`),
      3,
    );
  });

  it("rule 3: a module-level function that unseen code calls concurrently is refused on the first run", async () => {
    const flow = workflow("scatter", async () => {
      try {
        return await scatter(["a", "b", "c"], workOn);
      } catch {
        return "caught";
      }
    });
    const error = await failure(flow);
    expect(error.code).toBe("AMBIGUOUS_SCOPE");
    expect(error.message).toContain('"include"');
  });

  it("rule 3: an explicit key makes up for it, for the steps inside as well", async () => {
    const inner = async (item: string): Promise<string> => step(work, item);
    const byKey = (item: string): Promise<string> => step({ key: item }, inner, item);
    const flow = workflow("scatter-keys", async () => scatter(["a", "b", "c"], byKey));
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => `work(${x})`),
      3,
    );
  });

  it("rule 3: functions that lead to no step may be called concurrently", async () => {
    const shout = async (item: string): Promise<string> => item.toUpperCase().concat("!");
    const flow = workflow("scatter-plain", async () => [...(await scatter(["a", "b", "c"], shout)), await workOn("d")]);
    await replayed(flow, ["A!", "B!", "C!", "work(d)"], 3);
  });

  it("rule 3: the same through a closure is fine", async () => {
    const flow = workflow("scatter-closures", async () =>
      Promise.all(["a", "b", "c"].map((x) => sequence([x], async (y) => workOn(y)))),
    );
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => [`work(${x})`]),
      5,
    );
  });

  it("generators belong to where they are called, whoever pulls", async () => {
    async function* pages(name: string): AsyncGenerator<string> {
      for (let page = 0; page < 2; page++) yield await step(work, `${name}${page}`);
    }
    const drain = async (source: AsyncGenerator<string>): Promise<string[]> => {
      const all: string[] = [];
      for await (const page of source) all.push(page);
      return all;
    };
    const flow = workflow("generators", async () => {
      const [a, b] = [pages("a"), pages("b")];
      return Promise.all([drain(b), drain(a)]);
    });
    await replayed(flow, [
      ["work(b0)", "work(b1)"],
      ["work(a0)", "work(a1)"],
    ]);
  });

  it("getters, tagged templates and constructors lead to steps of the frame around them", async () => {
    const tag = async (_: TemplateStringsArray, x: string): Promise<string> => step(work, x);
    class Lazy {
      readonly value: Promise<string>;
      constructor(private readonly x: string) {
        this.value = step(work, `new ${x}`);
      }
      get again(): Promise<string> {
        return step(work, `get ${this.x}`);
      }
    }
    const flow = workflow("implicit", async () =>
      Promise.all(
        ["a", "b"].map(async (x) => {
          await step(work, x);
          const lazy = new Lazy(x);
          return [await tag`${x}`, await lazy.value, await lazy.again];
        }),
      ),
    );
    await replayed(
      flow,
      ["a", "b"].map((x) => [`work(${x})`, `work(new ${x})`, `work(get ${x})`]),
    );
  });

  it("a closure made in one run and kept belongs to no run afterwards", async () => {
    let kept: ((x: string) => Promise<string>) | undefined;
    const service = (): ((x: string) => Promise<string>) => {
      kept ??= async (x: string) => step(work, x);
      return kept;
    };
    const flow = workflow("kept", async (x: string) => service()(x));
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    expect(await (await app.start(flow, "a", { id: "first" })).result()).toBe("work(a)");
    expect(await (await app.start(flow, "b", { id: "second" })).result()).toBe("work(b)");
    expect((await store.entries("second")).map(({ key }) => key)).toEqual(["kept/call()/work"]);
  });

  it("a wait in a helper that two branches share has a key in each", async () => {
    const ask = (): Promise<string> => waitFor<string>("ok");
    const flow = workflow("asks", async () => Promise.all([ask(), ask()]));
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    const { waits } = await run.settled();
    expect(waits.map(({ key }) => key)).toEqual(["asks/ask()/ok", "asks/ask~1()/ok"]);
  });
});
