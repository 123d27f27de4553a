/**
 * The transformer for TypeScript's own compiler: gives every call of a step its place in the code.
 *
 * With tspc: `{ "compilerOptions": { "plugins": [{ "transform": "stepmark/transformer" }] } }`.
 */
import path from "node:path";
import type ts from "typescript";
import { applyPlan } from "./apply-nodes/index.js";
import { TransformerOptionsError } from "./errors.js";
import { includes, modulePath, readOptions, type TransformOptions } from "./options.js";
import { plan } from "./plan/index.js";
import { hasRoot } from "./plan/root.js";
import type { TypeScript } from "./plan/syntax.js";

export { TransformerOptionsError } from "./errors.js";
export type { TransformOptions } from "./options.js";

/**
 * The plugin as ts-patch calls it.
 *
 * @param config the entry of tsconfig's `plugins`
 * @param extras holds the compiler that is running, the only one whose nodes may be made
 */
export default function stepmarkTransformer(
  program: ts.Program,
  config: TransformOptions,
  extras: { ts: TypeScript },
): ts.TransformerFactory<ts.SourceFile> {
  const options = program.getCompilerOptions();
  const { configFilePath } = options;
  const projectFolder =
    typeof configFilePath === "string" ? path.dirname(configFilePath) : program.getCurrentDirectory();
  const { root, ...rest } = readOptions(config);
  return transformFile(extras.ts, { ...rest, root: path.resolve(projectFolder, root ?? ".") });
}

/**
 * A `before` transformer that needs no program: `ts.transpileModule(text, { transformers: { before: [...] } })`.
 *
 * @throws TransformerOptionsError for an unknown option, or a target below ES2015
 */
export function transformFile(ts: TypeScript, options: TransformOptions = {}): ts.TransformerFactory<ts.SourceFile> {
  const { include = [], root = ts.sys?.getCurrentDirectory() ?? "" } = readOptions(options);
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
      // The plugin may be listed twice; the original of its own output is the untransformed file.
      if (hasRoot(ts, file)) return file;
      const original = ts.getOriginalNode(file) as ts.SourceFile;
      const module = modulePath(root, original.fileName);
      const made = plan(ts, original, { path: module, included: isIncluded(module) });
      return made === undefined ? file : applyPlan(ts, context, file, made);
    };
  };
}
