/** What is told of the command line, made of the commands' own words. */
import type { Command } from "./command.js";
import type { CommandEntry } from "./commands.js";
import { columnsOf, wrapped } from "./look.js";

/** Wider lines are hard to read. */
const widest = 110;

/** `Usage: stepmark show RUN ...`, and one line more for each other form. */
export function usageOf({ usage }: Command): string {
  return usage.map((form, index) => `${index === 0 ? "Usage: " : "       "}stepmark ${form}`).join("\n");
}

/** What `stepmark NAME --help` prints. */
export function helpOf(command: Command, width = widest): string {
  const { about, options, ends } = command;
  const rows = [
    ...Object.entries(command.arguments ?? {}),
    ...Object.entries(options).map(([name, { value, choices, help, default: by }]): [string, string] => {
      const more = choices === undefined || choices.length < 2 ? "" : `: ${choices.join(", ")}`;
      const preset = by === undefined ? "" : `; by default ${by}`;
      return [`--${name}${value === undefined ? "" : ` ${value}`}`, `${help}${more}${preset}`];
    }),
  ];
  const parts = [usageOf(command), wrapped(about, Math.min(width, widest))];
  if (rows.length > 0) parts.push(listOf(rows, Math.min(width, widest)));
  if (ends !== undefined) parts.push(wrapped(ends, Math.min(width, widest)));
  return parts.join("\n\n");
}

/** What `stepmark --help` prints. */
export function overview(groups: ReadonlyArray<readonly [name: string, entries: readonly CommandEntry[]]>): string {
  const width = Math.max(...groups.flatMap(([, entries]) => entries.map(({ name }) => name.length)));
  const lines = groups.flatMap(([group, entries]) => [
    "",
    `${group}:`,
    ...entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
  ]);
  return [
    "Usage: stepmark COMMAND ...",
    ...lines,
    "",
    "`stepmark COMMAND --help` tells more; `stepmark --version` tells which this is.",
  ].join("\n");
}

/** Words and what they mean, in two columns. */
function listOf(rows: ReadonlyArray<readonly [string, string]>, width: number): string {
  const first = Math.max(...rows.map(([word]) => columnsOf(word)));
  const indent = " ".repeat(first + 4);
  return rows
    .map(([word, meaning]) => {
      const text = wrapped(meaning, width - first - 4).replaceAll("\n", `\n${indent}`);
      return `  ${word}${" ".repeat(first - columnsOf(word))}  ${text}`;
    })
    .join("\n");
}
