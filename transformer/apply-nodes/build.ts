/** Nodes for what is generated. */
import type ts from "typescript";

type Factory = ts.NodeFactory;

/**
 * Code that holds nothing of the source, as one node that is printed as it stands: `$1.enter(4, [$c1])`, or several
 * arguments. Made of nodes it would double the time that the compiler takes to print a file, and no later transformer has
 * anything to do there.
 */
export function verbatim(factory: Factory, code: string): ts.Expression {
  return factory.createIdentifier(code);
}

export function callMethod(
  factory: Factory,
  object: ts.Expression,
  name: string,
  args: ts.Expression[],
): ts.Expression {
  return factory.createCallExpression(factory.createPropertyAccessExpression(object, name), undefined, args);
}

/** `const name = value`. */
export function constant(factory: Factory, flags: ts.NodeFlags, name: string, value: ts.Expression): ts.Statement {
  const declaration = factory.createVariableDeclaration(name, undefined, undefined, value);
  return factory.createVariableStatement(undefined, factory.createVariableDeclarationList([declaration], flags));
}
