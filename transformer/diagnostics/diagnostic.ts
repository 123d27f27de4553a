/** What a diagnostic is: plain data, for whatever channel a host has. */
import type { DiagnosticCode } from "./table.js";

export interface Diagnostic {
  /** Stable: `STEPMARK1001`. */
  readonly code: DiagnosticCode;
  readonly category: "warning" | "error";
  /** What is wrong, the cure, and the code in brackets. */
  readonly message: string;
  /** As the host named the file; empty for what concerns no file. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** Offset in the text, in UTF-16 units. */
  readonly start: number;
  /** In UTF-16 units. */
  readonly length: number;
}

/** One line, as compilers write it: `src/flow.ts:3:9 - warning STEPMARK2001: ...`. */
export function formatDiagnostic({ code, category, message, file, line, column }: Diagnostic): string {
  const place = file === "" ? "" : `${file}:${line}:${column} - `;
  return `${place}${category} ${code}: ${message.replace(` [${code}]`, "")}`;
}
