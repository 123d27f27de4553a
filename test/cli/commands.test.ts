/** What is the same of all commands: their words, and what is made of them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readArguments, UsageError } from "../../cli/command.js";
import { commands } from "../../cli/commands.js";
import { completionOf, shells } from "../../cli/completion.js";
import { helpOf } from "../../cli/help.js";
import { repository } from "../hosts/project.js";

const loaded = await Promise.all(
  commands.map(async ({ name, summary, load }) => ({ name, summary, command: await load() })),
);
const docs = readFileSync(path.join(repository, "docs/cli.md"), "utf8");

/** In code: alone, or behind `stepmark`. */
function named(text: string, name: string): boolean {
  return new RegExp(`\`(stepmark )?${name}\\b`).test(text);
}

describe.each(loaded)("stepmark $name", ({ name, command }) => {
  it("is told by its help and by docs/cli.md", () => {
    const help = helpOf(command);
    expect(help).toMatch(new RegExp(`^Usage: stepmark ${name}\\b`));
    expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
    expect(named(docs, name)).toBe(true);
    for (const option of Object.keys(command.options)) {
      expect(help).toContain(`--${option}`);
      expect(docs).toContain(`--${option}`);
    }
  });

  it("refuses an option that it does not have", () => {
    expect(() => readArguments(["--no-such-option"], command.options)).toThrow(
      new UsageError("Unknown option '--no-such-option'"),
    );
  });

  it("says what an option has to be followed by", () => {
    for (const [option, { type, value }] of Object.entries(command.options)) {
      if (type === "boolean") continue;
      const expected = new UsageError(`--${option} has to be followed by ${value ?? "a value"}`);
      for (const args of [[`--${option}`], [`--${option}`, "--help"]])
        expect(() => readArguments(args, command.options)).toThrow(expected);
    }
  });
});

describe("completion", () => {
  const scripts = Object.fromEntries(shells.map((shell) => [shell, completionOf(shell, loaded)]));

  /** What bash would offer for the last of these words. */
  function offered(...words: string[]): string[] {
    const script = `${scripts.bash}
compopt() { :; }
stepmark() { printf 'run-1  x  failed\\nrun-2  y\\n'; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_stepmark
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, status } = spawnSync("bash", ["-c", script], { cwd: repository, encoding: "utf8" });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    return stdout.split("\n").filter(Boolean);
  }

  it("of bash offers commands, options, words, files, folders and runs", () => {
    expect(offered("stepmark", "re")).toEqual(["resume", "retry", "replay"]);
    expect(offered("stepmark", "show", "--e")).toEqual(["--entries"]);
    expect(offered("stepmark", "resume", "x", "--accept", "")).toEqual(["edits"]);
    expect(offered("stepmark", "resume", "x", "--workflows", "LICE")).toEqual(["LICENSE"]);
    expect(offered("stepmark", "doctor", "--build", "runt")).toEqual(["runtime"]);
    expect(offered("stepmark", "show", "")).toEqual(["run-1", "run-2"]);
    expect(offered("stepmark", "completion", "")).toEqual([...shells]);
    expect(offered("stepmark", "answer", "x", "--store", "tsconfig.b")).toEqual(["tsconfig.build.json"]);
  });

  it.each(shells)("of %s knows every command and option", (shell) => {
    const script = scripts[shell]!;
    for (const { name, command } of loaded) {
      expect(script).toContain(name);
      for (const option of Object.keys(command.options))
        expect(script).toContain(shell === "fish" ? `-l ${option}` : `--${option}`);
    }
  });

  it.each(shells)("of %s is a script that the shell reads, where there is one", (shell) => {
    const folder = mkdtempSync(path.join(tmpdir(), "stepmark-completion-"));
    try {
      const file = path.join(folder, "completion");
      writeFileSync(file, scripts[shell]!);
      const { error, status, stderr } = spawnSync(shell, [shell === "fish" ? "--no-execute" : "-n", file], {
        encoding: "utf8",
      });
      if (error === undefined) expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      else expect((error as NodeJS.ErrnoException).code).toBe("ENOENT");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
