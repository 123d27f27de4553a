/** Variables that hold arrays, maps or sets, as far as their declaration says so. */
import type ts from "typescript";
import type { Binding } from "../plan/scopes.js";
import { type Source, unwrap } from "../plan/syntax.js";

/** Whether the variable is one whose `push`, `set` or `add` changes what is in memory, and not a client of something outside. */
export function isCollection({ ts }: Source, { declaration }: Binding): boolean {
  if (!ts.isVariableDeclaration(declaration) && !ts.isParameter(declaration)) return false;
  const { type, initializer } = declaration;
  if (type !== undefined && ts.isArrayTypeNode(type)) return true;
  if (type !== undefined && ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName)) {
    return collections.has(type.typeName.text);
  }
  return initializer !== undefined && isCollectionValue(ts, initializer);
}

export function isCollectionValue(ts: Source["ts"], expression: ts.Expression): boolean {
  const value = unwrap(ts, expression);
  if (ts.isArrayLiteralExpression(value)) return true;
  return ts.isNewExpression(value) && ts.isIdentifier(value.expression) && collections.has(value.expression.text);
}

const collections = new Set("Array Map Set WeakMap WeakSet".split(" "));
