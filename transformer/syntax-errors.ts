/** Whether a file is for other tools to complain about. */
import type ts from "typescript";

/** `o?.#m()`, which is JavaScript all the same: "An optional chain cannot contain private identifiers". */
const PRIVATE_IN_CHAIN = 18030;

export function hasSyntaxErrors(file: ts.SourceFile): boolean {
  // Not in the types, but the only way to it without a program.
  const { parseDiagnostics } = file as unknown as { parseDiagnostics: readonly ts.Diagnostic[] };
  return parseDiagnostics.some(({ code }) => code !== PRIVATE_IN_CHAIN);
}
