/**
 * Marks: comments that say which call is which, whatever an edit does to it. Each stands behind the opening parenthesis of a
 * call, `step(/*@3*\/ charge, card)`; fingerprints drop comments. An edit that moves a call moves its mark, a copy and a new call
 * have none; a call that stands for another one inside a third has the marks of both.
 */
import MagicString from "magic-string";
import ts from "typescript";
import { analyse } from "../../transformer/plan/analysis.js";
import { type PlacedRow, placesAnalysed } from "../../transformer/plan/index.js";
import { type Project, parse } from "./project.js";

export type Call = ts.CallExpression | ts.NewExpression;

/** The texts with a mark at each call that has a place. */
export function mark(files: ReadonlyMap<string, string>): Map<string, string> {
  let number = 0;
  return new Map(
    [...files].map(([path, text]) => {
      const edited = new MagicString(text);
      for (const { node } of placesIn(path, text)) {
        if (isCall(node) && node.arguments !== undefined) edited.appendLeft(node.arguments.pos, spell(`${++number}`));
      }
      return [path, edited.toString()];
    }),
  );
}

/** A project with marks at the calls that have none yet, as an edit has added them. */
export function markNew(project: Project, prefix: string): Project {
  let number = 0;
  const files = [...project.files].map(([path, text]) => {
    const edited = new MagicString(text);
    for (const { node } of placesIn(path, text)) {
      if (isCall(node) && node.arguments !== undefined && marksOf(node).length === 0)
        edited.appendLeft(node.arguments.pos, spell(`${prefix}${++number}`));
    }
    return [path, edited.toString()] as const;
  });
  return { ...project, files: new Map(files) };
}

/** The places of a file, in the order of its site table. */
export function placesIn(path: string, text: string): PlacedRow[] {
  const analysis = analyse(ts, parse(path, text), { included: false });
  return analysis === undefined ? [] : placesAnalysed(analysis);
}

export function isCall(node: ts.Node): node is Call {
  return ts.isCallExpression(node) || ts.isNewExpression(node);
}

/** The marks of a call, outermost first. */
export function marksOf(call: Call): string[] {
  const { text } = call.getSourceFile();
  const [, comments = ""] = /^\s*((?:\/\*@\w+\*\/\s*)*)/.exec(text.slice(call.arguments?.pos ?? call.end))!;
  return [...comments.matchAll(/@(\w+)/g)].map(([, name]) => name!);
}

/** The marks of a place: those of a call, and for a function those of the call that it is given to. */
export function marksAt(node: ts.Node): string[] {
  if (isCall(node)) return marksOf(node);
  const { parent } = node;
  return isCall(parent) && parent.arguments?.some((each) => each === node) ? marksOf(parent) : [];
}

export function spell(name: string): string {
  return `/*@${name}*/`;
}

/** A text that is a copy, or new. */
export function withoutMarks(text: string): string {
  return text.replace(/\/\*@\w+\*\/ ?/g, "");
}

export function allMarks(files: ReadonlyMap<string, string>): Set<string> {
  return new Set([...files.values()].flatMap((text) => [...text.matchAll(/\/\*@(\w+)\*\//g)].map(([, name]) => name!)));
}
