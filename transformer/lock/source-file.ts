/** A source file of the project, with all that the lock file keeps of its places. */

import { hash } from "node:crypto";
import type ts from "typescript";
import type { Row } from "../../runtime/scope/site-table.js";
import { analyse } from "../plan/analysis.js";
import { baseOf, bodyOf, ownArguments } from "../plan/anchors.js";
import { placesAnalysed } from "../plan/index.js";
import { parentPastWrappers, propertyText, type TypeScript, unwrap } from "../plan/syntax.js";
import { joinCallees } from "./lock-line.js";
import { type PresentPlace, placesOf } from "./places.js";

export interface SourcePlace extends PresentPlace {
  /** 1-based. */
  readonly line: number;
  /** Fingerprints of a call's arguments without the name of what it calls; of a function `-`. */
  readonly rest: string;
  /** What a step calls, if it has another name, or may be one of several; see `joinCallees`. */
  readonly calls: string | undefined;
  /** Fingerprints of the heads of the loops around it, outermost first. */
  readonly heads: readonly string[];
  /** The call whose callee the function is, if it is called where it stands. */
  readonly by: string | undefined;
  /** Fingerprints of the statements before and after a call of whose result nothing is made; else empty. */
  readonly near: string;
  /** Fingerprint of the `key` of a step; empty if it has none. */
  readonly key: string;
  /** Its source text on one line, shortened, for people. */
  excerpt(): string;
}

export interface SourceFile {
  readonly path: string;
  /** Its site table without a lock file. */
  readonly rows: readonly Row[];
  readonly places: readonly SourcePlace[];
  /** Whether its code speaks of a name. */
  mentions(name: string): boolean;
}

/** @returns undefined for a file that the transformer leaves alone */
export function readSourceFile(
  ts: TypeScript,
  file: ts.SourceFile,
  path: string,
  included: boolean,
): SourceFile | undefined {
  const analysis = analyse(ts, file, { included });
  if (analysis === undefined) return undefined;
  const placed = placesAnalysed(analysis);
  const rows = placed.map(({ row }) => row);
  const { spell } = analysis.fingerprints;
  const anchors = new Map(placed.map(({ row, node }) => [node, row[1]]));
  const callOf = (fn: ts.Node): ts.Node | undefined => {
    const { parent, child } = parentPastWrappers(analysis.source, fn);
    return parent !== undefined && ts.isCallExpression(parent) && parent.expression === child ? parent : undefined;
  };
  const choices = choicesIn(ts, file);
  const calleesOf = (node: ts.CallExpression | ts.NewExpression): string[] => {
    const [body] = ownArguments(ts, node);
    const chosen = body === undefined ? [] : choiceOf(ts, body);
    const names = chosen.length > 0 ? chosen : [bodyOf(ts, node)].filter((name) => name !== undefined);
    return names.flatMap((each) => [each, ...(choices.get(each) ?? [])]);
  };
  const places = placesOf(path, rows, (row) => placed[row]!.own).map((place, index): SourcePlace => {
    const { row, node, around, loops } = placed[index]!;
    const isCall = ts.isCallExpression(node) || ts.isNewExpression(node);
    const name = baseOf(place.anchor);
    const callees = isCall && place.kind === "site" ? calleesOf(node) : [];
    const isNamed = callees.length === 0 || (callees.length === 1 && callees[0] === name);
    return {
      ...place,
      line: row[3],
      rest: isCall ? restOf(ownArguments(ts, node).map(spell), callees[0] ?? name, callees.length > 1) : "-",
      calls: isNamed ? undefined : joinCallees(callees),
      heads: loops.map((loop) => short(headOf(ts, loop).map(spell).join(" "))),
      by: isCall ? undefined : anchors.get(callOf(node)!),
      near: isCall ? around.map((text) => text.slice(0, 6) || "-").join(".") : "",
      key: isCall && place.kind === "site" ? keyOf(ts, node, spell) : "",
      excerpt: () => excerptOf(file.text.slice(node.getStart(file), node.end)),
    };
  });
  return { path, rows, places, mentions: analysis.source.mentions };
}

/**
 * What is called has another name after a renaming, wherever the call says it.
 *
 * @param isChosen whether the first argument is one of several functions
 */
function restOf(args: readonly string[], name: string, isChosen: boolean): string {
  const digests = args
    .slice(0, mostArguments)
    .map((arg, index) =>
      short(isChosen && index === 0 && name !== arg ? "*" : arg.includes(name) ? without(name, arg) : arg),
    );
  return digests.join("-") || "-";
}

/** Names at the top of a file that stand for one of some functions, by other names. */
function choicesIn(ts: TypeScript, file: ts.SourceFile): ReadonlyMap<string, readonly string[]> {
  const choices = new Map<string, readonly string[]>();
  for (const statement of file.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      const names = ts.isIdentifier(name) && initializer !== undefined ? choiceOf(ts, initializer) : [];
      if (names.length > 0) choices.set((name as ts.Identifier).text, names);
    }
  }
  return choices;
}

/** The last names of references of which an expression is one: `a` and `b` of `x ? a : api.b`. */
function choiceOf(ts: TypeScript, expression: ts.Expression): string[] {
  const node = unwrap(ts, expression);
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap((each) => choiceOf(ts, each));
  if (ts.isBinaryExpression(node) && isEither(ts, node))
    return [node.left, node.right].flatMap((each) => choiceOf(ts, each));
  if (ts.isIdentifier(node)) return [node.text];
  return ts.isPropertyAccessExpression(node) ? [node.name.text] : [];
}

function isEither(ts: TypeScript, { operatorToken: { kind } }: ts.BinaryExpression): boolean {
  return kind === ts.SyntaxKind.QuestionQuestionToken || kind === ts.SyntaxKind.BarBarToken;
}

function without(name: string, text: string): string {
  if (text === name) return "*";
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(`(?<![\\w$])${escaped}(?![\\w$])`, "g"), "*");
}

/** Options stand before what a step calls, behind its name if it has one. */
function keyOf(ts: TypeScript, node: ts.CallExpression | ts.NewExpression, spell: (node: ts.Node) => string): string {
  const options = (node.arguments ?? [])
    .slice(0, 2)
    .map((each) => unwrap(ts, each))
    .find(ts.isObjectLiteralExpression);
  const key = options?.properties.find(({ name }) => name !== undefined && propertyText(ts, name) === "key");
  return key === undefined ? "" : short(spell(key));
}

/** What a loop goes over: all of it but its body. */
function headOf(ts: TypeScript, loop: ts.Node): ts.Node[] {
  const head: ts.Node[] = [];
  ts.forEachChild(loop, (child) => {
    if (!ts.isStatement(child)) head.push(child);
  });
  return head;
}

function short(text: string): string {
  return hash("sha256", text).slice(0, 4);
}

/** Enough to know a call by. */
const mostArguments = 8;

const longest = 60;

function excerptOf(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}
