/** Builds of one source file, compiled and loaded in this process: for runs that meet another build of their code. */
import * as stepmark from "stepmark";
import ts from "typescript";
import { transformFile } from "../../transformer/index.js";

export interface BuildOptions {
  path?: string;
  target?: ts.ScriptTarget;
  /** What the module may import besides the library. */
  imports?: Record<string, unknown>;
}

/** @returns the module's exports; a later build of the same path replaces the earlier one, as in a new process */
export function build(
  source: string,
  { path = "flow.ts", target, imports = {} }: BuildOptions = {},
): { [name: string]: unknown } {
  const code = compile(source, path, target);
  const exports = {};
  const require = (name: string): unknown => {
    const found = { stepmark, ...imports }[name];
    if (found === undefined) throw new Error(`The build imports ${name}, which the test does not provide`);
    return found;
  };
  new Function("exports", "require", code)(exports, require);
  return exports;
}

export function compile(source: string, path: string, target = ts.ScriptTarget.ES2022): string {
  return ts.transpileModule(source, {
    fileName: path,
    compilerOptions: { target, module: ts.ModuleKind.CommonJS },
    transformers: { before: [transformFile(ts, { root: "/" })] },
  }).outputText;
}
