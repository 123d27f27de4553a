/** What a file's syntax says, before anything is decided: the plan and the diagnostics are both made from it. */
import type ts from "typescript";
import { importsLibrary, type Library, mentionsLibrary, readLibrary } from "./library.js";
import { hasRoot } from "./root.js";
import { analyseScopes, type Scopes } from "./scopes.js";
import { type Survey, survey } from "./survey.js";
import { memberName, readSource, type Source, type TypeScript } from "./syntax.js";

export interface Analysis {
  readonly source: Source;
  readonly scopes: Scopes;
  readonly library: Library;
  readonly found: Survey;
}

export interface AnalysisOptions {
  /** Whether the file is to be transformed although it does not import the library. */
  readonly included: boolean;
  /** Treat every function, loop and call as one that leads to a step, as tests of the transformer need it. */
  readonly force?: boolean | undefined;
}

/** A source file never changes its text; both its plan and its diagnostics ask for the analysis. */
const known = new WeakMap<ts.SourceFile, { readonly included: boolean; readonly analysis: Analysis | undefined }>();

/**
 * Undefined for a file that is left alone: a declaration file, one that neither imports the library nor is included, or one
 * that has been transformed before.
 */
export function analyse(ts: TypeScript, file: ts.SourceFile, options: AnalysisOptions): Analysis | undefined {
  const { included, force = false } = options;
  const before = known.get(file);
  if (before?.included === included && !force) return before.analysis;
  const analysis = analyseAnew(ts, file, options);
  if (!force) known.set(file, { included, analysis });
  return analysis;
}

function analyseAnew(ts: TypeScript, file: ts.SourceFile, { included, force }: AnalysisOptions): Analysis | undefined {
  if (file.isDeclarationFile || file.fileName.endsWith(".json")) return undefined;
  if (!included && !mentionsLibrary(file.text)) return undefined;
  const source = readSource(ts, file);
  const scopes = analyseScopes(source);
  if (!included && !importsLibrary(source, scopes)) return undefined;
  const library = readLibrary(source, scopes);
  if (isTransformed(source, library)) return undefined;
  return { source, scopes, library, found: survey(source, scopes, library, force) };
}

/** A file with our root function, or with a call of a library function's `at`, has been here before. */
function isTransformed(source: Source, library: Library): boolean {
  const { ts, file } = source;
  if (hasRoot(ts, file)) return true;
  if (!source.identifiers.has("at")) return false;
  const callsAt = (node: ts.Node): boolean => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression } = node.expression;
      if (memberName(ts, node.expression) === "at" && library.meaningOf(expression)?.kind === "export") return true;
    }
    return ts.forEachChild(node, callsAt) ?? false;
  };
  return callsAt(file);
}
