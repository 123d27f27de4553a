/**
 * Names of places: what a site or a marked call calls, what a function is called, with an ordinal for repeats within one
 * function. All calls are counted, marked or not, so that leaving one out changes no other's name.
 */
import type ts from "typescript";
import { assignedName, type CallRecord, type FunctionRecord, type Survey } from "./survey.js";
import {
  functionLiteral,
  isMember,
  memberName,
  parentPastWrappers,
  propertyText,
  type Source,
  type TypeScript,
  unwrap,
} from "./syntax.js";

export interface Anchor {
  /** Unique among places of one kind in its function. */
  readonly text: string;
  /** How many such places share it, ordinals aside. */
  readonly shared: number;
}

export interface Anchors {
  readonly calls: ReadonlyMap<CallRecord, Anchor>;
  readonly functions: ReadonlyMap<FunctionRecord, Anchor>;
}

export function nameAnchors(source: Source, { functions, calls }: Survey): Anchors {
  const callAnchors = new Map<CallRecord, Anchor>();
  for (const { calls } of functions) {
    const inOrder = [...calls].sort(byEnd);
    const sites = inOrder.filter((call) => call.sited !== undefined);
    const others = inOrder.filter((call) => call.sited === undefined);
    number(sites, (call) => siteBase(source.ts, call), callAnchors);
    number(others, (call) => callBase(source.ts, call), callAnchors);
  }
  const callOf = new Map<ts.Node, CallRecord>(calls.map((call) => [call.node, call]));
  const functionAnchors = new Map<FunctionRecord, Anchor>();
  for (const { functions: inner } of functions) nameFunctions(source, inner, callOf, callAnchors, functionAnchors);
  return { calls: callAnchors, functions: functionAnchors };
}

/** By where calls end: a call put around another does not renumber it. Of two that end together the inner is first. */
function byEnd(a: CallRecord, b: CallRecord): number {
  return a.node.end - b.node.end || b.node.pos - a.node.pos;
}

/** Gives the second place of one name `~1`, the third `~2`; `suffix` comes after the ordinal. */
function number<T>(items: readonly T[], baseOf: (item: T) => string, into: Map<T, Anchor>, suffix = ""): void {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const base = baseOf(item);
    const group = groups.get(base);
    if (group === undefined) groups.set(base, [item]);
    else group.push(item);
  }
  for (const [base, group] of groups) {
    group.forEach((item, ordinal) => {
      into.set(item, { text: base + (ordinal === 0 ? "" : `~${ordinal}`) + suffix, shared: group.length });
    });
  }
}

/** A name that the user chose may hold the sign of our ordinals. */
function escapeSign(name: string): string {
  return name.replace(/[%~]/g, (sign) => (sign === "%" ? "%25" : "%7E"));
}

/** The anchor without its ordinal: `charge` of `charge~1`, `map()` of `map~2()`. */
export function baseOf(anchor: string): string {
  return anchor.replace(/~\d+/, "");
}

/** Functions whose first argument names what they do. */
const named: ReadonlySet<string> = new Set(["waitFor", "publish", "events"]);

function siteBase(ts: TypeScript, { node, sited }: CallRecord): string {
  const [first, second] = node.arguments ?? [];
  if (sited === "step") return stepBase(ts, first, second) ?? "step";
  if (sited === "child") return (first && referenceName(ts, first)) ?? "child";
  // In names of its own: its id is often the name of the step that is new.
  if (sited === "changed") return ["changed", first && literalName(ts, first)].filter(Boolean).join(":");
  if (named.has(sited!)) return (first && literalName(ts, first)) ?? sited!;
  return sited!;
}

/** `step(charge, x)`, `step(() => charge(x))`, `step("charge", fn)` and `step({ name: "charge" }, fn)`. */
function stepBase(
  ts: TypeScript,
  first: ts.Expression | undefined,
  second: ts.Expression | undefined,
): string | undefined {
  if (first === undefined || ts.isSpreadElement(first)) return undefined;
  const named = literalName(ts, first);
  if (named !== undefined) return named;
  const options = unwrap(ts, first);
  if (ts.isObjectLiteralExpression(options)) {
    return nameOption(ts, options) ?? (second && bodyName(ts, second));
  }
  if (ts.isTemplateExpression(options)) return second && bodyName(ts, second);
  return bodyName(ts, first);
}

function nameOption(ts: TypeScript, options: ts.ObjectLiteralExpression): string | undefined {
  for (const property of options.properties) {
    if (ts.isPropertyAssignment(property) && propertyText(ts, property.name) === "name") {
      return literalName(ts, property.initializer);
    }
  }
  return undefined;
}

/** The arguments of a call that are not about the call itself: those of a step without its name and options. */
export function ownArguments(ts: TypeScript, node: ts.CallExpression | ts.NewExpression): readonly ts.Expression[] {
  const [first, ...others] = node.arguments ?? [];
  if (first === undefined || others.length === 0) return node.arguments ?? [];
  const about = unwrap(ts, first);
  const isAbout =
    ts.isStringLiteralLike(about) || ts.isTemplateExpression(about) || ts.isObjectLiteralExpression(about);
  return isAbout ? others : (node.arguments ?? []);
}

/** What a step calls, whatever it is named. */
export function bodyOf(ts: TypeScript, node: ts.CallExpression | ts.NewExpression): string | undefined {
  const [body] = ownArguments(ts, node);
  return body && bodyName(ts, body);
}

/** The name of a step's body, by what it calls. */
function bodyName(ts: TypeScript, expression: ts.Expression): string | undefined {
  const literal = functionLiteral(ts, expression);
  if (literal === undefined) {
    const body = unwrap(ts, expression);
    return referenceName(ts, ts.isCallExpression(body) ? body.expression : body);
  }
  if (literal.name !== undefined) return literal.name.text;
  const call = onlyCall(ts, literal.body);
  return call && referenceName(ts, call.expression);
}

/** The one call that a body makes: `() => f()`, `() => { return await f(); }`; of `f().then(g)` it is `f()`. */
function onlyCall(ts: TypeScript, body: ts.ConciseBody): ts.CallExpression | ts.NewExpression | undefined {
  let result: ts.Expression | undefined;
  if (!ts.isBlock(body)) result = body;
  else if (body.statements.length === 1) {
    const statement = body.statements[0]!;
    if (ts.isReturnStatement(statement) || ts.isExpressionStatement(statement)) result = statement.expression;
  }
  for (;;) {
    if (result === undefined) return undefined;
    result = unwrap(ts, result);
    if (ts.isAwaitExpression(result) || ts.isVoidExpression(result)) result = result.expression;
    else if (ts.isCallExpression(result)) {
      const inner = chainedOn(ts, result);
      if (inner === undefined) return result;
      result = inner;
    } else return ts.isNewExpression(result) ? result : undefined;
  }
}

/** The call whose promise `.then`, `.catch` or `.finally` is called on. */
function chainedOn(ts: TypeScript, call: ts.CallExpression): ts.CallExpression | undefined {
  const callee = unwrap(ts, call.expression);
  if (!ts.isPropertyAccessExpression(callee) || !/^(then|catch|finally)$/.test(callee.name.text)) return undefined;
  const inner = unwrap(ts, callee.expression);
  return ts.isCallExpression(inner) ? inner : undefined;
}

/** The last name of a reference: `charge` in `charge`, `api.charge`, `this.charge` and `api["charge"]`. */
function referenceName(ts: TypeScript, expression: ts.Expression): string | undefined {
  const node = unwrap(ts, expression);
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken) {
    return referenceName(ts, node.right);
  }
  if (!isMember(ts, node)) return undefined;
  const name = memberName(ts, node);
  return name === undefined || name === "" ? undefined : escapeSign(name);
}

function literalName(ts: TypeScript, expression: ts.Expression): string | undefined {
  const node = unwrap(ts, expression);
  return ts.isStringLiteralLike(node) && node.text !== "" ? escapeSign(node.text) : undefined;
}

/** `m` for `o.m()`, `f` for `f()`, `C` for `new C`; `fn` for a function called where it stands, else `call`. */
function callBase(ts: TypeScript, { node, exported }: CallRecord): string {
  if (node.expression.kind === ts.SyntaxKind.SuperKeyword) return "super";
  if (node.expression.kind === ts.SyntaxKind.ImportKeyword) return "import";
  // A workflow's function is known by the workflow's name, not by how many workflows stand before it in the file.
  if (exported === "workflow") {
    const name = node.arguments?.[0] && literalName(ts, node.arguments[0]);
    if (name !== undefined) return name;
  }
  return referenceName(ts, node.expression) ?? (functionLiteral(ts, node.expression) === undefined ? "call" : "fn");
}

/**
 * A function given to a call is named after it: `map()` as the first such argument, `then(1)` as the second. All others
 * go by the name that they are declared with or assigned to: `helper{}`, `Cart.get total{}`, `{}`.
 */
function nameFunctions(
  source: Source,
  functions: readonly FunctionRecord[],
  callOf: ReadonlyMap<ts.Node, CallRecord>,
  callAnchors: ReadonlyMap<CallRecord, Anchor>,
  into: Map<FunctionRecord, Anchor>,
): void {
  const taken = new Set<string>();
  const named: FunctionRecord[] = [];
  for (const record of functions) {
    const argument = argumentAnchor(source, record, callOf, callAnchors);
    if (argument === undefined) {
      named.push(record);
      continue;
    }
    // Two calls of one name can be near when a class field's initialiser, which has its own count, creates a function.
    let text = argument.name + argument.ordinal + argument.shape;
    for (let ordinal = 1; taken.has(text); ordinal++) text = `${argument.name}~${ordinal}${argument.shape}`;
    taken.add(text);
    into.set(record, { text, shared: argument.shared });
  }
  number(named, (record) => record.prefix + ownName(source, record.node), into, "{}");
}

function argumentAnchor(
  source: Source,
  record: FunctionRecord,
  callOf: ReadonlyMap<ts.Node, CallRecord>,
  callAnchors: ReadonlyMap<CallRecord, Anchor>,
): { name: string; ordinal: string; shape: string; shared: number } | undefined {
  const { ts } = source;
  if (!ts.isArrowFunction(record.node) && !ts.isFunctionExpression(record.node)) return undefined;
  const { parent, child } = parentPastWrappers(source, record.node);
  const call = parent && callOf.get(parent);
  if (call === undefined) return undefined;
  const literals = (call.node.arguments ?? []).filter((argument) => functionLiteral(ts, argument) !== undefined);
  const index = literals.indexOf(child as ts.Expression);
  if (index < 0) return undefined;
  const { text, shared } = callAnchors.get(call)!;
  const [, name, ordinal] = /^(.*?)(~\d+)?$/s.exec(text)!;
  return { name: name!, ordinal: ordinal ?? "", shape: index === 0 ? "()" : `(${index})`, shared };
}

function ownName(source: Source, node: FunctionRecord["node"]): string {
  const { ts } = source;
  if (ts.isSourceFile(node)) return "";
  if (ts.isConstructorDeclaration(node)) return "constructor";
  if (ts.isClassStaticBlockDeclaration(node)) return "static";
  if (ts.isGetAccessorDeclaration(node)) return `get ${escapeSign(propertyText(ts, node.name))}`;
  if (ts.isSetAccessorDeclaration(node)) return `set ${escapeSign(propertyText(ts, node.name))}`;
  if (ts.isMethodDeclaration(node) || ts.isPropertyDeclaration(node)) return escapeSign(propertyText(ts, node.name));
  if (node.name !== undefined) return node.name.text;
  if (ts.isFunctionDeclaration(node)) return "default";
  return escapeSign(assignedName(source, node) ?? "");
}
