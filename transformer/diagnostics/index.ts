/** The diagnostics of one file: what its text says that a run would only find out, or never. */
import type ts from "typescript";
import { type Analysis, analyse } from "../plan/analysis.js";
import { mentionsLibrary } from "../plan/library.js";
import { readSource, type TypeScript } from "../plan/syntax.js";
import { awaiting } from "./awaiting.js";
import { capturedState } from "./captured-state.js";
import { codeOfRuns } from "./code-of-runs.js";
import { detachedMethods } from "./detached-methods.js";
import { determinism } from "./determinism.js";
import type { Diagnostic } from "./diagnostic.js";
import type { Finding, Rule, Subject } from "./finding.js";
import { lookUpFunctions } from "./functions.js";
import { identicalCalls } from "./identical-calls.js";
import { identity, reExports } from "./identity.js";
import { ignores } from "./ignore.js";
import { keys } from "./keys.js";
import { type DiagnosticsOption, isOff, levelOf } from "./levels.js";
import { lostItemKeys } from "./lost-item-keys.js";
import { type DiagnosticCode, kinds } from "./table.js";

export { type Diagnostic, formatDiagnostic } from "./diagnostic.js";
export type { DiagnosticLevel, DiagnosticsOption } from "./levels.js";
export type { DiagnosticCode } from "./table.js";

const rules: readonly { readonly rule: Rule; readonly codes: readonly DiagnosticCode[] }[] = [
  { rule: identity, codes: codesFrom("STEPMARK1") },
  { rule: awaiting, codes: codesFrom("STEPMARK2") },
  { rule: determinism, codes: codesFrom("STEPMARK3") },
  { rule: capturedState, codes: ["STEPMARK4001"] },
  { rule: detachedMethods, codes: ["STEPMARK4002"] },
  { rule: keys, codes: codesFrom("STEPMARK5").filter((code) => code !== "STEPMARK5006") },
  { rule: lostItemKeys, codes: ["STEPMARK5006"] },
  { rule: identicalCalls, codes: codesFrom("STEPMARK7") },
];

function codesFrom(prefix: string): DiagnosticCode[] {
  return (Object.keys(kinds) as DiagnosticCode[]).filter((code) => code.startsWith(prefix));
}

export interface DiagnoseOptions {
  readonly diagnostics?: DiagnosticsOption | undefined;
  /** How the file is called in the diagnostics. */
  readonly file: string;
  /** What else is known of the file, where there are types. */
  readonly more?: Rule;
}

/**
 * Diagnoses a file that has been analysed: pure, from its syntax alone but for `more`.
 *
 * @returns in the order of the text
 */
export function diagnose(analysis: Analysis, options: DiagnoseOptions): Diagnostic[] {
  const { diagnostics, more } = options;
  if (isOff(diagnostics)) return [];
  const isOn = (code: DiagnosticCode): boolean => levelOf(diagnostics, code) !== "off";
  const functions = lookUpFunctions(analysis);
  const subject: Subject = { ...analysis, functions, runs: codeOfRuns(analysis, functions) };
  const found = rules.flatMap(({ rule, codes }) => (codes.some(isOn) ? rule(subject) : []));
  return report(analysis.source.file, [...found, ...(more?.(subject) ?? [])], options);
}

/** Analyses and diagnoses a file, also one that only hands the library on. */
export function diagnoseFile(
  ts: TypeScript,
  file: ts.SourceFile,
  options: DiagnoseOptions & { readonly included: boolean },
): Diagnostic[] {
  if (isOff(options.diagnostics)) return [];
  const analysis = analyse(ts, file, options);
  return analysis === undefined ? diagnoseBarrel(ts, file, options) : diagnose(analysis, options);
}

/** The diagnostics of a file that is not to be transformed: it may export the library again. */
export function diagnoseBarrel(ts: TypeScript, file: ts.SourceFile, options: DiagnoseOptions): Diagnostic[] {
  if (isOff(options.diagnostics) || file.isDeclarationFile || !mentionsLibrary(file.text)) return [];
  if (!file.statements.some((statement) => ts.isExportDeclaration(statement))) return [];
  return report(file, reExports({ source: readSource(ts, file) }), options);
}

function report(file: ts.SourceFile, found: readonly Finding[], options: DiagnoseOptions): Diagnostic[] {
  const isIgnored = ignores(file);
  const seen = new Set<string>();
  return found
    .flatMap(({ code, at, what }): Diagnostic[] => {
      const level = levelOf(options.diagnostics, code);
      const start = at.getStart(file);
      const { line, character } = file.getLineAndCharacterOfPosition(start);
      const place = `${code}@${start}`;
      if (level === "off" || seen.has(place) || isIgnored(code, line)) return [];
      seen.add(place);
      return [
        {
          code,
          category: level === "error" ? "error" : "warning",
          message: `${what}. ${kinds[code].cure} [${code}]`,
          file: options.file,
          line: line + 1,
          column: character + 1,
          start,
          length: at.end - start,
        },
      ];
    })
    .sort((a, b) => a.start - b.start || (a.code < b.code ? -1 : 1));
}
