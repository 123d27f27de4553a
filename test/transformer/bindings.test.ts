/** Which calls are calls of the library: by binding, in every form an import can take, and never by name (B62, B63). */
import { describe, expect, it } from "vitest";
import { RowKind } from "../../runtime/scope/site-table.js";
import { compile, execute, oneSetting, places, planOf, withAppliers } from "./compile.js";

/** How many sites a source has. */
function sites(source: string): number {
  return places(planOf(source)?.rows ?? [], RowKind.site).length;
}

describe("calls of the library are found through every form of import", () => {
  it.each([
    [1, `import { step } from "stepmark"; const f = () => step(g);`],
    [1, `import { step as s } from "stepmark"; const f = () => s(g);`],
    [1, `import { "step" as s } from "stepmark"; const f = () => s(g);`],
    [2, `import wf, { step } from "stepmark"; const f = () => [step(g), wf.step(g)];`],
    [1, `import { default as wf } from "stepmark"; const f = () => wf.step(g);`],
    [
      6,
      `import * as ns from "stepmark"; const f = () => [ns.step(g), ns?.step(g), ns["step"](g), ns?.["step"](g), ns.step?.(g), ns?.step?.(g)];`,
    ],
    [2, `import ns = require("stepmark"); import s = ns.step; const f = () => [ns.step(g), s(g)];`],
    [2, `const { step, sleep: z } = require("stepmark"); const f = () => [step(g), z(1)];`],
    [1, `const ns = require("stepmark"); const f = () => ns.step(g);`],
    [1, `const s = require("stepmark").step; const f = () => s(g);`],
    [
      3,
      `const f = async () => { const { step: s } = await import("stepmark"); const m = await import("stepmark"); s(g); m.step(g); (await import("stepmark")).step(g); };`,
    ],
    [
      4,
      `import * as ns from "stepmark"; const s = ns.step, t = s; const { step: u, ...rest } = ns; const f = () => { const v = u; return [s(g), t(g), u(g), v(g), rest.sleep(1)]; };`,
    ],
    [1, `import { step } from "step\\u006dark"; const f = () => step(g);`],
    [
      9,
      `import { step, waitFor, sleep, now, random, uuid, child, publish, changed } from "stepmark"; const f = () => [step(g), waitFor("a"), sleep(1), now(), random(), uuid(), child(w), publish("x", 1), changed("v2")];`,
    ],
    [
      9,
      `import { step } from "stepmark"; const f = async () => [(step)(g), (step as any)(g), step!(g), (<any>step)(g), (step satisfies any)(g), (0, step)(g), step?.(g), step<T>(g), ((step))(g)];`,
    ],
    [
      2,
      `import { type Opts, step } from "stepmark"; const f = () => step(g); export { step }; export const again = step; const h = () => again(g);`,
    ],
    [1, `import { step } from "stepmark"; step(g);`],
    [1, `import { step } from "stepmark"; namespace N { export const f = () => step(g); }`],
    [2, `import { step } from "stepmark"; class A { f = step(g); m() { step: for (;;) { step(g); break step; } } }`],
  ])("%i in %s", (count, source) => {
    expect(sites(source)).toBe(count);
  });
});

describe("what only looks like a call of the library is none", () => {
  it.each([
    `import { step } from "stepmark"; const f = (step: any) => step(g);`,
    `import { step } from "stepmark"; const f = ({ step }: any) => step(g);`,
    `import { step } from "stepmark"; const f = ({ x: [step] }: any) => step(g);`,
    `import { step } from "stepmark"; function f(...step: any) { return step(g); }`,
    `import { step } from "stepmark"; const f = () => { try {} catch (step) { step(g); } };`,
    `import { step } from "stepmark"; const f = () => { step(g); if (x) { var step = y; } };`,
    `import { step } from "stepmark"; const f = () => { step(g); for (var step of []) {} };`,
    `import { step } from "stepmark"; const f = () => { step(g); function step() {} };`,
    `import { step } from "stepmark"; const f = () => { { function step() {} step(g); } };`,
    `const { step } = require("stepmark"); function f() { if (x) { function step() {} } return step(g); }`,
    `import { step } from "stepmark"; namespace N { export function step() {} } namespace N { const f = () => step(g); }`,
    `import { step } from "stepmark"; namespace N { export class step {} } namespace N { const f = () => step(g); }`,
    `import { step } from "stepmark"; const f = () => { { class step {} step(g); } };`,
    `import { step } from "stepmark"; const f = () => { enum step { A } step(g); };`,
    `import { step } from "stepmark"; namespace N { namespace step { export const x = 1; } step(g); }`,
    `import { step } from "stepmark"; namespace N { export const step = h; } namespace N { const f = () => step(g); }`,
    `import { step } from "stepmark"; const f = () => { for (const step of []) step(g); };`,
    `import { step } from "stepmark"; const f = () => { for (let step = h; ; ) step(g); };`,
    `import { step } from "stepmark"; const f = () => { switch (1) { case 1: step(g); const step = h; } };`,
    `import { step } from "stepmark"; const f = function step() { return step(g); };`,
    `import { step } from "stepmark"; const C = class step { m() { return step(g); } };`,
    `import { step } from "stepmark"; const f = () => { declare const step: any; return step(g); };`,
    `import { step } from "stepmark"; const f = () => { let { a: step = h } = x; step(g); };`,
    `import { step } from "stepmark"; const f = () => { using step = h; step(g); };`,
    `import { step } from "stepmark"; const o = { step: h }; const f = () => o.step(g);`,
    `import { step } from "stepmark"; class A { step() {} m() { this.step(); } }`,
    `import { step } from "stepmark"; let s = step; const f = () => s(g);`,
    `import { step } from "stepmark"; const s = c ? step : h; const f = () => s(g);`,
    `import { step } from "stepmark"; const { step: s = h } = x; const f = () => s(g);`,
    `import * as ns from "stepmark"; const { step = h } = ns; const f = () => step(g);`,
    `import { step } from "stepmark"; const f = () => [typeof step, step.name, step.call(null, g), step.bind(null), Reflect.apply(step, null, [g]), new step(g), step\`x\`];`,
    `import type { step } from "stepmark"; const f = () => step(g);`,
    `import { type step } from "stepmark"; const f = () => step(g);`,
    `import { step } from "other"; const f = () => step(g);`,
    `import { step } from "stepmark/sqlite"; const f = () => step(g);`,
    `const step = h; const f = () => step(g); import("stepmark");`,
    `const require = h; const { step } = require("stepmark"); const f = () => step(g);`,
    `import "stepmark"; const f = () => import("stepmark").then((m) => m.step(g));`,
    `export { step } from "stepmark"; const f = () => step(g);`,
    `import { workflow } from "stepmark"; const f = (o: any) => { with (o) { step(g); } };`,
  ])("%s", (source) => {
    expect(sites(source)).toBe(0);
  });
});

describe("which files are handled", () => {
  const body = "const f = () => g();";

  it("a file that does not import the library is left alone, and is not when included", () => {
    expect(planOf(body)).toBeUndefined();
    expect(planOf(`import type { Run } from "stepmark"; ${body}`)).toBeUndefined();
    expect(planOf(`import { type Run } from "stepmark"; ${body}`)).toBeUndefined();
    expect(planOf(body, undefined, undefined, true)).toBeDefined();
    expect(planOf(`import "stepmark"; ${body}`)).toBeDefined();
  });

  it("declaration and JSON files are skipped", () => {
    const source = `import { step } from "stepmark"; ${body}`;
    expect(planOf(source, undefined, "/project/a.d.ts")).toBeUndefined();
    expect(planOf("{}", undefined, "/project/a.json", true)).toBeUndefined();
  });

  it.each(["a.ts", "a.mts", "a.cts", "a.tsx", "a.js", "a.mjs", "a.cjs", "a.jsx"])("%s is transformed", (name) => {
    const source = `import { step } from "stepmark"; export const f = () => step(g);`;
    for (const as of withAppliers(oneSetting)) {
      expect(compile(source, as, { fileName: `/project/${name}` })).toContain("step.at(");
    }
  });

  it("a file with nothing to do is returned as it is", () => {
    expect(planOf(`import { workflow } from "stepmark"; export const x = 1;`)).toBeUndefined();
  });

  it("a local step of down-levelled helpers is left alone", () => {
    const source = `import { sleep } from "stepmark";
      var __awaiter = function (t, _a, P, generator) { return new P(function (resolve) { function step(result) { step(generator.next(result)); } step(0); }); };
      export const f = () => sleep(1);`;
    expect(sites(source)).toBe(1);
  });
});

it("B62: a local of the imported name is not the import", () => {
  expect(
    sites(`import { step, workflow } from "stepmark";
      const mine = (step: (n: number) => number) => step(1);
      const other = { step: (n: number) => n };
      export const w = workflow("w", async () => {
        const a = mine((n) => n), b = other.step(2);
        { const step = (f: () => number) => f(); void step(() => 3); }
        return step(() => [a, b]);
      });`),
  ).toBe(1);
});

const both = withAppliers(oneSetting);

it.each(both)(
  "B63: every form of call gets its own identity, or reaches the library without one: $name",
  async (as) => {
    const source = `import { step as s } from "stepmark"; import * as L from "stepmark"; const q = L.step; const f = () => 1;
    export const run = async () => [await s(f), await L.step(f), await q(f), await L?.step?.(f), await L["step"](f),
      await (s as any).call(null, f), await (0, L.step)(f), await [f].map((x) => s(x))[0], await Reflect.apply(s, null, [f])];`;
    const { outcome, trace } = await execute(compile(source, as), as);
    expect(outcome.result).toBe("[1,1,1,1,1,1,1,1,1]");
    expect(trace.identities.map(({ chain, anchor }) => [...chain, anchor].join(">"))).toEqual([
      "run{}>f",
      "run{}>f~1",
      "run{}>f~2",
      "run{}>f~3",
      "run{}>f~4",
      "run{}>f~5",
      "run{}>map()>x",
    ]);
    expect(trace.untransformed).toBe(2);
  },
);

describe("only what may lead to a step is marked", () => {
  const marks = (statement: string): string[] =>
    places(
      planOf(`import { step, workflow, keyed } from "stepmark"; async function f(this: any, o: any) { ${statement} }`)
        ?.rows ?? [],
      RowKind.call,
    );

  it.each([
    "Math.max(1)",
    "JSON.parse(o)",
    "console.log(o)",
    "Number(o)",
    "String(o)",
    "Symbol.for(o)",
    "Date.now()",
    "Promise.all(o)",
    "Promise.resolve(o)",
    "Object.keys(o)",
    "Array.isArray(o)",
    "structuredClone(o)",
    "new Error(o)",
    "new Map(o)",
    "new Date()",
    "new URL(o, import.meta.url)",
    "new Worker(new URL('x', import.meta.url))",
    "new Thing('x', import.meta.url)",
    "import('x')",
    "import.meta.resolve('x')",
    "import.meta.glob('x')",
    "require('x')",
    "require.resolve('x')",
    "eval('x')",
    "keyed(o, o)",
    "workflow('x', o)",
    "o`x`",
    "enum_; enum E { A = g() }",
    "@g() class A {}",
  ])("not %s", (statement) => {
    expect(marks(statement)).toEqual([]);
  });

  it.each([
    "setTimeout(o)",
    "queueMicrotask(o)",
    "Array.from(o, o)",
    "Promise.all(o).then(o)".replace("Promise.all(o)", "o"),
    "new Promise(o)",
    "new Proxy(o, o)",
    "globalThis.Math.max(1)",
    "(0, eval)('x')",
    "o.log(o)",
    "o.keys(o)",
    "const Math = o; Math.max(1)",
    "const Map = o; new Map(1)",
    "o()",
    "new o",
  ])("%s", (statement) => {
    expect(marks(statement)).toHaveLength(1);
  });
});
