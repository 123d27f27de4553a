/** The transformer for every tool that takes text: bundlers, loaders, test runners. */
import type { SourceMap } from "magic-string";
import ts from "typescript";
import type { Row } from "../runtime/scope/site-table.js";
import { applyPlanToText } from "./apply-text/index.js";
import { includes, modulePath, readOptions } from "./options.js";
import { plan } from "./plan/index.js";
import { mentionsLibrary } from "./plan/library.js";

export { fileOf } from "./file-name.js";

export interface TransformTextOptions {
  /** The file that the text is from, absolute or relative to `root`; its extension says how the text is read. */
  readonly file: string;
  /** Folder that module paths are relative to; by default the working directory. */
  readonly root?: string;
  /** Files to transform although they do not import the library: globs, or folders and files, relative to `root`. */
  readonly include?: readonly string[];
}

export interface TransformedText {
  /** The code with its types and line breaks; the site table follows the last line. */
  readonly code: string;
  /** From `code` to the source, `file` being the source's name. */
  readonly map: SourceMap;
  /** The rows of the module's site table. */
  readonly sites: readonly Row[];
}

/**
 * Gives every call of a step its place in the code. The text may be TypeScript or JavaScript, with or without JSX.
 *
 * @returns undefined if the text is left alone: it neither imports the library nor is included, holds nothing to do, has
 *   been transformed before, or has syntax errors, which the tool that compiles it will report
 * @throws TypeError for an unknown option
 */
export function transformText(code: string, options: TransformTextOptions): TransformedText | undefined {
  const { file, ...rest } = options;
  const { include = [], root = process.cwd() } = readOptions(rest);
  const module = modulePath(root, file);
  const included = includes(include)(module);
  if (!included && !mentionsLibrary(code)) return undefined;
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, false, kindOf(file));
  if (hasSyntaxErrors(source)) return undefined;
  const made = plan(ts, source, { path: module, included });
  if (made === undefined) return undefined;
  const text = applyPlanToText(ts, source, made);
  return {
    code: text.toString(),
    map: text.generateMap({ hires: "boundary", source: file, includeContent: true }),
    sites: made.rows,
  };
}

/** By the extension, TypeScript if it is unknown: `<T>x` means something else in TSX. */
function kindOf(file: string): ts.ScriptKind {
  const extension = /\.(?:([cm]?js)|(jsx)|(tsx))$/i.exec(file);
  if (extension === null) return ts.ScriptKind.TS;
  const [, js, jsx] = extension;
  if (js !== undefined) return ts.ScriptKind.JS;
  return jsx === undefined ? ts.ScriptKind.TSX : ts.ScriptKind.JSX;
}

/** `o?.#m()`, which is JavaScript all the same: "An optional chain cannot contain private identifiers". */
const PRIVATE_IN_CHAIN = 18030;

function hasSyntaxErrors(file: ts.SourceFile): boolean {
  // Not in the types, but the only way to it without a program.
  const { parseDiagnostics } = file as unknown as { parseDiagnostics: readonly ts.Diagnostic[] };
  return parseDiagnostics.some(({ code }) => code !== PRIVATE_IN_CHAIN);
}
