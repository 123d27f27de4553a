/** A source file of the project, with all that the lock file keeps of its places. */

import { hash } from "node:crypto";
import type ts from "typescript";
import type { Row } from "../../runtime/scope/site-table.js";
import { analyse } from "../plan/analysis.js";
import { baseOf, bodyOf, ownArguments } from "../plan/anchors.js";
import { placesAnalysed } from "../plan/index.js";
import { parentPastWrappers, type TypeScript } from "../plan/syntax.js";
import { type PresentPlace, placesOf } from "./places.js";

export interface SourcePlace extends PresentPlace {
  /** 1-based. */
  readonly line: number;
  /** Fingerprints of a call's arguments without the name of what it calls; of a function `-`. */
  readonly rest: string;
  /** What a step calls, if it has another name. */
  readonly calls: string | undefined;
  /** Fingerprints of the heads of the loops around it, outermost first. */
  readonly heads: readonly string[];
  /** The call whose callee the function is, if it is called where it stands. */
  readonly by: string | undefined;
  /** Fingerprints of the statements before and after a call of whose result nothing is made; else empty. */
  readonly near: string;
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
  const places = placesOf(path, rows, (row) => placed[row]!.own).map((place, index): SourcePlace => {
    const { row, node, around, loops } = placed[index]!;
    const isCall = ts.isCallExpression(node) || ts.isNewExpression(node);
    const name = baseOf(place.anchor);
    const callee = isCall && place.kind === "site" ? bodyOf(ts, node) : undefined;
    return {
      ...place,
      line: row[3],
      rest: isCall ? restOf(ownArguments(ts, node).map(spell), callee ?? name) : "-",
      calls: callee === name ? undefined : callee,
      heads: loops.map((loop) => short(headOf(ts, loop).map(spell).join(" "))),
      by: isCall ? undefined : anchors.get(callOf(node)!),
      near: isCall ? around.map((text) => text.slice(0, 6) || "-").join(".") : "",
      excerpt: () => excerptOf(file.text.slice(node.getStart(file), node.end)),
    };
  });
  return { path, rows, places, mentions: analysis.source.mentions };
}

/** What is called has another name after a renaming, wherever the call says it. */
function restOf(args: readonly string[], name: string): string {
  const digests = args.slice(0, mostArguments).map((arg) => short(arg.includes(name) ? without(name, arg) : arg));
  return digests.join("-") || "-";
}

function without(name: string, text: string): string {
  if (text === name) return "*";
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(`(?<![\\w$])${escaped}(?![\\w$])`, "g"), "*");
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
