/** The source map of an edited text. */
import type MagicString from "magic-string";
import { SourceMap, type SourceMapSegment } from "magic-string";

/**
 * What magic-string leaves to be done: what is written before a token is traced to that token, so that the column of `$1.call(...)` is
 * that of the call, not of what comes before it; and lines are counted as engines count them, which know more line breaks than `\n`.
 *
 * @param mark stands in the text, and there alone, before what was written before a token
 * @param file the name of the source in the map
 */
export function mapOf(text: MagicString, mark: string, file: string): SourceMap {
  const map = text.generateDecodedMap({ hires: "boundary", source: file, includeContent: true });
  const lines = text.toString().split("\n");
  const mappings = map.mappings.map((segments, line) => withoutMarks(segments, marksIn(lines[line]!, mark)));
  const code = lines.map((line) => line.replaceAll(mark, ""));
  return new SourceMap({ ...map, mappings: inEnginesLines(mappings, code, text.original.split("\n")) });
}

/** Columns. */
function marksIn(line: string, mark: string): number[] {
  const found: number[] = [];
  for (let at = line.indexOf(mark); at >= 0; at = line.indexOf(mark, at + 1)) found.push(at);
  return found;
}

/** The segments of a line without its marks, each of which becomes a segment that leads where the next one does. */
function withoutMarks(segments: readonly SourceMapSegment[], marks: readonly number[]): SourceMapSegment[] {
  if (marks.length === 0) return [...segments];
  const moved: SourceMapSegment[] = [];
  let passed = 0;
  for (const [column, ...origin] of segments) {
    for (; passed < marks.length && marks[passed]! < column; passed++) {
      const at = marks[passed]! - passed;
      if (moved.at(-1)?.[0] !== at) moved.push([at, ...origin] as SourceMapSegment);
    }
    moved.push([column - passed, ...origin] as SourceMapSegment);
  }
  return moved;
}

const otherBreak = /\r(?!$)|[\u2028\u2029]/;

/** @param code in lines as `\n` ends them, and so are all positions that are given */
function inEnginesLines(
  mappings: SourceMapSegment[][],
  code: readonly string[],
  original: readonly string[],
): SourceMapSegment[][] {
  if (!code.some((line) => otherBreak.test(line))) return mappings;
  const [to, from] = [positionsIn(code), positionsIn(original)];
  const result: SourceMapSegment[][] = [];
  mappings.forEach((segments, line) => {
    for (const [column, source, ...origin] of segments) {
      const [newLine, newColumn] = to(line, column);
      while (result.length <= newLine) result.push([]);
      const traced = source === undefined ? [] : [source, ...from(origin[0]!, origin[1]!)];
      result[newLine]!.push([newColumn, ...traced] as SourceMapSegment);
    }
  });
  return result;
}

/** From a position by lines that `\n` ends to one by the lines of engines. */
function positionsIn(lines: readonly string[]): (line: number, column: number) => [line: number, column: number] {
  let count = 0;
  const all = lines.map((line) => {
    const starts = [0, ...[...line.matchAll(new RegExp(otherBreak, "g"))].map(({ index }) => index + 1)];
    const first = count;
    count += starts.length;
    return { first, starts };
  });
  return (line, column) => {
    const { first, starts } = all[line]!;
    const inner = starts.findLastIndex((start) => start <= column);
    return [first + inner, column - starts[inner]!];
  };
}
