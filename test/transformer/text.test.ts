/** What only the text applier has to hold: lines, maps, comments, line-sensitive syntax, other tools' syntax. */
import { readdirSync, readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { SourceMap } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { mentionsLibrary } from "../../transformer/plan/library.js";
import { transformText } from "../../transformer/transform-text.js";
import { compile, edit, execute, moduleOf, oneSetting, traceText, withAppliers } from "./compile.js";
import { chains } from "./corpus/chains.js";
import { functions } from "./corpus/functions.js";
import { loops } from "./corpus/loops.js";
import { modules } from "./corpus/modules.js";
import { positions } from "./corpus/positions.js";

const corpus = { ...positions, ...chains, ...loops, ...functions, ...modules };
const [onNodes, onText] = withAppliers(oneSetting) as [typeof oneSetting, typeof oneSetting];
const root = /(; )?function (\$+s)\(\) \{ return .*\2\(\);/;
const file = "/project/src/flow.ts";

const head = `import { step } from "stepmark"; `;

/** The edited text without the root function and without the import. */
function edited(text: string, name = "a.ts"): string {
  return edit(head + text, `/project/src/${name}`)
    .replace(root, "")
    .slice(head.length);
}

const breaks = /\r\n|[\r\n\u2028\u2029]/;
const lines = (text: string): string[] => text.split(breaks);

/** Words of a text by line, without generated names and the keywords that become other code. */
function words(text: string): string[][] {
  return lines(text.replace(root, "")).map((line) =>
    (line.match(/[\p{L}_][\p{L}\d_]*/gu) ?? []).filter((word) => !/^(new|while|do)$/.test(word)),
  );
}

/** The source without what the applier takes away: type arguments of marked calls, and labels. */
function withoutLost(source: string): string {
  const kept = source.split("");
  const blank = ({ pos, end }: { pos: number; end: number }): void => {
    for (let at = pos; at < end; at++) if (!breaks.test(kept[at]!)) kept[at] = " ";
  };
  const visit = (node: ts.Node): void => {
    if ((ts.isCallExpression(node) || ts.isNewExpression(node)) && node.typeArguments) blank(node.typeArguments);
    if (ts.isContinueStatement(node)) blank(node);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("a.ts", source, ts.ScriptTarget.Latest));
  return kept.join("");
}

/** Every word of the source stands on the same line of the output. */
function expectSameLines(source: string, output: string): void {
  expect(lines(output)).toHaveLength(lines(source).length);
  const after = words(output);
  words(withoutLost(source)).forEach((line, index) => {
    const rest = [...after[index]!];
    for (const word of line) {
      const at = rest.indexOf(word);
      if (at < 0) throw new Error(`"${word}" is not on line ${index + 1}: ${lines(output)[index]}`);
      rest.splice(at, 1);
    }
  });
}

const repository = fileURLToPath(new URL("../..", import.meta.url));

function filesIn(folder: string): string[] {
  return readdirSync(path.join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "dist" || entry.name === "fixtures" ? [] : filesIn(name);
    return /\.[cm]?tsx?$/.test(name) && !name.endsWith(".d.ts") ? [name] : [];
  });
}

describe("every program of the corpus", () => {
  it.each(Object.entries(corpus))(
    "%s: same trace as on nodes, same lines, the same when transformed again",
    async (_name, snippet) => {
      const source = moduleOf(snippet);
      const result = transformText(source, { file, root: "/project" })!;
      expectSameLines(source, result.code);
      expect(transformText(result.code, { file, root: "/project", include: ["src"] })).toBeUndefined();
      expect(compile(result.code, onNodes)).toBe(compile(result.code, { ...onNodes }, { transform: false }));
      const printed = compile(source, onNodes);
      expect(edit(printed, "/project/src/flow.js", { include: ["src"] })).toBe(printed);
      const nodes = await execute(printed, onNodes);
      const text = await execute(compile(source, onText), onText);
      expect(traceText(text), result.code).toBe(traceText(nodes));
      expect(nodes.trace.tables[0]?.rows ?? result.sites).toEqual(result.sites);
    },
  );

  // Its helpers for \`await using\` and its enums are TypeScript's own affair.
  it.each(Object.entries(corpus))("%s: does the same when esbuild strips the types", async (_name, snippet) => {
    const source = moduleOf(snippet);
    const strip = (text: string): string =>
      transformSync(text, {
        loader: "ts",
        target: "es2022",
        tsconfigRaw: { compilerOptions: { experimentalDecorators: true, verbatimModuleSyntax: false } },
        logLevel: "silent",
      }).code;
    let stripped: string;
    try {
      stripped = strip(source);
    } catch {
      return;
    }
    const plain = await execute(stripped, oneSetting);
    const code = strip(edit(source));
    expect((await execute(code, oneSetting)).outcome, code).toEqual(plain.outcome);
  });
});

describe("every file of the project that uses the library", () => {
  const all = [...filesIn("samples"), ...filesIn("test"), ...filesIn("bench")];
  const used = all.filter((name) => /from "stepmark"/.test(readFileSync(path.join(repository, name), "utf8")));

  it.each(used)("%s keeps its lines, parses, and maps back to itself", (name) => {
    const source = readFileSync(path.join(repository, name), "utf8");
    const result = transformText(source, { file: path.join(repository, name), root: repository });
    if (result === undefined) return;
    expectSameLines(source, result.code);
    expectValid(result.code, name);
    expectMapped(source, result.code, result.map.toString());
  });
});

function expectValid(code: string, name: string): void {
  const parsed = ts.createSourceFile(name, code, ts.ScriptTarget.Latest);
  const { parseDiagnostics } = parsed as unknown as { parseDiagnostics: ts.Diagnostic[] };
  expect(parseDiagnostics.map(({ messageText, start }) => [messageText, code.slice(start!, start! + 80)])).toEqual([]);
}

/** Every string of three letters and more that occurs once in both texts is mapped from the one to the other. */
function expectMapped(source: string, code: string, json: string): void {
  const map = new SourceMap(JSON.parse(json));
  const position = (text: string, offset: number): [number, number] => {
    const before = text.slice(0, offset).split("\n");
    return [before.length - 1, before.at(-1)!.length];
  };
  for (const [word] of new Set(source.match(/\b[a-zA-Z]{3,}\b/g)?.map((text) => [text]))) {
    const once = (text: string): number => (text.split(word!).length === 2 ? text.indexOf(word!) : -1);
    const [from, to] = [once(source), once(code)];
    if (from < 0 || to < 0) continue;
    const [line, column] = position(code, to);
    const entry = map.findEntry(line, column) as { originalLine: number; originalColumn: number };
    expect([word, entry.originalLine, entry.originalColumn]).toEqual([word, ...position(source, from)]);
  }
}

describe("Node strips the types of what comes out", () => {
  const strip = (nodeModule as unknown as { stripTypeScriptTypes?: (code: string) => string }).stripTypeScriptTypes;
  const erasable = Object.entries(corpus).filter(
    ([, snippet]) => !/\b(enum|namespace)\b|public |readonly |private |<any>|import .* = |@|accessor/.test(snippet),
  );

  it.runIf(strip !== undefined).each(erasable)("%s", async (_name, snippet) => {
    const source = moduleOf(snippet);
    const code = strip!(edit(source));
    const plain = await execute(strip!(source), oneSetting);
    expect((await execute(code, oneSetting)).outcome, code).toEqual(plain.outcome);
  });
});

describe("calls are edited at their parentheses", () => {
  it.each([
    ["step/* ( */(g)", "step.at/* ( */($1, 1, 0, 0, g)"],
    ["step<Foo<(a: string) => void>>(g)", "step.at<Foo<(a: string) => void>>($1, 1, 0, 0, g)"],
    ["step // (\n(g)", "step.at // (\n($1, 1, 0, 0, g)"],
    ["(step)(g)", "(step).at($1, 1, 0, 0, g)"],
    ["step()", "step.at($1, 1, 0, 0)"],
    ["step(/* x */)", "step.at($1, 1, 0, 0/* x */)"],
    ["step(\n// c\n)", "step.at($1, 1, 0, 0\n// c\n)"],
    ["step(g,)", "step.at($1, 1, 0, 0, g,)"],
    ["step(...xs)", "step.at($1, 1, 0, 0, ...xs)"],
    ["step?.(g)", "step?.at($1, 1, 0, 0, g)"],
    ["(step as any)(g)", "(step as any).at($1, 1, 0, 0, g)"],
    ["step!(g)", "step!.at($1, 1, 0, 0, g)"],
    ["(step<number>)(g)", "(step<number>).at($1, 1, 0, 0, g)"],
    ["h /* a */ (/* b */)", "$1.call(1, 0, h, void 0 /* a */ , [/* b */])"],
    ["h<A<(b: C) => D>>(1)", "$1.call(1, 0, h, void 0, [1])"],
    ["h<\n  A\n>(1)", "$1.call(1, 0, h, void 0\n\n, [1])"],
    ["h // (\n(1)", "$1.call(1, 0, h, void 0 // (\n, [1])"],
    ["h(1,)", "$1.call(1, 0, h, void 0, [1,])"],
    ["h(...xs, 1)", "$1.call(1, 0, h, void 0, [...xs, 1])"],
    ["/* @__PURE__ */ h()", "/* @__PURE__ */ $1.call(1, 0, h, void 0, [])"],
    ["/* @__PURE__ */ new H", "/* @__PURE__ */ $1.new(1, 0, H, [])"],
    ["new H<A>(1)", "$1.new(1, 0, H, [1])"],
    ["new H<A>", "$1.new(1, 0, H, [])"],
    ["new(H)(1)", "$1.new(1, 0,(H), [1])"],
    ["new ns.H()", "$1.new(1, 0, ns.H, [])"],
    ["this.m(1)", "$1.call(1, 0, this.m, this, [1])"],
    ["(this.m as any)(1)", "$1.call(1, 0, (this.m as any), this, [1])"],
    ["(this.m<string>)(1)", "$1.call(1, 0, (this.m<string>), this, [1])"],
    ["p.q // c\n  .r(1)", "$1.call(1, 0, ($t1 = p.q) // c\n  .r, $t1, [1])"],
    ["p?.q /* c */ ?.r", "p?.q /* c */ ?.r"],
    ["p?.q()", "(($t1 = p) == null ? void 0 : $1.call(1, 0, $t1.q, $t1, []))"],
    [
      "p /* a */ ?. /* b */ q /* c */ ()",
      "(($t1 = p) /* a */  == null ? void 0 : $t1. /* b */ q, $t1 /* c */ , [])"
        .replace(" : $t1.", " : $1.call(1, 0, $t1.")
        .concat(")"),
    ],
    ["(class {}).m()", "$1.call(1, 0, ($t1 = (0, (class {}))).m, $t1, [])"],
    ["import(/* webpackChunkName: 'c' */ 'x')", "import(/* webpackChunkName: 'c' */ 'x')"],
  ])("%j becomes %j", (call, expected) => {
    const text = edited(`export function f(this: any) { return [step(z), ${call}]; }`);
    // The first site is there so that every file has something to do.
    const [, inner] = /return \[step\.at\(\$1, \d+, 0, 0, z\), ([\s\S]*)\]; \}/.exec(text)!;
    expect(inner!.replace(/\((\$1, )?\d+, 0/, (_all, frame = "") => `(${frame}1, 0`)).toBe(expected);
  });
});

describe("names do not grow together", () => {
  it.each([
    ["return(h)(1)", "return $1.call("],
    ["return new(H)(1)", "return $1.new("],
    ["return`a`.at(step(g))", "return $1.call("],
    ["return[typeof(h)(1)]", "typeof $1.call("],
    ["for (const x of(h)(1)) step(x)", "of $1.call("],
    ["if (x) y; else(h)(1)", "else $1.call("],
    ["return y in(h)(1)", "in $1.call("],
    ["for (const[y = h()]of z) step(y)", "for (const $x1 of z)"],
    ["do(h)(1); while(x)", "do{ const $c1 = ++$i1;  $1.call("],
    ["do step(g); while((h)(1))", "if(!($1.call("],
    ["async function é(){}; return é(h(1))", "return $1.call("],
  ])("%s", (statement, expected) => {
    expect(edited(`export function f() { step(g); ${statement}; }`)).toContain(expected);
  });

  it("in a case clause", () => {
    expect(edited(`export function f(x) { switch (x) { case(h)(1): step(g); } }`)).toContain("case $1.call(");
  });
});

describe("statements without semicolons", () => {
  const run = `export const run = async (t: any) => {
    const o: any = { m: (x: any) => t.log(x) }, log = t.log
    let a = o
    o?.m(1)
    const f = () => t.log("f")
    o?.m?.(2)
    a = f
    ;[1].forEach(() => f())
    if (a) f()
    o?.m(3)
    else_: for (const x of [1]) f()
    if (a)
      o?.m(4)
    else
      o?.m(5)
    do f()
    while (o?.m(0))
    let n = 0
    do { if (n++) continue; o?.m(6) }
    while (t.log(n) < 2)
    for (const x of [1]) o?.m(7)
    l: o?.m(8)
    switch (n) { case (n): { for (const x of [1]) f() } case (t.log(3)): o?.m(9)
      o?.m(10)
      default: for (;;) { if (f()) break }
    }
    const g = async () => step(() => t.log("g"))
    await g()
    t.log(typeof log)
    return o?.m(11) // the end
  }`;
  const source = moduleOf(run);

  it("stay apart", async () => {
    const plain = await execute(compile(source, oneSetting, { transform: false }), oneSetting);
    expect(plain.outcome.error).toBeUndefined();
    expectSameLines(source, edit(source));
    expect((await execute(compile(source, onText), onText)).outcome, edit(source)).toEqual(plain.outcome);
  });

  it("stay apart with any line break, and behind a mark of byte order", async () => {
    const plain = await execute(compile(source, oneSetting, { transform: false }), oneSetting);
    const rows = transformText(source, { file, root: "/project" })!.sites;
    for (const other of [source.replaceAll("\n", "\r\n"), source.replaceAll("\n", "\r"), `\ufeff${source}`]) {
      const result = transformText(other, { file, root: "/project" })!;
      expect(result.sites).toEqual(rows);
      expect(result.code.startsWith("\ufeff")).toBe(other.startsWith("\ufeff"));
      expect(result.code.match(/\r\n?|\n/g)).toEqual(other.match(/\r\n?|\n/g));
      expect((await execute(compile(other, onText), onText)).outcome).toEqual(plain.outcome);
    }
  });

  it.each([
    "declare function h(x: string): void",
    "export declare function h(): void",
    'declare module "other"',
    "namespace N { declare function h(): void",
  ])("a loop after %s is no body of that", (declaration) => {
    const end = declaration.startsWith("namespace") ? "}" : "";
    const source = `${head}export const fs: any[] = []\n${declaration}\nfor (const x of [1, 2]) fs.push(async () => step(() => x))\n${end}`;
    const strip = (text: string): string => transformSync(text, { loader: "ts" }).code;
    expect(strip(source)).toContain("for (const x of");
    expect(strip(edit(source))).toContain("for (const x of");
  });

  it("that a keyword ends at its line", () => {
    const text = edited(`export function* g() { yield\no?.m()\nreturn\no?.m() }`);
    expect(text).toContain("yield\n;((");
    expect(text).toContain("return\n;((");
  });
});

describe("functions", () => {
  it.each([
    ["x => h(x)", "x => { const $1 = $s().enter(0, 0); return $1.call(1, 0, h, void 0, [x]); }"],
    ["x=>h(x)", "x=> { const $1 = $s().enter(0, 0);return $1.call(1, 0, h, void 0, [x]); }"],
    [
      "() => // why\n h() // c",
      "() => { const $1 = $s().enter(0, 0); // why\n return $1.call(1, 0, h, void 0, []); }  // c",
    ],
    ["() => ({ a: h() })", "() => { const $1 = $s().enter(0, 0); return ({ a: $1.call(1, 0, h, void 0, []) }); }"],
    ["() => {h()}", "() => { const $1 = $s().enter(0, 0);$1.call(1, 0, h, void 0, [])}"],
    [
      "() => { 'use cache' // c\n h() }",
      "() => { 'use cache'; const $1 = $s().enter(0, 0); // c\n $1.call(1, 0, h, void 0, []) }",
    ],
    ["() => { 'a'; 'b'; h() }", "() => { 'a'; 'b'; const $1 = $s().enter(0, 0); $1.call(1, 0, h, void 0, []) }"],
    [
      "() => { /* istanbul ignore next */ h() }",
      "() => { const $1 = $s().enter(0, 0); /* istanbul ignore next */ $1.call(1, 0, h, void 0, []) }",
    ],
    ["function* () { h() }", "function* (...{ $1 = $s().enter(0, 0) }) { $1.call(1, 0, h, void 0, []) }"],
    ["function* (/* c */) { h() }", "function* (...{ $1 = $s().enter(0, 0) }/* c */) { $1.call(1, 0, h, void 0, []) }"],
    [
      "function* (a: A, /* c */) { h() }",
      "function* (a: A,...{ $1 = $s().enter(0, 0) } /* c */) { $1.call(1, 0, h, void 0, []) }",
    ],
    [
      "function* (a = 1 // c\n) { h() }",
      "function* (a = 1, ...{ $1 = $s().enter(0, 0) } // c\n) { $1.call(1, 0, h, void 0, []) }",
    ],
    [
      "function* (...a: A[]) { h() }",
      "function* (...{ $1 = $s().enter(0, 0), $r: a = [].slice.call(arguments, 0) }: A[]) { $1.call(1, 0, h, void 0, []) }",
    ],
  ])("%j becomes %j", (source, expected) => {
    expect(edited(`export const f = ${source}`).trimEnd()).toBe(`export const f = ${expected}`);
  });

  it("initialisers with variables may be object literals", () => {
    const text = edited(`export const f = (x = { a: g().m() }) => x`);
    expect(text).toContain("(x = (($t1) => ({ a: $s()");
    expectValid(text, "a.ts");
  });
});

describe("loops", () => {
  it.each([
    [
      "for (const x of y) step(x)",
      "let $i1 = -1; for (const x of y) { const $c1 = ++$i1; step.at($1, 1, [$c1], 0, x) }",
    ],
    [
      "if (x) a: for (;;) step(g); else h;",
      "if (x) { let $i1 = -1; a: for (;;) { const $c1 = ++$i1; step.at($1, 1, [$c1], 0, g); } } else h;",
    ],
    [
      "while (step(g)) { h }",
      "let $i1 = -1; for (;;) { const $c1 = ++$i1; if (!(step.at($1, 1, [$c1], 0, g))) break; { h } }",
    ],
    [
      "do { if (h) continue; else break } while (step(g)) h",
      "let $i1 = -1; for (;;) { const $c1 = ++$i1; $l1: { if (h) break $l1; else break } if (!(step.at($1, 1, [$c1], 0, g))) break; } h",
    ],
    [
      "for (let i = 0; step(g); i++) h",
      "let $i1 = -1; for (let i = 0; ; i++) { const $c1 = ++$i1; if (!(step.at($1, 1, [$c1], 0, g))) break; h }",
    ],
    [
      "for (let i = 0; i < 1; step(g)) h",
      "let $i1 = -1; for (let i = 0; ; ) { const $c1 = ++$i1; if ($c1) step.at($1, 1, [$c1 - 1], 0, g); if (!(i < 1)) break; h }",
    ],
    [
      "for ({ a: x = step(g) } of y) h",
      "let $i1 = -1; for (const $x1  of y) { const $c1 = ++$i1; ({ a: x = step.at($1, 1, [$c1], 0, g) } = $x1); h }",
    ],
  ])("%j becomes %j", (source, expected) => {
    expect(edited(`export function f() { ${source} }`)).toBe(
      `export function f() { const $1 = $s().enter(0, 0); ${expected} }`,
    );
  });
});

describe("the root function", () => {
  const call = "export const f = () => step(g)";
  const end = (tail: string): string =>
    edit(`${head}${call}${tail}`)
      .replace(root, (_all, separator = "") => `${separator}ROOT`)
      .split("return step.at($1, 1, 0, 0, g); }")[1]!;

  it.each([
    ["", "; ROOT"],
    [";", ";; ROOT"],
    ["\n", "\nROOT"],
    ["\r\n\r\n", "\r\n\r\nROOT"],
    [" // c", " ; ROOT // c"],
    ["\n// c", "\nROOT // c"],
    ["\n// c\n", "\n// c\nROOT"],
    [" /* c */", " /* c */; ROOT"],
    ["\n//# sourceMappingURL=a.js.map", "; ROOT\n//# sourceMappingURL=a.js.map"],
    ["\n//# sourceMappingURL=a.js.map\n", "; ROOT\n//# sourceMappingURL=a.js.map\n"],
    ["\n// c\n\n//# sourceMappingURL=a.js.map\n", "\nROOT // c\n\n//# sourceMappingURL=a.js.map\n"],
    [" //# sourceMappingURL=a.js.map", "; ROOT //# sourceMappingURL=a.js.map"],
    ["\n/* a\n b */\n/*# sourceMappingURL=a.js.map */", "\n/* a\n b */ROOT\n/*# sourceMappingURL=a.js.map */"],
  ])("after %j is %j", (tail, expected) => {
    expect(end(tail)).toBe(expected);
  });

  it("a hashbang, a licence and directives stay first", () => {
    const source = `#!/usr/bin/env node\n/* licence */\n'use server'\n'use strict'\n${head}\n${call}\n`;
    const result = edit(source);
    expect(result.split("\n").slice(0, 5)).toEqual(source.split("\n").slice(0, 5));
    expect(result.split("\n")).toHaveLength(source.split("\n").length);
  });
});

describe("what is left alone", () => {
  it.each([
    ["does not import the library", "a.ts", `export const f = () => step(g);`],
    ["imports types only", "a.ts", `import type { step } from "stepmark"; export const f = () => h();`],
    ["has nothing to do", "a.ts", `import { workflow } from "stepmark"; export const x = 1;`],
    ["has a syntax error", "a.ts", `${head}export const f = () => step(g;`],
    ["declares types", "a.d.ts", `${head}export const f: typeof step;`],
    ["is data", "a.json", `{ "stepmark": 1 }`],
  ])("a file that %s", (_name, name, source) => {
    expect(transformText(source, { file: `/project/${name}`, root: "/project" })).toBeUndefined();
  });

  const flow = `${head}export const each = async (xs: any[], f: any) => { for (const x of xs) await f(x); }; export const go = (xs: any[]) => each(xs, (x: any) => step(g, x));`;
  const included = { root: "/project", include: ["src"] };

  it.each([
    ["minified", { minify: true, format: "esm" }],
    ["minified for CommonJS", { minify: true, format: "cjs" }],
    ["put into a function", { minify: true, format: "iife", globalName: "flow" }],
    ["put into a function with its names kept", { minifySyntax: true, keepNames: true, format: "iife" }],
  ] as const)("code that has been transformed and %s", (_name, options) => {
    for (const source of [flow, flow.replace(head, "").replace("step(g, x)", "g(x)")]) {
      const { code } = transformSync(transformText(source, { file, ...included })!.code, { loader: "ts", ...options });
      expect(transformText(code, { file: "/project/src/flow.js", ...included })).toBeUndefined();
    }
  });

  it("but not code that only looks at the runtime's state", () => {
    const reader = 'export function modules() { return (globalThis as any)[Symbol.for("stepmark@1")].modules; }';
    expect(edit(`${flow}\n${reader}`)).toContain("step.at(");
  });

  it("a private name in a chain is no error in JavaScript", () => {
    expect(edited(`class A { #m() {} f(o) { return o?.#m(step(g)); } }`, "a.js")).toContain("$t1.#m, $t1, [step.at(");
  });

  it("an escape does not hide the library's name", () => {
    for (const name of ["step\\u006dark", "\\x73tepmark", "step\\u{6D}ark", "step\\\nmark", "\\stepmar\\k"]) {
      const source = `import { step } from "${name}"; export const f = () => step(g);`;
      expect(transformText(source, { file, root: "/project" })?.code).toContain("step.at(");
    }
  });

  it("an unknown option is refused", () => {
    expect(() => transformText(head, { file, includes: [] } as never)).toThrow('no option "includes"');
  });
});

describe("the file's extension says how it is read", () => {
  it.each([
    ["a.ts", `export const f = (x) => <any>step(x)`],
    ["a.mts", `export const f = <T>(x: T) => step(x)`],
    ["a.cts", `import { type B } from "b"; export const f = (x) => <B>step(x)`],
    ["a.tsx", `export const f = <T,>(x: T) => <div a={step(x)}>{...step(x)} {/* c */}</div>`],
    ["a.jsx", `export const f = (x) => <div a={step(x)} {...step(x)}>text</div>`],
    ["a.js", `export const f = (x) => <div>{step(x)}</div>`],
    ["a.mjs", `export const f = (x) => a < b > step(x)`],
    ["App.vue?vue&type=script&lang.ts", `export const f = (x) => <any>step(x)`],
  ])("%s", (name, source) => {
    const text = edited(source, name);
    expect(text).toContain("step.at($1, 1, 0, 0, x)");
    expect(text.split("step.at(").length).toBe(source.split("step(").length);
  });
});

it("a map has a segment for every word, names its source and holds it", () => {
  const source = `${head}\nexport const f = async (o: any) => {\n  for (const x of o) await step(charge, x);\n  return o.refund(\n    o);\n};\n`;
  const result = transformText(source, { file, root: "/project" })!;
  expect(result.map.sources).toEqual([file]);
  expect(result.map.sourcesContent).toEqual([source]);
  expectMapped(source, result.code, result.map.toString());
});

/** What a position in the code is traced to, as `line:column` from 1. */
function traced(code: string, map: string, line: number, column: number): string {
  const entry = new SourceMap(JSON.parse(map)).findEntry(line, column) as {
    originalLine: number;
    originalColumn: number;
  };
  expect(code.split(breaks)[line]).toBeDefined();
  return `${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

it("the column where an engine sees a marked call is traced to the call, and not to what comes before it", () => {
  const source = `${head}export const f = async (o: any) => {
    o.a = 1; fail(o); const x = await (await o.m(1)).n(2);
  fail(x)
  return new(o.C)(x) ?? o?.m(3);
};
`;
  const { code, map } = transformText(source, { file, root: "/project" })!;
  const called = [...code.matchAll(/\.(?:call|new)\((?=\d)/g)].map(({ index }) => {
    const before = code.slice(0, index).split("\n");
    return traced(code, map.toString(), before.length - 1, before.at(-1)!.length);
  });
  expect(called).toEqual(["2:14", "2:39", "2:46", "3:3", "4:10", "4:26"]);
});

it.each(["\n", "\r\n", "\r", "\u2028"])("a map counts lines that %j ends as engines do", (end) => {
  const source = [
    head,
    "",
    "export const f = async (o: any) => {",
    "  o.before; await step(charge, o);",
    "};",
    "",
  ].join(end);
  const { code, map } = transformText(source, { file, root: "/project" })!;
  const column = code.split(breaks)[3]!.indexOf("charge");
  expect(traced(code, map.toString(), 3, column)).toBe("4:24");
});

describe("heads that span lines", () => {
  it("keep to themselves what moves in them", () => {
    const source = `export function f(y) {
  for (
    let i = 0; // from
    step(i); // while
    step(y), i++ // next
  ) {
    one(i);
  }
  for (
    const {
      a = step(g),
    } of y
  )
    two(a);
  do {
    if (three) continue;
  } while (
    step(y)
  );
  four();
}
`;
    const text = edited(source);
    expectValid(text, "a.ts");
    const lineOf = (word: string, where: string): number => lines(where).findIndex((line) => line.includes(word));
    for (const word of ["one", "two", "three", "four", "from", "// while", "// next", "continue;"]) {
      const after = word === "continue;" ? "break $l3;" : word;
      expect([word, lineOf(after, text)]).toEqual([word, lineOf(word, source)]);
    }
    expect(lines(text)).toHaveLength(lines(source).length);
  });
});

it("text without the library's name is turned down without being parsed", () => {
  expect(mentionsLibrary("const a = /\\n\\x41/, b = `\\u{1F600}`; step(a);")).toBe(false);
  expect(mentionsLibrary('require("stepmark")')).toBe(true);
});
