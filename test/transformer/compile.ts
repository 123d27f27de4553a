/** Compiles snippets with every compiler, module format and target that we support, and executes the output. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { compileFunction, constants } from "node:vm";
import ts6 from "typescript";
import ts59 from "typescript-5.9";
import type { Row } from "../../runtime/scope/site-table.js";
import { type TransformOptions, transformFile } from "../../transformer/index.js";
import { type Plan, plan } from "../../transformer/plan/index.js";
import { transformText } from "../../transformer/transform-text.js";
import { install, type Trace } from "./fake-runtime.js";

export type TypeScript = typeof ts6;

export const compilers: Record<string, TypeScript> = { "6": ts6, "5.9": ts59 as unknown as TypeScript };

/** Which of the two ways of carrying out a plan is used. */
export type Applier = "nodes" | "text";
export const appliers: Applier[] = ["nodes", "text"];

export interface Setting {
  name: string;
  ts: TypeScript;
  options: ts6.CompilerOptions;
  applier: Applier;
}

function setting(
  version: string,
  module: "ESNext" | "CommonJS",
  target: string,
  more: ts6.CompilerOptions = {},
  applier: Applier = "nodes",
): Setting {
  const ts = compilers[version]!;
  return {
    name: `TypeScript ${version}, ${module}, ${target}, on ${applier}`,
    ts,
    applier,
    options: {
      module: ts.ModuleKind[module],
      target: ts.ScriptTarget[target as "ES2022"],
      esModuleInterop: true,
      experimentalDecorators: true,
      ...more,
    },
  };
}

const targets = ["ES2017", "ES2022", "ESNext"];

/** The text applier brings a TypeScript of its own, so that what follows it matters less. */
export const settings: Setting[] = [
  ...Object.keys(compilers).flatMap((version) =>
    (["ESNext", "CommonJS"] as const).flatMap((module) => targets.map((target) => setting(version, module, target))),
  ),
  ...targets.map((target) => setting("6", "ESNext", target, {}, "text")),
  setting("6", "CommonJS", "ES2022", {}, "text"),
];

/** One setting for tests of what does not depend on it. */
export const oneSetting = setting("6", "ESNext", "ESNext");
export { setting };

/** A setting with each applier. */
export function withAppliers(given: Setting): Setting[] {
  return appliers.map((applier) => ({ ...given, applier, name: given.name.replace(/on \w+$/, `on ${applier}`) }));
}

export interface CompileOptions extends TransformOptions {
  fileName?: string;
  transform?: boolean;
  /** Transformers that run before ours. */
  before?: ts6.TransformerFactory<ts6.SourceFile>[];
}

export function compile(source: string, { ts, options, applier }: Setting, more: CompileOptions = {}): string {
  const { fileName = "/project/src/flow.ts", transform = true, before = [], ...given } = more;
  const ours = transform && applier === "nodes" ? [transformFile(ts, { root: "/project", ...given })] : [];
  const edited = transform && applier === "text" ? edit(source, fileName, given) : source;
  const { outputText } = ts.transpileModule(edited, {
    fileName,
    compilerOptions: options,
    transformers: { before: [...before, ...ours] },
  });
  return outputText;
}

/** The source as the text applier leaves it for a compiler. */
export function edit(source: string, fileName = "/project/src/flow.ts", more: TransformOptions = {}): string {
  return transformText(source, { root: "/project", ...more, file: fileName })?.code ?? source;
}

export function planOf(
  text: string,
  ts: TypeScript = ts6,
  fileName = "/project/src/flow.ts",
  included = false,
): Plan | undefined {
  const file = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest);
  return plan(ts, file, { path: "src/flow.ts", included });
}

/** Rows of one kind, as `container>anchor`. */
export function places(rows: readonly Row[], ...kinds: number[]): string[] {
  const chain = (index: number): string[] => (index < 0 ? [] : [...chain(rows[index]![2]), rows[index]![1]]);
  return rows.flatMap(([kind], index) => (kinds.includes(kind) ? [chain(index).join(">")] : []));
}

const libraryUrl = new URL("./fake-library.mjs", import.meta.url);
export const libraryPath = fileURLToPath(libraryUrl);
// Vitest rewrites `import()`; this is Node's own.
const nativeImport = compileFunction("return import(url)", ["url"], {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}) as (url: string) => Promise<Record<string, unknown>>;
const library = await nativeImport(libraryUrl.href);

let modules = 0;

/** Runs compiled code as a module. */
export async function load(code: string, { ts, options }: Setting): Promise<Record<string, unknown>> {
  if (options.module === ts.ModuleKind.CommonJS) {
    const exports = {};
    const module = { exports };
    const require = (name: string): unknown => {
      if (name === "stepmark") return library;
      return createRequire(import.meta.url)(name);
    };
    new Function("require", "exports", "module", code)(require, exports, module);
    return module.exports;
  }
  const linked = code.replace(/(["'])stepmark\1/g, JSON.stringify(libraryUrl.href));
  const unique = `${linked}\n// ${modules++}`;
  return nativeImport(`data:text/javascript;base64,${Buffer.from(unique).toString("base64")}`);
}

export interface Outcome {
  log: unknown[];
  result?: unknown;
  error?: string;
}

/** Executes a module's `run(t)`, where `t.log(...xs)` records and answers its last argument. */
export async function execute(code: string, setting: Setting): Promise<{ outcome: Outcome; trace: Trace }> {
  const trace: Trace = { log: [], identities: [], marks: [], entered: [], untransformed: 0, tables: [] };
  install(trace);
  const t = {
    log(...values: unknown[]) {
      trace.log.push(values.map(show).join(" "));
      return values.at(-1);
    },
  };
  const outcome: Outcome = { log: trace.log };
  try {
    const module = await load(code, setting);
    outcome.result = show(await (module.run as (t: unknown) => unknown)(t));
  } catch (error) {
    outcome.error = error instanceof Error ? error.constructor.name : String(error);
    if (error instanceof Error && (error.constructor === Error || error instanceof SyntaxError))
      outcome.error = String(error);
  }
  return { outcome, trace };
}

/** All that was seen, as text: what a step captures may be an object that is made anew in each pass. */
export function traceText(seen: { outcome: Outcome; trace: Trace }): string {
  return inspect(seen, { depth: 8, maxArrayLength: null, maxStringLength: null, breakLength: 120 });
}

/** A value as text, the same for every activation. */
function show(value: unknown): string {
  if (typeof value === "function") return `function ${value.name}/${value.length}`;
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const seen = new Set<unknown>();
  return String(
    JSON.stringify(value, (_key, part: unknown) => {
      if (typeof part === "object" && part !== null) {
        if (seen.has(part)) return "…";
        seen.add(part);
      }
      if (typeof part === "function") return `function ${part.name}/${part.length}`;
      if (typeof part === "bigint") return `${part}n`;
      return part === undefined ? "undefined" : part;
    }),
  );
}

const header = `import { child, keyed, now, publish, random, sleep, step, stepContext, uuid, waitFor, workflow } from "stepmark";
`;

/** A snippet as a module: statements become the body of `run(t)`, unless it exports a `run` of its own. */
export function moduleOf(snippet: string): string {
  if (/import .*"stepmark"|require\("stepmark"\)|import\("stepmark"\)/.test(snippet)) return snippet;
  if (/export (async )?(function|const|let) run\b|export \{[^}]*\brun\b/.test(snippet)) return header + snippet;
  return `${header}export async function run(t: any): Promise<any> {\n${snippet}\n}\n`;
}
