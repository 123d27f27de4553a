/** The module's root function as nodes. */
import type ts from "typescript";
import type { Plan } from "../plan/shape.js";
import { verbatim } from "./build.js";

/** @returns `function $s() { return ...; }` and `$s();` */
export function rootFunction(factory: ts.NodeFactory, { name, value }: Plan["root"]): ts.Statement[] {
  const body = factory.createBlock([factory.createReturnStatement(verbatim(factory, value))], true);
  const call = factory.createCallExpression(factory.createIdentifier(name), undefined, []);
  return [
    factory.createFunctionDeclaration(undefined, undefined, name, undefined, [], undefined, body),
    factory.createExpressionStatement(call),
  ];
}
