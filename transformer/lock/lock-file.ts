/** `stepmark.lock`: the identities that the places of a project were born with, one line a place, sorted. */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { LockFileError } from "../errors.js";
import { type LockLine, parseLine, parseMove, printLine, printMove, tagsOfGone } from "./lock-line.js";
import { group } from "./match.js";

export const LOCK_NAME = "stepmark.lock";

const head = `# stepmark.lock 1
# The identity that each call site was born with. Written by \`stepmark accept\`, read by every build; commit it.`;

export interface Lock {
  readonly file: string;
  readonly lines: readonly LockLine[];
  /** Those of one file of the project. */
  of(path: string): readonly LockLine[];
}

/** Sorted, so that two branches that add places meet in few lines. */
export function printLock(lines: readonly LockLine[]): string {
  const moves = lines.flatMap((line) => (line.movedTo === undefined ? [] : [printMove(line, line.movedTo)]));
  const spelt = [...lines.map(printLine), ...moves].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return `${[head, ...spelt].join("\n")}\n`;
}

/**
 * @param file for errors
 * @throws LockFileError that names the line
 */
export function parseLock(text: string, file: string): Lock {
  const lines: LockLine[] = [];
  const moves: Array<ReturnType<typeof parseMove> & { at: string }> = [];
  text.split(/\r?\n/).forEach((line, index) => {
    const at = `${file}:${index + 1}`;
    if (index === 0 && line !== head.split("\n")[0]) {
      throw new LockFileError(
        `${at}: this is no lock file that this version of stepmark can read`,
        "Use the version that wrote it, or a later one; or correct its first line.",
      );
    }
    if (/^(<{7}|={7}|>{7}|\|{7})/.test(line)) {
      throw new LockFileError(
        `${at}: a merge has left a conflict`,
        "Keep the lines of both sides, without the marks, and run `stepmark accept`.",
      );
    }
    if (line === "" || line.startsWith("#")) return;
    try {
      if (line.startsWith("moved ")) moves.push({ ...parseMove(line), at });
      else lines.push(parseLine(line));
    } catch (error) {
      throw new LockFileError(
        `${at}: the line cannot be read: ${(error as Error).message}`,
        "Take the file from version control again, or correct the line.",
      );
    }
  });
  for (const { from, to, at } of moves) {
    const index = lines.findIndex(
      ({ path: module, container, anchor, kind, retired }) =>
        !retired &&
        module === from.path &&
        container === from.container &&
        anchor === from.anchor &&
        kind === from.kind,
    );
    if (index < 0) throw new LockFileError(`${at}: no line is about the place that has moved`, "Correct the line.");
    lines[index] = { ...lines[index]!, movedTo: to };
  }
  const held = new Set(lines.flatMap(({ retired, under = [] }) => (retired ? [] : under.flatMap(tagsOfGone))));
  lines.forEach((line, index) => {
    if (line.retired && held.has(line.tag)) lines[index] = { ...line, held: true };
  });
  const byPath = group(lines, (line) => line.path);
  return { file, lines, of: (module) => byPath.get(module) ?? [] };
}

const read = new Map<string, { stamp: string; lock: Lock }>();

/**
 * The lock file of a project, read again when it has changed.
 *
 * @param root the folder that module paths are relative to
 * @param option a path relative to the root, `false` for none; by default `stepmark.lock`, if there is one
 * @throws LockFileError if it cannot be read, or was named and does not exist
 */
export function lockOf(root: string, option: string | false | undefined): Lock | undefined {
  if (option === false) return undefined;
  const file = path.resolve(root, option ?? LOCK_NAME);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) {
    if (option === undefined) return undefined;
    throw new LockFileError(`There is no lock file ${file}`, "Run `stepmark accept`, or correct the option `lock`.");
  }
  const stamp = `${found.ino} ${found.size} ${found.mtimeMs}`;
  const known = read.get(file);
  if (known?.stamp === stamp) return known.lock;
  const lock = parseLock(readFileSync(file, "utf8"), file);
  read.set(file, { stamp, lock });
  return lock;
}
