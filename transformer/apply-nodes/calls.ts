/** Sites, marked calls and the optional chains that hold them. */
import type ts from "typescript";
import { frameText, placeText } from "../generated.js";
import type { CallEdit, ChainEdit, MarkEdit, SiteEdit } from "../plan/shape.js";
import { isMember, isWrapper, memberIn, takesName } from "../plan/syntax.js";
import { callMethod, verbatim } from "./build.js";
import type { Applying } from "./index.js";

type Call = ts.CallExpression | ts.NewExpression;
type Member = ts.PropertyAccessExpression | ts.ElementAccessExpression;

/**
 * @example `step(f)` becomes `step.at($1, 0, 0, 0, f)`
 * @example `o.m(x)` becomes `$1.call(1, 0, ($t1 = o).m, $t1, [x])`
 * @example `new C(x)` becomes `$1.new(2, 0, C, [x])`
 */
export function applyCall(applying: Applying, node: Call, edit: CallEdit): ts.Node {
  const { ts, factory } = applying;
  if (edit.kind === "mark") return markedCall(applying, node, edit, outsideChain(applying));
  const callee = applying.expression(node.expression);
  if (edit.kind === "construct") return onFrame(applying, node, edit, "new", [callee, argumentArray(applying, node)]);
  if (!ts.isOptionalChain(node)) return siteCall(applying, node, edit, callee);
  const at = factory.createPropertyAccessChain(callee, node.questionDotToken, "at");
  return replace(
    applying,
    node,
    factory.createCallChain(at, undefined, undefined, siteArguments(applying, node, edit)),
  );
}

/**
 * @example `a?.b(c).d` becomes `(($t1 = a) == null ? void 0 : $1.call(3, 0, $t1.b, $t1, [c]).d)`
 */
export function applyChain(applying: Applying, chain: ts.OptionalChain, edit: ChainEdit): ts.Expression {
  const { factory } = applying;
  const guards: ts.Expression[] = [];
  const value = chainWriter(applying, edit, guards).value(chain as ts.Expression);
  const written = guards.reduceRight<ts.Expression>(
    (rest, guard) =>
      factory.createConditionalExpression(
        factory.createEquality(guard, factory.createNull()),
        undefined,
        factory.createVoidZero(),
        undefined,
        rest,
      ),
    value,
  );
  return replace(applying, chain, factory.createParenthesizedExpression(written));
}

/** How the parts of a callee are reached, in a chain that is being written out and elsewhere. */
interface Writer {
  /** The value of an expression, which may be an earlier link of the chain. */
  value(node: ts.Expression): ts.Expression;
  /** `before`, or if the node has a `?.`, the variable of the guard that now holds it. */
  guarded(node: ts.Node, before: ts.Expression): ts.Expression;
}

function outsideChain({ expression }: Applying): Writer {
  return { value: expression, guarded: (_node, before) => before };
}

function chainWriter(applying: Applying, edit: ChainEdit, guards: ts.Expression[]): Writer {
  const { ts, factory, edits } = applying;
  const guarded = (node: ts.Node, before: ts.Expression): ts.Expression => {
    const guard = edit.guards.find((candidate) => edits.isAt(node, candidate));
    if (guard === undefined) return before;
    guards.push(assign(applying, guard.temp, before));
    return factory.createIdentifier(guard.temp);
  };
  const value = (node: ts.Expression): ts.Expression => {
    if (!ts.isOptionalChain(node)) return applying.expression(node);
    if (ts.isNonNullExpression(node)) return value(node.expression);
    if (isMember(ts, node)) return memberOf(applying, node, guarded(node, value(node.expression)));
    const call = edits.call(node);
    if (call?.kind === "mark") return markedCall(applying, node, call, { value, guarded });
    const callee = guarded(node, value(node.expression));
    if (call?.kind === "site") return siteCall(applying, node, call, callee);
    return replace(applying, node, factory.createCallExpression(callee, undefined, args(applying, node)));
  };
  return { value, guarded };
}

function siteCall(applying: Applying, node: ts.Node, edit: SiteEdit, callee: ts.Expression): ts.Expression {
  return replace(
    applying,
    node,
    callMethod(applying.factory, callee, "at", siteArguments(applying, node as Call, edit)),
  );
}

function siteArguments(applying: Applying, node: Call, edit: SiteEdit): ts.Expression[] {
  return [verbatim(applying.factory, placeText(edit)), ...args(applying, node)];
}

function markedCall(applying: Applying, node: Call, edit: MarkEdit, writer: Writer): ts.Expression {
  const [callee, self] = calleeAndSelf(applying, node.expression, edit, writer);
  return onFrame(applying, node, edit, "call", [writer.guarded(node, callee), self, argumentArray(applying, node)]);
}

function calleeAndSelf(
  applying: Applying,
  callee: ts.Expression,
  { self }: MarkEdit,
  writer: Writer,
): [ts.Expression, ts.Expression] {
  const { factory } = applying;
  if (self.kind === "none") return [writer.value(callee), verbatim(factory, "void 0")];
  const member = memberIn(applying.ts, callee);
  if (self.kind === "guard") return [writer.value(member), factory.createIdentifier(self.name)];
  const object = writer.value(member.expression);
  if (self.kind === "this") return [memberOf(applying, member, object), factory.createThis()];
  if (self.kind === "name") return [memberOf(applying, member, object), sameVariable(applying, member, self.name)];
  return [memberOf(applying, member, assign(applying, self.name, object)), factory.createIdentifier(self.name)];
}

/** A second mention of the receiver, which goes with the first when a later transformer renames an import. */
function sameVariable({ ts, factory }: Applying, member: Member, name: string): ts.Expression {
  let object: ts.Expression = member.expression;
  while (isWrapper(ts, object)) object = object.expression;
  return ts.setOriginalNode(factory.createIdentifier(name), object);
}

/** The member read from another object, without a `?.`. */
function memberOf(applying: Applying, node: Member, object: ts.Expression): ts.Expression {
  const { ts, factory } = applying;
  if (ts.isPropertyAccessExpression(node)) {
    if (!ts.isOptionalChain(node)) return factory.updatePropertyAccessExpression(node, object, node.name);
    return replace(applying, node, factory.createPropertyAccessExpression(object, node.name));
  }
  const key = applying.expression(node.argumentExpression);
  if (!ts.isOptionalChain(node)) return factory.updateElementAccessExpression(node, object, key);
  return replace(applying, node, factory.createElementAccessExpression(object, key));
}

function assign({ ts, factory }: Applying, name: string, value: ts.Expression): ts.Expression {
  const nameless = takesName(ts, value) ? factory.createComma(factory.createNumericLiteral(0), value) : value;
  return factory.createParenthesizedExpression(factory.createAssignment(factory.createIdentifier(name), nameless));
}

function onFrame(
  applying: Applying,
  node: ts.Node,
  edit: CallEdit,
  method: "call" | "new",
  [callee, ...rest]: [ts.Expression, ...ts.Expression[]],
): ts.Expression {
  const { ts, factory } = applying;
  // A comment before the callee is one before the call, and is printed there.
  ts.setCommentRange(callee, { pos: -1, end: callee.end });
  const onFrame = verbatim(factory, `${frameText(edit.frame)}.${method}`);
  const args = [verbatim(factory, placeText(edit)), callee, ...rest];
  return replace(applying, node, factory.createCallExpression(onFrame, undefined, args));
}

function argumentArray(applying: Applying, node: Call): ts.Expression {
  return applying.factory.createArrayLiteralExpression(args(applying, node));
}

function args(applying: Applying, node: Call): ts.Expression[] {
  return (node.arguments ?? []).map((argument) => applying.expression(argument));
}

function replace<T extends ts.Node>({ ts }: Applying, node: ts.Node, by: T): T {
  return ts.setOriginalNode(ts.setTextRange(by, node), node);
}
