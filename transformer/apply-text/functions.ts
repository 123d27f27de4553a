/** Functions that open a frame. */
import type ts from "typescript";
import { enterText } from "../generated.js";
import type { FunctionEdit } from "../plan/shape.js";
import { directivesOf } from "../plan/syntax.js";
import type { Applying } from "./index.js";

/**
 * @example `async (x) => f(x)` becomes `async (x) => { const $1 = $s().enter(0, 0); return $1.call(1, 0, f, void 0, [x]); }`
 */
export function applyFunction(applying: Applying, node: ts.Node, edit: FunctionEdit): void {
  const { ts } = applying;
  const { body } = node as ts.ArrowFunction | ts.FunctionExpression;
  if (edit.place === "parameter") frameAsParameter(applying, node as ts.FunctionExpression, edit);
  if (ts.isBlock(body)) openBlock(applying, body, edit);
  else openExpression(applying, node as ts.ArrowFunction, body, edit);
}

/** The frame, then the variables. */
function openingOf({ frame, temps, place }: FunctionEdit): string {
  const statements = [
    ...(place === "body" ? [`const ${frame.name} = ${enterText(frame)};`] : []),
    ...(temps.length > 0 ? [`let ${temps.join(", ")};`] : []),
  ];
  return statements.map((statement) => ` ${statement}`).join("");
}

/** After the directives, which are only directives while they stand first; the last may lack its semicolon. */
function openBlock({ ts, text, startOf }: Applying, body: ts.Block, edit: FunctionEdit): void {
  const opening = openingOf(edit);
  if (opening === "") return;
  const directive = directivesOf(ts, body.statements).at(-1);
  if (directive === undefined) text.close(startOf(body) + 1, opening);
  else text.close(directive.end, text.original[directive.end - 1] === ";" ? opening : `;${opening}`);
}

/** Comments before the expression go before `return`, since a line break after it would end the statement. */
function openExpression(
  { text, startOf }: Applying,
  node: ts.ArrowFunction,
  body: ts.Expression,
  edit: FunctionEdit,
): void {
  text.close(node.equalsGreaterThanToken.end, ` {${openingOf(edit)}`);
  text.open(startOf(body), "return ");
  text.close(body.end, "; }");
}

/**
 * The frame of a generator as a default that is evaluated when it is called.
 *
 * @example `function* g(a)` becomes `function* g(a, ...{ $1 = $s().enter(0, 0) })`
 * @example `function* g(...xs)` becomes `function* g(...{ $1 = $s().enter(0, 0), $r: xs = [].slice.call(arguments, 0) })`
 */
function frameAsParameter(
  { text }: Applying,
  { parameters }: ts.FunctionExpression,
  { frame, rest }: FunctionEdit,
): void {
  const element = `${frame.name} = ${enterText(frame)}`;
  const last = parameters.at(-1);
  if (rest !== undefined && last?.dotDotDotToken !== undefined) {
    text.close(last.dotDotDotToken.end, `{ ${element}, ${rest.key}: `);
    text.close(last.name.end, ` = [].slice.call(arguments, ${rest.from}) }`);
    return;
  }
  const comma = parameters.length > 0 && !parameters.hasTrailingComma ? ", " : "";
  const end = last === undefined || parameters.hasTrailingComma ? parameters.end : last.end;
  text.close(end, `${comma}...{ ${element} }`);
}
