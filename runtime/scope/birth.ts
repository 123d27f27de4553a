/**
 * Where a place was born. The lock file keeps a place's identity when the code around it changes: it may stand in other
 * functions and loops now than it did then, and its key and chain say where it stood then.
 */
import { extendChain } from "./chain.js";
import { pathSuffix, spellElement } from "./key.js";
import { isBornHere, type ModuleTable, type Place } from "./module-table.js";
import type { LoopPath, PathElement } from "./site-table.js";

/** A frame, as its places need it. */
export interface FrameView {
  readonly key: string;
  readonly chain: string;
  readonly module: ModuleTable;
  readonly run: { whereabouts(module: ModuleTable, place: Place): string };
  /** Where places were born that now stand in the frame; see `RowDetails.through`. */
  readonly via?: Via | undefined;
}

/** What a call that has been put between a place and where it was born is to the place. */
export interface Via {
  /** The frame in which the call stands. */
  readonly frame: FrameView;
  /** The loops around the call, as if they were around the place; and the number of the entry, if that counts as an iteration. */
  readonly path: LoopPath;
}

/** The key of a place in a frame; not bounded yet. */
export function keyOf(at: FrameView, place: Place, path: LoopPath): string {
  // Where no lock file knows of another place.
  if (isBornHere(place)) return `${at.key}/${place.segment}${pathSuffix(path)}`;
  const { frame, path: born } = birthOf(at, place, path);
  let { key } = frame;
  let rest = born;
  for (let i = 0; i < place.under.length; i++) {
    const { place: gone, loops, indexed } = place.under[i]!;
    const elements: readonly PathElement[] = rest === 0 ? [] : rest;
    key += `/${gone.segment}${pathSuffix(elements.slice(0, loops))}`;
    const number = indexed ? (elements[loops] ?? 0) : 0;
    if (number !== 0) key += `[${spellElement(number)}]`;
    rest = elements.slice(loops + (indexed ? 1 : 0));
  }
  return `${key}/${place.segment}${pathSuffix(rest)}${newSuffix(place, path)}`;
}

/** The chain of a place in a frame, as it was born. */
export function chainOf(at: FrameView, place: Place): string {
  const { frame, path } = birthOf(at, place, 0);
  const { run } = frame;
  let { chain } = frame;
  let loops = (place.bornLoops ?? place.loops).length + (path === 0 ? 0 : path.length);
  for (let i = 0; i < place.under.length; i++) {
    const gone = place.under[i]!;
    chain = extendChain(chain, gone.place, run.whereabouts(at.module, gone.place), gone.loops);
    loops -= gone.loops + (gone.indexed ? 1 : 0);
  }
  return extendChain(chain, place, run.whereabouts(at.module, place), loops);
}

/** The frame that a place was born in, and its path there: its own loops, and those around the calls that lead to it now. */
function birthOf(at: FrameView, place: Place, path: LoopPath): Via {
  let frame = at;
  let born = bornPath(place, path);
  for (let left = place.skip; left > 0 && frame.via !== undefined; left--) {
    born = joined(frame.via.path, born);
    frame = frame.via.frame;
  }
  return { frame, path: born };
}

/** A path as it was in the loops of the place's birth. */
function bornPath({ bornLoops }: Place, path: LoopPath): LoopPath {
  if (bornLoops === undefined || path === 0) return path;
  return bornLoops.map((index) => path[index] ?? 0);
}

/** Iterations of loops that are new, but for their first, which stands for there being none. */
function newSuffix({ bornLoops }: Place, path: LoopPath): string {
  if (bornLoops === undefined || path === 0) return "";
  const added = path.filter((_, index) => !bornLoops.includes(index));
  return added.every((each) => each === 0) ? "" : `@+${added.map(spellElement).join(".")}`;
}

/** What a place leads through, if it has been put between others and where they were born. */
export function viaOf({ through }: Place, frame: FrameView, path: LoopPath, number: PathElement): Via | undefined {
  // A second entry that is no iteration has no place of its own in the code around.
  if (through === undefined || (through === "" && number !== 0)) return undefined;
  return { frame, path: through === "" ? path : joined(path, [number]) };
}

function joined(outer: LoopPath, inner: LoopPath): LoopPath {
  if (outer === 0) return inner;
  return inner === 0 ? outer : outer.concat(inner);
}
