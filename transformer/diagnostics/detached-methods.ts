/** Methods that are handed to `step` without their object, and need it: `step(api.charge, card)`. */
import type ts from "typescript";
import { forEachPart, isMember, unwrap } from "../plan/syntax.js";
import type { Finding, Rule, Subject } from "./finding.js";

export const detachedMethods: Rule = (subject) =>
  methodsWithoutObject(subject, (given) => subject.functions.meantBy(given)?.node);

/** @param meantBy the function that an expression is known to mean */
export function methodsWithoutObject(
  { source, found }: Subject,
  meantBy: (given: ts.Expression) => ts.Node | undefined,
): Finding[] {
  const { ts, file } = source;
  return found.calls.flatMap(({ node, sited }): Finding[] => {
    if (sited !== "step") return [];
    const given = node.arguments?.slice(0, 2).find((argument) => isMember(ts, unwrap(ts, argument)));
    const meant = given && meantBy(given);
    if (meant === undefined || ts.isArrowFunction(meant) || !usesThis(ts, meant)) return [];
    const what = `\`${given!.getText(file)}\` uses \`this\`, and is called without its object`;
    return [{ code: "STEPMARK4002", at: given!, what }];
  });
}

/** Whether a function's own code says `this` or `super`. */
function usesThis(ts: Subject["source"]["ts"], fn: ts.Node): boolean {
  const visit = (node: ts.Node): boolean => {
    const { ThisKeyword, SuperKeyword } = ts.SyntaxKind;
    if (node.kind === ThisKeyword || node.kind === SuperKeyword) return true;
    const hasItsOwn = ts.isClassLike(node) || (ts.isFunctionLike(node) && !ts.isArrowFunction(node));
    return !hasItsOwn && (forEachPart(ts, node, visit) ?? false);
  };
  return forEachPart(ts, fn, visit) ?? false;
}
