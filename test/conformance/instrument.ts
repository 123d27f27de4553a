/** A program's text with everything instrumented that can be, by either applier. */
import ts from "typescript";
import { applyPlan } from "../../transformer/apply-nodes/index.js";
import { applyPlanToText } from "../../transformer/apply-text/index.js";
import { type Plan, plan } from "../../transformer/plan/index.js";
import { isFunctionNode, isLoop } from "../../transformer/plan/syntax.js";
import { hasSyntaxErrors } from "../../transformer/syntax-errors.js";

const options = { path: "program.js", included: true, force: true };

/** How many functions, calls and loops there are, and how many of each are instrumented. */
export interface Share {
  readonly functions: readonly [instrumented: number, all: number];
  readonly calls: readonly [instrumented: number, all: number];
  readonly loops: readonly [instrumented: number, all: number];
}

/** @returns why a program is left alone: TypeScript's parser rejects it, or it holds nothing to do */
export function byText(code: string): { code: string; share: Share } | "rejected" | "nothing to do" {
  const file = parse(code);
  if (hasSyntaxErrors(file)) return "rejected";
  const made = plan(ts, file, options);
  if (made === undefined) return "nothing to do";
  return { code: applyPlanToText(ts, file, made).toString(), share: shareOf(file, made) };
}

/** As the compiler prints it, with or without what we do. */
export function byNodes(code: string, transform: boolean): string {
  const before: ts.TransformerFactory<ts.SourceFile> = (context) => (file) => {
    const made = plan(ts, ts.getOriginalNode(file) as ts.SourceFile, options);
    return made === undefined ? file : applyPlan(ts, context, file, made);
  };
  return ts.transpileModule(code, {
    fileName: "program.js",
    compilerOptions: {
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      allowJs: true,
      alwaysStrict: false,
      verbatimModuleSyntax: true,
      moduleDetection: ts.ModuleDetectionKind.Legacy,
    },
    transformers: transform ? { before: [before] } : {},
  }).outputText;
}

function parse(code: string): ts.SourceFile {
  return ts.createSourceFile("program.js", code, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
}

function shareOf(file: ts.SourceFile, made: Plan): Share {
  let [functions, calls, loops] = [0, 0, 0];
  const visit = (node: ts.Node): void => {
    if (isFunctionNode(ts, node)) functions++;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) calls++;
    if (isLoop(ts, node)) loops++;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return {
    functions: [made.functions.length, functions],
    calls: [made.calls.length, calls],
    loops: [made.loops.length, loops],
  };
}
