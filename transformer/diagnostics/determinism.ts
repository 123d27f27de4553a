/** What code of a run may only do inside a step: ask the time, chance or the environment, wait for timers, do I/O. */
import type ts from "typescript";
import type { Analysis } from "../plan/analysis.js";
import type { FunctionRecord } from "../plan/survey.js";
import { forEachPart, isMember, memberName, memberRoot, unwrap } from "../plan/syntax.js";
import { type CodeOfRuns, callers } from "./code-of-runs.js";
import type { Finding, Rule, Subject } from "./finding.js";
import type { FunctionLookup } from "./functions.js";
import { impureCall, impureConstruction, impureRead } from "./impure.js";
import { type OriginOf, traceOrigins } from "./origins.js";
import { findNodes } from "./walk.js";

export const determinism: Rule = (subject) => {
  const originOf = traceOrigins(subject.source, subject.scopes);
  const found = [impureCalls, impureCallbacks, environment].flatMap((find) => find(subject, originOf));
  return found.filter(({ at }) => matters(subject, at));
};

/** What is impure about calling a function: what itself, or what it calls in its file, would do outside a step. */
export function impurityOf(analysis: Analysis, functions: FunctionLookup, called: FunctionRecord): Finding | undefined {
  const reached = new Set([called]);
  for (const { functions: inner, calls } of reached) {
    for (const record of inner) reached.add(record);
    for (const { node } of calls) reached.add(functions.meantBy(node.expression) ?? called);
  }
  const runs: CodeOfRuns = {
    roleOf: (record) => (reached.has(record) ? "helper" : undefined),
    leadsToSteps: () => false,
    bodies: new Set(),
    isWorkflow: () => false,
  };
  return determinism({ ...analysis, functions, runs })[0];
}

function impureCalls({ source, found, runs }: Subject, originOf: OriginOf): Finding[] {
  return found.calls.flatMap(({ node, owner, sited }) => {
    if (sited !== undefined || runs.roleOf(owner) === undefined) return [];
    const origin = originOf(node.expression);
    if (origin === undefined) return [];
    const isNew = source.ts.isNewExpression(node);
    const code = isNew ? impureConstruction(origin, (node.arguments?.length ?? 0) > 0) : impureCall(origin);
    if (code === undefined) return [];
    const what = `A workflow's code calls \`${isNew ? "new " : ""}${shown(origin)}()\` outside a step`;
    return [{ code, at: isNew ? node : node.expression, what }];
  });
}

/** `items.map(Math.random)`. */
function impureCallbacks({ source, found, runs }: Subject, originOf: OriginOf): Finding[] {
  const { ts } = source;
  return found.calls.flatMap(({ node, owner, sited }) => {
    const callee = unwrap(ts, node.expression);
    if (sited !== undefined || runs.roleOf(owner) === undefined) return [];
    if (!isMember(ts, callee) || !callers.has(memberName(ts, callee) ?? "")) return [];
    return (node.arguments ?? []).flatMap((given) => {
      const origin = originOf(given);
      const code = origin === undefined ? undefined : impureCall(origin);
      return code === undefined
        ? []
        : [{ code, at: given, what: `A workflow's code has \`${shown(origin!)}\` called outside a step` }];
    });
  });
}

/** `process.env`, in whatever way it is read. */
function environment({ source, functions, runs }: Subject, originOf: OriginOf): Finding[] {
  const { ts } = source;
  if (!source.mentions("env") && !source.mentions("argv")) return [];
  const isRead = (node: ts.Node): node is ts.Expression => isMember(ts, node) || ts.isIdentifier(node);
  return findNodes(source, isRead).flatMap((node) => {
    const parent = source.parents.get(node);
    // The name of a member or a declaration is no read of its own.
    if (ts.isIdentifier(node) && (parent === undefined || !isOperand(ts, parent, node))) return [];
    const origin = originOf(node);
    const code = origin === undefined ? undefined : impureRead(origin);
    if (code === undefined || runs.roleOf(functions.around(node)) === undefined) return [];
    return [{ code, at: node, what: `A workflow's code reads \`${shown(origin!)}\` outside a step` }];
  });
}

function isOperand(ts: Subject["source"]["ts"], parent: ts.Node, node: ts.Identifier): boolean {
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isVariableDeclaration(parent) || ts.isBindingElement(parent) || ts.isPropertyAssignment(parent)) {
    return parent.initializer === node;
  }
  return ts.isExpression(parent) || ts.isShorthandPropertyAssignment(parent);
}

/** A module's function as code would name it: `readFile`, `performance.now`. */
function shown(origin: string): string {
  return origin
    .replace(/^new stepmark\.Stepmark\./, "app.")
    .replace(/^node:process\b/, "process")
    .replace(/^(?:node:[\w/]+|uuid|nanoid|ulid|undici|@paralleldrive\/cuid2)\./, "");
}

/** Whether what was read can influence the run: not what goes to a log, or is fixed by the first pass. */
export function matters(subject: Subject, at: ts.Node): boolean {
  const { source, scopes, found } = subject;
  const { ts, parents } = source;
  let child: ts.Node = at;
  for (let node = parents.get(at); node !== undefined; child = node, node = parents.get(node)) {
    if (ts.isFunctionLike(node))
      return subject.runs.roleOf(subject.functions.around(at)) === "flow" || answers(subject, at);
    if (!ts.isCallExpression(node) || node.expression === child) continue;
    const root = memberRoot(ts, node.expression);
    if (ts.isIdentifier(root) && root.text === "console" && scopes.resolve(root) === undefined) return false;
    // The time that a timer is set to, what a question shows and what is published are those of the first pass.
    const sited = found.calls.find((call) => call.node === node)?.sited;
    if (sited === "sleep" || sited === "waitFor" || sited === "publish") return false;
  }
  return true;
}

/** Whether the helper around hands anything back. */
function answers({ source, functions }: Subject, at: ts.Node): boolean {
  const { ts } = source;
  const { node } = functions.around(at);
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return true;
  const returns = (inner: ts.Node): boolean => {
    if (ts.isReturnStatement(inner)) return inner.expression !== undefined;
    if (inner !== node && ts.isFunctionLike(inner)) return false;
    return forEachPart(ts, inner, returns) ?? false;
  };
  return returns(node);
}
