/** In what a lock file and the code differ. */
import { faultsOf } from "../transformer/lock/faults.js";
import type { Lock } from "../transformer/lock/lock-file.js";
import { isGone, type LockLine, printLine } from "../transformer/lock/lock-line.js";
import { reconcile } from "../transformer/lock/reconcile.js";
import type { SourceFile } from "../transformer/lock/source-file.js";
import { lockLines } from "../transformer/lock/write-lock.js";
import { goneText, moveText, nameOf, whereIs } from "./place-text.js";

/** @returns a line for each: what is new, changed, gone or edited, and what is wrong with the lock file in itself */
export function lockDifferences(lock: Lock, files: readonly SourceFile[]): string[] {
  const found = reconcile(lock.lines, files);
  const written = new Set(lock.lines.map(essence));
  const after = lockLines(lock.lines, files, [...found.kept, ...found.moves], found.unclear);
  const differing = after.filter((line) => !isGone(line) && !written.has(essence(line)));
  const known = new Set([...found.added, ...found.moves.map(({ place }) => place)]);
  const isKnown = (place: { path: string; container: string; anchor: string; kind: string }): boolean =>
    [...known].some(
      (each) =>
        each.path === place.path &&
        each.container === place.container &&
        each.anchor === place.anchor &&
        each.kind === place.kind,
    );
  return [
    ...faultsOf(lock.lines),
    ...found.added.map((place) => `new       ${whereIs(place)}  ${nameOf(place)}`),
    ...found.moves.map((move) => `changed   ${moveText(move)}`),
    ...[...found.retired, ...found.unclear.map(({ line }) => line)].map(goneText),
    ...differing.filter((line) => !isKnown(line)).map((line) => `edited    ${line.path}  ${nameOf(line)}`),
  ];
}

/** What is made of a call's result, and the statements around, may change without anything having to be accepted. */
function essence(line: LockLine): string {
  const { near: _, ...rest } = line;
  return printLine({ ...rest, own: "0" });
}
