/** Options of steps that can be judged by their text. */
import type ts from "typescript";
import type { CallRecord } from "../plan/survey.js";
import { isLoop, isMember, memberName, parentPastWrappers, propertyText, unwrap } from "../plan/syntax.js";
import type { Finding, Rule, Subject } from "./finding.js";

export const keys: Rule = (subject) => [
  ...literalKeys(subject),
  ...workedOutNames(subject),
  ...unknownOptions(subject),
];

interface KeyedCall {
  readonly call: CallRecord;
  readonly at: ts.Node;
  readonly key: string;
}

function literalKeys(subject: Subject): Finding[] {
  const keyed = subject.found.calls.flatMap((call) => keyOf(subject, call));
  const found: Finding[] = [];
  for (const [index, { call, at, key }] of keyed.entries()) {
    if (key === "") {
      found.push({ code: "STEPMARK5001", at, what: "The step's key is empty" });
      continue;
    }
    const before = keyed.slice(0, index).find((other) => other.key === key && other.call.owner === call.owner);
    if (before !== undefined && mayBothRun(subject, before.call.node, call.node)) {
      const { line } = subject.source.file.getLineAndCharacterOfPosition(before.at.getStart(subject.source.file));
      found.push({ code: "STEPMARK5002", at, what: `The key ${JSON.stringify(key)} is also that of line ${line + 1}` });
    } else if (runsAgain(subject, call)) {
      found.push({ code: "STEPMARK5003", at, what: `The key ${JSON.stringify(key)} is the same for every item` });
    }
  }
  return found;
}

function optionsOf({ source }: Subject, { node, sited }: CallRecord): ts.ObjectLiteralExpression | undefined {
  const { ts } = source;
  const [first] = node.arguments ?? [];
  if (sited !== "step" || first === undefined) return undefined;
  const options = unwrap(ts, first);
  return ts.isObjectLiteralExpression(options) ? options : undefined;
}

function keyOf(subject: Subject, call: CallRecord): KeyedCall[] {
  const { ts } = subject.source;
  return (optionsOf(subject, call)?.properties ?? []).flatMap((property) => {
    if (!ts.isPropertyAssignment(property) || propertyText(ts, property.name) !== "key") return [];
    const value = unwrap(ts, property.initializer);
    return ts.isStringLiteralLike(value) ? [{ call, at: value, key: value.text }] : [];
  });
}

/** Names that are known only when the code runs, when the call has its place and its name already. */
function workedOutNames(subject: Subject): Finding[] {
  const { ts } = subject.source;
  return subject.found.calls.flatMap((call) =>
    (optionsOf(subject, call)?.properties ?? []).flatMap((property) => {
      const isShort = ts.isShorthandPropertyAssignment(property);
      if (!isShort && !ts.isPropertyAssignment(property)) return [];
      if (propertyText(ts, property.name) !== "name") return [];
      if (!isShort && ts.isStringLiteralLike(unwrap(ts, property.initializer))) return [];
      return [
        {
          code: "STEPMARK5005" as const,
          at: property,
          what: "The step's name is not a literal text, so it is not used",
        },
      ];
    }),
  );
}

/** Whether one activation of a function can come to both calls, the first standing before the second. */
function mayBothRun({ source }: Subject, first: ts.Node, second: ts.Node): boolean {
  const { ts, parents } = source;
  const around = new Set<ts.Node>();
  for (let at: ts.Node | undefined = second; at !== undefined; at = parents.get(at)) around.add(at);
  let child: ts.Node = first;
  let leaves = false;
  for (let at = parents.get(first); at !== undefined; child = at, at = parents.get(at)) {
    // `if (x) return step(...)`, and blocks that end like that.
    if (!around.has(at) && isWayOut(ts, lastOf(ts, at))) leaves = true;
    if (isTried(ts, at, child)) leaves = false;
    if (around.has(at)) return !leaves && !isChoice(ts, at);
  }
  return true;
}

/** `if`, `?:` and `switch`, of whose parts one is taken; the calls stand in different parts. */
function isChoice(ts: Subject["source"]["ts"], node: ts.Node): boolean {
  return ts.isIfStatement(node) || ts.isConditionalExpression(node) || ts.isCaseBlock(node);
}

function isWayOut(ts: Subject["source"]["ts"], node: ts.Node | undefined): boolean {
  if (node === undefined) return false;
  return ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isBreakOrContinueStatement(node);
}

/** The statement that a block ends with; another node itself. */
function lastOf(ts: Subject["source"]["ts"], node: ts.Node): ts.Node | undefined {
  return ts.isBlock(node) ? node.statements.at(-1) : node;
}

/** A `try` block that returns may also fail, and control goes on after it. */
function isTried(ts: Subject["source"]["ts"], node: ts.Node, part: ts.Node): boolean {
  return ts.isTryStatement(node) && node.tryBlock === part && node.catchClause !== undefined;
}

const repeating = new Set("map flatMap forEach".split(" "));

/** Whether the call stands in a loop, or in the callback of one, of its own function. */
function runsAgain({ source }: Subject, { node }: CallRecord): boolean {
  const { ts, parents } = source;
  let child: ts.Node = node;
  let leaves = false;
  for (let at = parents.get(node); at !== undefined; child = at, at = parents.get(at)) {
    const last = lastOf(ts, at);
    if (isWayOut(ts, last) && !ts.isContinueStatement(last!)) leaves = true;
    if (isTried(ts, at, child)) leaves = false;
    if (isLoop(ts, at) && !leaves && (at.statement === child || runsEachTime(ts, at, child))) return true;
    if (!ts.isFunctionLike(at)) continue;
    const { parent: call, child: callback } = parentPastWrappers(source, at);
    if (call === undefined || !ts.isCallExpression(call) || call.arguments[0] !== callback) return false;
    const callee = unwrap(ts, call.expression);
    return isMember(ts, callee) && repeating.has(memberName(ts, callee) ?? "");
  }
  return false;
}

/** Whether a part of the head runs in every iteration: not the start of a `for`, nor what a `for-of` goes through. */
function runsEachTime(ts: Subject["source"]["ts"], loop: ts.IterationStatement, part: ts.Node): boolean {
  if (ts.isForStatement(loop)) return part !== loop.initializer;
  return ts.isWhileStatement(loop) || ts.isDoStatement(loop);
}

const known = new Set("name key retries backoff retryIf timeout deadline executor".split(" "));

/** In JavaScript only: in TypeScript the types say it. */
function unknownOptions(subject: Subject): Finding[] {
  const { ts, file } = subject.source;
  if (!/\.[cm]?jsx?$/.test(file.fileName)) return [];
  return subject.found.calls.flatMap((call) =>
    (optionsOf(subject, call)?.properties ?? []).flatMap((property) => {
      if (property.name === undefined || ts.isComputedPropertyName(property.name)) return [];
      const name = propertyText(ts, property.name);
      if (known.has(name)) return [];
      return [{ code: "STEPMARK5004" as const, at: property.name, what: `\`step\` has no option \`${name}\`` }];
    }),
  );
}
