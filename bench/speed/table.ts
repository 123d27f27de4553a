/** Results as text: one table a durability, a row a workload, a column a contender. */
import type { Contender, Durability } from "../contenders/contender.js";
import { grid } from "../harness/grid.js";
import type { Machine } from "../harness/machine.js";
import type { Cell } from "./rounds.js";
import type { Workload } from "./workloads.js";

/** What a row says of its workload. */
interface Head extends Pick<Workload, "title" | "unit"> {
  /** How many there are, where a rate says something. */
  steps?: number;
}

export interface Results {
  machine: Machine;
  quick: boolean;
  rounds: number;
  workloads: Record<string, Head>;
  cells: Cell[];
}

export const titleOf: Record<Durability, string> = {
  power: "Power-loss safe",
  process: "Process-crash safe",
};

/** @returns Markdown: what it was measured on, and the tables with their footnotes */
export function page(results: Results, contenders: readonly Contender[]): string {
  const durabilities = [...new Set(results.cells.map(({ durability }) => durability))];
  return [
    header(results, contenders),
    ...durabilities.flatMap((durability) => [`### ${titleOf[durability]}`, table(results, contenders, durability)]),
  ].join("\n\n");
}

function header({ machine, rounds, quick }: Results, contenders: readonly Contender[]): string {
  const { date, cpu, memory, platform, postgres, versions } = machine;
  const measured = contenders.flatMap(({ name, title, durability, notes }) => {
    const { packages, node } = versions[name]!;
    const what = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
    const set = [durability.power ?? "not power-loss safe", durability.process ?? "cannot be less safe"];
    return [
      `- ${title}: ${what.join(", ")}, Node ${node}. ${set.join("; ")}.${(notes ?? []).map((n) => ` ${n}`).join("")}`,
    ];
  });
  const on = [cpu, memory, platform, postgres === undefined ? "no Postgres" : `Postgres ${postgres}`].join(", ");
  return [
    `Measured on ${date}: ${on}. ${rounds === 1 ? "One round" : `Medians of ${rounds} rounds`}${quick ? ", shortened (`--quick`)" : ""}.`,
    measured.join("\n"),
  ].join("\n\n");
}

function table(results: Results, contenders: readonly Contender[], durability: Durability): string {
  const cells = results.cells.filter((cell) => cell.durability === durability);
  const shown = contenders.filter(({ name }) => cells.some((cell) => cell.contender === name));
  const notes: string[] = [];
  const note = (text: string): string => {
    if (!notes.includes(text)) notes.push(text);
    return `<sup>${notes.indexOf(text) + 1}</sup>`;
  };
  const rows = Object.entries(results.workloads).flatMap(([name, workload]) => {
    const row = shown.map((contender) => cells.find((c) => c.workload === name && c.contender === contender.name));
    if (row.every((cell) => cell === undefined)) return [];
    const line = (title: string, texts: string[]): string[] => [title, ...texts];
    const lines = [
      line(
        workload.title,
        row.map((cell, column) => text(cell, workload, shown[column]!, note)),
      ),
    ];
    if (row.some((cell) => cell?.parts !== undefined)) {
      const part = (which: "open" | "pickUp") => row.map((cell) => (cell?.parts ? ms(cell.parts[which]) : ""));
      lines.push(line("- before: process and library start", part("open")));
      lines.push(line("- before: until the run is taken up", part("pickUp")));
    }
    return lines;
  });
  const head = shown.map((contender) =>
    contender.durability[durability] === null ? `${contender.title} (always power-loss safe)` : contender.title,
  );
  const all = [["", ...head], ...rows];
  const footnotes = notes.map((text, i) => `${i + 1}. ${text}`).join("\n");
  return grid(all) + (footnotes ? `\n\n${footnotes}` : "");
}

function text(cell: Cell | undefined, { unit, steps }: Head, { most }: Contender, note: (t: string) => string): string {
  if (cell === undefined) return "";
  if (cell.value === undefined) return `-${note(cell.not!)}`;
  const { median, least, greatest } = cell.value;
  const fewer = cell.fewer === undefined ? "" : note(`With ${cell.fewer.toLocaleString("en")}: ${most!.because}.`);
  if (unit === "bytes") return `${bytes(median)}${fewer}`;
  const range = least === greatest ? "" : ` (${plain(least)}-${plain(greatest)})`;
  const count = cell.fewer ?? steps;
  const rate = count === undefined ? "" : `, ${Math.round((count / median) * 1_000).toLocaleString("en")}/s`;
  return `${ms(median)}${range}${rate}${fewer}`;
}

const plain = (n: number): string => (n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en"));
const ms = (n: number): string => `${plain(n)} ms`;
const bytes = (n: number): string => (n < 1_000 ? `${Math.round(n)} B` : `${(n / 1_000).toFixed(1)} kB`);
