/**
 * The transformer for TypeScript's own compiler: gives every call of a step its place in the code.
 *
 * With tspc: `{ "compilerOptions": { "plugins": [{ "transform": "stepmark/transformer" }] } }`.
 */
import type ts from "typescript";
import { applyPlan } from "./apply-nodes/index.js";
import { checkCompiler } from "./compiler.js";
import { diagnoseProgram } from "./diagnose-program.js";
import { TransformerOptionsError } from "./errors.js";
import { bornBy } from "./lock/as-born.js";
import { lockOf } from "./lock/lock-file.js";
import { absoluteOptions, includes, modulePath, readOptions, type TransformOptions } from "./options.js";
import { plan } from "./plan/index.js";
import { mentionsLibrary } from "./plan/library.js";
import { hasRoot } from "./plan/root.js";
import type { TypeScript } from "./plan/syntax.js";
import { hookProgram } from "./program-hook.js";
import { type PluginExtras, reportTo, warnOfIncremental } from "./report.js";
import { treeOf } from "./tree.js";

export type { DiagnosticCode, DiagnosticLevel, DiagnosticsOption } from "./diagnostics/index.js";
export { TransformerOptionsError } from "./errors.js";
export type { TransformOptions } from "./options.js";
export type { PluginExtras } from "./report.js";

/**
 * The plugin as ts-patch calls it: for each emit, or, with `"transformProgram": true`, for each program.
 *
 * @param config the entry of tsconfig's `plugins`
 * @throws TransformerOptionsError for an option that does not exist
 */
export default function stepmarkTransformer(
  program: ts.Program,
  config: TransformOptions,
  extras: PluginExtras,
): ts.TransformerFactory<ts.SourceFile>;
export default function stepmarkTransformer(
  program: ts.Program,
  host: ts.CompilerHost | undefined,
  config: TransformOptions,
  extras: PluginExtras,
): ts.Program;
export default function stepmarkTransformer(
  program: ts.Program,
  ...rest:
    | [config: TransformOptions, extras: PluginExtras]
    | [host: ts.CompilerHost | undefined, config: TransformOptions, extras: PluginExtras]
): ts.TransformerFactory<ts.SourceFile> | ts.Program {
  const [config, extras] = rest.length === 3 ? [rest[1], rest[2]] : rest;
  checkCompiler(extras?.ts);
  const options = absoluteOptions(program, config);
  if (rest.length === 3) return hookProgram(extras.ts, program, options, transformFile(extras.ts, options));
  const diagnosticsOf = diagnoseProgram(extras.ts, program, options);
  const report = reportTo(program, extras);
  warnOfIncremental(program, options, report, extras.ts);
  const transform = transformFile(extras.ts, options);
  return (context) => {
    const apply = transform(context);
    return (file) => {
      report(diagnosticsOf(extras.ts.getOriginalNode(file) as ts.SourceFile));
      return apply(file);
    };
  };
}

/**
 * A `before` transformer that needs no program: `ts.transpileModule(text, { transformers: { before: [...] } })`.
 *
 * @throws TransformerOptionsError for an unknown option, or a target below ES2015
 */
export function transformFile(ts: TypeScript, options: TransformOptions = {}): ts.TransformerFactory<ts.SourceFile> {
  checkCompiler(ts);
  const { include = [], root = ts.sys?.getCurrentDirectory() ?? "", lock } = readOptions(options);
  const isIncluded = includes(include);
  return (context) => {
    const { target } = context.getCompilerOptions();
    if (target !== undefined && target < ts.ScriptTarget.ES2015) {
      throw new TransformerOptionsError(
        "stepmark/transformer needs a compiler target of ES2015 or later, since in earlier ones the iterations of a loop share one variable",
        'Set "target" in tsconfig.json, for instance to "ES2022".',
      );
    }
    return (file) => {
      const original = ts.getOriginalNode(file) as ts.SourceFile;
      // Most files of a project end here, so nothing that costs more comes first.
      if (include.length === 0 && !mentionsLibrary(original.text)) return file;
      const module = modulePath(root, original.fileName);
      const included = isIncluded(module);
      if (!included && !mentionsLibrary(original.text)) return file;
      // The plugin may be listed twice; the original of its own output is the untransformed file.
      if (hasRoot(ts, file)) return file;
      const born = bornBy(lockOf(root, lock)?.of(module) ?? []);
      const made = plan(ts, original, { path: module, tree: treeOf(root), included, born });
      return made === undefined ? file : applyPlan(ts, context, file, made);
    };
  };
}
