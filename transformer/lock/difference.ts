/** What a change of the code does to runs in flight: which of the places that they know are still where their records look for them. */
import { bornBy } from "./as-born.js";
import { BornNames } from "./born-names.js";
import { isGone, joinContainer, type LockLine } from "./lock-line.js";
import { type Move, reconcile } from "./reconcile.js";
import type { SourceFile, SourcePlace } from "./source-file.js";
import { lockLines } from "./write-lock.js";

/** A state of the project. */
export interface ProjectState {
  readonly files: readonly SourceFile[];
  /** Lines of its lock file; none if there is none. */
  readonly lock: readonly LockLine[];
}

export interface Difference {
  /** Those whose records are used, with the text that they had and with another. */
  readonly kept: readonly Move[];
  readonly edited: readonly Move[];
  /** Those that a build knows and that have got another name in their function, file or function around. */
  readonly moved: readonly Move[];
  /** Those that look like known ones, and are not used before `stepmark accept` has been asked. */
  readonly unaccepted: readonly Move[];
  /** Those that are known to be gone: their records are orphans. */
  readonly retired: readonly LockLine[];
  /** Those that are gone, and whose records are refused. */
  readonly lost: readonly LockLine[];
  readonly added: readonly SourcePlace[];
}

export function difference(before: ProjectState, after: ProjectState): Difference {
  // All places of old with an identity of their own, those too that the lock file of then did not know yet.
  const then = reconcile(before.lock, before.files);
  const lines = lockLines(before.lock, before.files, then.kept).filter((line) => !isGone(line));
  const names = new BornNames(lines);
  const retiredNow = new Set(after.lock.filter(({ retired }) => retired).map(({ tag }) => tag));
  const found = reconcile(lines, after.files);
  const all = [...found.kept, ...found.moves];
  const identities = identitiesOf(after);
  // Where the build has a place under the identity that it had, its records are used.
  const isUsed = ({ line, place }: Move): boolean => identities.get(place) === identityOf(names, line);
  const used = all.filter(isUsed);
  const hasMoved = ({ line, place }: Move): boolean =>
    line.path !== place.path || line.container !== place.container || line.anchor !== place.anchor;
  const gone = [...found.retired, ...found.unclear.map(({ line }) => line)];
  return {
    kept: used.filter((move) => !hasMoved(move) && move.line.text === move.place.text),
    edited: used.filter((move) => !hasMoved(move) && move.line.text !== move.place.text),
    moved: used.filter(hasMoved),
    unaccepted: all.filter((move) => !isUsed(move)),
    retired: gone.filter(({ tag }) => retiredNow.has(tag)),
    lost: gone.filter(({ tag }) => !retiredNow.has(tag)),
    added: found.added,
  };
}

function identityOf(names: BornNames, line: LockLine): string {
  const { container, anchor } = names.place(line);
  return JSON.stringify([line.kind, container, anchor]);
}

/** What each place of a state goes by. */
function identitiesOf({ files, lock }: ProjectState): Map<SourcePlace, string> {
  const identities = new Map<SourcePlace, string>();
  for (const { path, rows, places } of files) {
    const own = lock.filter((line) => line.path === path);
    const born = bornBy(own)(rows, (row) => places[row]!.own).rows;
    const containerOf = (index: number): string[] =>
      index < 0 ? [] : [...containerOf(born[index]![2]), born[index]![1]];
    for (const place of places) {
      const [, anchor, container] = born[place.row]!;
      identities.set(place, JSON.stringify([place.kind, joinContainer(containerOf(container)), anchor]));
    }
  }
  return identities;
}
