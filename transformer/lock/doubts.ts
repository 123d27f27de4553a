/**
 * Places that are gone while something that is new does work like theirs: an edit may have made the one of the other, and nothing
 * says whether it has. If such a place were retired, its work would be done again.
 */
import { baseOf } from "../plan/anchors.js";
import type { CalledNames } from "./called-names.js";
import { type LockLine, ownerOf } from "./lock-line.js";
import { group, inside, spell } from "./match.js";
import { calledAs, type Station } from "./routes.js";
import { hasArguments } from "./same-call.js";
import type { SourcePlace } from "./source-file.js";

export interface Doubt {
  /** It is gone, */
  readonly line: LockLine;
  /** and this, which is new or reached by a call that is new, may be what it was. */
  readonly place: SourcePlace;
}

/** A state of the code, and what of it the other state does not have. */
export interface Half<T> {
  readonly all: readonly T[];
  readonly only: readonly T[];
}

export function doubtsOf(then: Half<LockLine>, now: Half<SourcePlace>, names: CalledNames): Doubt[] {
  if (then.only.length === 0 || now.only.length === 0) return [];
  const workNow = new Work(now.all);
  const fresh = [...new Set(now.only.flatMap((place) => workNow.of(place)))];
  if (fresh.length === 0) return [];
  const workThen = new Work(then.all);
  const doubts = then.only.flatMap((line): Doubt[] => {
    const work = line.kind === "function" ? [] : workThen.of(line);
    const place = fresh.find((each) => work.some((site) => isAlike(site, each, names)));
    return place === undefined ? [] : [{ line, place }];
  });
  return [...doubts, ...around(doubts, then.only)];
}

/** What holds a place that is in doubt is so too: by itself it would say that its records are of no more use. */
function around(doubts: readonly Doubt[], gone: readonly LockLine[]): Doubt[] {
  return gone
    .filter(({ kind }) => kind === "function")
    .flatMap((line) => {
      const { path, container } = inside(line);
      const within = doubts.find(
        ({ line: each }) =>
          each.path === path && (each.container === container || each.container.startsWith(`${container}>`)),
      );
      return within === undefined ? [] : [{ line, place: within.place }];
    });
}

/** Whether two sites may do one work: they call the same, or have the same arguments. */
function isAlike(line: LockLine, place: SourcePlace, names: CalledNames): boolean {
  if (baseOf(line.anchor) === names.of(place)) return true;
  if ((line.calls ?? baseOf(line.anchor)) === names.calleeOf(place)) return true;
  return line.rest === place.rest && hasArguments(line);
}

/** The sites that a place stands for: a site for itself, a call for all those that it leads to. */
class Work<T extends Station> {
  private readonly inFunction: ReadonlyMap<string, readonly T[]>;
  private readonly byName: ReadonlyMap<string, readonly T[]>;

  constructor(stations: readonly T[]) {
    this.inFunction = group(stations, spell);
    const functions = stations.filter(({ kind }) => kind === "function");
    this.byName = group(functions, calledAs);
  }

  of(station: T): T[] {
    const sites = new Set<T>();
    this.collect(station, sites, new Set());
    return [...sites];
  }

  private collect(station: T, sites: Set<T>, seen: Set<T>): void {
    if (seen.has(station)) return;
    seen.add(station);
    if (station.kind === "site") sites.add(station);
    for (const fn of this.enteredBy(station))
      for (const each of this.inFunction.get(spell(inside(fn))) ?? [])
        if (each.kind !== "function") this.collect(each, sites, seen);
  }

  /** The functions that a call is given, those of its name, and one that stands where it is called. */
  private enteredBy(call: T): readonly T[] {
    const beside = (this.inFunction.get(spell(call)) ?? []).filter(
      (fn) => fn.kind === "function" && (ownerOf(fn.anchor)?.call === call.anchor || fn.by === call.anchor),
    );
    const name = baseOf(call.anchor);
    return call.kind === "call" ? [...beside, ...(name === "" ? [] : (this.byName.get(name) ?? []))] : beside;
  }
}
