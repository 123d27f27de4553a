/** Which function of the same file an expression stands for, by binding. */
import type ts from "typescript";
import type { Analysis } from "../plan/analysis.js";
import type { FunctionRecord } from "../plan/survey.js";
import { functionLiteral, isFunctionNode, isMember, unwrap } from "../plan/syntax.js";
import { readMembers } from "./members.js";

export interface FunctionLookup {
  /** The function that an expression is, or is the name of; undefined if the file's text does not tell. */
  meantBy(expression: ts.Expression | undefined): FunctionRecord | undefined;
  /** The function (or field, or module) whose code a node is. */
  around(node: ts.Node): FunctionRecord;
}

export function lookUpFunctions({ source, scopes, found }: Analysis): FunctionLookup {
  const { ts, parents } = source;
  const recordOf = new Map<ts.Node, FunctionRecord>(found.functions.map((record) => [record.node, record]));

  const held = readMembers(source, scopes);
  /** Members that are being looked up: `const o = { pay: o.pay }` leads nowhere. */
  const under = new Set<ts.Node>();

  const meantBy = (expression: ts.Expression | undefined): FunctionRecord | undefined => {
    const literal = functionLiteral(ts, expression);
    if (literal !== undefined) return recordOf.get(literal);
    const inner = expression && unwrap(ts, expression);
    if (inner === undefined) return undefined;
    if (isMember(ts, inner)) return ofMember(inner);
    if (!ts.isIdentifier(inner)) return undefined;
    const binding = scopes.resolve(inner);
    if (binding === undefined || binding.reassigned) return undefined;
    const { declaration, kind } = binding;
    if (kind === "function") return recordOf.get(declaration);
    if (kind !== "const" || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
      return undefined;
    const { initializer } = declaration;
    return initializer === expression ? undefined : meantBy(initializer);
  };

  const ofMember = (member: ts.PropertyAccessExpression | ts.ElementAccessExpression): FunctionRecord | undefined => {
    const value = under.has(member) ? undefined : held(member);
    if (value === undefined || ts.isMethodDeclaration(value)) return value && recordOf.get(value);
    under.add(member);
    const meant = meantBy(value);
    under.delete(member);
    return meant;
  };

  const around = (node: ts.Node): FunctionRecord => {
    let child = node;
    for (let at = parents.get(node); at !== undefined; child = at, at = parents.get(at)) {
      if (!isFunctionNode(ts, at)) {
        const field = recordOf.get(at);
        if (field !== undefined) return field;
        continue;
      }
      const inside =
        ts.isClassStaticBlockDeclaration(at) || child === at.body || at.parameters.some((p) => p === child);
      const record = inside ? recordOf.get(at) : undefined;
      if (record !== undefined) return record;
    }
    return found.module;
  };

  return { meantBy, around };
}
