/** Compiles snippets with every compiler, module format and target that we support, and executes the output. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { compileFunction, constants } from "node:vm";
import ts6 from "typescript";
import ts59 from "typescript-5.9";
import type { Row } from "../../runtime/scope/site-table.js";
import { type TransformOptions, transformFile } from "../../transformer/index.js";
import { type Plan, plan } from "../../transformer/plan/index.js";
import { install, type Trace } from "./fake-runtime.js";

export type TypeScript = typeof ts6;

export const compilers: Record<string, TypeScript> = { "6": ts6, "5.9": ts59 as unknown as TypeScript };

export interface Setting {
  name: string;
  ts: TypeScript;
  options: ts6.CompilerOptions;
}

function setting(
  version: string,
  module: "ESNext" | "CommonJS",
  target: string,
  more: ts6.CompilerOptions = {},
): Setting {
  const ts = compilers[version]!;
  return {
    name: `TypeScript ${version}, ${module}, ${target}`,
    ts,
    options: {
      module: ts.ModuleKind[module],
      target: ts.ScriptTarget[target as "ES2022"],
      esModuleInterop: true,
      experimentalDecorators: true,
      ...more,
    },
  };
}

export const settings: Setting[] = Object.keys(compilers).flatMap((version) =>
  (["ESNext", "CommonJS"] as const).flatMap((module) =>
    ["ES2017", "ES2022", "ESNext"].map((target) => setting(version, module, target)),
  ),
);

/** One setting for tests of what does not depend on it. */
export const oneSetting = setting("6", "ESNext", "ESNext");
export { setting };

export interface CompileOptions extends TransformOptions {
  fileName?: string;
  transform?: boolean;
  /** Transformers that run before ours. */
  before?: ts6.TransformerFactory<ts6.SourceFile>[];
}

export function compile(text: string, { ts, options }: Setting, more: CompileOptions = {}): string {
  const { fileName = "/project/src/flow.ts", transform = true, before = [], ...given } = more;
  const ours = transform ? [transformFile(ts, { root: "/project", ...given })] : [];
  const { outputText } = ts.transpileModule(text, {
    fileName,
    compilerOptions: options,
    transformers: { before: [...before, ...ours] },
  });
  return outputText;
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
