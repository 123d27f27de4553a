/** The table: what was expected, what came, and whether that is the same. */
import { isDeepStrictEqual } from "node:util";
import type { Outcome, Scenario } from "./scenario.js";

export interface Row {
  scenario: string;
  what: string;
  expected: Outcome;
  /** What came, or how the scenario broke off. */
  got: Outcome | { error: string };
  ok: boolean;
}

/** A row is right only if the result and the bodies that ran are both as expected. */
export function judge(scenario: Pick<Scenario, "id" | "what" | "expected">, got: Row["got"]): Row {
  const { id, what, expected } = scenario;
  return { scenario: id, what, expected, got, ok: isDeepStrictEqual(got, expected) };
}

/** The exit code that tells whether every row is right; no row at all is not right either. */
export function exitCode(rows: readonly Row[]): 0 | 1 {
  return rows.length > 0 && rows.every(({ ok }) => ok) ? 0 : 1;
}

/** The rows as text with aligned columns. */
export function asText(rows: readonly Row[]): string {
  const lines = rows.flatMap((row) => [cells(row), rule]);
  return [header, rule, ...lines].map(asLines).join("\n");
}

const columns = [
  { title: "scenario", width: 10 },
  { title: "what", width: 26 },
  { title: "expected", width: 22 },
  { title: "got", width: 22 },
  { title: "bodies before → after", width: 27 },
  { title: "ok", width: 3 },
];

/** Longer cells are cut; `--json` has them in full. */
const mostLines = 8;

const header = columns.map(({ title }) => title);
const rule = columns.map(({ width }) => "─".repeat(width));

function cells({ scenario, what, expected, got, ok }: Row): string[] {
  const mark = ok ? "yes" : "NO";
  if ("error" in got) return [scenario, what, value(expected.result), got.error, "", mark];
  const same = isDeepStrictEqual(got.bodies, expected.bodies);
  const ran = same ? bodies(got) : `${bodies(got)} but expected ${bodies(expected)}`;
  return [scenario, what, value(expected.result), value(got.result), ran, mark];
}

function value(result: unknown): string {
  const spaced = JSON.stringify(result, undefined, 1).replace(/\n\s*/g, " ");
  return spaced.replace(/([[{]) | ([\]}])/g, "$1$2");
}

function bodies({ bodies }: Outcome): string {
  return bodies.map((labels) => labels.join(", ") || "none").join(" → ");
}

function asLines(row: string[]): string {
  const wrapped = row.map((cell, column) => wrap(cell, columns[column]!.width));
  const height = Math.max(...wrapped.map((lines) => lines.length));
  const line = (at: number): string =>
    wrapped.map((lines, column) => (lines[at] ?? "").padEnd(columns[column]!.width)).join("  ");
  return Array.from({ length: height }, (_, at) => line(at).trimEnd()).join("\n");
}

function wrap(cell: string, width: number): string[] {
  const lines = [""];
  for (const word of cell.split(/\s+/).flatMap((long) => pieces(long, width))) {
    const last = lines.at(-1)!;
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.length <= mostLines ? lines : [...lines.slice(0, mostLines - 1), "…"];
}

function pieces(word: string, width: number): string[] {
  return word.match(new RegExp(`.{1,${width}}`, "gu")) ?? [];
}
