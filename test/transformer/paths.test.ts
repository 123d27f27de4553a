/** Loop paths: which iteration each identity says it is in. */
import { describe, expect, it } from "vitest";
import { compile, execute, moduleOf, oneSetting, traceText, withAppliers } from "./compile.js";
import type { Trace } from "./fake-runtime.js";

/** The same with either applier. */
async function traced(snippet: string): Promise<Trace> {
  const [nodes, text] = withAppliers(oneSetting);
  const { outcome, trace } = await execute(compile(moduleOf(snippet), nodes!), nodes!);
  expect(outcome.error).toBeUndefined();
  const other = await execute(compile(moduleOf(snippet), text!), text!);
  expect(traceText(other)).toBe(traceText({ outcome, trace }));
  return trace;
}

async function identities(snippet: string): Promise<string[]> {
  const trace = await traced(snippet);
  return trace.identities.map(({ anchor, path }) => `${anchor}${path === 0 ? "" : `[${path}]`}`);
}

const a = "const a = async (...xs: any[]) => xs.length > 0 ? xs[0] : true; ";

describe("an identity in a loop has the loop's iteration", () => {
  it.each([
    ["in a body", "for (const x of [1, 2]) await step(a);", "a[0] a[1]"],
    [
      "in nested loops",
      "for (const x of [1, 2]) { await step(a); for (const y in { p: 1, q: 1 }) await step(a); }",
      "a[0] a~1[0,0] a~1[0,1] a[1] a~1[1,0] a~1[1,1]",
    ],
    [
      "in what a loop goes over: the path outside",
      "for (const x of await step(a, [1])) void 0; for (const x of await step(a, [1])) await step(a);",
      "a a~1 a~2[0]",
    ],
    [
      "in a while test: the iteration that it starts",
      "let n = 0; while ((await step(a, n)) < 2) n++;",
      "a[0] a[1] a[2]",
    ],
    [
      "in a do test: the iteration that it ends",
      "let n = 0; do { n++; await step(a); } while (await step(a, n < 2));",
      "a[0] a~1[0] a[1] a~1[1]",
    ],
    [
      "in a for: init outside, test before, update after",
      "for (let i = await step(a, 0); await step(a, i < 2); i += await step(a, 1)) await step(a);",
      "a a~1[0] a~3[0] a~2[0] a~1[1] a~3[1] a~2[1] a~1[2]",
    ],
    [
      "in a binding's default",
      "for (const { x = await step(a, 1) } of [{}, { x: 2 }, {}] as any[]) await step(a);",
      "a[0] a~1[0] a~1[1] a[2] a~1[2]",
    ],
    [
      "after continue: iterations count, not occurrences",
      "for (const x of [1, 2, 3]) { if (x === 2) continue; await step(a); }",
      "a[0] a[2]",
    ],
    [
      "in a loop entered again: from zero",
      "for (const x of [1, 2]) { let i = 0; while (i++ < 2) await step(a); }",
      "a[0,0] a[0,1] a[1,0] a[1,1]",
    ],
    [
      "with a key instead of the index",
      "for (const x of keyed([{ id: 'p' }, { id: 'q' }], (v: any) => v.id)) await step(a);",
      "a[p] a[q]",
    ],
    ["in a loop without identities: no path", "for (const x of [1, 2]) void x; await step(a);", "a"],
    [
      "in a try in a loop",
      "for (const x of [1, 2]) try { await step(a); } finally { await step(a); }",
      "a[0] a~1[0] a[1] a~1[1]",
    ],
  ])("%s", async (_name, snippet, expected) => {
    expect((await identities(a + snippet)).join(" ")).toBe(expected);
  });
});

it("a function keeps the iteration that it was made in, whenever it is called", async () => {
  const snippet = `const fs: any[] = []; let n = 0; const keep = (f: any) => fs.push(f) > 0;
    for (let i = 0; keep(async () => step(() => "test")) && i < 2; keep(async () => step(() => "update")), i++) keep(async () => step(() => "body"));
    do { n++; } while (keep(async () => step(() => "do")) && n < 2);
    for (const { f = async () => step(() => "default") } of [{}, {}] as any[]) fs.push(f);
    for (const f of fs.reverse()) await f();`;
  const trace = await traced(snippet);
  expect(
    trace.entered.filter((entry) => !entry.includes(">keep{}")).map((entry) => entry.replace("run{}>", "")),
  ).toEqual([
    "run{}",
    ...["f{}[1]", "f{}[0]"],
    ...["keep~3()[1]", "keep~3()[0]"],
    ...["keep()[2]", "keep~1()[1]", "keep~2()[1]", "keep()[1]", "keep~1()[0]", "keep~2()[0]", "keep()[0]"],
  ]);
});

it("what a field's initialiser calls goes by the iteration that its class was made in, once", async () => {
  const snippet = `const mk = (x: any) => x; for (const x of [1, 2]) { class A { v = mk(x); w = step(() => x); f = (y = mk(1)) => y; } await new A().w; new A().f(); }`;
  const trace = await traced(snippet);
  const inField = trace.marks.filter(({ anchor }) => anchor === "mk");
  expect(inField.map(({ chain, path }) => [...chain, path].join(">"))).toEqual([
    ...["run{}>A.v{}>0", "run{}>A.v{}>0", "run{}>A.f{}>0"],
    ...["run{}>A.v{}>0", "run{}>A.v{}>0", "run{}>A.f{}>0"],
  ]);
  expect(trace.entered.filter((entry) => entry === "run{}>A.v{}[1]")).toHaveLength(2);
});

it("B77: each pass of a loop has identities of its own, and a later edit adds to them only", async () => {
  const source = (edit: string) => `${a} for (let i = 0; i < 3; i++) { await step(a, i); ${edit} }`;
  const before = await identities(source(""));
  const after = await identities(source("if (i > 0) await step(extra, i);").replace("for", "const extra = a; for"));
  expect(before).toEqual(["a[0]", "a[1]", "a[2]"]);
  expect(after.filter((identity) => !identity.startsWith("extra"))).toEqual(before);
});
