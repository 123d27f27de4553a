/** Diagnostics as TypeScript's compiler and language service have them. */
import type ts from "typescript";
import type { TypeScript } from "../plan/syntax.js";
import type { Diagnostic } from "./diagnostic.js";

/** TypeScript's codes are numbers, and printed after `TS`: `STEPMARK1001` is `TS991001` there. */
const OFFSET = 990_000;

export function asTypeScript(ts: TypeScript, file: ts.SourceFile | undefined, diagnostic: Diagnostic): ts.Diagnostic {
  const { code, category, start, length, message } = diagnostic;
  return {
    category: category === "error" ? ts.DiagnosticCategory.Error : ts.DiagnosticCategory.Warning,
    code: OFFSET + Number(code.slice("STEPMARK".length)),
    file,
    start,
    length,
    messageText: message,
    source: "stepmark",
  };
}

/** As the compiler itself prints them, under their own codes. */
export function printed(ts: TypeScript, program: ts.Program, diagnostics: readonly ts.Diagnostic[]): string {
  const host: ts.FormatDiagnosticsHost = {
    getCurrentDirectory: () => program.getCurrentDirectory(),
    getCanonicalFileName: (name) => name,
    getNewLine: () => ts.sys.newLine,
  };
  const pretty = (program.getCompilerOptions().pretty as boolean | undefined) ?? ts.sys.writeOutputIsTTY?.() ?? false;
  const text = pretty
    ? `${ts.formatDiagnosticsWithColorAndContext(diagnostics, host)}${ts.sys.newLine}`
    : ts.formatDiagnostics(diagnostics, host);
  return text.replace(/\bTS99(\d{4})\b/g, "STEPMARK$1");
}
