/** Functions that open a frame. */
import type ts from "typescript";
import { enterText } from "../generated.js";
import type { FunctionEdit } from "../plan/shape.js";
import { directivesOf } from "../plan/syntax.js";
import { constant, verbatim } from "./build.js";
import type { Applying } from "./index.js";

/**
 * @example `async (x) => f(x)` becomes `async (x) => { const $1 = $s().enter(0, 0); return $1.call(1, 0, f, void 0, [x]); }`
 */
export function applyFunction(applying: Applying, node: ts.Node, edit: FunctionEdit): ts.Node {
  const { ts, factory } = applying;
  const changed = applying.visitChildren(node);
  const open = (body: ts.Block): ts.Block => openFrame(applying, body, edit);
  if (ts.isClassStaticBlockDeclaration(changed)) {
    return factory.updateClassStaticBlockDeclaration(changed, open(changed.body));
  }
  if (ts.isArrowFunction(changed)) {
    const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken, body } = changed;
    const block = ts.isBlock(body) ? open(body) : open(returning(applying, body));
    return factory.updateArrowFunction(
      changed,
      modifiers,
      typeParameters,
      parameters,
      type,
      equalsGreaterThanToken,
      block,
    );
  }
  if (ts.isConstructorDeclaration(changed)) {
    return factory.updateConstructorDeclaration(changed, changed.modifiers, changed.parameters, open(changed.body!));
  }
  if (ts.isGetAccessorDeclaration(changed)) {
    const { modifiers, name, parameters, type, body } = changed;
    return factory.updateGetAccessorDeclaration(changed, modifiers, name, parameters, type, open(body!));
  }
  if (ts.isSetAccessorDeclaration(changed)) {
    const { modifiers, name, parameters, body } = changed;
    return factory.updateSetAccessorDeclaration(changed, modifiers, name, parameters, open(body!));
  }
  const { modifiers, asteriskToken, typeParameters, type } = changed as GeneratorLike;
  const parameters = parametersOf(applying, changed as GeneratorLike, edit);
  const body = open((changed as GeneratorLike).body!);
  if (ts.isMethodDeclaration(changed)) {
    const { name, questionToken } = changed;
    return factory.updateMethodDeclaration(
      changed,
      modifiers,
      asteriskToken,
      name,
      questionToken,
      typeParameters,
      parameters,
      type,
      body,
    );
  }
  if (ts.isFunctionExpression(changed)) {
    const own = changed.modifiers;
    return factory.updateFunctionExpression(
      changed,
      own,
      asteriskToken,
      changed.name,
      typeParameters,
      parameters,
      type,
      body,
    );
  }
  const declaration = changed as ts.FunctionDeclaration;
  const { name } = declaration;
  return factory.updateFunctionDeclaration(
    declaration,
    modifiers,
    asteriskToken,
    name,
    typeParameters,
    parameters,
    type,
    body,
  );
}

type GeneratorLike = ts.FunctionDeclaration | ts.FunctionExpression | ts.MethodDeclaration;

/** The frame, then the variables, after the directives, which are only directives while they stand first. */
function openFrame({ ts, factory }: Applying, body: ts.Block, { frame, temps, place }: FunctionEdit): ts.Block {
  const opening: ts.Statement[] = [];
  if (place === "body") {
    opening.push(constant(factory, ts.NodeFlags.Const, frame.name, verbatim(factory, enterText(frame))));
  }
  if (temps.length > 0) {
    const declarations = temps.map((temp) => factory.createVariableDeclaration(temp));
    const list = factory.createVariableDeclarationList(declarations, ts.NodeFlags.Let);
    opening.push(factory.createVariableStatement(undefined, list));
  }
  const split = directivesOf(ts, body.statements).length;
  const statements = [...body.statements.slice(0, split), ...opening, ...body.statements.slice(split)];
  return factory.updateBlock(body, ts.setTextRange(factory.createNodeArray(statements), body.statements));
}

/** The block of an arrow that was an expression. Comments before the expression go before `return`, not between. */
function returning({ ts, factory }: Applying, expression: ts.Expression): ts.Block {
  const result = ts.setTextRange(factory.createReturnStatement(expression), expression);
  ts.setEmitFlags(result, ts.EmitFlags.NoTrailingComments | ts.EmitFlags.NoTrailingSourceMap);
  const block = factory.createBlock(ts.setTextRange(factory.createNodeArray([result]), expression), true);
  return ts.setTextRange(block, expression);
}

/**
 * The parameters with the frame of a generator as a default that is evaluated when it is called.
 *
 * @example `function* g(a)` becomes `function* g(a, ...{ $1 = $s().enter(0, 0) })`
 * @example `function* g(...xs)` becomes `function* g(...{ $1 = $s().enter(0, 0), $r: xs = [].slice.call(arguments, 0) })`
 */
function parametersOf(
  { ts, factory }: Applying,
  node: GeneratorLike,
  { frame, place, rest }: FunctionEdit,
): ts.NodeArray<ts.ParameterDeclaration> {
  if (place === "body") return node.parameters;
  const enter = verbatim(factory, enterText(frame));
  const elements = [factory.createBindingElement(undefined, undefined, frame.name, enter)];
  const last = node.parameters.at(-1);
  if (rest !== undefined && last !== undefined) {
    const slice = factory.createPropertyAccessExpression(factory.createArrayLiteralExpression(), "slice");
    const remaining = factory.createCallExpression(factory.createPropertyAccessExpression(slice, "call"), undefined, [
      factory.createIdentifier("arguments"),
      factory.createNumericLiteral(rest.from),
    ]);
    elements.push(factory.createBindingElement(undefined, rest.key, last.name, remaining));
  }
  const pattern = factory.createObjectBindingPattern(elements);
  const dots = factory.createToken(ts.SyntaxKind.DotDotDotToken);
  const parameter = factory.createParameterDeclaration(undefined, dots, pattern);
  const kept = rest === undefined ? node.parameters : node.parameters.slice(0, -1);
  return ts.setTextRange(factory.createNodeArray([...kept, parameter]), node.parameters);
}
