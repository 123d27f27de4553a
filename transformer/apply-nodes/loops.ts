/** Loops that count their iterations. */
import type ts from "typescript";
import { iterationText } from "../generated.js";
import type { LoopEdit, MovedHead } from "../plan/shape.js";
import { constant, verbatim } from "./build.js";
import type { Applying } from "./index.js";

/**
 * The block takes the labels in, so that they still stand at the loop.
 *
 * @example `a: for (const x of xs) f(x)` becomes
 * `{ let $i1 = -1; a: for (const x of xs) { const $c1 = ++$i1; $1.call(1, [$c1], f, void 0, [x]) } }`
 */
export function applyLoop(applying: Applying, statement: ts.Statement, edit: LoopEdit): ts.Statement {
  const { ts, factory } = applying;
  const variables = [
    factory.createVariableDeclaration(edit.counter, undefined, undefined, verbatim(factory, "-1")),
    ...(edit.keyed === undefined ? [] : [factory.createVariableDeclaration(edit.keyed.name)]),
  ];
  const list = factory.createVariableDeclarationList(variables, ts.NodeFlags.Let);
  const block = factory.createBlock(
    [factory.createVariableStatement(undefined, list), relabel(applying, statement, edit)],
    true,
  );
  return ts.setTextRange(block, statement);
}

function relabel(applying: Applying, statement: ts.Statement, edit: LoopEdit): ts.Statement {
  const { ts, factory } = applying;
  if (!ts.isLabeledStatement(statement)) return loop(applying, statement as ts.IterationStatement, edit);
  return factory.updateLabeledStatement(statement, statement.label, relabel(applying, statement.statement, edit));
}

function loop(applying: Applying, node: ts.IterationStatement, edit: LoopEdit): ts.Statement {
  const { ts, factory } = applying;
  const body = loopBody(applying, node, edit);
  const visit = <T extends ts.Node>(part: T | undefined): T | undefined =>
    part === undefined ? undefined : (applying.visit(part) as T);
  if (ts.isForOfStatement(node) || ts.isForInStatement(node)) {
    const binding = edit.moved.find((part) => part.kind === "binding");
    const head = binding === undefined ? visit(node.initializer)! : declareItem(applying, binding.item);
    if (ts.isForInStatement(node)) return factory.updateForInStatement(node, head, visit(node.expression)!, body);
    return factory.updateForOfStatement(node, node.awaitModifier, head, iterable(applying, node, edit), body);
  }
  const stays = (kind: MovedHead["kind"]): boolean => edit.moved.every((part) => part.kind !== kind);
  if (ts.isForStatement(node)) {
    const test = stays("test") ? visit(node.condition) : undefined;
    const update = stays("update") ? visit(node.incrementor) : undefined;
    return factory.updateForStatement(node, visit(node.initializer), test, update, body);
  }
  if (!stays("test")) return replace(applying, node, factory.createForStatement(undefined, undefined, undefined, body));
  if (ts.isDoStatement(node)) return factory.updateDoStatement(node, body, visit(node.expression)!);
  const { expression } = node as ts.WhileStatement;
  return factory.updateWhileStatement(node as ts.WhileStatement, visit(expression)!, body);
}

function iterable(applying: Applying, node: ts.ForOfStatement, edit: LoopEdit): ts.Expression {
  const { factory } = applying;
  const value = applying.expression(node.expression);
  if (edit.keyed === undefined) return value;
  return factory.createParenthesizedExpression(
    factory.createAssignment(factory.createIdentifier(edit.keyed.name), value),
  );
}

/** The iteration's constant, what moves here from the head, and the old body; the test of a `do` comes after that. */
function loopBody(applying: Applying, node: ts.IterationStatement, edit: LoopEdit): ts.Block {
  const { ts, factory } = applying;
  const first = iterationConstant(applying, edit);
  const moved = edit.moved.flatMap((part) => movedPart(applying, node, edit, part));
  const body = applying.visit(node.statement) as ts.Statement;
  // What moved must not see the names that the old body declares.
  if (moved.length > 0 || !ts.isBlock(body)) {
    const old = edit.skips === undefined ? body : factory.createLabeledStatement(edit.skips.label, body);
    const statements = ts.isDoStatement(node) ? [first, old, ...moved] : [first, ...moved, old];
    return ts.setTextRange(factory.createBlock(statements, true), node.statement);
  }
  const statements = factory.createNodeArray([first, ...body.statements]);
  return factory.updateBlock(body, ts.setTextRange(statements, body.statements));
}

/** @example `continue;` becomes `break $l1;` */
export function applySkip({ ts, factory }: Applying, node: ts.ContinueStatement, label: string): ts.Statement {
  return ts.setOriginalNode(ts.setTextRange(factory.createBreakStatement(label), node), node);
}

function iterationConstant({ ts, factory }: Applying, edit: LoopEdit): ts.Statement {
  return constant(factory, ts.NodeFlags.Const, edit.constant, verbatim(factory, iterationText(edit)));
}

function movedPart(applying: Applying, node: ts.IterationStatement, edit: LoopEdit, part: MovedHead): ts.Statement[] {
  const { ts, factory } = applying;
  if (part.kind === "binding") return [bindItem(applying, (node as ts.ForInOrOfStatement).initializer, part.item)];
  if (part.kind === "update") {
    const notFirst = factory.createIdentifier(edit.constant);
    const update = applying.expression((node as ts.ForStatement).incrementor!);
    return [factory.createIfStatement(notFirst, factory.createExpressionStatement(update))];
  }
  const test = ts.isForStatement(node) ? node.condition! : (node as ts.WhileStatement | ts.DoStatement).expression;
  const fails = factory.createLogicalNot(factory.createParenthesizedExpression(applying.expression(test)));
  return [factory.createIfStatement(fails, factory.createBreakStatement())];
}

function declareItem({ ts, factory }: Applying, name: string): ts.VariableDeclarationList {
  return factory.createVariableDeclarationList([factory.createVariableDeclaration(name)], ts.NodeFlags.Const);
}

/** What the head did with each item: declare variables by it, or assign it. */
function bindItem(applying: Applying, head: ts.ForInitializer, item: string): ts.Statement {
  const { ts, factory } = applying;
  const value = factory.createIdentifier(item);
  if (!ts.isVariableDeclarationList(head)) {
    return factory.createExpressionStatement(factory.createAssignment(applying.expression(head), value));
  }
  const list = applying.visit(head) as ts.VariableDeclarationList;
  const declaration = list.declarations[0]!;
  const bound = factory.updateVariableDeclaration(declaration, declaration.name, undefined, undefined, value);
  return factory.createVariableStatement(undefined, factory.updateVariableDeclarationList(list, [bound]));
}

function replace<T extends ts.Node>({ ts }: Applying, node: ts.Node, by: T): T {
  return ts.setOriginalNode(ts.setTextRange(by, node), node);
}
