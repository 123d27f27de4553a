/** What a marked call passes as `this`, and whether that takes a variable. */
import type ts from "typescript";
import type { Binding, Scopes } from "./scopes.js";
import { isMember, type Source, type TypeScript, unwrap } from "./syntax.js";

/** `o.m` or `o[k]`, as a callee. */
export type MemberCallee = ts.PropertyAccessExpression | ts.ElementAccessExpression;

/**
 * The member that a call calls, through parentheses and casts: `(o.m)(x)` still has `o` as its receiver. A member of an
 * optional chain that ends in parentheses, `(a?.b)()`, is told apart: it is never marked.
 */
export function receiverOf(ts: TypeScript, node: ts.CallExpression): MemberCallee | "in closed chain" | undefined {
  const callee = unwrap(ts, node.expression);
  if (!isMember(ts, callee)) return undefined;
  if (ts.isOptionalChain(callee) && !isSameChain(ts, node, callee)) return "in closed chain";
  return callee;
}

/** Whether only non-null assertions stand between a call and its callee, and both are of one chain. */
function isSameChain(ts: TypeScript, node: ts.CallExpression, callee: ts.Expression): boolean {
  let at: ts.Expression = node.expression;
  while (at !== callee) {
    if (!ts.isNonNullExpression(at)) return false;
    at = at.expression;
  }
  return ts.isOptionalChain(node);
}

/** Whether the receiver can be read twice in a row with one meaning: `this`, `super`, and variables that never change. */
export function isStableReceiver(source: Source, scopes: Scopes, member: MemberCallee): boolean {
  const { ts } = source;
  const object = unwrap(ts, member.expression);
  if (object.kind === ts.SyntaxKind.ThisKeyword || object.kind === ts.SyntaxKind.SuperKeyword) return true;
  if (!ts.isIdentifier(object)) return false;
  const binding = scopes.resolve(object);
  return binding === undefined ? plainGlobals.has(object.text) : isStable(scopes, binding);
}

/** Globals that every engine has as plain properties; others may be getters, which have to be read once. */
const plainGlobals = new Set(
  "Array BigInt Boolean Date Error Function Intl JSON Map Math Number Object Promise Proxy Reflect RegExp Set String Symbol".split(
    " ",
  ),
);

function isStable(scopes: Scopes, { kind, reassigned }: Binding): boolean {
  if (reassigned) return false;
  // Sloppy code can change a parameter through `arguments`, and `eval` anything.
  return kind !== "parameter" || scopes.strict || !scopes.dynamic;
}
