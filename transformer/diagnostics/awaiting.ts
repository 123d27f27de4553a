/** Calls that lead to steps, and whose promise nobody awaits. */
import type ts from "typescript";
import { referencesIn } from "../plan/captures.js";
import { isGlobal } from "../plan/library.js";
import type { Binding } from "../plan/scopes.js";
import type { CallRecord } from "../plan/survey.js";
import { isMember, memberName, parentPastWrappers, unwrap } from "../plan/syntax.js";
import type { Finding, Rule, Subject } from "./finding.js";
import { pathThatMisses } from "./paths.js";

export const awaiting: Rule = (subject) => {
  const references = readsByBinding(subject);
  return subject.found.calls.flatMap((call) => {
    const name = promisedBy(subject, call);
    if (name === undefined) return [];
    return faultOf(subject, call, name, references);
  });
};

function faultOf(subject: Subject, { node }: CallRecord, name: string, references: Reads): Finding[] {
  const { source } = subject;
  const fate = fateOf(subject, node);
  if (fate.kind === "dropped") {
    return [{ code: "STEPMARK2001", at: node.expression, what: `Nobody awaits the promise of \`${name}\`` }];
  }
  if (fate.kind === "forEach") {
    const what = `\`forEach\` drops the promises of its callback, which calls \`${name}\``;
    return [{ code: "STEPMARK2003", at: fate.at, what }];
  }
  if (fate.kind !== "kept") return [];
  const { binding } = fate;
  const reads = references().get(binding) ?? [];
  if (reads.length === 0) {
    const what = `The promise of \`${name}\` is put into \`${binding.name}\`, and nobody awaits it`;
    return [{ code: "STEPMARK2001", at: node.expression, what }];
  }
  const end = pathThatMisses(subject.source, binding, reads);
  if (end === undefined) return [];
  const { line } = source.file.getLineAndCharacterOfPosition(end.getStart(source.file));
  const where = source.ts.isReturnStatement(end)
    ? `returns at line ${line + 1}`
    : `leaves the block at line ${line + 1}`;
  const what = `Nobody awaits \`${binding.name}\`, the promise of \`${name}\`, on the path that ${where}`;
  return [{ code: "STEPMARK2002", at: node.expression, what }];
}

/** What the promise of a call stands for: a sited function, or an async function of this file that leads to steps. */
function promisedBy({ source, functions, runs }: Subject, { node, sited }: CallRecord): string | undefined {
  const { ts } = source;
  // A stream, which is read and not awaited.
  if (sited === "events") return undefined;
  if (sited !== undefined) return sited;
  if (ts.isNewExpression(node)) return undefined;
  const called = functions.meantBy(node.expression);
  if (called === undefined || !runs.leadsToSteps(called) || !isAsync(ts, called.node)) return undefined;
  const callee = unwrap(ts, node.expression);
  return ts.isIdentifier(callee) ? callee.text : "(async () => ...)";
}

function isAsync(ts: Subject["source"]["ts"], node: ts.Node): boolean {
  if (!ts.canHaveModifiers(node) || (ts.isFunctionDeclaration(node) && node.asteriskToken)) return false;
  if (ts.isFunctionExpression(node) && node.asteriskToken) return false;
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) ?? false;
}

type Fate =
  | { readonly kind: "used" | "dropped" }
  | { readonly kind: "kept"; readonly binding: Binding }
  /** The callback of a `forEach` that nobody awaits either. */
  | { readonly kind: "forEach"; readonly at: ts.Node };

const used: Fate = { kind: "used" };
const dropped: Fate = { kind: "dropped" };

/** What becomes of a promise, followed outwards through what hands it on. */
function fateOf(subject: Subject, node: ts.Node): Fate {
  const { source, scopes } = subject;
  const { ts } = source;
  const { parent, child } = parentPastWrappers(source, node);
  if (parent === undefined) return used;
  if (ts.isExpressionStatement(parent)) return dropped;
  if (ts.isForStatement(parent)) return parent.condition === child ? used : dropped;
  if (ts.isAwaitExpression(parent)) return fateOfCallback(subject, parent);
  if (ts.isConditionalExpression(parent)) return parent.condition === child ? used : fateOf(subject, parent);
  if (ts.isArrayLiteralExpression(parent)) return fateOf(subject, parent);
  if (ts.isArrowFunction(parent)) return fateOfCallback(subject, child);
  if (ts.isReturnStatement(parent)) return fateOfCallback(subject, child);
  if (ts.isBinaryExpression(parent)) {
    const { CommaToken, AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken, EqualsToken } = ts.SyntaxKind;
    const operator = parent.operatorToken.kind;
    if (operator === CommaToken) return parent.left === child ? dropped : fateOf(subject, parent);
    if ([AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken].includes(operator)) {
      return parent.left === child ? used : fateOf(subject, parent);
    }
    if (operator !== EqualsToken || parent.right !== child || !ts.isIdentifier(parent.left)) return used;
    const binding = scopes.resolve(parent.left);
    const isStatement = ts.isExpressionStatement(parentPastWrappers(source, parent).parent ?? parent);
    return binding !== undefined && isStatement && isLocal(subject, binding) ? { kind: "kept", binding } : used;
  }
  if (ts.isVariableDeclaration(parent)) {
    if (!ts.isIdentifier(parent.name) || isShared(subject, parent)) return used;
    const binding = scopes.resolve(parent.name);
    return binding === undefined ? used : { kind: "kept", binding };
  }
  if (isMember(ts, parent) && ["then", "catch", "finally"].includes(memberName(ts, parent) ?? "")) {
    const { parent: call, child: callee } = parentPastWrappers(source, parent);
    const isCalled = call !== undefined && ts.isCallExpression(call) && call.expression === callee;
    return isCalled ? fateOf(subject, call) : used;
  }
  if (ts.isCallExpression(parent) && parent.expression !== child) {
    return isCombinator(subject, parent.expression) ? fateOf(subject, parent) : used;
  }
  return used;
}

/** `forEach(async () => { await step(x); })` and `forEach(() => step(x))`, as statements. */
function fateOfCallback({ source }: Subject, inside: ts.Node): Fate {
  const { ts, parents } = source;
  let at: ts.Node | undefined = inside;
  while (at !== undefined && !ts.isFunctionLike(at)) at = parents.get(at);
  if (at === undefined || !(ts.isArrowFunction(at) || ts.isFunctionExpression(at)) || at.asteriskToken) return used;
  const { parent: call, child: callback } = parentPastWrappers(source, at);
  if (call === undefined || !ts.isCallExpression(call) || call.arguments[0] !== callback) return used;
  const callee = unwrap(ts, call.expression);
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== "forEach") return used;
  const isStatement = ts.isExpressionStatement(parentPastWrappers(source, call).parent ?? call);
  return isStatement ? { kind: "forEach", at: callee.name } : used;
}

/** `Promise.all` and its like, which hand the promises on. */
function isCombinator({ source, scopes }: Subject, callee: ts.Expression): boolean {
  const { ts } = source;
  const member = unwrap(ts, callee);
  if (!isMember(ts, member) || !isGlobal(source, scopes, unwrap(ts, member.expression), "Promise")) return false;
  return ["all", "allSettled", "any", "race", "resolve"].includes(memberName(ts, member) ?? "");
}

/** Whether other code than that around may read the variable, or the language waits for it: `export`, `await using`. */
function isShared({ source }: Subject, declaration: ts.VariableDeclaration): boolean {
  const { ts, parents } = source;
  const list = parents.get(declaration)!;
  const flags = list.flags & ts.NodeFlags.BlockScoped;
  if (flags !== 0 && flags !== ts.NodeFlags.Let && flags !== ts.NodeFlags.Const) return true;
  const statement = parents.get(list);
  return statement !== undefined && ts.isVariableStatement(statement) && (statement.modifiers?.length ?? 0) > 0;
}

function isLocal({ source }: Subject, { kind, scope }: Binding): boolean {
  return (kind === "let" || kind === "var") && !source.ts.isSourceFile(scope.owner);
}

type Reads = () => ReadonlyMap<Binding, readonly ts.Identifier[]>;

/** Where each variable is read; worked out when it is first asked for. */
function readsByBinding({ source, scopes }: Subject): Reads {
  let known: Map<Binding, ts.Identifier[]> | undefined;
  return () => {
    if (known !== undefined) return known;
    known = new Map();
    for (const identifier of referencesIn(source, source.file)) {
      const binding = scopes.resolve(identifier);
      if (binding === undefined) continue;
      const reads = known.get(binding);
      if (reads === undefined) known.set(binding, [identifier]);
      else reads.push(identifier);
    }
    return known;
  };
}
