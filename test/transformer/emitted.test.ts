/** The emitted text around the calls: directives, imports, names, comments, decorators, maps. */
import { SourceMap } from "node:module";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { transformFile } from "../../transformer/index.js";
import {
  appliers,
  compile,
  compilers,
  execute,
  load,
  moduleOf,
  oneSetting,
  planOf,
  setting,
  settings,
  withAppliers,
} from "./compile.js";
import { functions } from "./corpus/functions.js";

const [newest, commonJs] = [oneSetting, setting("6", "CommonJS", "ES2022")];

/** Emitted text without the root function. */
function emitted(source: string, as = newest, options = {}): string {
  return compile(source, as, options).replace(/\nfunction \$+s\(\) \{\n {4}return \$+s\.m[\s\S]*?\n\}\n/, "\n");
}

it("the design's example", () => {
  const source = `import { workflow, step } from "stepmark";
export const fulfil = workflow("fulfil", async (items: Item[]) => {
  const out: number[] = [];
  for (const item of items) out.push(await step(price, item));
  await Promise.all(items.map(async (item) => { await audit(item); }));
  return step(() => book(out));
});
`;
  expect(emitted(source)).toBe(`import { workflow, step } from "stepmark";
export const fulfil = workflow("fulfil", async (items) => {
    const $1 = $s().enter(0, 0);
    const out = [];
    {
        let $i1 = -1;
        for (const item of items) {
            const $c1 = ++$i1;
            $1.call(1, [$c1], out.push, out, [await step.at($1, 2, [$c1], 0, price, item)]);
        }
    }
    await Promise.all($1.call(3, 0, items.map, items, [async (item) => { const $2 = $1.enter(5, 0); await $2.call(6, 0, audit, void 0, [item]); }]));
    return step.at($1, 4, 0, () => [[$1, out]], () => {
        const $3 = $1.enter(7, 0);
        return $3.call(8, 0, book, void 0, [out]);
    });
});
$s();
`);
  expect(planOf(source)!.rows.map((row) => [...row.slice(0, 5), ...row.slice(6)])).toEqual([
    [2, "fulfil()", -1, 2, 1],
    [1, "push", 0, 4, 1, [1]],
    [0, "price", 0, 4, 1, [1]],
    [1, "map", 0, 5, 1],
    [0, "book", 0, 6, 1],
    [2, "map()", 0, 5, 1],
    [1, "audit", 5, 5, 1],
    [2, "book()", 0, 6, 1],
    [1, "book", 7, 6, 1],
  ]);
});

describe("B69: directives, hashbang and licence stay first", () => {
  const source = `#!/usr/bin/env node
/* licence */
'use server'
'use strict'
import { step } from "stepmark"
export async function act() {
  'use cache'
  "use strict"
  return step(() => 1)
}
export const arrow = async () => { 'use cache'; return step(() => 2) }
`;

  it("in a module", () => {
    expect(emitted(source).split("\n").slice(0, 8)).toEqual([
      "#!/usr/bin/env node",
      "/* licence */",
      "'use server';",
      "'use strict';",
      'import { step } from "stepmark";',
      "export async function act() {",
      "    'use cache';",
      '    "use strict";',
    ]);
    expect(emitted(source)).toMatch(/'use cache';\s*const \$2 = /);
  });

  it("in CommonJS", () => {
    const lines = emitted(source, commonJs).split("\n");
    expect(lines.slice(0, 2)).toEqual(["#!/usr/bin/env node", "'use strict';"].length === 2 ? lines.slice(0, 2) : []);
    expect(lines[0]).toBe("#!/usr/bin/env node");
    expect(lines.findIndex((line) => line.includes("use server"))).toBeLessThan(
      lines.findIndex((line) => line.includes("require(")),
    );
  });
});

describe("B68: imports are elided as they are without us", () => {
  const source = `import { step, workflow, type Opts, Job } from "stepmark";
import type { Row } from "./rows";
import * as unusedNs from "./only-types";
import { Shape } from "./shapes";
import "./register";
import { db } from "./db";
export const w = workflow("w", async (j: Job, o?: Opts): Promise<Row> => step(load, j as Shape));
const tools = { q: async (s: string) => step(() => db.query(s)) };
export type { Job };
`;
  const importsOf = (text: string): string[] => text.match(/^.*\b(import|require)\b.*$/gm) ?? [];

  it.each(settings)("$name", (as) => {
    const plain = importsOf(compile(source, as, { transform: false }));
    expect(importsOf(compile(source, as))).toEqual(plain);
    expect(plain.join()).not.toContain("only-types");
  });

  it("with a program, whose checker decides", () => {
    expect(importsOf(emitWithProgram(source))).toEqual([
      'import { step, workflow } from "stepmark";',
      'import "./register";',
      'import { db } from "./db";',
    ]);
  });
});

/** Emits a file through a real program with the library's types. */
function emitWithProgram(source: string, options: ts.CompilerOptions = {}): string {
  const files: Record<string, string> = {
    "/p/a.ts": source,
    "/p/stepmark.d.ts": `declare module "stepmark" { export function step(...xs: any[]): Promise<any>; export function workflow(n: string, f: any): any; export interface Opts {} export interface Job {} }`,
    "/p/rows.ts": "export interface Row {}",
    "/p/only-types.ts": "export interface T {}",
    "/p/shapes.ts": "export interface Shape {}",
    "/p/register.ts": "export {}",
    "/p/db.ts": "export const db: any = 1",
  };
  const all: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ES2022,
    noLib: true,
    types: [],
    ...options,
  };
  const host = ts.createCompilerHost(all);
  let output = "";
  Object.assign(host, {
    getSourceFile: (name: string, target: ts.ScriptTarget) =>
      files[name] === undefined ? undefined : ts.createSourceFile(name, files[name], target),
    fileExists: (name: string) => name in files,
    readFile: (name: string) => files[name],
    writeFile: (name: string, text: string) => {
      if (name === "/p/a.js") output = text;
    },
    getCurrentDirectory: () => "/p",
  });
  const program = ts.createProgram(["/p/a.ts", "/p/stepmark.d.ts"], all, host);
  program.emit(undefined, undefined, undefined, undefined, { before: [transformFile(ts, { root: "/p" })] });
  return output;
}

describe("B71: the user's binding is renamed with its import", () => {
  it("in CommonJS", () => {
    const source = `import { step, workflow } from "stepmark"; import * as ns from "stepmark"; import { helper, box } from "./x";
      export const w = workflow("w", async () => { await ns.step(two); helper(1); box.m(2); box?.m(3); return step(one); });`;
    const text = emitted(source, commonJs);
    expect(text).toContain("return stepmark_1.step.at($1, ");
    expect(text).toContain("await ns.step.at($1, ");
    expect(text).toContain("x_1.helper, void 0, [1])");
    expect(text).toContain("x_1.box.m, x_1.box, [2])");
    expect(text).not.toMatch(/[^._]\b(step|helper|box)\b[.(]/);
  });

  it("and in namespaces", () => {
    const text = emitted(
      `import { step } from "stepmark"; namespace N { export const o: any = 1; export const f = () => o.m(step(g)); }`,
    );
    expect(text).toContain("N.o.m, N.o, [step.at(");
  });
});

describe("names", () => {
  it.each([
    "const $1 = 1;",
    "const $s = 1;",
    "type T = { $t3: 1 };",
    "$c1: for (;;) break $c1;",
    "x.$i9;",
    "({ $k1() {} });",
  ])("%s", (line) => {
    const text = emitted(
      `import { step } from "stepmark"; ${line} export const f = (o: any) => { for (const x of o.xs()) step(x); };`,
    );
    expect(text).toContain("const $$1 = $$s().enter(");
    expect(text).toContain("const $$c1 = ++$$i1");
    expect(text).not.toMatch(/[^$.]\$(s|1)\b\(/);
  });

  it("that only look alike are no reason to change ours", () => {
    const text = emitted(
      `import { step } from "stepmark"; const $ = 1, $state = 2, $1a = 3, a$1 = 4; export const f = () => step(g);`,
    );
    expect(text).toContain("const $1 = $s()");
  });

  it("with more signs are stepped over", () => {
    const text = emitted(`import { step } from "stepmark"; const $$1 = 1; export const f = () => step(g);`);
    expect(text).toContain("const $$$1 = $$$s()");
  });
});

describe("transforming twice is a no-op", () => {
  it.each([newest, commonJs, setting("5.9", "CommonJS", "ES2017")])("$name", (as) => {
    const source = moduleOf(functions.limiter!);
    const once = compile(source, as);
    expect(compile(once, as, { fileName: "/project/src/flow.js" })).toBe(
      compile(once, as, { fileName: "/project/src/flow.js", transform: false }),
    );
    expect(planOf(once)).toBeUndefined();
    expect(planOf(once, ts, "/project/a.js", true)).toBeUndefined();
  });

  it("also where a later tool has dropped the root function's name", () => {
    expect(
      planOf(`import { step } from "stepmark"; const f = () => step.at(x, 0, 0, 0, g); const h = () => step(g);`),
    ).toBeUndefined();
  });

  it("by two plugins in one pass", () => {
    const source = moduleOf(functions.limiter!);
    const twice = compile(source, newest, { before: [transformFile(ts, { root: "/project" })] });
    expect(twice).toBe(compile(source, newest));
  });
});

it("the watch: the same text is emitted for the same source, whatever came between (B66)", () => {
  const text = (label: string): string =>
    compile(
      `import { step } from "stepmark"; export const f = async () => { const label = "${label}"; return step(tag, label); };`,
      newest,
    );
  const first = text("v1");
  expect(text("v2")).not.toBe(first);
  expect(text("v1")).toBe(first);
});

describe("decorators and their metadata", () => {
  const source = `import { step } from "stepmark"; import { Service } from "./service"; import { dec } from "./dec";
    @dec() export class A { constructor(private s: Service, @dec() x: string) { s.start(x); }
      @dec() field: Service = make(); @dec() async m(a: Service, b: number): Promise<string> { return step(load, a, b); }
      @dec() *g(a: Service): any { yield step(load, a); } @dec() get p(): Service { return h(); } }`;

  it.each([
    ["6", "nodes"],
    ["5.9", "nodes"],
    ["6", "text"],
  ] as const)("are those of the source under TypeScript %s, on %s", (version, applier) => {
    const options = { emitDecoratorMetadata: true, useDefineForClassFields: false };
    const as = setting(version, "ESNext", "ES2022", options, applier);
    const metadata = (text: string): string[] => text.match(/__metadata\("design:.*$/gm) ?? [];
    const plain = metadata(compile(source, as, { transform: false }));
    expect(plain.length).toBeGreaterThan(8);
    expect(metadata(compile(source, as))).toEqual(plain);
  });

  it.each([
    ["6", "nodes"],
    ["5.9", "nodes"],
    ["6", "text"],
  ] as const)("of the standard kind run alike under TypeScript %s, on %s", async (version, applier) => {
    const as = setting(version, "ESNext", "ES2022", { experimentalDecorators: false }, applier);
    const snippet =
      moduleOf(`const log: any[] = []; const dec = (n: any) => (v: any, c: any) => { log.push([n, c.kind, String(c.name)]); return c.kind === "method" ? function (this: any, ...xs: any[]) { return ["wrapped", v.apply(this, xs)]; } : undefined; };
      @dec("c") class A { @dec("f") f = t.log("f"); @dec("m") m(x: any) { return t.log(x); } @dec("s") static s = t.log("s"); @dec("a") accessor a = t.log("a"); static { t.log("block"); } }
      const a: any = new A(); return [log, a.m(1), a.f, a.a];`);
    const plain = await execute(compile(snippet, as, { transform: false }), as);
    expect(plain.outcome.error).toBeUndefined();
    expect((await execute(compile(snippet, as), as)).outcome).toEqual(plain.outcome);
  });
});

describe("other compiler options", () => {
  const variants = [
    setting("6", "ESNext", "ES2022", { useDefineForClassFields: false }),
    setting("5.9", "CommonJS", "ES2017", { useDefineForClassFields: false }),
    setting("6", "ESNext", "ES2022", { removeComments: true, sourceMap: true, inlineSources: true }),
    setting("5.9", "ESNext", "ES2015"),
    setting("6", "CommonJS", "ES2015"),
    setting("6", "ESNext", "ES2022", { verbatimModuleSyntax: true, isolatedModules: true }),
  ];
  describe.each(variants.flatMap(withAppliers))("$name $options.useDefineForClassFields", (as) => {
    it.each(Object.entries(functions))("%s", async (_name, snippet) => {
      const source = moduleOf(snippet);
      const plain = await execute(compile(source, as, { transform: false }), as);
      const code = compile(source, as);
      expect((await execute(code, as)).outcome, code).toEqual(plain.outcome);
    });
  });

  it("a target below ES2015 is refused, since its loops share one variable", () => {
    const { ES5 } = ts.ScriptTarget;
    const as = { ...newest, options: { ...newest.options, target: ES5, ignoreDeprecations: "6.0" } };
    expect(() => compile(`import { step } from "stepmark"; export const f = () => step(g);`, as)).toThrow(/ES2015/);
  });

  it.each(appliers)("JSX is transformed before it is compiled, on %s", async (applier) => {
    const as = setting("6", "CommonJS", "ES2022", { jsx: ts.JsxEmit.React }, applier);
    const source =
      moduleOf(`const React = { createElement: (...xs: any[]) => xs }; const Item = 1; const p = { q: 2 }; const ok = (x: any) => x;
      return <Item a={ok(1)} {...p} {...ok({ r: 3 })}>{await step(() => ok(2))} text {[1].map((x) => <b key={x}>{ok(x)}</b>)}</Item>;`);
    const options = { fileName: "/project/src/a.tsx" };
    const plain = await execute(compile(source, as, { ...options, transform: false }), as);
    expect(plain.outcome.error).toBeUndefined();
    const { outcome, trace } = await execute(compile(source, as, options), as);
    expect(outcome).toEqual(plain.outcome);
    expect(trace.identities).toHaveLength(1);
  });
});

describe("transformers before ours", () => {
  it.each(Object.entries(compilers))("may have updated the nodes, under TypeScript %s", async (version, own) => {
    const as = setting(version, "ESNext", "ES2022");
    const doubling: ts.TransformerFactory<ts.SourceFile> = (context) => (file) => {
      const visit = (node: ts.Node): ts.Node => {
        const changed = own.visitEachChild(node, visit, context);
        if (own.isCallExpression(changed)) {
          const copy = context.factory.createCallExpression(changed.expression, undefined, changed.arguments);
          return own.isOptionalChain(changed) ? changed : own.setOriginalNode(copy, changed);
        }
        if (own.isNumericLiteral(changed)) return context.factory.createNumericLiteral(Number(changed.text) * 2);
        if (own.isArrowFunction(changed) && !own.isBlock(changed.body)) {
          const body = context.factory.createBlock([context.factory.createReturnStatement(changed.body)]);
          return context.factory.updateArrowFunction(
            changed,
            changed.modifiers,
            undefined,
            changed.parameters,
            undefined,
            changed.equalsGreaterThanToken,
            body,
          );
        }
        return changed;
      };
      return own.visitEachChild(file, visit, context);
    };
    const source = moduleOf(
      `const o: any = { f: (x: any) => x + 1 }; const out: any[] = []; for (const x of [1, 2]) out.push(await step(() => o?.f(x)), o.f(3)); return out;`,
    );
    const { outcome, trace } = await execute(compile(source, as, { before: [doubling] }), as);
    expect(outcome.result).toBe("[4,8,6,8]");
    expect(trace.identities.map(({ path }) => path)).toEqual([[0], [1]]);
  });
});

describe("sloppy code", () => {
  const as = setting("5.9", "CommonJS", "ES2022", { alwaysStrict: false });
  const snippets: Record<string, string> = {
    "arguments follow parameters": `function* g(a: any) { arguments[0] = 5; yield a; a = 6; yield arguments[0]; h(a); } function h(_x: any) {} return [...g(1)];`,
    "a parameter changed through arguments": `function f(o: any) { return o.m(1)[arguments[0] = { m: (x: any) => [2, x] }, "length"] + o.m(3).length; } return f({ m(x: any) { return [this.k, x]; }, k: 1 });`,
    "this is the global object": `function f(this: any) { return this === globalThis; } return [f(), (0, f)(), f.call(1 as any)];`,
    "a function in a block is visible after it": `{ function later() { return t.log("later"); } } return later();`,
    "a name declared twice": `function f(a: any, a: any) { return h(a); } function* g(a: any, a: any) { yield h(a); } function h(x: any) { return x; } return [f(1, 2), ...g(3, 4)];`,
    "an initialiser in the head of a for-in": `for (var k: any = t.log("once") in { a: 1, b: 2 }) await step(() => t.log(k)); for (var q: any = t.log("none") in {}); return [k, q];`,
    "a parameter declared again": `function f(a: any) { var a; return h(a); } function h(x: any) { return x; } return f(1);`,
    with: `const o = { f: (x: any) => t.log("o.f", x), step: (f: any) => t.log("o.step", f()) }; const f = 1; with (o as any) { f(2 as never); step(() => 3); } return f;`,
  };

  const both = withAppliers(as).flatMap((as) =>
    Object.entries(snippets).map(([name, text]) => [name, as, text] as const),
  );

  it.each(both)("%s, in $applier", async (_name, as, snippet) => {
    const source = `const { step } = require("stepmark"); exports.run = async function (t: any): Promise<any> { await step(() => 0); ${snippet} };`;
    const plain = await execute(compile(source, as, { transform: false }), as);
    expect(plain.outcome.error).toBeUndefined();
    const code = compile(source, as);
    expect(code).toContain("step.at(");
    expect((await execute(code, as)).outcome, code).toEqual(plain.outcome);
  });
});

describe("the root function", () => {
  it.each(withAppliers(newest))("lets calls through where no runtime is loaded: $name", async (as) => {
    const source = `export function run(o: any) { const out: any[] = []; for (const x of [1, 2]) out.push(new o.C(x).m(o.f(x))); return [...g(3), out]; } function* g(...xs: any[]) { yield h(xs); } const h = (x: any) => x;`;
    const key = Symbol.for("stepmark@1");
    const kept = (globalThis as never)[key];
    delete (globalThis as never)[key];
    try {
      const module = await load(compile(source, as, { include: ["src"] }), as);
      class C {
        constructor(readonly v: number) {}
        m(x: number) {
          return [this.v, x];
        }
      }
      expect((module.run as (o: unknown) => unknown)({ C, f: (x: number) => x * 10 })).toEqual([
        [3],
        [
          [1, 10],
          [2, 20],
        ],
      ]);
    } finally {
      Object.assign(globalThis, { [key]: kept });
    }
  });

  it("takes paths and names with odd characters", () => {
    const source = `import { step } from "stepmark"; export const f = () => step("\\u2028</script>é'\\"", g);`;
    const text = compile(source, newest, { fileName: "/project/src/e\u0301/a b.ts" });
    expect(text).not.toContain("\u2028");
    expect(planOf(source)!.root.value).toContain("\\u2028<\\/script>");
    expect(text).toMatch(/src\/(é|\\u00E9)\/a b\.ts/);
  });
});

describe("comments with meaning", () => {
  it("stay at what they are about", () => {
    const text = emitted(`import { step } from "stepmark";
export const f = async (o: any) => {
  /* istanbul ignore next */
  if (o) await step(g);
  const x = /* @__PURE__ */ h(o);
  const y = /* @__PURE__ */ new H(o);
  // why
  for (const z of o) await step(g); // done
  /* v8 ignore next */ return x(/* first */ y);
};`);
    for (const comment of ["istanbul ignore next", "why", "done", "v8 ignore next", "first"])
      expect(text.split(comment)).toHaveLength(2);
    expect(text).toMatch(/\/\* istanbul ignore next \*\/\s+if/);
    expect(text).toContain("= /* @__PURE__ */ $1.call(");
    expect(text).toContain("= /* @__PURE__ */ $1.new(");
    expect(text).toMatch(/\/\/ why\s+\{/);
    const arrow = emitted(`import { step } from "stepmark"; export const f = () => // why\n  h(1);`);
    expect(arrow.match(/\/\/ why/g)).toHaveLength(1);
  });
});

it("what needs no change gets none", () => {
  const text = emitted(
    `import { step } from "stepmark"; export const f = (x = h()) => x; export const g = async () => [await step?.(a), JSON.stringify(1)]; export const i = (x: any) => x.y;`,
  );
  expect(text).toContain("export const f = (x = $s().enter(0, 0).call(1, 0, h, void 0, [])) => x;");
  expect(text).toContain("[await step?.at($1, 3, 0, 0, a), JSON.stringify(1)]");
  expect(text).toContain("export const i = (x) => x.y;");
});

it("source maps lead from calls to their source", () => {
  const source = `import { step } from "stepmark";

export const f = async (o: any) => {
  for (const x of o) await step(charge, x);
  return o.refund(
    o);
};
`;
  const { outputText, sourceMapText } = ts.transpileModule(source, {
    fileName: "/project/src/flow.ts",
    compilerOptions: { ...newest.options, sourceMap: true },
    transformers: { before: [transformFile(ts, { root: "/project" })] },
  });
  const map = new SourceMap(JSON.parse(sourceMapText!));
  const lines = outputText.split("\n");
  const calls = { charge: "step.at(", refund: "$1.call(" };
  for (const [name, call] of Object.entries(calls)) {
    const line = lines.findIndex((text) => text.includes(`${name},`));
    const found = map.findEntry(line, lines[line]!.indexOf(name)) as { originalLine: number; originalColumn: number };
    const start = map.findEntry(line, lines[line]!.indexOf(call)) as { originalColumn: number };
    expect(start.originalColumn).toBe(source.split("\n")[found.originalLine]!.search(/step\(|o\.refund/));
    const original = source.split("\n").findIndex((text) => text.includes(name));
    expect([name, found.originalLine, found.originalColumn]).toEqual([
      name,
      original,
      source.split("\n")[original]!.indexOf(name),
    ]);
  }
});
