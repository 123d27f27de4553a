/** Nodes for the small expressions that a plan speaks of. */
import type ts from "typescript";
import type { CaptureGroup, FrameRef, Path } from "../plan/shape.js";

type Factory = ts.NodeFactory;

/** `$1`, `$s()` or `$1.enter(4, [$c1])`. */
export function frameNode(factory: Factory, frame: FrameRef): ts.Expression {
  if (frame.kind === "enter") return enterNode(factory, frame);
  const name = factory.createIdentifier(frame.name);
  return frame.kind === "root" ? factory.createCallExpression(name, undefined, []) : name;
}

/** `$1.enter(4, [$c1])`. */
export function enterNode(
  factory: Factory,
  { outer, row, path }: { outer: FrameRef; row: number; path: Path },
): ts.Expression {
  return callMethod(factory, frameNode(factory, outer), "enter", [
    factory.createNumericLiteral(row),
    pathNode(factory, path),
  ]);
}

/** `0` or `[$c1, $c2 - 1]`. */
export function pathNode(factory: Factory, path: Path): ts.Expression {
  if (path.length === 0) return factory.createNumericLiteral(0);
  return factory.createArrayLiteralExpression(
    path.map(({ constant, previous }) => {
      const name = factory.createIdentifier(constant);
      return previous ? factory.createSubtract(name, factory.createNumericLiteral(1)) : name;
    }),
  );
}

/** `0` or `() => [[$1, a, b], [$2, c]]`. */
export function capturesNode(factory: Factory, groups: readonly CaptureGroup[]): ts.Expression {
  if (groups.length === 0) return factory.createNumericLiteral(0);
  const arrays = groups.map(({ frame, names }) =>
    factory.createArrayLiteralExpression([
      frameNode(factory, frame),
      ...names.map((name) => factory.createIdentifier(name)),
    ]),
  );
  return factory.createArrowFunction(
    undefined,
    undefined,
    [],
    undefined,
    undefined,
    factory.createArrayLiteralExpression(arrays),
  );
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
