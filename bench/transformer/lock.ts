/** What the lock file costs on a generated project: `stepmark check` as a whole process, and what it adds to a build. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { benchProject, type Comparison, type Cost, compare, middle } from "./project.js";

export interface LockCost {
  /** Lines of the lock file. */
  readonly places: number;
  readonly check: Cost;
  /** The same where a tenth of the files with workflows has been edited. */
  readonly checkEdited: Cost;
  /** A build without the lock file, and one with it. */
  readonly build: Comparison;
}

/** @param root folder of the project that the library is built in */
export function lockCost(root: string, rounds: number): LockCost {
  const transform = "stepmark/transformer";
  const project = benchProject(root, {
    "tsconfig.json": [{ transform }],
    "tsconfig.unlocked.json": [{ transform, lock: false }],
  });
  const command = join(root, "dist", "cli", "main.js");
  project.node([command, "accept"]);
  const places = readFileSync(join(project.folder, "stepmark.lock"), "utf8").split("\n").filter(isPlace).length;
  const checked = (exitCode: number): Cost =>
    middle(Array.from({ length: rounds }, () => project.node([command, "check"], exitCode)));
  project.node([command, "check"]);
  const check = checked(0);
  const build = compare(
    rounds,
    () => project.tspc("tsconfig.unlocked.json"),
    () => project.tspc("tsconfig.json"),
  );
  project.edit(20);
  const checkEdited = checked(1);
  project.remove();
  return { places, check, checkEdited, build };
}

function isPlace(line: string): boolean {
  return line !== "" && !line.startsWith("#");
}
