/** How text looks where it is written to: colours, widths, tables. */
import process from "node:process";
import { styleText } from "node:util";
import widthOf from "fast-string-truncated-width";

export type Style = Parameters<typeof styleText>[0];

/** What a stream shows. */
export interface Look {
  /** Columns of a terminal; undefined where nobody sees lines as such, as in a pipe: nothing is cut there. */
  readonly width: number | undefined;
  /** The text in a colour, where there are colours. */
  paint(style: Style, text: string): string;
}

interface Stream {
  isTTY?: boolean;
  columns?: number;
}

/** @param env FORCE_COLOR turns colours on (off if it is 0 or false), else NO_COLOR off; else a terminal has them */
export function lookOf(stream: Stream, env: NodeJS.ProcessEnv = process.env): Look {
  const coloured = hasColours(stream, env);
  return {
    width: stream.isTTY ? (stream.columns ?? 80) : undefined,
    paint: (style, text) => (coloured && text !== "" ? styleText(style, text, { validateStream: false }) : text),
  };
}

function hasColours({ isTTY = false }: Stream, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no = "", NODE_DISABLE_COLORS: off = "" } = env;
  if (force !== undefined) return force !== "0" && force !== "false";
  return no === "" && off === "" && isTTY && env.TERM !== "dumb";
}

/** How many columns a line takes. */
export function columnsOf(line: string): number {
  return widthOf(line, {}, {}).width;
}

/** A line, cut where the terminal ends. */
export function cut(line: string, width: number | undefined): string {
  if (width === undefined) return line;
  const { truncated, ellipsed, index } = widthOf(line, { limit: width, ellipsis: "…", ellipsisWidth: 1 });
  if (!truncated) return line;
  // What stood behind the cut may have ended a colour.
  const ends = line.slice(index).match(codes) ?? [];
  return `${line.slice(0, index)}${ellipsed ? "…" : ""}${ends.join("")}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the codes of colours
const codes = /\u001b\[[\d;]*m/g;

/** Paragraphs as lines of at most `width`; lines that begin with a blank stay as they are. */
export function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  let words: string[] = [];
  const flush = (): void => {
    if (words.length > 0) lines.push(fill(words, width));
    words = [];
  };
  for (const line of text.split("\n")) {
    if (/^\s|^$/.test(line)) {
      flush();
      lines.push(line);
    } else words.push(...line.split(" "));
  }
  flush();
  return lines.join("\n");
}

function fill(words: readonly string[], width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && columnsOf(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].join("\n");
}

/** Rows with their columns one below the other; no blanks at the ends of lines. */
export function table(rows: ReadonlyArray<readonly string[]>): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, columnsOf(cell));
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell + " ".repeat(widths[column]! - columnsOf(cell)))
      .join("  ")
      .trimEnd(),
  );
}
