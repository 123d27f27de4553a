/**
 * The plugin for a whole program (`"transformProgram": true`): what a plugin for each emit cannot do.
 *
 * - Files that we transform get a version of their own in an incremental build, which says how they were transformed. So
 *   another version of stepmark, or another option that counts, makes them changed files, and so does a build without us.
 * - Errors are among the program's semantic ones: they come before anything is written, and an incremental build
 *   keeps them. Warnings are those of the whole program, each time.
 */
import { createHash } from "node:crypto";
import type ts from "typescript";
import { diagnoseProgram } from "./diagnose-program.js";
import { lockOf } from "./lock/lock-file.js";
import { printLine } from "./lock/lock-line.js";
import { type AbsoluteOptions, includes, modulePath } from "./options.js";
import { mentionsLibrary } from "./plan/library.js";
import type { TypeScript } from "./plan/syntax.js";
import { isCommandLine, print } from "./report.js";
import { version } from "./version.js";

/** What the compiler keeps beside its types. */
interface InternalProgram extends ts.Program {
  /** What an incremental build asks for, and records. */
  getBindAndCheckDiagnostics?(file: ts.SourceFile, token?: ts.CancellationToken): readonly ts.Diagnostic[];
}

/**
 * Changes the program in place, since an incremental build has other ways to it than the one it was returned by.
 *
 * @param options `root` is absolute
 */
export function hookProgram(
  ts: TypeScript,
  program: ts.Program,
  options: AbsoluteOptions,
  transform: ts.TransformerFactory<ts.SourceFile>,
): ts.Program {
  const diagnosticsOf = diagnoseProgram(ts, program, options);
  const errorsOf = (file: ts.SourceFile): readonly ts.Diagnostic[] =>
    diagnosticsOf(file).filter(({ category }) => category === ts.DiagnosticCategory.Error);
  stampVersions(program, options, errorsOf);
  addDiagnostics(program, isCommandLine() ? errorsOf : diagnosticsOf);
  if (isCommandLine()) {
    const isWarning = ({ category }: ts.Diagnostic): boolean => category === ts.DiagnosticCategory.Warning;
    print(ts, program, program.getSourceFiles().flatMap(diagnosticsOf).filter(isWarning));
  }
  const { emit } = program;
  program.emit = (file, write, token, onlyDeclarations, given, ...more) =>
    emit.call(program, file, write, token, onlyDeclarations, withOurs(given, transform), ...more);
  return program;
}

function withOurs(
  given: ts.CustomTransformers | undefined,
  transform: ts.TransformerFactory<ts.SourceFile>,
): ts.CustomTransformers {
  return { ...given, before: [transform, ...(given?.before ?? [])] };
}

const sign = "+stepmark-";

/** Says in the version of each file that is ours what becomes of it, as far as its text alone does not say that. */
function stampVersions(
  program: ts.Program,
  { root, include = [], lock }: AbsoluteOptions,
  errorsOf: (file: ts.SourceFile) => readonly ts.Diagnostic[],
): void {
  const isIncluded = includes(include);
  const locked = lockOf(root, lock);
  for (const file of program.getSourceFiles() as readonly (ts.SourceFile & { version?: string })[]) {
    if (file.version === undefined || file.isDeclarationFile) continue;
    const [own] = file.version.split(sign);
    const module = modulePath(root, file.fileName);
    const included = include.length > 0 && isIncluded(module);
    if (!included && !mentionsLibrary(file.text)) file.version = own!;
    else {
      const errors = errorsOf(file).map(({ code, start }) => [code, start]);
      file.version = `${own}${sign}${digest([version(), module, included, errors, locked?.of(module).map(printLine)])}`;
    }
  }
}

function digest(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 12);
}

function addDiagnostics(program: InternalProgram, given: (file: ts.SourceFile) => readonly ts.Diagnostic[]): void {
  const { getSemanticDiagnostics, getBindAndCheckDiagnostics } = program;
  program.getSemanticDiagnostics = (file, token) => [
    ...getSemanticDiagnostics.call(program, file, token),
    ...(file === undefined ? program.getSourceFiles() : [file]).flatMap(given),
  ];
  if (getBindAndCheckDiagnostics === undefined) return;
  program.getBindAndCheckDiagnostics = (file, token) => [
    ...getBindAndCheckDiagnostics.call(program, file, token),
    ...given(file),
  ];
}
