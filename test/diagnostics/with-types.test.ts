/** What only types, or the other files of a program, can tell (1009, 6xxx). */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { diagnoseProgram } from "../../transformer/diagnose-program.js";

const library = `declare module "stepmark" {
  interface Step { <R>(fn: () => R): Promise<Awaited<R>>; <A extends unknown[], R>(fn: (...args: A) => R, ...args: A): Promise<Awaited<R>>; }
  export const step: Step;
  export function workflow<I, O>(name: string, fn: (input: I) => Promise<O>): (input: I) => Promise<O>;
}
`;

/** What a program's `flow.ts` is told, as the code's digits and the text that is underlined. */
function told(files: Record<string, string>, include: string[] = []): string[] {
  const texts: Record<string, string> = { "/p/stepmark.d.ts": library };
  for (const [name, text] of Object.entries(files)) texts[`/p/${name}`] = text;
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.fileExists = (name) => name in texts;
  host.getSourceFile = (name, ...rest) =>
    texts[name] === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, texts[name], ts.ScriptTarget.Latest);
  host.getCurrentDirectory = () => "/p";
  host.directoryExists = () => true;
  const program = ts.createProgram(Object.keys(texts), { ...options, types: [], noLib: true }, host);
  const file = program.getSourceFile("/p/flow.ts")!;
  return diagnoseProgram(ts, program, { root: "/p", include })(file).map(
    ({ code, start, length }) => `${code - 990_000} ${file.text.slice(start, start! + length!)}`,
  );
}

const imports = 'import { step, workflow } from "stepmark";\n';

describe("a step by its type that the text does not show to be one", () => {
  it.each<[string, string[]]>([
    [
      `${imports}import type { Step } from "./context"; export const f = ({ step }: { step: Step }) => step(() => 1);`,
      ["1009 step"],
    ],
    [
      `${imports}import type { Step } from "./context"; export const f = (context: { run: Step }) => context.run(() => 1);`,
      ["1009 context.run"],
    ],
    [
      `${imports}import { step as mine } from "./barrel"; export const f = () => [mine(() => 1), step(() => 2)];`,
      ["1009 mine"],
    ],
  ])("%s", (flow, expected) => {
    const files = {
      "context.ts": 'import { step } from "stepmark"; export type Step = typeof step;',
      "barrel.ts": 'export { step } from "stepmark";',
      "flow.ts": flow,
    };
    expect(told(files)).toEqual(expected);
  });

  it("a function of another type is none, whatever it is called", () => {
    expect(
      told({
        "flow.ts": `${imports}export const f = (step: (fn: () => number) => number, o: any) => [step(() => 1), o.step(1)];`,
      }),
    ).toEqual([]);
  });
});

describe("functions that lead to steps, in files that are not transformed", () => {
  const charge = `${imports}export const charge = async (n: number) => step(() => n);\n`;
  const batch =
    'import { charge } from "./charge";\nexport async function batch(xs: number[]) { for (const x of xs) await charge(x); }\n';
  const flow = `${imports}import { batch } from "./batch";\nexport const w = workflow("w", async (xs: number[]) => { await batch(xs); });\n`;

  it("are told at the call, unless they are included, or import the library", () => {
    const files = { "charge.ts": charge, "batch.ts": batch, "flow.ts": flow };
    expect(told(files)).toEqual(["6001 batch"]);
    expect(told(files, ["batch.ts"])).toEqual([]);
    expect(told({ ...files, "batch.ts": `import "stepmark";\n${batch}` })).toEqual([]);
  });

  it("are found through other such files, methods and aliases", () => {
    const outer =
      'import { batch } from "./batch";\nexport const all = { run: 1 };\nexport const outer = async (xs: number[]) => { await batch(xs); };\n';
    const through = `${imports}import { outer as go } from "./outer";\nexport const w = workflow("w", async (xs: number[]) => { await go(xs); });\n`;
    expect(told({ "charge.ts": charge, "batch.ts": batch, "outer.ts": outer, "flow.ts": through })).toEqual([
      "6001 go",
    ]);
  });

  it("are found among functions that call each other, whichever is asked for first", () => {
    const ring = `import { charge } from "./charge";
export async function first(n: number): Promise<void> { await second(n); await charge(n); }
export async function second(n: number): Promise<void> { if (n > 0) await first(n - 1); }
`;
    for (const [one, other] of [
      ["first", "second"],
      ["second", "first"],
    ]) {
      const both = `${imports}import { first, second } from "./ring";\nexport const w = workflow("w", async () => { await ${one}(1); await ${other}(1); });\n`;
      expect(told({ "charge.ts": charge, "ring.ts": ring, "flow.ts": both })).toEqual([`6001 ${one}`, `6001 ${other}`]);
    }
  });

  it("those that lead to none are not told, nor recursion, nor a call inside a step's body", () => {
    const plain =
      "export const batch = async (xs: number[]): Promise<unknown> => xs.length > 0 ? batch(xs.slice(1)) : xs;\n";
    expect(told({ "batch.ts": plain, "flow.ts": flow })).toEqual([]);
    const inBody = flow.replace("await batch(xs)", "await step(() => batch(xs))");
    expect(told({ "charge.ts": charge, "batch.ts": batch, "flow.ts": inBody })).toEqual([]);
  });

  it("functions made at module level are told where such a file gets them; functions made in the workflow are not", () => {
    const pool =
      "export const pool = async (xs: number[], run: (x: number) => Promise<unknown>) => { for (const x of xs) await run(x); };\n";
    const with_ = (argument: string): string =>
      `${imports}import { pool } from "./pool";\nimport { charge } from "./charge";\nconst one = async (n: number) => step(() => n);\nconst plain = async (n: number) => n;\nexport const w = workflow("w", async (xs: number[]) => { await pool(xs, ${argument}); return [charge, one, plain]; });\n`;
    const files = { "charge.ts": charge, "pool.ts": pool };
    expect(told({ ...files, "flow.ts": with_("one") })).toEqual(["6002 one"]);
    expect(told({ ...files, "flow.ts": with_("charge") })).toEqual(["6002 charge"]);
    expect(told({ ...files, "flow.ts": with_("(x) => one(x)") })).toEqual([]);
    expect(told({ ...files, "flow.ts": with_("plain") })).toEqual([]);
    expect(told({ ...files, "flow.ts": with_("one") }, ["pool.ts"])).toEqual([]);
  });
});

describe("promises that nobody awaits and methods without their object, of functions that only types show", () => {
  const pay = `${imports}export const pay = async (n: number) => step(() => n);
    export const plain = async (n: number) => n;
    export class Desk { fee = 1; async pay(n: number) { return step(() => n); } total(n: number) { return n + this.fee; } }
  `;
  it.each<[string, string[]]>([
    ["pay(1);", ["2001 pay"]],
    ["desk.pay(1);", ["2001 desk.pay"]],
    ["if (pay(1)) return;", ["2004 pay"]],
    ["await step(desk.total, 1);", ["4002 desk.total"]],
    ["await pay(1); await desk.pay(2); void pay(3);", []],
    ["plain(1); xs.push(1);", []],
  ])("%s", (statements, expected) => {
    const flow = `${imports}import { Desk, pay, plain } from "./pay";
      export const w = workflow("w", async (xs: number[]) => { const desk: Desk = make(); ${statements} });
      declare const make: () => Desk; export const used = [pay, plain];`;
    expect(told({ "pay.ts": pay, "flow.ts": flow })).toEqual(expected);
  });
});

describe("what other files' functions do outside a step", () => {
  const util = `export const stamp = () => inner();
    const inner = () => Date.now();
    export function log(text: string) { other.write(Date.now() + text); }
    export const at = (ms: number) => new Date(ms);
    declare const other: any;
  `;
  const flow = (statements: string): string => `${imports}import { at, log, stamp } from "./util";
    export const w = workflow("w", async (n: number) => { ${statements} }); export const used = [at, log, stamp];`;
  it.each<[string, string[]]>([
    ["return step((x: number) => x, stamp());", ["3001 stamp"]],
    ["log('x'); at(1); await step(() => stamp()); return step(() => at(n));", []],
    ["await step(stamp); console.log(stamp());", []],
  ])("%s", (statements, expected) => {
    expect(told({ "util.ts": util, "flow.ts": flow(statements) })).toEqual(expected);
    expect(told({ "util.ts": `import "stepmark";\n${util}`, "flow.ts": flow(statements) })).toEqual(expected);
  });
});
