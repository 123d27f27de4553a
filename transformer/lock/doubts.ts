/**
 * Places that are gone while something that is new does work like theirs: an edit may have made the one of the other, and nothing
 * says whether it has. If such a place were retired, its work would be done again.
 */
import type { CalledNames } from "./called-names.js";
import { type LockLine, ownerOf, splitContainer } from "./lock-line.js";
import { calleesOf, type Fn, group, inside, spell } from "./match.js";
import { calledAs, type Station } from "./routes.js";
import { hasArguments, standsIn } from "./same-call.js";
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

/** @param isSameFunction whether two functions are known to be one */
export function doubtsOf(
  then: Half<LockLine>,
  now: Half<SourcePlace>,
  names: CalledNames,
  isSameFunction: (then: Fn, now: Fn) => boolean,
): Doubt[] {
  if (then.only.length === 0 || now.only.length === 0) return [];
  const workThen = new Work(then.all);
  const workNow = new Work(now.all);
  const fresh = now.only.flatMap((place) => workNow.of(place).map((site) => ({ site, by: place })));
  const lost = new Set([...workThen.called].filter((name) => !workNow.called.has(name)));
  const gained = new Set([...workNow.called].filter((name) => !workThen.called.has(name)));
  /** Whether what is new takes the place of what is gone, and the one calls by its name what nobody sees the other call. */
  const replaces = (line: LockLine, place: SourcePlace): boolean => {
    if (!isSameFunction(line, place)) return false;
    if (!workNow.leadsOn(place)) return workThen.of(line).some((site) => isInOneOf(lost, site));
    return !workThen.leadsOn(line) && workNow.of(place).some((site) => isInOneOf(gained, site));
  };
  const doubts = then.only.flatMap((line): Doubt[] => {
    if (line.kind === "function") return [];
    const work = workThen.of(line);
    const isIts = (site: SourcePlace, by: SourcePlace): boolean =>
      work.some((each) => isAlike(each, site, names) || (each.rest === site.rest && isInPlace(line, by)));
    const isInPlace = (gone: LockLine, place: SourcePlace): boolean =>
      isSameFunction(gone, place) && standsIn(gone, place);
    const place =
      fresh.find(({ site, by }) => isIts(site, by))?.site ??
      now.only.find((each) => each.kind !== "function" && replaces(line, each));
    return place === undefined ? [] : [{ line, place }];
  });
  return [...doubts, ...below(doubts, then.only, workThen), ...around(doubts, then.only)];
}

/** What only a place that is in doubt has led to is so too: if it was said to be gone, so would be the work that is in doubt. */
function below(doubts: readonly Doubt[], gone: readonly LockLine[], work: Work<LockLine>): Doubt[] {
  const found = new Map(doubts.flatMap(({ line, place }) => work.below(line).map((each) => [each, place] as const)));
  for (const { line } of doubts) found.delete(line);
  return gone.flatMap((line) => {
    const place = found.get(line);
    return place === undefined || work.of(line).length === 0 ? [] : [{ line, place }];
  });
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
  return (
    names.isSameName(line, place) || names.callSame(line, place) || (line.rest === place.rest && hasArguments(line))
  );
}

/** Whether a place is in a function of one of these names, or in one inside that. */
function isInOneOf(names: ReadonlySet<string>, { container }: Station): boolean {
  return splitContainer(container).some((anchor) => names.has(calledAs({ anchor })));
}

/** The sites that a place stands for: a site for itself and for those in its body, a call for all those that it leads to. */
class Work<T extends Station> {
  /** Names of functions that others call. */
  readonly called: ReadonlySet<string>;
  private readonly inFunction: ReadonlyMap<string, readonly T[]>;
  private readonly byName: ReadonlyMap<string, readonly T[]>;

  constructor(stations: readonly T[]) {
    this.inFunction = group(stations, spell);
    const functions = stations.filter(({ kind, anchor }) => kind === "function" && calledAs({ anchor }) !== "");
    this.byName = group(functions, calledAs);
    const calls = stations.filter(({ kind }) => kind !== "function");
    this.called = new Set(
      calls.flatMap((call) =>
        calleesOf(call).filter((name) => this.byName.has(name) && !isInOneOf(new Set([name]), call)),
      ),
    );
  }

  of(station: T): T[] {
    return this.below(station).filter(({ kind }) => kind === "site");
  }

  /** All calls that it leads to, itself first. */
  below(station: T): T[] {
    const found = new Set<T>();
    this.collect(station, found);
    return [...found];
  }

  /** Whether it is seen what functions a call enters. */
  leadsOn(call: T): boolean {
    return this.enteredBy(call).length > 0;
  }

  private collect(station: T, found: Set<T>): void {
    if (found.has(station)) return;
    found.add(station);
    for (const fn of this.enteredBy(station))
      for (const each of this.inFunction.get(spell(inside(fn))) ?? [])
        if (each.kind !== "function") this.collect(each, found);
  }

  /** The functions that a call is given, those of the names that it calls, and one that stands where it is called. */
  private enteredBy(call: T): readonly T[] {
    if (call.kind === "function") return [];
    const beside = (this.inFunction.get(spell(call)) ?? []).filter(
      (fn) => fn.kind === "function" && (ownerOf(fn.anchor)?.call === call.anchor || fn.by === call.anchor),
    );
    return [...beside, ...calleesOf(call).flatMap((name) => this.byName.get(name) ?? [])];
  }
}
