/**
 * Which line of the lock file is about which place of the code. Places are matched in tiers, function by function from the
 * module inwards; a tier pairs only what it cannot mistake, and leaves the rest to the next one, or unmatched.
 */
import { baseOf } from "../plan/anchors.js";
import { type LockLine, ordinalOf, ownerOf, splitCallees, within } from "./lock-line.js";
import type { Place } from "./places.js";

export type Pair<P> = readonly [line: LockLine, place: P];

/**
 * Pairs some of the lines and places of one function, all of one kind and each in the order of their ordinals. What it does
 * not pair, the next tier gets.
 *
 * @param all those of the function that are paired already, too
 */
export type Tier<P> = (lines: readonly LockLine[], places: readonly P[], all: All<P>) => Pair<P>[];

export interface All<P> {
  readonly lines: readonly LockLine[];
  readonly places: readonly P[];
  /** Which of them are paired already. */
  readonly pairs: readonly Pair<P>[];
  /** Whether a call with the text of a line, or of a place, may have moved: there are more of them elsewhere than there were, or fewer. */
  hasMoved(line: LockLine, place: P): boolean;
}

export interface Tiers<P> {
  /** For sites and marked calls. */
  readonly calls: readonly Tier<P>[];
  /** For functions that are no arguments of a call; those that are go with the call. */
  readonly functions: (contents: Contents<P>) => readonly Tier<P>[];
}

/** What a function holds, for telling a renamed one: the text of each place in it, at any depth. */
export interface Contents<P> {
  ofLine(line: LockLine): readonly string[];
  ofPlace(place: P): readonly string[];
}

/** What a build may decide by itself. */
export function certainTiers<P extends Place>(): Tiers<P> {
  return {
    calls: [same<P>(nameAndText, nameAndText), settled(alone<P>(nameOf, nameOf))],
    functions: (contents) => [sameName(contents), sameContents(contents)],
  };
}

/** A function: its file and its full name; see `joinContainer`. */
export interface Fn {
  readonly path: string;
  readonly container: string;
}

export class Matching<P extends Place> {
  readonly pairs = new Map<P, LockLine>();
  private readonly places = new Map<LockLine, P>();
  /** Lines that may be about either of two places: they stay unpaired. */
  readonly contested = new Set<LockLine>();
  private readonly lineIndex: ReadonlyMap<string, readonly LockLine[]>;
  private readonly placeIndex: ReadonlyMap<string, readonly P[]>;
  readonly contents: Contents<P>;
  private readonly linesByText: ReadonlyMap<string, readonly LockLine[]>;
  private readonly placesByText: ReadonlyMap<string, readonly P[]>;

  /** @param lines of places that are not gone; or of which somebody says that they have moved */
  constructor(lines: readonly LockLine[], places: readonly P[]) {
    this.lineIndex = group([...lines].sort(byOrdinal), spell);
    this.placeIndex = group([...places].sort(byOrdinal), spell);
    this.linesByText = group(lines, nameAndText);
    this.placesByText = group(places, nameAndText);
    this.contents = {
      ofLine: (line) => contentsOf(this.lineIndex, inside(line)),
      ofPlace: (place) => contentsOf(this.placeIndex, inside(place)),
    };
  }

  /** Matches what is in one function, and in the functions inside that. */
  match(then: Fn, now: Fn, tiers: Tiers<P>): this {
    const lines = this.lineIndex.get(spell(then)) ?? [];
    const places = this.placeIndex.get(spell(now)) ?? [];
    for (const kind of ["site", "call"] as const) {
      for (const tier of tiers.calls) this.apply(tier, lines.filter(isOf(kind)), places.filter(isOf(kind)));
    }
    const functions = lines.filter(isOf("function"));
    const inner = places.filter(isOf("function"));
    for (const line of lines) {
      const place = this.places.get(line);
      if (place !== undefined) this.matchArguments(line, place);
    }
    for (const tier of tiers.functions(this.contents))
      this.apply(tier, functions.filter(hasNoOwner(lines)), inner.filter(hasNoOwner(places)));
    for (const place of inner) {
      const line = this.pairs.get(place);
      if (line !== undefined) this.match(inside(line), inside(place), tiers);
    }
    return this;
  }

  /** What somebody says has moved within its file. */
  matchMoved(): this {
    for (const lines of this.lineIndex.values()) {
      for (const line of lines) {
        const { movedTo } = line;
        if (movedTo === undefined) continue;
        const place = this.placeIndex
          .get(spell(movedTo))
          ?.find(({ kind, anchor }) => kind === line.kind && anchor === movedTo.anchor);
        if (place !== undefined) this.pair(line, place);
      }
    }
    return this;
  }

  /** Takes two places for one, unless either is known already. */
  pair(line: LockLine, place: P): void {
    if (this.places.has(line) || this.pairs.has(place)) return;
    this.places.set(line, place);
    this.pairs.set(place, line);
  }

  isTaken(line: LockLine): boolean {
    return this.places.has(line);
  }

  private apply(tier: Tier<P>, lines: readonly LockLine[], places: readonly P[]): void {
    const left = lines.filter((line) => !this.places.has(line) && !this.isContested(line, lines, places));
    const free = places.filter((place) => !this.pairs.has(place));
    if (left.length === 0 || free.length === 0) return;
    const pairs = places.flatMap((place): Pair<P>[] => {
      const line = this.pairs.get(place);
      return line === undefined ? [] : [[line, place]];
    });
    const hasMoved = (line: LockLine, place: P): boolean =>
      this.isElsewhere(line.text, line, place) || this.isElsewhere(place.text, line, place);
    for (const [line, place] of tier(left, free, { lines, places, pairs, hasMoved })) this.pair(line, place);
  }

  private isContested(line: LockLine, lines: readonly LockLine[], places: readonly P[]): boolean {
    if (!this.contested.has(line) && isSplit(line, lines, places)) this.contested.add(line);
    return this.contested.has(line);
  }

  /** Whether there are more calls of a text outside two functions than there were, or fewer. */
  private isElsewhere(text: string, line: LockLine, place: P): boolean {
    const key = (of: Place): string => nameAndText({ anchor: of.anchor, text });
    const before = (this.linesByText.get(key(line)) ?? []).filter((each) => spell(each) !== spell(line));
    const after = (this.placesByText.get(key(place)) ?? []).filter((each) => spell(each) !== spell(place));
    return text === line.text ? after.length > before.length : before.length > after.length;
  }

  /** A function that is given to a call is the function that was given to that call. */
  matchArguments(call: LockLine, callNow: P): void {
    if (call.kind === "function") return;
    const now = (this.placeIndex.get(spell(callNow)) ?? []).filter(isOf("function"));
    for (const line of this.lineIndex.get(spell(call)) ?? []) {
      const owner = line.kind === "function" ? ownerOf(line.anchor) : undefined;
      if (owner?.call !== call.anchor) continue;
      const place = now.find(({ anchor }) => anchor === callNow.anchor + owner.shape);
      if (place !== undefined) this.pair(line, place);
    }
  }
}

/**
 * Whether a line may be about either of two places: one has its text, or nothing but its name, and the other, whose text nobody
 * had, calls the same and makes of the result what was made of it. The call may have been edited, or named otherwise, and another
 * one written beside it.
 */
function isSplit(line: LockLine, lines: readonly LockLine[], places: readonly Place[]): boolean {
  const isNamesake = (each: Place): boolean => nameOf(each) === nameOf(line);
  const [then, now] = [lines.filter(isNamesake), places.filter(isNamesake)];
  const withText = now.filter(({ text }) => text === line.text);
  if (now.length === 0 || now.some(({ text, own }) => own === line.own && text === line.text)) return false;
  const isKnown = (place: Place): boolean => lines.some((each) => nameAndText(each) === nameAndText(place));
  const rivals = places.filter((place) => place.own === line.own && !isKnown(place));
  if (withText.length > 0) {
    const isAnothers = ({ own }: Place): boolean => then.some((each) => each.text === line.text && each.own === own);
    return !withText.every(isAnothers) && rivals.some(isNamesake);
  }
  // Where there are more of its name, that alone says nothing anyway.
  const isAlone = then.length === 1 && now.length === 1 && now[0]!.own !== line.own;
  return isAlone && rivals.some((place) => calleesOf(place).some((name) => calleesOf(line).includes(name)));
}

/** The names of what a call may call: of a step, those that its function goes by. */
export function calleesOf(place: Pick<Place, "anchor" | "calls">): string[] {
  return place.calls === undefined ? [nameOf(place)] : splitCallees(place.calls);
}

/** What a call is called. */
export function nameOf({ anchor }: Pick<Place, "anchor">): string {
  return baseOf(anchor);
}

export function nameAndText({ anchor, text }: Pick<Place, "anchor" | "text">): string {
  return JSON.stringify([baseOf(anchor), text]);
}

/**
 * Calls that are the same in what is looked at: first those that the same is made of, then the others, if there are as many
 * as there were. Their ordinals may have changed.
 */
export function same<P extends Place>(ofLine: (line: LockLine) => string, ofPlace: (place: P) => string): Tier<P> {
  return (lines, places) => {
    const after = group(places, ofPlace);
    return [...group(lines, ofLine)].flatMap(([key, then]) => pairEqual(then, after.get(key) ?? []));
  };
}

function pairEqual<P extends Place>(then: readonly LockLine[], now: readonly P[]): Pair<P>[] {
  const ownOf = ({ own }: Place): string => own;
  const byOwn = pairGroups(group(then, ownOf), group(now, ownOf));
  const left = then.filter((line) => !byOwn.some(([each]) => each === line));
  const free = now.filter((place) => !byOwn.some(([, each]) => each === place));
  if (left.length !== free.length) return byOwn;
  const rest = left.map((line, index): Pair<P> => [line, free[index]!]);
  return rest.every((pair) => keepsOrder(pair, byOwn)) ? [...byOwn, ...rest] : byOwn;
}

/** Whether a line and a place of one name stand where they are to others of that name. */
export function keepsOrder<P extends Place>([line, place]: Pair<P>, others: readonly Pair<P>[]): boolean {
  return others.every(
    ([otherLine, otherPlace]) =>
      ordinalOf(line.anchor) < ordinalOf(otherLine.anchor) === ordinalOf(place.anchor) < ordinalOf(otherPlace.anchor),
  );
}

/** A call that has been alone with its name in its function, and is, though its text has changed. */
export function alone<P extends Place>(ofLine: (line: LockLine) => string, ofPlace: (place: P) => string): Tier<P> {
  return (lines, places, all) => {
    const before = group(all.lines, ofLine);
    const after = group(all.places, ofPlace);
    const isAlone = (name: string): boolean => before.get(name)?.length === 1 && after.get(name)?.length === 1;
    return pairGroups(
      group(
        lines.filter((line) => isAlone(ofLine(line))),
        ofLine,
      ),
      group(
        places.filter((place) => isAlone(ofPlace(place))),
        ofPlace,
      ),
    );
  };
}

/** Pairs of a tier that looks at more than texts, but for those that may be no pairs since a text has moved. */
export function settled<P extends Place>(tier: Tier<P>): Tier<P> {
  return (lines, places, all) =>
    tier(lines, places, all).filter(([line, place]) => line.text === place.text || !all.hasMoved(line, place));
}

/** Functions of one name, if there are as many as there were; one that holds what it held goes first. */
function sameName<P extends Place>(contents: Contents<P>): Tier<P> {
  return (lines, places) => {
    const same = pairGroups(
      group(lines, (line) => JSON.stringify([baseOf(line.anchor), contents.ofLine(line)])),
      group(places, (place) => JSON.stringify([baseOf(place.anchor), contents.ofPlace(place)])),
    );
    const left = lines.filter((line) => !same.some(([each]) => each === line));
    const free = places.filter((place) => !same.some(([, each]) => each === place));
    const keyOf = ({ anchor }: Place): string => baseOf(anchor);
    return [...same, ...pairGroups(group(left, keyOf), group(free, keyOf))];
  };
}

/** A function of another name that holds just what one held that is gone. */
function sameContents<P extends Place>(contents: Contents<P>): Tier<P> {
  return (lines, places) => {
    const before = group(lines, (line) => JSON.stringify(contents.ofLine(line)));
    const after = group(places, (place) => JSON.stringify(contents.ofPlace(place)));
    before.delete("[]");
    return pairGroups(
      new Map([...before].filter(([, { length }]) => length === 1)),
      new Map([...after].filter(([, { length }]) => length === 1)),
    );
  };
}

/** Pairs groups of equal size, in the order of their ordinals. */
export function pairGroups<P>(
  before: ReadonlyMap<string, readonly LockLine[]>,
  after: ReadonlyMap<string, readonly P[]>,
): Pair<P>[] {
  const pairs: Pair<P>[] = [];
  for (const [key, lines] of before) {
    const places = after.get(key);
    if (places?.length === lines.length) pairs.push(...lines.map((line, index): Pair<P> => [line, places[index]!]));
  }
  return pairs;
}

export function group<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [item]);
    else known.push(item);
  }
  return groups;
}

/** Whether a function is no argument, or one of a call that is not marked, as that of `workflow`. */
function hasNoOwner(around: readonly Place[]): (fn: Place) => boolean {
  return ({ anchor }) => {
    const owner = ownerOf(anchor);
    return owner === undefined || !around.some((each) => each.kind !== "function" && each.anchor === owner.call);
  };
}

function byOrdinal(a: Place, b: Place): number {
  return ordinalOf(a.anchor) - ordinalOf(b.anchor);
}

function isOf(kind: LockLine["kind"]): (place: Pick<LockLine, "kind">) => boolean {
  return (place) => place.kind === kind;
}

/** Names and texts of the calls in a function and in those inside it, in an order that says nothing. */
function contentsOf<T extends Place>(index: ReadonlyMap<string, readonly T[]>, fn: Fn): string[] {
  const found: string[] = [];
  for (const place of index.get(spell(fn)) ?? []) {
    if (place.kind === "function") found.push(...contentsOf(index, inside(place)));
    else found.push(`${place.kind} ${baseOf(place.anchor)} ${place.text}`);
  }
  return found.sort();
}

/** The function that a place of that kind is. */
export function inside({ path, container, anchor }: Pick<Place, "path" | "container" | "anchor">): Fn {
  return { path, container: within(container, anchor) };
}

export function spell({ path, container }: Fn): string {
  // No path holds a NUL, so no two functions meet.
  return `${path}\0${container}`;
}
