/**
 * Carries out a plan on syntax nodes, as a `before` transformer. Unchanged nodes keep their identity and changed ones are
 * updates of the originals, because later transformers (module format, import elision, decorators, source maps) look at
 * the original nodes.
 */
import type ts from "typescript";
import { type Edits, indexEdits } from "../edits.js";
import type { Plan } from "../plan/shape.js";
import { labelledLoop, leftOperators, type TypeScript } from "../plan/syntax.js";
import { applyCall, applyChain } from "./calls.js";
import { applyFunction } from "./functions.js";
import { applyLoop, applySkip } from "./loops.js";
import { rootFunction } from "./root.js";

/** What the parts of the applier share. */
export interface Applying {
  readonly ts: TypeScript;
  readonly context: ts.TransformationContext;
  readonly factory: ts.NodeFactory;
  readonly edits: Edits;
  /** Applies the plan to an expression that other edits do not consume. */
  expression(node: ts.Expression): ts.Expression;
  visit(node: ts.Node): ts.Node;
  visitChildren<T extends ts.Node>(node: T): T;
}

/** @param file the file as the transformers before this one left it; the plan is that of its original */
export function applyPlan(
  ts: TypeScript,
  context: ts.TransformationContext,
  file: ts.SourceFile,
  plan: Plan,
): ts.SourceFile {
  const { factory } = context;
  const edits = indexEdits(ts, plan);
  // What transformers before ours have made or moved may hold edits anywhere.
  const isAsParsed = ts.getOriginalNode(file) === file;
  const visit = (node: ts.Node): ts.Node => {
    if (isAsParsed && !edits.startsIn(node)) return node;
    const wrap = ts.isExpression(node) ? edits.wrap(node) : undefined;
    return wrap === undefined ? visitPlain(node) : wrapExpression(node as ts.Expression, wrap.temps);
  };
  const visitPlain = (node: ts.Node): ts.Node => {
    const chain = edits.chain(node);
    if (chain !== undefined) return applyChain(applying, node as ts.OptionalChain, chain);
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const edit = edits.call(node);
      if (edit !== undefined) return applyCall(applying, node, edit);
    }
    const loop = labelledLoop(ts, node);
    const loopEdit = loop && edits.loop(loop);
    if (loopEdit !== undefined) return applyLoop(applying, node as ts.Statement, loopEdit);
    const skip = ts.isContinueStatement(node) ? edits.skip(node) : undefined;
    if (skip !== undefined) return applySkip(applying, node as ts.ContinueStatement, skip);
    const functionEdit = edits.function(node);
    if (functionEdit !== undefined) return applyFunction(applying, node, functionEdit);
    return visitChildren(node);
  };
  const visitChildren = <T extends ts.Node>(node: T): T =>
    ts.isBinaryExpression(node) ? (visitOperators(node) as ts.Node as T) : ts.visitEachChild(node, visit, context);
  /** From the innermost to the outermost, since a chain of operators nests as deep as it is long. */
  const visitOperators = (node: ts.BinaryExpression): ts.Expression => {
    const chain = leftOperators(ts, node);
    return chain.reduce<ts.Expression>(
      (left, each) =>
        factory.updateBinaryExpression(each, left, each.operatorToken, visit(each.right) as ts.Expression),
      visit(chain[0]!.left) as ts.Expression,
    );
  };
  const wrapExpression = (node: ts.Expression, temps: readonly string[]): ts.Expression => {
    const parameters = temps.map((temp) => factory.createParameterDeclaration(undefined, undefined, temp));
    const arrow = factory.createArrowFunction(
      undefined,
      undefined,
      parameters,
      undefined,
      undefined,
      visitPlain(node) as ts.Expression,
    );
    return factory.createCallExpression(factory.createParenthesizedExpression(arrow), undefined, []);
  };
  const applying: Applying = {
    ts,
    context,
    factory,
    edits,
    expression: (node) => visit(node) as ts.Expression,
    visit,
    visitChildren,
  };
  const changed = visitChildren(file);
  const statements = [...changed.statements, ...rootFunction(factory, plan.root)];
  return factory.updateSourceFile(changed, ts.setTextRange(factory.createNodeArray(statements), changed.statements));
}
