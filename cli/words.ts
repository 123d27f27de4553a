/** Runs, times and values in words, for people. What comes from a store cannot play tricks with the terminal. */
import { inspect } from "node:util";
import type { RunStatus } from "../runtime/app/run-info.js";
import { StepmarkError } from "../runtime/errors.js";
import { fieldOf, isA, wordsOf } from "../runtime/journal/careful.js";
import type { Style } from "./look.js";

export const statusStyle: Readonly<Record<RunStatus, Style>> = {
  running: "cyan",
  waiting: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "gray",
  stalled: "magenta",
};

const units: ReadonlyArray<readonly [ms: number, name: string]> = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** `120 ms`, `1.2 s`, `3 min 20 s`, `2 d 4 h`. */
export function lasted(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const first = units.findIndex(([size]) => ms >= size);
  let rest = ms;
  return units
    .slice(first, first + 2)
    .map(([size, name]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count === 0 ? "" : `${count} ${name}`;
    })
    .filter(Boolean)
    .join(" ");
}

/** `3 min ago`, `in 2 h 5 min`: what is over is told less exactly. */
export function fromNow(time: number, now: number): string {
  if (time > now) return `in ${lasted(time - now)}`;
  return `${/^[\d.]+ \w+/.exec(lasted(now - time))![0]} ago`;
}

/** Local time, to the second. */
export function clockTime(time: number): string {
  const at = new Date(time);
  const two = (number: number): string => String(number).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}

/** A text that others have chosen, on one line: no sign of it moves the cursor, or turns the order of what follows. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (sign) => {
    const code = sign.charCodeAt(0);
    return short[sign] ?? `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** As `visible`, line by line. */
export function visibleLines(text: string): string[] {
  return text.split(/\r?\n/).map(visible);
}

/** A value on one line. */
export function valueText(value: unknown): string {
  return visible(
    inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY, compact: true, maxStringLength: 10_000 }),
  );
}

/** An error's name and message, on one line. */
export function errorText(error: unknown): string {
  return visible(errorHead(error));
}

/** An error with what it holds: each cause, and each of several errors, on lines of its own. */
export function errorLines(error: unknown, seen = new Set<unknown>()): string[] {
  if (seen.has(error) || seen.size > 20) return [];
  seen.add(error);
  const lines = visibleLines(errorHead(error));
  if (!isA(error, Error)) return lines;
  const cause = fieldOf(error, "cause");
  const errors = fieldOf(error, "errors");
  const inner = (what: string, each: unknown): string[] => {
    const [first, ...rest] = errorLines(each, seen);
    return first === undefined ? [] : [`  ${what}: ${first}`, ...rest.map((line) => `  ${line}`)];
  };
  if (cause !== undefined) lines.push(...inner("caused by", cause));
  if (Array.isArray(errors)) for (const each of errors as unknown[]) lines.push(...inner("with", each));
  return lines;
}

function errorHead(error: unknown): string {
  if (!isA(error, Error)) return `thrown: ${wordsOf(error)}`;
  // The library's own messages end in their code.
  if (isA(error, StepmarkError)) return wordsOf(error);
  return `${String(fieldOf(error, "name"))}: ${wordsOf(error)}`;
}

/** A word of a command line, as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w.,:/@%+-]+$/.test(word) ? word : `'${visible(word).replaceAll("'", `'\\''`)}'`;
}

/** `1 wait`, `2 waits`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
