/**
 * Where the compiler's user sees our diagnostics. The command line fails on any diagnostic that it is given, warnings
 * too; so it is given the errors only, and warnings are printed beside its own output.
 */
import path from "node:path";
import type ts from "typescript";
import { asTypeScript, printed } from "./diagnostics/as-typescript.js";
import { levelOf } from "./diagnostics/levels.js";
import { kinds } from "./diagnostics/table.js";
import type { TransformOptions } from "./options.js";
import type { TypeScript } from "./plan/syntax.js";

/** What ts-patch hands to a plugin. */
export interface PluginExtras {
  /** The compiler that is running, the only one whose nodes may be made. */
  ts: TypeScript;
  /** `tsc` in the command line. */
  library?: string;
  addDiagnostic?(diagnostic: ts.Diagnostic): unknown;
}

export type Report = (diagnostics: readonly ts.Diagnostic[]) => void;

export function reportTo(program: ts.Program, { ts, library, addDiagnostic }: PluginExtras): Report {
  return (diagnostics) => {
    for (const diagnostic of diagnostics) {
      if (library === "tsc" && diagnostic.category === ts.DiagnosticCategory.Warning) print(ts, program, [diagnostic]);
      else addDiagnostic?.(diagnostic);
    }
  };
}

/** Whether this process is the compiler's command line. */
export function isCommandLine(): boolean {
  return /^(?:tspc?|tsc|_tsc)(?:\.js)?$/.test(path.basename(process.argv[1] ?? ""));
}

/** What was printed of each program: a plugin may be listed twice, and is asked once for each file that is emitted. */
const printedOf = new WeakMap<ts.Program, Set<string>>();

export function print(ts: TypeScript, program: ts.Program, diagnostics: readonly ts.Diagnostic[]): void {
  const before = printedOf.get(program) ?? new Set();
  printedOf.set(program, before);
  const fresh = diagnostics.filter(({ code, file, start }) => {
    const place = `${code} ${file?.fileName}:${start}`;
    return !before.has(place) && before.add(place);
  });
  if (fresh.length > 0) ts.sys.write(printed(ts, program, fresh));
}

const warned = new WeakSet<ts.Program>();

/** An incremental build asks a plugin about nothing but the files that it finds changed. */
export function warnOfIncremental(
  program: ts.Program,
  { diagnostics }: TransformOptions,
  report: Report,
  ts: TypeScript,
): void {
  const { incremental, composite } = program.getCompilerOptions();
  const level = levelOf(diagnostics, "STEPMARK8001");
  if (!(incremental || composite) || level === "off" || warned.has(program)) return;
  warned.add(program);
  const code = "STEPMARK8001";
  report([
    {
      ...asTypeScript(ts, undefined, {
        code,
        category: level === "error" ? "error" : "warning",
        message: `This build is incremental, and TypeScript does not tell it of a change of its plugins. ${kinds[code].cure} [${code}]`,
        file: "",
        line: 0,
        column: 0,
        start: 0,
        length: 0,
      }),
      start: undefined,
      length: undefined,
    },
  ]);
}
