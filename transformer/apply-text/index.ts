/**
 * Carries out a plan as edits of the source text. No edit adds or takes away a line break, types are left for others to
 * strip, and what is not written anew stays where it is, so that stack traces, comments and maps hold.
 */
import type ts from "typescript";
import { type Edits, indexEdits } from "../edits.js";
import type { Plan, Span } from "../plan/shape.js";
import { forEachPart, labelledLoop, type TypeScript } from "../plan/syntax.js";
import { applyCall } from "./calls.js";
import { applyChain } from "./chains.js";
import { EditedText } from "./edited-text.js";
import { applyFunction } from "./functions.js";
import { applyLoop, applySkip, countLoop } from "./loops.js";
import { appendRoot } from "./root.js";

/** What the parts of the applier share. */
export interface Applying {
  readonly ts: TypeScript;
  readonly text: EditedText;
  readonly edits: Edits;
  /** Applies the plan to a node and all that is in it. */
  visit(node: ts.Node): void;
  /** Where a node's own text starts, behind comments. */
  startOf(node: ts.Node): number;
  /** Whether a statement is one of a block's. */
  isInBlock(statement: ts.Statement): boolean;
  /** The first token of a kind among a node's own. */
  token(node: ts.Node, kind: ts.SyntaxKind): ts.Node;
}

/** `declare function f(): void`, `declare module "x"`. */
function lacksBody(ts: TypeScript, statement: ts.Statement): boolean {
  return (ts.isFunctionDeclaration(statement) || ts.isModuleDeclaration(statement)) && statement.body === undefined;
}

/** @param file the file that the plan was made for, without syntax errors */
export function applyPlanToText(ts: TypeScript, file: ts.SourceFile, plan: Plan): EditedText {
  const text = new EditedText(file.text);
  const edits = indexEdits(ts, plan);
  const startOf = (node: ts.Node): number => node.getStart(file);
  const isAt = (node: ts.Node, span: Span): boolean => node.pos === span.pos && node.end === span.end;
  const chainStarts = new Set(plan.chains.map(({ pos }) => pos));

  const visit = (node: ts.Node): void => {
    if (!edits.startsIn(node)) return;
    const wrap = ts.isExpression(node) ? edits.wrap(node) : undefined;
    if (wrap !== undefined) {
      text.open(startOf(node), `((${wrap.temps.join(", ")}) => (`);
      text.close(node.end, "))()");
    }
    const chain = edits.chain(node);
    if (chain !== undefined) return applyChain(applying, node as ts.OptionalChain, chain);
    const call = ts.isCallExpression(node) || ts.isNewExpression(node) ? edits.call(node) : undefined;
    if (call !== undefined) applyCall(applying, node as ts.CallExpression, call);
    const loop = labelledLoop(ts, node);
    const loopEdit = loop && edits.loop(loop);
    if (loopEdit !== undefined && isAt(node, loopEdit.statement)) countLoop(applying, node as ts.Statement, loopEdit);
    if (loopEdit !== undefined && loop === node) applyLoop(applying, loop, loopEdit);
    const skip = ts.isContinueStatement(node) ? edits.skip(node) : undefined;
    if (skip !== undefined) applySkip(applying, node as ts.ContinueStatement, skip);
    const functionEdit = edits.function(node);
    if (functionEdit !== undefined) applyFunction(applying, node, functionEdit);
    visitChildren(node);
  };
  const inBlocks = new Set<ts.Statement>();
  const visitChildren = (node: ts.Node): void => {
    if (ts.isBlock(node)) for (const statement of node.statements) inBlocks.add(statement);
    if ("statements" in node) separate(node.statements as ts.NodeArray<ts.Statement>);
    forEachPart(ts, node, visit);
  };
  /**
   * A chain is written in parentheses, which would call what a line before without a semicolon ends with; and a loop in a block, which
   * would be the body of a function that is only declared there.
   */
  const separate = (statements: readonly ts.Statement[]): void => {
    statements.forEach((statement, index) => {
      const before = statements[index - 1];
      if (before === undefined || file.text[before.end - 1] === ";") return;
      const isChain = ts.isExpressionStatement(statement) && chainStarts.has(statement.pos);
      const isLoop = labelledLoop(ts, statement) !== undefined;
      if (isChain || (isLoop && lacksBody(ts, before))) text.open(startOf(statement), ";");
    });
  };
  const applying: Applying = {
    ts,
    text,
    edits,
    visit,
    startOf,
    isInBlock: (statement) => inBlocks.has(statement),
    token: (node, kind) => node.getChildren(file).find((child) => child.kind === kind)!,
  };
  appendRoot(file, text, plan.root);
  visitChildren(file);
  return text;
}
