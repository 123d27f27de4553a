/** Promises of steps that nobody awaits are told (2xxx, B31, B32), and no others. */
import { describe, expect, it } from "vitest";
import { toldIn, toldOf } from "./diagnose.js";

describe("nobody awaits", () => {
  it.each<[string, string[]]>([
    ["step(f);", ["2001 step"]],
    ['waitFor("x");', ["2001 waitFor"]],
    ['sleep("1h");', ["2001 sleep"]],
    ["o.x && step(f);", ["2001 step"]],
    ["o.x ? step(f) : await step(f);", ["2001 step"]],
    ["step(f), await step(o);", ["2001 step"]],
    ["step(f).then(o.g).catch(o.h);", ["2001 step"]],
    ["Promise.all([step(f), o.g()]);", ["2001 step"]],
    ["(step(f) as any)!;", ["2001 step"]],
    ["const p = step(f); return 1;", ["2001 step"]],
    ["const ps = [step(f), step(o)]; return 1;", ["2001 step", "2001 step"]],
    ["let p; p = step(f); return 1;", ["2001 step"]],
    ["for (let i = 0; i < 2; step(f)) i++;", ["2001 step"]],
    ["const go = async () => { await step(f); }; go();", ["2001 go"]],
    ["(async () => { await step(f); })();", ["2001 (async () => { await step(f); })"]],
    ["items.forEach(async (item) => { await step(f, item); });", ["2003 forEach"]],
    ["items.forEach((item) => step(f, item));", ["2003 forEach"]],
    ["items.forEach((item) => { return step(f, item); });", ["2003 forEach"]],
    ["const one = async (item: any) => { await step(f, item); }; items.forEach(one);", ["2003 forEach"]],
    ["items.map(async (item) => { await step(f, item); await step(o, item); });", ["2001 map"]],
    ["items.map((item) => step(f, item));", ["2001 map"]],
    ["const ps = items.map((item) => step(f, item)); return 1;", ["2001 map"]],
    ["const one = async (item: any) => { await step(f, item); }; items.map(one);", ["2001 map"]],
    ["const ps = items.map((item) => step(f, item)); if (o.x) return 1; return Promise.all(ps);", ["2002 map"]],
    ["const ps: any[] = []; for (const item of items) ps.push(step(f, item)); return 1;", ["2001 step"]],
    ["const ps = new Map(); for (const item of items) { ps.set(item, step(f, item)); }", ["2001 step"]],
    ["const pay = { async all() { await step(f); } }; pay.all();", ["2001 pay.all"]],
    ["class Pay { async all() { await step(f); } } new Pay().all();", ["2001 new Pay().all"]],
    ["class Pay { all = async () => { await step(f); }; } const pay = new Pay(); pay.all();", ["2001 pay.all"]],
    ["class Pay { static async all() { await step(f); } } Pay.all();", ["2001 Pay.all"]],
    [
      "class A { async all() { await step(f); } } class B extends A { go() { this.all(); } } return new B();",
      ["2001 this.all"],
    ],
    [
      "class A { async all() { await step(f); } } class B extends A { async all() { super.all(); } } return new B();",
      ["2001 super.all"],
    ],
    ["class A { async #all() { await step(f); } go() { this.#all(); } } return new A();", ["2001 this.#all"]],
    ['const sub = workflow("sub", async () => step(f)); sub();', ["2001 sub"]],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });

  it.each([
    "void step(f);",
    "await step(f);",
    "return step(f);",
    "const p = step(f); await p;",
    "const p = step(f); return o.x ? p : [await p];",
    "const p = step(f); void p; return 1;",
    "const ps = []; for (const item of items) ps.push(step(f, item)); await Promise.all(ps);",
    "const ps = items.map((item) => step(f, item)); await Promise.all(ps);",
    "await Promise.race([step(f), step(o)]);",
    "o.x && (await step(f));",
    "o.pending = step(f);",
    "o.add(step(f));",
    "const { a } = { a: step(f) }; await a;",
    "let p; p = step(f); await p;",
    "yieldAll(async function* () { yield step(f); }); function yieldAll(x: any) { return x; }",
    "const go = async () => { await step(f); }; await go();",
    "const go = () => { o.x(); }; go();",
    "await o.stream.forEach(async (item: any) => { await step(f, item); });",
    "for (const item of items) await step(f, item);",
    "return items.reduce(async (before, item) => { await before; return step(f, item); }, Promise.resolve());",
    "{ const step = f; step(1); }",
    "const ps = []; for (const item of items) ps.push(step(f, item)); if (!ps.length) return 1; await Promise.all(ps);",
    "const ps = []; ps.push(step(f)); o.later = ps;",
    "const ps = items.map((item) => step(f, item)); for (const p of ps) await p;",
    "return items.map((item) => step(f, item));",
    "await o.stream.map(async (item: any) => { await step(f, item); }).toArray();",
    "o.queue.push(step(f));",
    "const pay = { async all() { await step(f); } }; await pay.all();",
    "class A { all() {} } class B extends A { async all() { await step(f); } } new A().all(); return B;",
    "class A { static async all() { await step(f); } all() {} } new A().all();",
    "class A extends B {} class B extends A {} new A().all();",
    "const pay: any = { all: pay.all }; pay.all();",
    "const a = new a(); a.all();",
    "class A { async *all() { yield await step(f); } } new A().all();",
    "function go(this: any) { this.all(); } class A { async all() { await step(f); } } go();",
  ])("%s is fine", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });

  it("a stream is read, not awaited", () => {
    const read = "const stream = events(o); if (o.x) return 1; for await (const event of stream) await step(f, event);";
    expect(toldIn(read)).toEqual([]);
  });

  it("an exported promise is for others to await", () => {
    expect(toldOf("export const p = step(() => 1);")).toEqual([]);
  });
});

describe("not awaited on every path", () => {
  it.each<[string]>([
    ["const p = step(f); if (o.x) return 1; return await p;"],
    ["const p = step(f); if (o.x) { o.y(); return 1; } else { await p; }"],
    ["const p = step(f); if (o.x) await p;"],
    ["const p = step(f); if (o.x) return p; return 1;"],
    ["const p = step(f); for (const item of items) { if (item) return item; } await p;"],
    ["const p = step(f); switch (o.x) { case 1: return 1; } await p;"],
    ["const p = step(f); try { if (o.x) return 1; } catch {} await p;"],
    ["for (const item of items) { const p = step(f, item); if (o.x) return 1; await p; }"],
  ])("%s", (statements) => {
    expect(toldIn(statements)).toEqual(["2002 step"]);
  });

  it.each([
    "const p = step(f); if (o.x) return p; return await p;",
    "const p = step(f); if (o.x) { await p; } else { void p; }",
    "const p = step(f); if (o.x) throw new Error(); return await p;",
    "const p = step(f); try { if (o.x) return 1; } finally { await p; }",
    "const p = step(f); o.later = () => p; if (o.x) return 1;",
    "const p = step(f); if (o.x) return later(); return o.y(later); function later() { return p; }",
    "const p = step(f); for (const item of items) await p;",
    "const p = step(f); while (true) { if (await p) return 1; }",
    "const p = step(f); const q = o.wrap(p); if (o.x) return q; return 1;",
    "const p = step(f); if (await Promise.race([p, o.y])) return 1; return 2;",
    "const p = step(f); switch (o.x) { case 1: return p; default: await p; }",
    "let p = step(f); if (o.x) p = step(o); await p;",
    "const p = o.x ? step(f) : undefined; if (p) await p; else return 1;",
  ])("%s is fine", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });
});

describe("a promise that is taken for its outcome", () => {
  it.each<[string, string[]]>([
    ['if (changed("v2")) await step(f);', ["2004 changed"]],
    ["while (!step(f)) o.x();", ["2004 step"]],
    ["do o.x(); while (step(f));", ["2004 step"]],
    ["for (; step(f); ) o.x();", ["2004 step"]],
    ["return step(f) ? 1 : 2;", ["2004 step"]],
    ["return step(f) && o.x;", ["2004 step"]],
    ["return step(f) || o.x;", ["2004 step"]],
    ["switch (step(f)) { default: }", ["2004 step"]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    ["return `${step(f)}`;", ["2004 step"]],
    ['return "a" + step(f);', ["2004 step"]],
    ["const paid = async () => step(f); if (paid()) return 1;", ["2004 paid"]],
    ["const due = items.filter(async (item) => await step(f, item)); return due;", ["2004 filter"]],
    ["return items.find((item) => step(f, item));", ["2004 find"]],
    ["if (items.some(async (item) => { return step(f, item); })) return 1;", ["2004 some"]],
    ["const due = async (item: any) => step(f, item); return items.every(due);", ["2004 every"]],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });

  it.each([
    'if (await changed("v2")) await step(f);',
    "return (await step(f)) && o.x;",
    "return o.x && step(f);",
    "return step(f) ?? o.x;",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code
    "return o.sql`${step(f)}`;",
    "return items.filter((item) => o.due(item)).map((item) => step(f, item));",
    "return await o.stream.filter(async (item: any) => step(f, item)).toArray();",
    "for await (const item of o.stream.filter(async (x: any) => step(f, x))) o.x(item);",
  ])("%s is fine", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });
});
