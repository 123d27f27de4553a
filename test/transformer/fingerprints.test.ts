/** Fingerprints: unmoved by formatting, comments and types; moved by everything else. */
import ts from "typescript";
import ts59 from "typescript-5.9";
import { describe, expect, it } from "vitest";
import { moduleOf, planOf, type TypeScript } from "./compile.js";
import { chains } from "./corpus/chains.js";
import { functions } from "./corpus/functions.js";
import { loops } from "./corpus/loops.js";
import { modules } from "./corpus/modules.js";
import { positions } from "./corpus/positions.js";

const header = `import { step } from "stepmark";\n`;

function prints(source: string, name = "/project/src/flow.ts"): string[] {
  const plan = planOf(header + source, ts, name)!;
  return [plan.text, ...plan.rows.map((row) => row[5])];
}

/** A function with one site, around an expression. */
function around(expression: string): string {
  return `export async function f(p: any) { return step(g, ${expression}); }`;
}

describe("one text", () => {
  it.each([
    ["a+b", "a + b"],
    ["a + b", "a /* c */ + // d\n b"],
    ['"x"', "'x'"],
    ['"it\'s"', "'it\\'s'"],
    ["(x) => x", "x => x"],
    ["async (x) => x", "async x => x"],
    ["(x) => x", "(x: number): number => (x)"],
    ["((a))", "a"],
    ["a + (b * c)", "a + b * c"],
    ["a as any", "a"],
    ["a!.b", "a.b"],
    ["<any>a", "a"],
    ["a satisfies T", "a"],
    ["[1, 2,]", "[1, 2]"],
    ["{ a: 1, }", "{ a: 1 }"],
    ['{ "a": 1 }', "{ a: 1 }"],
    ["{ 'a-b': 1 }", '{ "a-b": 1 }'],
    ["new C", "new C()"],
    ["h<T>(1)", "h(1)"],
    ["h(1,)", "h(1)"],
    ["1_000", "1000"],
    ["0xFF", "0xff"],
    [".5", "0.5"],
    ["function () { return 1 }", "function () { return 1; }"],
    ["function () { a();; b() }", "function () {\n a();\r\n b(); }"],
    ["function <T>(this: any, x?: T): void { let y: T; }", "function (x) { let y; }"],
    [
      "class { private readonly x: number = 1; y!: T; abstract z: 1; declare w: 2; [k: string]: any }",
      "class { x = 1; y; }",
    ],
    ["class implements I { m(): void; m() {} }", "class { m() {} }"],
    ["`a\r\nb`", "`a\nb`"],
    [`\`a\${b}\r\nc\``, `\`a\${ b }\nc\``],
    ["a ? b : c", "a\n ? b\n : c"],
    ["() => { type T = 1; interface I {} return 1; }", "() => { return 1; }"],
    ["a?.b!.c", "a?.b.c"],
    ["{ m(): void {} }", "{ m() {} }"],
    ["function* () { yield (1) }", "function* () { yield 1; }"],
    ["await (p as any)", "await p"],
    ["/a+/g", "/a+/g"],
    ["function () { for (;;) { } }", "function () { for (;;) {} }"],
  ])("%j and %j", (left, right) => {
    expect(prints(around(left)).slice(1)).toEqual(prints(around(right)).slice(1));
    expect(prints(around(left))[0]).toBe(prints(around(right))[0]);
  });
});

describe("two texts", () => {
  it.each([
    ["a", "b"],
    ["a + b", "a - b"],
    ["a - (b - c)", "a - b - c"],
    ['"a"', "a"],
    ['"a"', "`a`"],
    ["1", '"1"'],
    ["f(a, b)", "f(a)(b)"],
    ["f(a)", "f[a]"],
    ["f(a)", "new f(a)"],
    ["[a, b]", "[a, [b]]"],
    ["[a, , b]", "[a, b]"],
    ["!a", "a"],
    ["-a", "+a"],
    ["a++", "++a"],
    ["a++", "a--"],
    ["void a", "a"],
    ["typeof a", "a"],
    ["await a", "a"],
    ["async () => a", "() => a"],
    ["function* () {}", "function () {}"],
    ["function () { let a = 1; }", "function () { const a = 1; }"],
    ["function () { var a = 1; }", "function () { let a = 1; }"],
    ["a?.b", "a.b"],
    ["a?.()", "a()"],
    ["a ?? b", "a || b"],
    ["a ? b : c", "a ? c : b"],
    ["a < b", "a > b"],
    ["{ a }", "{ a: b }"],
    ["{ get a() { return 1; } }", "{ a() { return 1; } }"],
    ["{ ...a }", "[...a]"],
    [`\`a\${b}c\``, `\`a\${b}d\``],
    ["/a/g", "/a/i"],
    ["1n", "1"],
    ["class { static x = 1 }", "class { x = 1 }"],
    ["class extends A {}", "class {}"],
    ["class { get x() { return 1 } }", "class { set x(v) {} }"],
    ["this", "null"],
    ["true", "false"],
    ["function () { for (;a;) {} }", "function () { for (;;a) {} }"],
    ["function () { for (a;;) {} }", "function () { for (;a;) {} }"],
    ["function () { for (x of a) {} }", "function () { for (x in a) {} }"],
    ["function () { if (a) b(); else c(); }", "function () { if (a) b(); c(); }"],
    ["function () { if (a) { b(); c(); } }", "function () { if (a) { b(); } c(); }"],
    ["function () { return; a }", "function () { return a }"],
    ["function () { while (a); b }", "function () { while (a) b }"],
    ["function () { break_: b }", "function () { c: b }"],
    ["function (a, b) {}", "function (b, a) {}"],
    ["function (a = 1) {}", "function (a) {}"],
    ["function (...a) {}", "function (a) {}"],
    ["{ 'a b': c }", "{ a: { b: c } }"],
  ])("%j and %j", (left, right) => {
    expect(prints(around(left)).slice(1)).not.toEqual(prints(around(right)).slice(1));
    expect(prints(around(left))[0]).not.toBe(prints(around(right))[0]);
  });
});

describe("JSX", () => {
  const jsx = (text: string): string[] => prints(around(text), "/project/src/flow.tsx").slice(1);

  it("is one text in any layout", () => {
    expect(jsx("<a b='1'>x y</a>")).toEqual(jsx('(<a\n  b="1"\n>\n  x   y\n</a>)'));
    expect(jsx("<a><b/>{/* c */}</a>")).toEqual(jsx("<a>\n  <b />\n</a>"));
  });

  it("is another text with other content", () => {
    expect(jsx("<a>x</a>")).not.toEqual(jsx("<a>y</a>"));
    expect(jsx("<a/>")).not.toEqual(jsx("<b/>"));
    expect(jsx("<a b={1}/>")).not.toEqual(jsx("<a c={1}/>"));
  });
});

describe("the module's fingerprint", () => {
  const text = (source: string): string => prints(source)[0]!;
  const body = around("1");

  it("ignores what leaves nothing behind", () => {
    expect(
      text(`// licence\nimport type { A } from "a"; import { type B } from "b"; export type { C } from "c";
        interface D {} type E = 1; declare const F: any; declare function G(): void; declare module "h" {} declare global {}
        ${body}`),
    ).toBe(text(body));
  });

  it("changes with code outside functions", () => {
    expect(text(`const limit = 1; ${body}`)).not.toBe(text(`const limit = 2; ${body}`));
    expect(text(`import { a } from "a"; ${body}`)).not.toBe(text(body));
  });

  it("has 16 digits, a call's and a function's 12", () => {
    const plan = planOf(header + body)!;
    expect(plan.text).toMatch(/^[0-9a-f]{16}$/);
    expect(plan.rows.map((row) => row[5].length)).toEqual([12, 12]);
  });
});

describe("reprinted by TypeScript's printer", () => {
  const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.CarriageReturnLineFeed });

  it.each(Object.entries({ ...positions, ...chains, ...loops, ...functions, ...modules }))("%s", (_name, snippet) => {
    const source = moduleOf(snippet);
    const printed = printer.printFile(ts.createSourceFile("flow.ts", source, ts.ScriptTarget.Latest));
    const before = planOf(source)!;
    const after = planOf(printed)!;
    expect(after.text).toBe(before.text);
    const withoutLines = (rows: typeof before.rows) => rows.map((row) => row.filter((_, index) => index !== 3));
    expect(withoutLines(after.rows)).toEqual(withoutLines(before.rows));
    expect(planOf(source, ts59 as unknown as TypeScript)).toEqual(before);
  });
});
