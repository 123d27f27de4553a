/** Decodes the final source maps: each string literal of the sources has to be traced back to where it stands. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import ts from "typescript";
import { type Project, sourcesOf } from "./project.js";

interface Position {
  file: string;
  /** From 1. */
  line: number;
  /** From 0. */
  column: number;
}

export interface MapsChecked {
  positions: number;
  differences: string[];
}

export function checkMaps(out: string, project: Project): MapsChecked {
  const checked: MapsChecked = { positions: 0, differences: [] };
  if (!existsSync(out)) return checked;
  const literals = literalsOf(project);
  const files = readdirSync(out, { recursive: true, encoding: "utf8" }).map((name) => path.join(out, name));
  for (const file of files.filter((name) => /\.[cm]?js$/.test(name) && existsSync(`${name}.map`))) {
    checkFile(file, literals, checked);
  }
  return checked;
}

function checkFile(file: string, literals: ReadonlyMap<string, Position>, checked: MapsChecked): void {
  const code = readFileSync(file, "utf8");
  const map = new TraceMap(readFileSync(`${file}.map`, "utf8"), `${file}.map`);
  for (const [text, position] of literals) {
    const at = placeOf(code, text);
    if (at === undefined) continue;
    const traced = originalPositionFor(map, at);
    // Where a minifier writes a constant's value into code of its own, that is of no source.
    if (traced.source === null) continue;
    checked.positions++;
    // webpack writes them as URLs.
    const source = path.resolve(path.dirname(file), decodeURI(traced.source));
    const is = `${source}:${traced.line}:${traced.column}`;
    const should = `${position.file}:${position.line}:${position.column}`;
    if (is !== should) checked.differences.push(`map: "${text}" is at ${should}, traced to ${is}`);
  }
}

/** Where a literal stands in generated code, if it is there once. */
function placeOf(code: string, text: string): { line: number; column: number } | undefined {
  const found = [...code.matchAll(new RegExp(`(["'\`])${text}\\1`, "g"))];
  if (found.length !== 1) return undefined;
  const before = code.slice(0, found[0]!.index).split("\n");
  return { line: before.length, column: before.at(-1)!.length };
}

/** Literals whose words occur nowhere else in the sources, not as names either. */
function literalsOf({ folder }: Project): Map<string, Position> {
  const found = new Map<string, Position>();
  const texts = sourcesOf(folder).map((file) => ({ file, text: readFileSync(file, "utf8") }));
  const all = texts.map(({ text }) => text).join("\n");
  for (const { file, text } of texts) {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node) && /^[\w ]{4,}$/.test(node.text)) {
        const isAlone = all.split(new RegExp(`\\b${node.text}\\b`)).length === 2;
        const { line, character } = source.getLineAndCharacterOfPosition(node.getStart(source));
        if (isAlone) found.set(node.text, { file, line: line + 1, column: character });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}
