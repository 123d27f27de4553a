/** Bodies that change what lies around them (4xxx), keys and options (5xxx), calls that only their order tells apart (7xxx). */
import { describe, expect, it } from "vitest";
import { toldIn, toldOf } from "./diagnose.js";

describe("a body that changes a variable of its workflow", () => {
  it.each<[string, string[]]>([
    ["let total = 0; await step(() => { total += o.x; }); return total;", ["4001 total += o.x"]],
    ["let total = 0; await step(() => { total++; }); return total;", ["4001 total++"]],
    ["const list: any[] = []; await step(() => list.push(1)); return list;", ["4001 list.push(1)"]],
    [
      "const seen = new Set(); await step(async () => { seen.add(await o.x()); }); return seen;",
      ["4001 seen.add(await o.x())"],
    ],
    ["const state = { a: 1 }; await step(() => { state.a = 2; }); return state;", ["4001 state.a = 2"]],
    ["const state: any = { a: 1 }; await step(() => { delete state.a; }); return state;", ["4001 delete state.a"]],
    ["let a, b; await step(() => { [a, b] = o.x; }); return [a, b];", ["4001 [a, b] = o.x"]],
    ["let a; await step(() => { ({ a } = o.x); }); return a;", ["4001 { a } = o.x"]],
    ["items[0] = 1; await step(() => { items[0] = 2; }); return items;", ["4001 items[0] = 2"]],
    ["let t = 0; const body = () => { t = 1; }; await step(body); return t;", ["4001 t = 1"]],
    ["const s: any = {}; await step(() => { Object.assign(s, o.x); }); return s;", ["4001 Object.assign(s, o.x)"]],
    ["const s: any = { xs: [] }; await step(() => { s.xs.push(1); }); return s;", ["4001 s.xs.push(1)"]],
    ["const s = { n: 0 }; await step((t: any) => { t.n = 1; }, s); return s.n;", ["4001 s"]],
    ["const s = { n: 0 }; const pay = (_: any, t: any) => { t.n++; }; await step(pay, 1, s); return s.n;", ["4001 s"]],
    ["const xs = [2, 1]; await step('sort', (ys: any) => ys.sort(), xs); return xs;", ["4001 xs"]],
    [
      "class A { n = 0; async go() { await step(() => { this.n += 1; }); return this.n; } } return new A().go();",
      ["4001 this.n += 1"],
    ],
    ["let t = 0; await step(() => o.each(() => { t = 1; })); return t;", ["4001 t = 1"]],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });

  it.each([
    "let total = 0; total += await step(f); return total;",
    "const list: any[] = []; await step(() => { const list = []; list.push(1); return list; }); return list;",
    "await step(() => { let n = 0; n++; return n; });",
    "let tries = 0; await step({ retries: 3 }, () => { if (tries++ < 2) throw new Error(); });",
    "const redis = o.client(); await step(() => redis.set('a', 1)); await step(() => redis.delete('b'));",
    "const list: any[] = []; await step(() => list.map((x) => x)); return list;",
    "const list = items; for (const item of list) list.push(await step(f, item));",
    "const clients = { redis: o.client() }; await step(() => clients.redis.set('a', 1)); await step(() => clients.redis.get('a'));",
    "const s = { n: 0 }; await step((t: any) => { t = { n: 1 }; return t; }, s); return s.n;",
    "const s = { n: 0 }; await step((t: any) => { t.n = 1; }, s);",
    "const redis = o.client(); await step((r: any) => r.set('a', 1), redis); await step((r: any) => r.get('a'), redis);",
    "class A { c: any; async go() { await step(() => { this.c ??= o.x(); }); await step(() => this.c.y()); } } return new A().go();",
  ])("%s is fine", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });

  it("what lives longer than the run is none of it", () => {
    expect(
      toldOf(
        'let calls = 0; export const w = workflow("w", async () => { await step(() => { calls++; }); return calls; });',
      ),
    ).toEqual([]);
    expect(
      toldOf(
        'declare const it: any; it("x", () => { let calls = 0; const w = workflow("w", async () => { await step(() => { calls++; }); }); return [w, calls]; });',
      ),
    ).toEqual([]);
  });
});

describe("a method that is handed over without its object", () => {
  it.each<[string, string[]]>([
    ["class A { n = 1; get() { return this.n; } } const a = new A(); return step(a.get);", ["4002 a.get"]],
    [
      "class A { n = 1; get() { return [1].map((x) => x + this.n); } } return step('get', new A().get);",
      ["4002 new A().get"],
    ],
    [
      "class A { get() { return this; } go() { return step({ retries: 1 }, this.get); } } return new A().go();",
      ["4002 this.get"],
    ],
    ["const a = { n: 1, get: function () { return this.n; } }; return step(a.get);", ["4002 a.get"]],
    ["const A = class { n = 1; get() { return this.n; } }; const a = new A(); return step(a.get);", ["4002 a.get"]],
    [
      "const A = class { n = 1; get() { return this.n; } }; const B = A; return step(new B().get);",
      ["4002 new B().get"],
    ],
    [
      "class A { n = 1; get() { return this.n; } go() { const self = this; return step(self.get); } } return new A().go();",
      ["4002 self.get"],
    ],
    ["class B extends class { n = 1; get() { return this.n; } } {} return step(new B().get);", ["4002 new B().get"]],
    ["const a: any = b, b: any = a; return step(a.get);", []],
    ["const a = { n: 1, get() { return this.n; } }; return step(new (a as any)().get);", []],
    ["class A { n = 1; get = () => this.n; } return step(new A().get);", []],
    ["class A { get() { return function (this: any) { return this; }; } } return step(new A().get);", []],
    ["class A { n = 1; get() { return this.n; } } const a = new A(); return step(() => a.get());", []],
    ["class A { n = 1; get() { return this.n; } } const a = new A(); return step(a.get.bind(a));", []],
    ["return step(o.get, 1);", []],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });
});

describe("keys", () => {
  it.each<[string, string[]]>([
    ['await step({ key: "" }, f);', ['5001 ""']],
    ['await step({ key: "a" }, f); await step({ key: "a" }, o);', ['5002 "a"']],
    ['if (o.x) { await step({ key: "a" }, f); } await step({ "key": `a` }, o);', ["5002 `a`"]],
    ['try { return await step({ key: "a" }, f); } catch { return step({ key: "a" }, o); }', ['5002 "a"']],
    ['for (const item of items) await step({ key: "a" }, f, item);', ['5003 "a"']],
    ['while (await step({ key: "a" }, f)) o.x();', ['5003 "a"']],
    ['await Promise.all(items.map((item) => step({ key: "a" }, f, item)));', ['5003 "a"']],
    ['await Promise.all(items.map(async (item) => { return step({ key: "a" }, f, item); }));', ['5003 "a"']],
    ['for (const item of items) try { return await step({ key: "a" }, f, item); } catch {}', ['5003 "a"']],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });

  it.each([
    'await step({ key: "a" }, f); await step({ key: "b" }, f);',
    'if (o.x) await step({ key: "a" }, f); else await step({ key: "a" }, o);',
    'return o.x ? step({ key: "a" }, f) : step({ key: "a" }, o);',
    'if (o.x) return step({ key: "a" }, f); return step({ key: "a" }, o);',
    'if (o.x) { const r = await step({ key: "a" }, f); return r; } return step({ key: "a" }, o);',
    'switch (o.x) { case 1: return step({ key: "a" }, f); default: return step({ key: "a" }, o); }',
    "for (const item of items) await step({ key: item.id }, f, item);",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    "for (const item of items) await step({ key: `a-${item.id}` }, f, item);",
    'for (const item of items) return step({ key: "a" }, f, item);',
    'for (const item of await step({ key: "a" }, f)) o.x(item);',
    'for (const item of items) { if (item) { await step({ key: "a" }, f); break; } }',
    'const one = () => step({ key: "a" }, f); const two = () => step({ key: "a" }, f); return o.x ? one() : two();',
  ])("%s is fine", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });
});

describe("a name that is known only at run time is told", () => {
  it.each([
    ["await step({ name: o.x }, f);", ["5005 name: o.x"]],
    ["const name = o.x; await step({ name }, f);", ["5005 name"]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    ["await step({ name: `a-${o.x}` }, f);", ["5005 name: `a-${o.x}`"]],
    ['await step({ name: "a" }, f); await step({ name: `b` }, f);', []],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });
});

describe("keys of items that get lost are told", () => {
  const by = "keyed(items, (x: any) => x.id)";
  const each = ".map(async (x: any) => step(f, x))";
  it.each<[string, string[]]>([
    [`for (const x of ${by}) await step(f, x);`, []],
    [`await Promise.all(${by}${each});`, []],
    [`await Promise.all((${by} as any[])${each});`, []],
    [`const list = ${by}; await Promise.all(list${each}); return list.length;`, []],
    [`const list = ${by}; list.sort(); await Promise.all(list${each});`, []],
    [`await Promise.all(${by}.sort()${each});`, []],
    [`for (const x of items) for (const y of ${by}) await step(f, [x, y]);`, []],
    [`await Promise.all(${by}.filter((x: any) => x.ok)${each});`, [`5006 ${by}`]],
    [`await Promise.all(${by}.slice(1)${each});`, [`5006 ${by}`]],
    [`for (const x of [...${by}]) await step(f, x);`, [`5006 ${by}`]],
    [`for (const [i, x] of ${by}.entries()) await step(f, [i, x]);`, [`5006 ${by}`]],
    [`for (const x of ${by}.reverse()) await step(f, x);`, [`5006 ${by}.reverse()`]],
    [`const list = ${by}; for (const x of list) await step(f, x);`, ["5006 list"]],
    [`const list = ${by}; await Promise.all(list.filter((x: any) => x.ok)${each});`, ["5006 list"]],
    [`await Promise.all(Array.from(${by}, async (x) => step(f, x)));`, [`5006 ${by}`]],
    [`const keyed = (xs: any[], by: any) => xs; for (const x of [...${by}]) await step(f, x);`, []],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });
});

it("all options of a step are known in JavaScript", () => {
  const options = '{ name: "a", key: "k", retries: 1, backoff: 1, timeout: 1, executor: undefined }';
  const module = `export const w = workflow("w", async () => { await step(${options}, () => 1); });`;
  expect(toldOf(module, { fileName: "/project/flow.js" })).toEqual([]);
});

it("an option that does not exist is told in JavaScript; in TypeScript the types do", () => {
  const module = 'export const w = workflow("w", async () => { await step({ retires: 3, key: "a" }, () => 1); });';
  expect(toldOf(module, { fileName: "/project/flow.js" })).toEqual(["5004 retires"]);
  expect(toldOf(module)).toEqual([]);
});

it("calls that only their order tells apart are told when asked for", () => {
  const statements = "await step(f, 1); await step(f, 1); await step(f, 2); await step(o, 1);";
  expect(toldIn(statements)).toEqual([]);
  expect(toldIn(statements, { diagnostics: { STEPMARK7001: "warn" } })).toEqual(["7001 step(f, 1)"]);
  const same = 'if (await changed("v2")) await step(f, 1); if (await changed("v2")) await step(f, 2);';
  expect(toldIn(same, { diagnostics: { STEPMARK7001: "warn" } })).toEqual([]);
});
