/** What the rules hand over, and what they are given. */
import type ts from "typescript";
import type { Analysis } from "../plan/analysis.js";
import type { CodeOfRuns } from "./code-of-runs.js";
import type { FunctionLookup } from "./functions.js";
import type { DiagnosticCode } from "./table.js";

export interface Finding {
  readonly code: DiagnosticCode;
  /** The node that is underlined. */
  readonly at: ts.Node;
  /** One sentence without its full stop. */
  readonly what: string;
}

/** One file, with what several rules ask of it. */
export interface Subject extends Analysis {
  readonly functions: FunctionLookup;
  readonly runs: CodeOfRuns;
}

export type Rule = (subject: Subject) => Finding[];
