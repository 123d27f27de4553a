/** Calls that lead to steps, and whose promise nobody awaits. */
import type ts from "typescript";
import { referencesIn } from "../plan/captures.js";
import { isGlobal } from "../plan/library.js";
import type { Binding } from "../plan/scopes.js";
import type { CallRecord, FunctionRecord } from "../plan/survey.js";
import { isMember, memberName, parentPastWrappers, unwrap } from "../plan/syntax.js";
import { isCollection } from "./collections.js";
import type { Finding, Rule, Subject } from "./finding.js";
import { pathThatMisses } from "./paths.js";
import type { DiagnosticCode } from "./table.js";

export const awaiting: Rule = (subject) => {
  const references = readsByBinding(subject);
  return subject.found.calls.flatMap((call) => {
    const name = promisedBy(subject, call);
    if (name !== undefined) return faultOf(subject, call.node, name, fateOf(subject, call.node), references);
    const given = givenByName(subject, call);
    return given === undefined ? [] : faultOf(subject, call.node, given.name, given.fate, references);
  });
};

/** The faults of calls whose text does not show that they lead to steps, as `isFlow` knows by other means. */
export function faultsOfOthers(subject: Subject, isFlow: (callee: ts.Expression) => boolean): Finding[] {
  const { ts } = subject.source;
  const references = readsByBinding(subject);
  return subject.found.calls.flatMap(({ node, sited }) => {
    if (sited !== undefined || ts.isNewExpression(node)) return [];
    const fate = fateOf(subject, node);
    // What the text shows has been looked at.
    if (fate.kind === "used" || subject.functions.meantBy(node.expression) !== undefined) return [];
    const name = calleeName(ts, node.expression);
    return name !== undefined && isFlow(node.expression) ? faultOf(subject, node, name, fate, references) : [];
  });
}

function calleeName(ts: Subject["source"]["ts"], expression: ts.Expression): string | undefined {
  const callee = unwrap(ts, expression);
  if (ts.isIdentifier(callee)) return callee.text;
  return isMember(ts, callee) ? memberName(ts, callee) : undefined;
}

function faultOf(subject: Subject, node: CallRecord["node"], name: string, fate: Fate, references: Reads): Finding[] {
  if (fate.kind === "used") return [];
  const { by } = fate;
  const at = by ?? node.expression;
  const promise =
    by === undefined
      ? `the promise of \`${name}\``
      : `what \`${by.text}\` makes of its callback, which calls \`${name}\``;
  if (fate.kind === "kept") return faultOfKept(subject, at, promise, fate, references);
  const [code, what] = {
    dropped: ["STEPMARK2001", `Nobody awaits ${promise}`],
    forEach: ["STEPMARK2003", `\`forEach\` drops the promises of its callback, which calls \`${name}\``],
    answer: [
      "STEPMARK2004",
      by === undefined
        ? `The promise of \`${name}\` stands where its outcome is meant`
        : `\`${by.text}\` takes the promise of its callback, which calls \`${name}\`, for an answer`,
    ],
  }[fate.kind] as [DiagnosticCode, string];
  return [{ code, at, what }];
}

function faultOfKept(
  subject: Subject,
  at: ts.Node,
  promise: string,
  { binding, among }: Fate & { kind: "kept" },
  references: Reads,
): Finding[] {
  const { source } = subject;
  const reads = (references().get(binding) ?? []).filter((read) => !among || additionOf(subject, read) === undefined);
  if (reads.length === 0) {
    const what = `Nobody awaits \`${binding.name}\`, into which ${promise} is put`;
    return [{ code: "STEPMARK2001", at, what }];
  }
  // What a collection holds on a path depends on where it was filled.
  const end = among ? undefined : pathThatMisses(source, binding, reads);
  if (end === undefined) return [];
  const { line } = source.file.getLineAndCharacterOfPosition(end.getStart(source.file));
  const where = source.ts.isReturnStatement(end)
    ? `returns at line ${line + 1}`
    : `leaves the block at line ${line + 1}`;
  const what = `Nobody awaits \`${binding.name}\`, ${promise}, on the path that ${where}`;
  return [{ code: "STEPMARK2002", at, what }];
}

/** What the promise of a call stands for: a sited function, or an async function of this file that leads to steps. */
function promisedBy({ source, functions, runs }: Subject, { node, sited }: CallRecord): string | undefined {
  const { ts } = source;
  // A stream, which is read and not awaited.
  if (sited === "events") return undefined;
  if (sited !== undefined) return sited;
  if (ts.isNewExpression(node)) return undefined;
  const name = calleeName(ts, node.expression);
  if (runs.isWorkflow(node.expression)) return name;
  const called = functions.meantBy(node.expression);
  return isAsyncFlow({ source, runs }, called) ? (name ?? "(async () => ...)") : undefined;
}

function isAsyncFlow({ source, runs }: Pick<Subject, "source" | "runs">, called: FunctionRecord | undefined): boolean {
  return called !== undefined && runs.leadsToSteps(called) && isAsync(source.ts, called.node);
}

/** `items.map(price)`, where `price` is an async function of this file that leads to steps. */
function givenByName(subject: Subject, { node, sited }: CallRecord): { name: string; fate: Fate } | undefined {
  const { ts } = subject.source;
  if (sited !== undefined || !ts.isCallExpression(node)) return undefined;
  const given = node.arguments[0] && unwrap(ts, node.arguments[0]);
  if (given === undefined || !(ts.isIdentifier(given) || ts.isPropertyAccessExpression(given))) return undefined;
  if (!isAsyncFlow(subject, subject.functions.meantBy(given))) return undefined;
  return { name: given.getText(subject.source.file), fate: fateOfCallbackOf(subject, node) };
}

export function isAsync(ts: Subject["source"]["ts"], node: ts.Node): boolean {
  if (!ts.canHaveModifiers(node) || ("asteriskToken" in node && node.asteriskToken !== undefined)) return false;
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) ?? false;
}

/** What becomes of a promise; `by` is the method whose callback it comes from, if it is not the call itself. */
type Fate =
  | { readonly kind: "used" }
  /** Nobody has it; or the value is asked of it that it only promises; or a `forEach` drops it. */
  | { readonly kind: "dropped" | "answer" | "forEach"; readonly by?: ts.Identifier }
  /** A variable is or holds it, with others if `among`. */
  | { readonly kind: "kept"; readonly binding: Binding; readonly among?: true; readonly by?: ts.Identifier };

const used: Fate = { kind: "used" };
const dropped: Fate = { kind: "dropped" };
const answer: Fate = { kind: "answer" };

/** What becomes of a promise, followed outwards through what hands it on. */
function fateOf(subject: Subject, node: ts.Node): Fate {
  const { source, scopes } = subject;
  const { ts } = source;
  const { parent, child } = parentPastWrappers(source, node);
  if (parent === undefined) return used;
  if (ts.isExpressionStatement(parent)) return dropped;
  if (ts.isForStatement(parent)) return parent.condition === child ? answer : dropped;
  if (asksWhether(ts, parent)) return answer;
  if (ts.isTemplateSpan(parent)) return isTagged(source, parent) ? used : answer;
  if (ts.isAwaitExpression(parent)) return fateOfCallback(subject, parent);
  if (ts.isConditionalExpression(parent)) return parent.condition === child ? answer : fateOf(subject, parent);
  if (ts.isArrayLiteralExpression(parent)) return fateOf(subject, parent);
  if (ts.isArrowFunction(parent)) return fateOfCallback(subject, child);
  if (ts.isReturnStatement(parent)) return fateOfCallback(subject, child);
  if (ts.isBinaryExpression(parent)) {
    const { CommaToken, AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken, EqualsToken, PlusToken } =
      ts.SyntaxKind;
    const operator = parent.operatorToken.kind;
    if (operator === CommaToken) return parent.left === child ? dropped : fateOf(subject, parent);
    if ([AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken].includes(operator)) {
      if (parent.left !== child) return fateOf(subject, parent);
      return operator === QuestionQuestionToken ? used : answer;
    }
    if (operator === PlusToken) return answer;
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
    if (isCombinator(subject, parent.expression)) return fateOf(subject, parent);
    const callee = unwrap(ts, parent.expression);
    const binding = isMember(ts, callee) ? additionOf(subject, unwrap(ts, callee.expression)) : undefined;
    return binding === undefined ? used : { kind: "kept", binding, among: true };
  }
  return used;
}

/** `if`, `while`, `do`, `switch` and `!`, which ask for a value. */
function asksWhether(ts: Subject["source"]["ts"], node: ts.Node): boolean {
  if (ts.isPrefixUnaryExpression(node)) return node.operator === ts.SyntaxKind.ExclamationToken;
  return ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node) || ts.isSwitchStatement(node);
}

function isTagged({ ts, parents }: Subject["source"], span: ts.TemplateSpan): boolean {
  return ts.isTaggedTemplateExpression(parents.get(parents.get(span)!)!);
}

/** `promises.push(...)` and its like as a statement, where `promises` is a collection made here: the collection, by its name there. */
function additionOf({ source, scopes }: Subject, name: ts.Expression): Binding | undefined {
  const { ts } = source;
  if (!ts.isIdentifier(name)) return undefined;
  const { parent: member, child } = parentPastWrappers(source, name);
  if (member === undefined || !ts.isPropertyAccessExpression(member) || member.expression !== child) return undefined;
  if (!["push", "unshift", "add", "set"].includes(member.name.text)) return undefined;
  const { parent: call } = parentPastWrappers(source, member);
  if (call === undefined || !ts.isCallExpression(call) || call.expression !== member) return undefined;
  if (!ts.isExpressionStatement(parentPastWrappers(source, call).parent ?? call)) return undefined;
  const binding = scopes.resolve(name);
  if (binding === undefined || ts.isSourceFile(binding.scope.owner)) return undefined;
  return isCollection(source, binding) && !ts.isParameter(binding.declaration) ? binding : undefined;
}

/** What becomes of the promise of a callback, where that is an argument: `items.map(async (item) => { await step(f, item); })`. */
function fateOfCallback(subject: Subject, inside: ts.Node): Fate {
  const { ts, parents } = subject.source;
  let at: ts.Node | undefined = inside;
  while (at !== undefined && !ts.isFunctionLike(at)) at = parents.get(at);
  if (at === undefined || !(ts.isArrowFunction(at) || ts.isFunctionExpression(at)) || at.asteriskToken) return used;
  const { parent: call, child: callback } = parentPastWrappers(subject.source, at);
  if (call === undefined || !ts.isCallExpression(call) || call.arguments[0] !== callback) return used;
  return fateOfCallbackOf(subject, call);
}

/** What a call does with the promises of its first argument. */
function fateOfCallbackOf(subject: Subject, call: ts.CallExpression): Fate {
  const { source } = subject;
  const { ts } = source;
  const callee = unwrap(ts, call.expression);
  if (!ts.isPropertyAccessExpression(callee) || !ts.isIdentifier(callee.name)) return used;
  const by = callee.name;
  if (by.text === "forEach") {
    const isStatement = ts.isExpressionStatement(parentPastWrappers(source, call).parent ?? call);
    return isStatement ? { kind: "forEach", by } : used;
  }
  if (by.text === "map" || by.text === "flatMap") {
    const fate = fateOf(subject, call);
    return fate.kind === "dropped" || fate.kind === "kept" ? { ...fate, by } : used;
  }
  return predicates.has(by.text) && !isAwaited(source, call) ? { kind: "answer", by } : used;
}

const predicates = new Set("filter find findIndex findLast findLastIndex some every".split(" "));

/** Whether what is made of an expression by its members is awaited: then it may be a stream, whose methods wait. */
function isAwaited(source: Subject["source"], expression: ts.Expression): boolean {
  const { ts } = source;
  const { parent, child } = parentPastWrappers(source, expression);
  if (parent === undefined) return false;
  if (ts.isAwaitExpression(parent)) return true;
  if (ts.isForOfStatement(parent)) return parent.awaitModifier !== undefined;
  const goesOn = isMember(ts, parent) || (ts.isCallExpression(parent) && parent.expression === child);
  return goesOn && isAwaited(source, parent);
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
