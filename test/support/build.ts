/**
 * Builds of one source file, compiled and loaded in this process: for runs that meet another build of their code. The two
 * appliers take turns, so that what one build has recorded is replayed by a build that was made the other way.
 */
import * as stepmark from "stepmark";
import ts from "typescript";
import { state } from "../../runtime/scope/process-state.js";
import { transformFile } from "../../transformer/index.js";
import { transformText } from "../../transformer/transform-text.js";

export interface BuildOptions {
  path?: string;
  /** Folder that the path is relative to. */
  root?: string;
  target?: ts.ScriptTarget;
  /** Absolute path of a lock file. */
  lock?: string | undefined;
  /** What the module may import besides the library. */
  imports?: Record<string, unknown>;
}

/** @returns the module's exports; a later build of the same path replaces the earlier one, as in a new process */
export function build(
  source: string,
  { path = "flow.ts", root, target, lock, imports = {} }: BuildOptions = {},
): { [name: string]: unknown } {
  const code = compile(source, path, target, takeTurns(), lock, root);
  const exports = {};
  const require = (name: string): unknown => {
    const found = { stepmark, ...imports }[name];
    if (found === undefined) throw new Error(`The build imports ${name}, which the test does not provide`);
    return found;
  };
  new Function("exports", "require", code)(exports, require);
  return exports;
}

/** No module is loaded any more, as in a new process. */
export function forgetModules(): void {
  state.modules.clear();
  state.tables?.clear();
}

type Applier = "nodes" | "text";

let builds = 0;

function takeTurns(): Applier {
  return builds++ % 2 === 0 ? "nodes" : "text";
}

/** @param applier by default one that depends on the source alone, so that what fails can be repeated */
export function compile(
  source: string,
  path: string,
  target = ts.ScriptTarget.ES2022,
  applier: Applier = source.length % 2 === 0 ? "nodes" : "text",
  lock: string | false = false,
  root = "/",
): string {
  const edited = applier === "text" ? transformText(source, { file: path, root, lock })?.code : undefined;
  return ts.transpileModule(edited ?? source, {
    fileName: path,
    compilerOptions: { target, module: ts.ModuleKind.CommonJS },
    transformers: applier === "nodes" ? { before: [transformFile(ts, { root, lock })] } : {},
  }).outputText;
}
