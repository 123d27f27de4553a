/** Optional chains that hold a marked call, written out. */
import type ts from "typescript";
import type { ChainEdit } from "../plan/shape.js";
import { argumentsAsArray, assignment, callText, holdReceiver, selfText, siteArguments } from "./calls.js";
import type { Applying } from "./index.js";

type Link = ts.PropertyAccessChain | ts.ElementAccessChain | ts.CallChain;

/**
 * All parts stay in their order. What encloses the value before a `?.` is opened where the chain starts, or where the
 * variable of an earlier `?.` stands for all that came before it.
 *
 * @example `a?.b(c).d` becomes `(($t1 = a) == null ? void 0 : $1.call(3, 0, $t1.b, $t1, [c]).d)`
 */
export function applyChain(applying: Applying, chain: ts.OptionalChain, edit: ChainEdit): void {
  const { ts, text, edits, startOf } = applying;
  const guardOf = (node: ts.Node): string | undefined => edit.guards.find((guard) => edits.isAt(node, guard))?.temp;
  /** Text to write before the variable of a link. */
  const opened = new Map<ts.Node, string>();
  const open = (value: ts.Expression, before: string): void => {
    let start = value;
    while (ts.isOptionalChain(start)) {
      if (guardOf(start) !== undefined) {
        opened.set(start, (opened.get(start) ?? "") + before);
        return;
      }
      start = start.expression;
    }
    text.open(startOf(start), before);
  };

  const applyLink = (link: Link): void => {
    const guard = guardOf(link);
    const call = ts.isCallExpression(link) ? edits.call(link) : undefined;
    if (call?.kind === "mark") open(guard === undefined ? link.expression : link, `${callText(call, "call")} `);
    if (guard !== undefined) {
      const [before, after] = assignment(applying, guard, link.expression);
      open(link.expression, before);
      text.close(link.expression.end, after);
    }
    let end = "";
    if (call?.kind === "mark") {
      const node = link as ts.CallChain;
      holdReceiver(applying, node, call, open);
      argumentsAsArray(applying, node);
      end = `, ${selfText(call.self)}`;
    } else if (call?.kind === "site") {
      siteArguments(applying, link as ts.CallChain, call);
      end = ".at";
    }
    if (guard === undefined) {
      if (end !== "") text.close(link.expression.end, end);
      return;
    }
    const token = link.questionDotToken!;
    const variable = `${opened.get(link) ?? ""}${guard}${ts.isPropertyAccessExpression(link) ? "." : end}`;
    text.replace(startOf(token), token.end, ` == null ? void 0 : ${variable}`);
  };

  text.open(startOf(chain), "(");
  text.close(chain.end, ")");
  const inside: ts.Node[] = [];
  let node: ts.Expression = chain as ts.Expression;
  for (; ts.isOptionalChain(node); node = node.expression) {
    if (ts.isNonNullExpression(node)) continue;
    applyLink(node as Link);
    if (ts.isCallExpression(node)) inside.unshift(...node.arguments);
    else if (ts.isElementAccessExpression(node)) inside.unshift(node.argumentExpression);
  }
  for (const part of [node, ...inside]) applying.visit(part);
}
