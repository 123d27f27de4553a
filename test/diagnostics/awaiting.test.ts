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
