/** `stepmark init`: adds the compiler's plugin to a project, or the project's first tsconfig with it. */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { command, type Output } from "../command.js";
import { diffText } from "../diff-text.js";
import { exitCode } from "../exit-code.js";
import { planOf } from "../init/plan.js";
import { isNo } from "../question.js";

export const init = command({
  usage: ["init [--project FILE] [--yes] [--install]"],
  about: `Adds stepmark to a project that tsc builds: its plugin to tsconfig.json, whose comments and form stay as they are, or a
tsconfig.json to a project that has none and nothing else that builds it; tspc in the place
of tsc to the scripts of package.json, and the packages that this takes; .stepmark/, where runs are kept by default, to .gitignore. It
shows what it would change, and asks before it writes. Where it cannot help it says what to do by hand.`,
  options: {
    project: { type: "string", value: "FILE", help: "the tsconfig.json; by default that of this folder" },
    yes: { type: "boolean", help: "write without a question" },
    install: {
      type: "boolean",
      help: "then install the packages, with what the lock file says: npm, pnpm, yarn or bun",
    },
  },
  ends: "Ends with 1 if nothing could be, or was to be, written.",
  async run({ values }, output) {
    const { print, warn, look, ask } = output;
    const folder = process.cwd();
    const { edits, byHand, refused } = planOf(folder, values.project);
    if (refused !== undefined) {
      warn(`Nothing was changed: ${refused}.`);
      for (const line of byHand) warn(line);
      return exitCode.wrong;
    }
    if (edits.length === 0) print("There is nothing to change: stepmark is set up here.");
    for (const { file, before, after } of edits)
      for (const line of [...diffText(file, before, after, look), ""]) print(line);
    if (edits.length > 0) {
      const answer = values.yes ? "yes" : await ask?.("Write this? [Y/n] ");
      if (answer === undefined || isNo(answer)) {
        warn(ask === undefined ? "Nothing was changed: run it in a terminal, or with --yes." : "Nothing was changed.");
        return exitCode.wrong;
      }
      for (const { file, after } of edits) writeFileSync(path.join(folder, file), after);
      print(`Changed: ${edits.map(({ file }) => file).join(", ")}.`);
    }
    for (const line of byHand) warn(line);
    const changesPackages = edits.some(({ file }) => path.basename(file) === "package.json");
    if (values.install) return install(folder, output);
    if (changesPackages) print(`Now: \`${managerOf(folder)} install\`, and then \`stepmark doctor\`.`);
    return exitCode.ok;
  },
});

const managers: ReadonlyArray<readonly [lockFile: string, manager: string]> = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];

function managerOf(folder: string): string {
  return managers.find(([lockFile]) => existsSync(path.join(folder, lockFile)))?.[1] ?? "npm";
}

function install(folder: string, { print, warn }: Output): number {
  const manager = managerOf(folder);
  print(`${manager} install`);
  const { status, error } = spawnSync(manager, ["install"], {
    cwd: folder,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status === 0) return exitCode.ok;
  warn(`\`${manager} install\` has failed${error === undefined ? "" : `: ${error.message}`}.`);
  return exitCode.wrong;
}
