/**
 * What tells calls of one name and one text apart: what is made of their results. `a` and `b` in
 * `const a = await step(draw), b = await step(draw)` and in `{ a: await step(draw), b: await step(draw) }`.
 */
import type ts from "typescript";
import { isAssignment } from "./scopes.js";
import { isFunctionLike, type Source } from "./syntax.js";

/** The innermost declaration, property, assignment or statement around a call, or else the expression that a function returns. */
export function purposeOf({ ts, parents }: Source, call: ts.Node): ts.Node {
  let node = call;
  for (let around = parents.get(node); around !== undefined; node = around, around = parents.get(node)) {
    if (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) return node;
    if (ts.isStatement(node) || (ts.isBinaryExpression(node) && isAssignment(ts, node.operatorToken.kind))) return node;
    if (isFunctionLike(ts, around)) return node;
  }
  return node;
}

/** The statements before and after the one that a call stands in; none for the branch of an `if`, say, that is no block. */
export function neighboursOf(
  { ts, parents }: Source,
  call: ts.Node,
): [before: ts.Node | undefined, after: ts.Node | undefined] {
  let node = call;
  for (let around = parents.get(node); around !== undefined; node = around, around = parents.get(node)) {
    if (!ts.isStatement(node)) continue;
    if (!("statements" in around)) break;
    const statements = around.statements as ts.NodeArray<ts.Statement>;
    const index = statements.indexOf(node);
    return [statements[index - 1], statements[index + 1]];
  }
  return [undefined, undefined];
}
