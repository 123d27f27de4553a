/** The transformer for every tool that takes text: bundlers, loaders, test runners. */
import type { SourceMap } from "magic-string";
import type { ScriptKind } from "typescript";
import type { Row } from "../runtime/scope/site-table.js";
import { EditedText } from "./apply-text/edited-text.js";
import { applyPlanToText } from "./apply-text/index.js";
import { type Diagnostic, type DiagnosticsOption, diagnose, diagnoseBarrel } from "./diagnostics/index.js";
import { bornBy } from "./lock/as-born.js";
import { lockOf } from "./lock/lock-file.js";
import { includes, modulePath, readOptions } from "./options.js";
import { ts } from "./own-compiler.js";
import { analyse } from "./plan/analysis.js";
import { planAnalysed } from "./plan/index.js";
import { mentionsLibrary } from "./plan/library.js";
import { hasSyntaxErrors } from "./syntax-errors.js";
import { treeOf } from "./tree.js";

export {
  type Diagnostic,
  type DiagnosticLevel,
  type DiagnosticsOption,
  formatDiagnostic,
} from "./diagnostics/index.js";
export { fileOf } from "./file-name.js";

export interface TransformTextOptions {
  /** The file that the text is from, absolute or relative to `root`; its extension says how the text is read. */
  readonly file: string;
  /** Folder that module paths are relative to; by default the working directory. */
  readonly root?: string;
  /** Files to transform although they do not import the library: globs, or folders and files, relative to `root`. */
  readonly include?: readonly string[];
  /** The lock file, relative to `root`; false for none. By default `stepmark.lock`, if there is one. */
  readonly lock?: string | false;
  /** How loud the diagnostics are: "warn" by default. */
  readonly diagnostics?: DiagnosticsOption;
}

export interface TransformedText {
  /** The code with its types and line breaks; the site table follows the last line. */
  readonly code: string;
  /** From `code` to the source, `file` being the source's name. */
  readonly map: SourceMap;
  /** The rows of the module's site table. */
  readonly sites: readonly Row[];
  /** What is wrong with the code, in the order of the text: for the host's warnings and errors. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Gives every call of a step its place in the code. The text may be TypeScript or JavaScript, with or without JSX.
 *
 * @returns undefined if the text is left alone: it neither imports the library nor is included, holds nothing to do, has
 *   been transformed before, or has syntax errors, which the tool that compiles it will report; if there are diagnostics
 *   all the same, they come with the text as it is
 * @throws TypeError for an unknown option; LockFileError
 */
export function transformText(code: string, options: TransformTextOptions): TransformedText | undefined {
  const { file, ...rest } = options;
  const { include = [], root = process.cwd(), diagnostics, lock } = readOptions(rest);
  const module = modulePath(root, file);
  const included = includes(include)(module);
  if (!included && !mentionsLibrary(code)) return undefined;
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, false, kindOf(file));
  if (hasSyntaxErrors(source)) return undefined;
  const analysis = analyse(ts, source, { included });
  const found = analysis
    ? diagnose(analysis, { diagnostics, file })
    : diagnoseBarrel(ts, source, { diagnostics, file });
  const made =
    analysis &&
    planAnalysed(analysis, { path: module, tree: treeOf(root), born: bornBy(lockOf(root, lock)?.of(module) ?? []) });
  if (made === undefined && found.length === 0) return undefined;
  const text = made === undefined ? new EditedText(code) : applyPlanToText(ts, source, made);
  return {
    code: text.toString(),
    map: text.map(file),
    sites: made?.rows ?? [],
    diagnostics: found,
  };
}

/** By the extension, TypeScript if it is unknown: `<T>x` means something else in TSX. */
function kindOf(file: string): ScriptKind {
  const extension = /\.(?:([cm]?js)|(jsx)|(tsx))$/i.exec(file);
  if (extension === null) return ts.ScriptKind.TS;
  const [, js, jsx] = extension;
  if (js !== undefined) return ts.ScriptKind.JS;
  return jsx === undefined ? ts.ScriptKind.TSX : ts.ScriptKind.JSX;
}
