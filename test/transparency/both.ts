/**
 * Runs a module's workflow in a real run twice: as the source stands, its steps with explicit keys, and transformed. Both
 * passes have the same scheduler, so whatever the traces differ in is the transformer's or the scopes' doing.
 */
import * as stepmark from "stepmark";
import { type AnyWorkflow, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import ts from "typescript";
import { transformFile } from "../../transformer/index.js";
import { transformText } from "../../transformer/transform-text.js";

export interface Observed {
  log: string[];
  result?: string;
  error?: string;
}

/** What a program may use of the outside: `t.log(...xs)` notes all and answers the last. */
export class Tracer {
  readonly log: string[] = [];
  private fuel = 400;

  readonly t = {
    log: (...values: unknown[]): unknown => {
      this.log.push(values.map(show).join(" "));
      return values.at(-1);
    },
    /** Answers a few hundred times that a loop may go on. */
    go: (): boolean => this.fuel-- > 0,
    id: (value: unknown): unknown => value,
    /** A value that can be recorded and does not depend on identity. */
    plain: (value: unknown): unknown =>
      typeof value === "number" || typeof value === "string" || typeof value === "boolean" ? value : show(value),
    /** A tag for templates. */
    tag: (parts: TemplateStringsArray, ...values: unknown[]): string => {
      this.log.push(`tag ${parts.raw.join("|")} ${values.map(show).join(" ")}`);
      return parts.join("-");
    },
  };
}

export const targets = [ts.ScriptTarget.ES2017, ts.ScriptTarget.ES2022, ts.ScriptTarget.ESNext];

export type Applier = "nodes" | "text";
export const appliers: Applier[] = ["nodes", "text"];

export interface BothOptions {
  applier?: Applier;
  target?: ts.ScriptTarget;
  fileName?: string;
  compilerOptions?: ts.CompilerOptions;
}

function compileWith(source: string, applier: Applier | undefined, options: BothOptions): string {
  const { fileName = "/project/flow.ts" } = options;
  const edited = applier === "text" ? transformText(source, { file: fileName, root: "/project" })?.code : undefined;
  return ts.transpileModule(edited ?? source, {
    fileName,
    compilerOptions: {
      target: options.target ?? ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      experimentalDecorators: true,
      esModuleInterop: true,
      ...options.compilerOptions,
    },
    transformers: applier === "nodes" ? { before: [transformFile(ts, { root: "/project" })] } : {},
  }).outputText;
}

export function transformed(source: string, options: BothOptions = {}): string {
  return compileWith(source, options.applier ?? "nodes", options);
}

function load(code: string, library: unknown, tracer: Tracer): AnyWorkflow {
  const module = { exports: {} as { w?: AnyWorkflow } };
  const require = (name: string): unknown => {
    if (name === "stepmark") return library;
    if (name === "trace") return { t: tracer.t };
    throw new Error(`no module ${name}`);
  };
  new Function("exports", "require", "module", code)(module.exports, require, module);
  return module.exports.w!;
}

/** The library for code that was not transformed: each call has the next number as its key. */
function keyedLibrary(): unknown {
  let calls = 0;
  const step = (...args: unknown[]): unknown => {
    const [first] = args;
    const rest = typeof first === "function" ? args : args.slice(1);
    const options = typeof first === "object" ? first : {};
    return (stepmark.step as (...xs: unknown[]) => unknown)({ ...options, key: `k${calls++}` }, ...rest);
  };
  return { ...stepmark, step };
}

const id = "run";

async function observe(
  w: AnyWorkflow,
  tracer: Tracer,
  begin: (app: Stepmark) => Promise<stepmark.Run>,
  store: MemoryStore,
): Promise<Observed> {
  const app = new Stepmark({ store, workflows: [w], stallAfter: 400, grace: 400 });
  const observed: Observed = { log: tracer.log };
  try {
    const run = await begin(app);
    observed.result = show(await run.result());
  } catch (error) {
    observed.error = errorText(error);
  }
  await app.shutdown();
  return observed;
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return `thrown ${show(error)}`;
  // What is not a function is worded by the engine in the one case and by the runtime in the other.
  const { name } = error;
  return name === "TypeError" || name === "ReferenceError" ? name : `${name}: ${error.message}`;
}

export async function runPlain(source: string, options: BothOptions = {}): Promise<Observed> {
  const tracer = new Tracer();
  let w: AnyWorkflow;
  try {
    w = load(compileWith(source, undefined, options), keyedLibrary(), tracer);
  } catch (error) {
    return { log: tracer.log, error: errorText(error) };
  }
  return observe(w, tracer, (app) => app.start(w, undefined, { id }), memoryStore());
}

/** @returns what was observed, the run's store, and how to replay it from a prefix of the journal */
export async function runTransformed(
  source: string,
  options: BothOptions = {},
): Promise<{ observed: Observed; store: MemoryStore; replay(kept: number): Promise<Observed> }> {
  const store = memoryStore();
  const code = transformed(source, options);
  const tracer = new Tracer();
  const replay = async (kept: number): Promise<Observed> => {
    const again = new Tracer();
    const w = load(code, stepmark, again);
    return observe(w, again, (app) => app.resume(id), store.fork(id, kept));
  };
  let w: AnyWorkflow;
  try {
    w = load(code, stepmark, tracer);
  } catch (error) {
    return { observed: { log: tracer.log, error: errorText(error) }, store, replay };
  }
  const observed = await observe(w, tracer, (app) => app.start(w, undefined, { id }), store);
  return { observed, store, replay };
}

/** A value as text, the same for every activation. */
export function show(value: unknown): string {
  if (typeof value === "function") return `function ${value.name}/${value.length}`;
  if (typeof value === "string") return value;
  if (typeof value === "symbol" || typeof value === "bigint") return String(value);
  if (value instanceof Error)
    return `${value.name}: ${value.message}`.replace(/^(TypeError|ReferenceError): .*/s, "$1");
  const seen = new Set<unknown>();
  return String(
    JSON.stringify(value, (_key, part: unknown) => {
      if (typeof part === "object" && part !== null) {
        if (seen.has(part)) return "…";
        seen.add(part);
        if (part instanceof Error) return show(part);
      }
      if (typeof part === "function") return `function ${part.name}/${part.length}`;
      if (typeof part === "bigint") return `${part}n`;
      return part === undefined ? "undefined" : part;
    }),
  );
}
