/** What a file's syntax says, before anything is decided: the plan and the diagnostics are both made from it. */
import type ts from "typescript";
import { type Fingerprints, fingerprintsOf } from "./fingerprint.js";
import { importsLibrary, type Library, mentionsLibrary, readLibrary } from "./library.js";
import { hasRoot } from "./root.js";
import { analyseScopes, type Scopes } from "./scopes.js";
import { type Survey, survey } from "./survey.js";
import { readSource, type Source, type TypeScript } from "./syntax.js";

export interface Analysis {
  readonly source: Source;
  readonly scopes: Scopes;
  readonly library: Library;
  readonly found: Survey;
  readonly fingerprints: Fingerprints;
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

/** Gives the memory back, once the file has been planned: a compiler keeps its source files to the end. */
export function forget(file: ts.SourceFile): void {
  known.delete(file);
}

function analyseAnew(ts: TypeScript, file: ts.SourceFile, { included, force }: AnalysisOptions): Analysis | undefined {
  if (file.isDeclarationFile || file.fileName.endsWith(".json")) return undefined;
  if (!included && !mentionsLibrary(file.text)) return undefined;
  if (hasRoot(ts, file)) return undefined;
  const source = readSource(ts, file);
  const scopes = analyseScopes(source);
  if (!included && !importsLibrary(source, scopes)) return undefined;
  const library = readLibrary(source, scopes);
  const found = survey(source, scopes, library, force);
  // A library function's `at` is only ever called in code that has been here before.
  if (found.calls.some(({ node }) => callsAt(ts, library, node.expression))) return undefined;
  return { source, scopes, library, found, fingerprints: fingerprintsOf(source) };
}

function callsAt(ts: TypeScript, library: Library, callee: ts.Expression): boolean {
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== "at") return false;
  return library.meaningOf(callee.expression)?.kind === "export";
}
