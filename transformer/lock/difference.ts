/** What a change of the code does to runs in flight: which of the places that they know are still where their records look for them. */
import { baseOf } from "../plan/anchors.js";
import { bornBy } from "./as-born.js";
import { BornNames } from "./born-names.js";
import { isGone, joinContainer, type LockLine } from "./lock-line.js";
import { group } from "./match.js";
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
  /** Those whose records are refused where they stand, since they may be another's: edited beside a namesake, or with another `key`. */
  readonly ambiguous: readonly Move[];
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
  const doubts = new Doubts(before, after);
  const ambiguous = all.filter((move) => isUsed(move) && doubts.concern(move));
  const used = all.filter((move) => isUsed(move) && !doubts.concern(move));
  const hasMoved = ({ line, place }: Move): boolean =>
    line.path !== place.path || line.container !== place.container || line.anchor !== place.anchor;
  const gone = [...found.retired, ...found.unclear.map(({ line }) => line)];
  return {
    kept: used.filter((move) => !hasMoved(move) && move.line.text === move.place.text),
    edited: used.filter((move) => !hasMoved(move) && move.line.text !== move.place.text),
    moved: used.filter(hasMoved),
    ambiguous,
    unaccepted: all.filter((move) => !isUsed(move)),
    retired: gone.filter(({ tag }) => retiredNow.has(tag)),
    lost: gone.filter(({ tag }) => !retiredNow.has(tag)),
    added: found.added,
  };
}

/** Whether a place that has the identity of an old one may be another all the same, as the runtime judges it. */
class Doubts {
  private readonly placesThen: ReadonlyMap<string, SourcePlace>;
  private readonly namesakesThen: Namesakes;
  private readonly namesakesNow: Namesakes;

  constructor(
    private readonly before: ProjectState,
    private readonly after: ProjectState,
  ) {
    this.placesThen = new Map(before.files.flatMap(({ places }) => places).map((place) => [spotOf(place), place]));
    this.namesakesThen = new Namesakes(before.files);
    this.namesakesNow = new Namesakes(after.files);
  }

  concern({ line, place }: Move): boolean {
    const then = this.placesThen.get(spotOf(line));
    if (then === undefined || place.kind === "function") return false;
    if (then.key !== place.key) return true;
    // Where both builds know which one it is, nothing is in doubt.
    if (isKnown(this.before.lock, line.tag, then.text) && isKnown(this.after.lock, line.tag, place.text)) return false;
    if (this.namesakesThen.of(then).length === 1 && this.namesakesNow.of(place).length === 1) return false;
    return then.text !== place.text || this.namesakesThen.twinsOf(then) !== this.namesakesNow.twinsOf(place);
  }
}

/** The calls of one name and kind in a function. */
class Namesakes {
  private readonly groups: ReadonlyMap<string, readonly SourcePlace[]>;

  constructor(files: readonly SourceFile[]) {
    this.groups = group(
      files.flatMap(({ places }) => places),
      namesakesOf,
    );
  }

  of(place: SourcePlace): readonly SourcePlace[] {
    return this.groups.get(namesakesOf(place)) ?? [];
  }

  twinsOf(place: SourcePlace): number {
    return this.of(place).filter(({ text }) => text === place.text).length;
  }
}

function namesakesOf({ path, kind, container, anchor }: SourcePlace): string {
  return JSON.stringify([path, kind, container, baseOf(anchor)]);
}

function spotOf({ path, kind, container, anchor }: Pick<LockLine, "path" | "kind" | "container" | "anchor">): string {
  return JSON.stringify([path, kind, container, anchor]);
}

function isKnown(lock: readonly LockLine[], tag: string, text: string): boolean {
  return lock.some((line) => line.tag === tag && line.text === text);
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
