/** The pages' command lines: each command of `stepmark` and each script of npm exists, with the options that it is given. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commands } from "../../cli/commands.js";
import { pages, repository, textOf } from "./blocks.js";

interface Line {
  /** `docs/cli.md:12`. */
  readonly at: string;
  readonly words: readonly string[];
}

/** What is written as code, in blocks and between backticks, as far as it calls a program. */
function callsOf(program: RegExp): Line[] {
  return pages.flatMap((page) =>
    textOf(page)
      .split("\n")
      .flatMap((text, index) =>
        [...text.matchAll(program)].map(({ 1: rest = "" }) => ({
          at: `${page}:${index + 1}`,
          words: rest.trim().split(/\s+/),
        })),
      ),
  );
}

const optionsOf = (words: readonly string[]): string[] =>
  words.flatMap((word) => /^--([a-z][\w-]*)/.exec(word)?.[1] ?? []);

describe("command lines of the pages", () => {
  const rest = "((?: [^`\\s#|>;&]+)*)";

  it("call commands of `stepmark` that exist, with options that they take", async () => {
    const calls = callsOf(new RegExp(`(?:[\`$(]|npx )(?:\\$ )?stepmark((?: [a-z]+)${rest})`, "g"));
    expect(calls.length).toBeGreaterThan(50);
    const wrong: string[] = [];
    for (const { at, words } of calls) {
      const [name, ...others] = words;
      const command = commands.find((each) => each.name === name);
      if (command === undefined) {
        wrong.push(`${at} stepmark ${name}`);
        continue;
      }
      const { options } = await command.load();
      for (const option of optionsOf(others))
        if (!(option in options) && option !== "help") wrong.push(`${at} stepmark ${name} --${option}`);
    }
    expect(wrong).toEqual([]);
  });

  it("call scripts of package.json that exist", () => {
    const { scripts } = JSON.parse(readFileSync(`${repository}package.json`, "utf8")) as { scripts: object };
    const calls = callsOf(/npm run (?:--silent )?([\w:-]+)/g);
    expect(calls.length).toBeGreaterThan(10);
    expect(calls.filter(({ words }) => !(words[0]! in scripts)).map(({ at, words }) => `${at} ${words[0]}`)).toEqual(
      [],
    );
  });
});
