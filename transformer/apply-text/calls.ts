/** Sites and marked calls. What is inside a call stays where it is: callee, arguments, comments, line breaks. */
import type ts from "typescript";
import { frameText, placeText } from "../generated.js";
import type { CallEdit, ConstructEdit, MarkEdit, Self, SiteEdit } from "../plan/shape.js";
import { memberIn, takesName } from "../plan/syntax.js";
import type { Applying } from "./index.js";

type Call = ts.CallExpression | ts.NewExpression;

/**
 * @example `step(f)` becomes `step.at($1, 0, 0, 0, f)`
 * @example `o.m(x)` becomes `$1.call(1, 0, ($t1 = o).m, $t1, [x])`
 * @example `new C(x)` becomes `$1.new(2, 0, C, [x])`
 */
export function applyCall(applying: Applying, node: Call, edit: CallEdit): void {
  if (edit.kind === "construct") return construct(applying, node as ts.NewExpression, edit);
  const call = node as ts.CallExpression;
  const open = (value: ts.Expression, text: string): void => applying.text.open(applying.startOf(value), text);
  if (edit.kind === "mark") {
    open(call.expression, `${callText(edit, "call")} `);
    holdReceiver(applying, call, edit, open);
    applying.text.close(call.expression.end, `, ${selfText(edit.self)}`);
    return argumentsAsArray(applying, call);
  }
  const { questionDotToken } = call;
  if (questionDotToken === undefined) applying.text.close(call.expression.end, ".at");
  else applying.text.replace(applying.startOf(questionDotToken), questionDotToken.end, "?.at");
  siteArguments(applying, call, edit);
}

/** Puts the receiver of a marked call into its variable: `($t1 = o).m`. `open` writes before where a value is written. */
export function holdReceiver(
  applying: Applying,
  { expression: callee }: ts.CallExpression,
  { self }: MarkEdit,
  open: (value: ts.Expression, text: string) => void,
): void {
  if (self.kind !== "temp") return;
  const { expression: object } = memberIn(applying.ts, callee);
  const [before, after] = assignment(applying, self.name, object);
  open(object, before);
  applying.text.close(object.end, after);
}

/** What to write around a value to keep it in a variable; an anonymous function must not take the variable's name. */
export function assignment({ ts }: Applying, name: string, value: ts.Expression): [before: string, after: string] {
  return takesName(ts, value) ? [`(${name} = (0, `, "))"] : [`(${name} = `, ")"];
}

/** `(a, b)` becomes `, [a, b])`, after a callee and a receiver. Type arguments have nothing left that they could apply to. */
export function argumentsAsArray(applying: Applying, node: Call): void {
  const { text } = applying;
  dropTypeArguments(applying, node);
  if (node.arguments === undefined) return text.close(node.end, ", [])");
  text.replace(node.arguments.pos - 1, node.arguments.pos, ", [");
  text.replace(node.end - 1, node.end, "])");
}

/** `(a, b)` becomes `($1, 0, 0, 0, a, b)`. */
export function siteArguments({ text }: Applying, node: ts.CallExpression, edit: SiteEdit): void {
  const comma = node.arguments.length > 0 ? ", " : "";
  text.replace(node.arguments.pos - 1, node.arguments.pos, `(${placeText(edit)}${comma}`);
}

/** `$1.call(4, [$c1],` */
export function callText(edit: MarkEdit | ConstructEdit, method: "call" | "new"): string {
  return `${frameText(edit.frame)}.${method}(${placeText(edit)},`;
}

/** What a marked call passes as `this`. */
export function selfText(self: Self): string {
  if (self.kind === "none") return "void 0";
  return self.kind === "this" ? "this" : self.name;
}

function construct(applying: Applying, node: ts.NewExpression, edit: ConstructEdit): void {
  const start = applying.startOf(node);
  applying.text.replace(start, start + "new".length, callText(edit, "new"));
  argumentsAsArray(applying, node);
}

function dropTypeArguments(applying: Applying, node: Call): void {
  if (node.typeArguments === undefined) return;
  const end = applying.token(node, applying.ts.SyntaxKind.GreaterThanToken).end;
  applying.text.blank(node.typeArguments.pos - 1, end);
}
