/** `keyed(items, by)` where its items go by their index after all: only in the head of a `for-of`, and as the receiver of `map` and the like, do they go by their keys. */
import type ts from "typescript";
import { referencesIn } from "../plan/captures.js";
import { exportName } from "../plan/library.js";
import { isMember, memberName, parentPastWrappers } from "../plan/syntax.js";
import type { Finding, Rule, Subject } from "./finding.js";
import { findNodes } from "./walk.js";

export const lostItemKeys: Rule = (subject) => {
  const { source, library } = subject;
  const made = findNodes(source, source.ts.isCallExpression).filter(
    ({ expression }) => exportName(library, expression) === "keyed",
  );
  return made.flatMap((call) => lostIn(subject, call, true));
};

/** Methods that give another array, which knows no keys, and those that go through an array's items outside of any function. */
const copying = new Set("concat entries filter flat slice splice toReversed toSorted toSpliced values with".split(" "));
/** Methods that give the array itself. */
const inPlace = new Set("copyWithin fill reverse sort".split(" "));

/**
 * @param value an expression whose value is what `keyed` made
 * @param isCall whether it is the call itself, which is known for what it is in the head of a loop
 */
function lostIn(subject: Subject, value: ts.Expression, isCall: boolean): Finding[] {
  const { source } = subject;
  const { ts, parents } = source;
  const { parent, child } = parentPastWrappers(source, value);
  if (parent === undefined) return [];
  if (ts.isForOfStatement(parent)) return isCall || parent.expression !== child ? [] : [lost(value)];
  if (ts.isSpreadElement(parent)) return [lost(value)];
  if (ts.isVariableDeclaration(parent)) return parent.initializer === child ? lostInVariable(subject, parent) : [];
  if (ts.isCallExpression(parent)) return isArrayFrom(subject, parent, child) ? [lost(value)] : [];
  if (!isMember(ts, parent) || parent.expression !== child) return [];
  const { parent: call, child: callee } = parentPastWrappers(source, parent);
  if (call === undefined || !ts.isCallExpression(call) || call.expression !== callee) return [];
  const method = memberName(ts, parent) ?? "";
  if (copying.has(method)) return [lost(value)];
  return inPlace.has(method) && !ts.isExpressionStatement(parents.get(call)!) ? lostIn(subject, call, false) : [];
}

function lostInVariable(subject: Subject, declaration: ts.VariableDeclaration): Finding[] {
  const { source, scopes } = subject;
  const { ts, parents } = source;
  const { name } = declaration;
  if (!ts.isIdentifier(name) || (parents.get(declaration)!.flags & ts.NodeFlags.Const) === 0) return [];
  const binding = scopes.resolve(name);
  return referencesIn(source, source.file)
    .filter((read) => read !== name && scopes.resolve(read) === binding)
    .flatMap((read) => lostIn(subject, read, false));
}

function isArrayFrom(
  { source: { ts } }: Subject,
  { expression, arguments: args }: ts.CallExpression,
  child: ts.Node,
): boolean {
  if (args[0] !== child || !isMember(ts, expression)) return false;
  return ts.isIdentifier(expression.expression) && expression.expression.text === "Array";
}

function lost(at: ts.Expression): Finding {
  return { code: "STEPMARK5006", at, what: "Here the items of `keyed` go by their index, and not by their keys" };
}
