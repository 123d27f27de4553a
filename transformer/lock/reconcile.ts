/**
 * The lock file and a whole project brought together: which places are those of old, by how they look or by how control comes to
 * them, which are new, and which are gone. What a build may not decide by itself is a move that somebody is asked about.
 */

import { baseOf } from "../plan/anchors.js";
import { BornNames } from "./born-names.js";
import { CalledNames } from "./called-names.js";
import { type Doubt, doubtsOf } from "./doubts.js";
import { type GoneLine, isGone, type LockLine, ordinalOf, ownerOf, tagsOfGone, within } from "./lock-line.js";
import { certainTiers, type Fn, group, inside, Matching, type Pair, pairGroups, spell, type Tiers } from "./match.js";
import type { Place } from "./places.js";
import { type Leg, Ways } from "./routes.js";
import { bestPairs, hasArguments, likelyTiers, likeness } from "./same-call.js";
import type { SourceFile, SourcePlace } from "./source-file.js";

export interface Move {
  readonly line: LockLine;
  readonly place: SourcePlace;
  /** For a place in another function: the calls that lead there now and did not, and those that led there and are gone. */
  readonly route: Route | undefined;
}

export interface Route {
  readonly through: ReadonlyMap<SourcePlace, "" | "@">;
  readonly under: readonly GoneLine[];
  readonly skip: number;
  /** How many calls it is about. */
  readonly length: number;
  /** Whether one of them calls a function for each item, and that counts as no iteration. */
  readonly iterates: boolean;
}

export interface Reconciliation {
  /** Places that are those of old for certain. */
  readonly kept: readonly Move[];
  /** Places that are likely those of old; builds do not take them for those until the lock file says so. */
  readonly moves: readonly Move[];
  readonly added: readonly SourcePlace[];
  readonly retired: readonly LockLine[];
  /** Places that are gone, but perhaps not for good. */
  readonly unclear: readonly Doubt[];
}

/** Tags of calls that are gone, and whose part the keys of other places keep. */
export function heldBy(moves: readonly Move[]): ReadonlySet<string> {
  return new Set(moves.flatMap(({ route }) => route?.under.flatMap(tagsOfGone) ?? []));
}

/** @param lines of the lock file */
export function reconcile(lines: readonly LockLine[], files: readonly SourceFile[]): Reconciliation {
  return new Reconciling(lines, files).result();
}

class Reconciling {
  private readonly live: readonly LockLine[];
  private readonly places: readonly SourcePlace[];
  private readonly matching: Matching<SourcePlace>;
  private readonly names: BornNames;
  private readonly routes = new Map<SourcePlace, Route>();
  private readonly through = new Map<SourcePlace, "" | "@">();
  private readonly waysThen: Ways<LockLine>;
  private readonly waysNow: Ways<SourcePlace>;
  private readonly byPath: ReadonlyMap<string, SourceFile>;
  private known = { pairs: -1, functions: new Map<string, string>() };
  /** Paths that files had before, by what they are now. */
  private readonly movedFiles = new Map<string, string>();

  constructor(
    private readonly lines: readonly LockLine[],
    private readonly files: readonly SourceFile[],
  ) {
    this.live = lines.filter((line) => !isGone(line) || line.movedTo !== undefined);
    this.places = files.flatMap(({ places }) => places);
    this.matching = new Matching(this.live, this.places);
    this.names = new BornNames(this.live);
    this.waysThen = new Ways(this.live);
    this.waysNow = new Ways(this.places);
    this.byPath = new Map(files.map((file) => [file.path, file]));
  }

  result(): Reconciliation {
    const { matching, files } = this;
    matching.matchMoved();
    const said = new Set(matching.pairs.keys());
    for (const { path } of files) matching.match(module(path), module(path), certainTiers());
    const certain = new Set([...matching.pairs.keys()].filter((place) => !said.has(place)));
    this.matchMovedFiles();
    // Each of these tells more about the others; what stands where it stood goes first.
    for (let known = -1; known !== matching.pairs.size && this.hasUnmatched(); ) {
      known = matching.pairs.size;
      this.matchInFunctions();
      if (known === matching.pairs.size) this.matchFunctions();
      if (known === matching.pairs.size) this.matchByRoutes();
      if (known === matching.pairs.size) this.matchInFunctions(true);
    }
    this.matchReturned();
    this.routeFunctions();
    for (const place of said) {
      const route = this.route(matching.pairs.get(place)!, place);
      if (route !== undefined) this.note(place, route);
    }
    const moves = [...matching.pairs].map(([place, line]): Move => ({ line, place, route: this.routes.get(place) }));
    const unclear = [...this.doubts(moves), ...this.replaced()];
    return {
      kept: moves.filter(({ place }) => certain.has(place)),
      moves: moves.filter(({ place }) => !certain.has(place)),
      added: this.free(),
      retired: this.left().filter((line) => !unclear.some((doubt) => doubt.line === line)),
      unclear,
    };
  }

  private doubts(moves: readonly Move[]): Doubt[] {
    // What keys still hold is not gone, and what they leave out is not new.
    const held = heldBy(moves);
    return doubtsOf(
      { all: this.live, only: this.left().filter(({ tag }) => !held.has(tag)) },
      { all: this.places, only: this.free().filter((place) => !this.through.has(place)) },
      new CalledNames(this.live, this.places, this.matching.pairs),
      (one, other) => this.isSameFunction(one, other),
    );
  }

  /** Lines of places of which somebody says that they are those of other lines. */
  private replaced(): Doubt[] {
    const moved = [...this.matching.pairs].filter(([, { movedTo }]) => movedTo !== undefined);
    return this.left().flatMap((line) => {
      const place = moved.map(([each]) => each).find((each) => isSpotOf(line, each));
      return place === undefined ? [] : [{ line, place }];
    });
  }

  /** What a person would see by what is known so far. */
  private tiers(boldly = false): Tiers<SourcePlace> {
    const names = new CalledNames(this.live, this.places, this.matching.pairs);
    return likelyTiers(names, (path, name) => this.byPath.get(path)?.mentions(name) ?? false, boldly);
  }

  /** A file that is gone, and one of which nothing is known that holds most of what that one held. */
  private matchMovedFiles(): void {
    const here = new Set(this.files.map(({ path }) => path));
    const gone = [...new Set(this.live.map(({ path }) => path))].filter((path) => !here.has(path));
    const known = new Set(this.live.map(({ path }) => path));
    const found = this.files.filter(({ path, places }) => places.length > 0 && !known.has(path));
    const textsThen = textsByPath(this.live);
    const textsNow = textsByPath(this.places);
    const inCommon = (then: string, now: string): number => {
      const left = textsNow.get(now)!;
      const before = textsThen.get(then)!;
      const common = before.filter((text) => left.includes(text)).length;
      return common / Math.max(left.length, before.length);
    };
    for (const { path: now } of found) {
      const best = gone.filter((then) => inCommon(then, now) > 0.5);
      if (best.length !== 1) continue;
      this.movedFiles.set(now, best[0]!);
      this.matching.match(module(best[0]!), module(now), this.tiers());
    }
  }

  /** Calls in the functions that are known by now, and in those inside them. */
  private matchInFunctions(boldly = false): void {
    const tiers = this.tiers(boldly);
    for (const { path } of this.files)
      this.matching.match(module(this.movedFiles.get(path) ?? path), module(path), tiers);
    for (const [place, line] of [...this.matching.pairs])
      if (place.kind === "function") this.matching.match(inside(line), inside(place), tiers);
  }

  /** Functions that stand elsewhere now, or are given to a call, or no longer: with their names or with their contents. */
  private matchFunctions(): void {
    const isFunction = ({ kind }: Pick<LockLine, "kind">): boolean => kind === "function";
    const score = (line: LockLine, place: SourcePlace): number => likeness(this.matching.contents, line, place);
    const pairs = bestPairs(this.left().filter(isFunction), this.free().filter(isFunction), score, 0.5);
    for (const [line, place] of pairs) this.matching.pair(line, place);
  }

  /** What was gone and is back as it was: an edit has been taken back. */
  private matchReturned(): void {
    const held = new Set(this.live.flatMap(({ under }) => under?.flatMap(tagsOfGone) ?? []));
    const isGoneForGood = (line: LockLine): boolean =>
      isGone(line) && line.movedTo === undefined && !held.has(line.tag);
    const spellLine = ({ path, kind, container, anchor, text, own }: LockLine): string =>
      JSON.stringify([path, kind, container, baseOf(anchor), text, own]);
    const gone = group(this.lines.filter(isGoneForGood), spellLine);
    if (gone.size === 0) return;
    const born = new Map<string, string>();
    for (const place of this.places) {
      const container = born.get(spell(place)) ?? place.container;
      const found = gone.get(spellLine({ ...place, container, tag: "" })) ?? [];
      const isOnly = found.length === 1 && !this.matching.isTaken(found[0]!);
      if (isOnly && !this.matching.pairs.has(place) && !this.through.has(place)) this.matching.pair(found[0]!, place);
      if (place.kind !== "function") continue;
      // A function comes before what is in it.
      const line = this.matching.pairs.get(place);
      const name = line === undefined ? { container, anchor: place.anchor } : this.names.place(line);
      born.set(spell(inside(place)), within(name.container, name.anchor));
    }
  }

  /** A function that is entered later, without the call that it was given to, has a key of its own. */
  private routeFunctions(): void {
    for (const [place, line] of this.matching.pairs) {
      if (place.kind !== "function" || place.container === "" || line.container === "") continue;
      if (this.isSameFunction(line, place)) continue;
      const route = this.route(line, place);
      if (route !== undefined && route.length > 0) this.note(place, route);
    }
  }

  /** Calls that stand in another function now, which is reached from where they stood, or the other way round. */
  private matchByRoutes(): void {
    const names = new CalledNames(this.live, this.places, this.matching.pairs);
    for (let most = 1; most <= longestRoute; most++) {
      // A call comes before what it leads to, which may have come with it.
      for (const kind of ["call", "site"] as const) {
        const lines = this.left().filter((line) => line.kind === kind);
        const places = this.free().filter((place) => place.kind === kind);
        const score = (line: LockLine, place: SourcePlace): number => this.scoreOnRoute(line, place, names, most);
        const best = bestPairs(lines, places, score, 1);
        const pairs = best.length > 0 ? best : pairsInOrder(lines, places).filter((pair) => score(...pair) > 0);
        const taken = pairs.filter(([line, place]) => this.takeByRoute(line, place));
        if (taken.length > 0) return this.matchByRoutes();
      }
    }
  }

  private scoreOnRoute(line: LockLine, place: SourcePlace, names: CalledNames, most: number): number {
    if (this.matching.contested.has(line)) return 0;
    if (!names.isSameName(line, place) && !this.isRenamed(line, place, names)) return 0;
    const isEdited = line.text !== place.text;
    if (isEdited && this.isCopy(line, place)) return 0;
    const route = this.route(line, place);
    if (route === undefined || route.length > most) return 0;
    // What is done for each item is not what was done once, or the other way round.
    if (isEdited && route.iterates) return 0;
    return 1 + (line.text === place.text ? 2 : 0) + (line.own === place.own ? 1 : 0);
  }

  /** Whether a call of another name may be that of a line: it has its arguments, and calls the same, or another for the same result. */
  private isRenamed(line: LockLine, place: SourcePlace, names: CalledNames): boolean {
    if (line.rest !== place.rest) return false;
    const name = baseOf(line.anchor);
    if (names.callSame(line, place)) return true;
    const file = this.byPath.get(place.path);
    if (!hasArguments(line) || file?.mentions(name) || names.contradict(line, place)) return false;
    const [then, now] = this.commonFunction(line, place) ?? [[], []];
    return isResultOf(line, now[0]?.call) || isResultOf(place, then[0]?.call);
  }

  /** Whether a call of another function had the text that a place has: then it is that one, or a copy of it. */
  private isCopy(line: LockLine, place: SourcePlace): boolean {
    const isIt = (each: LockLine): boolean => each.kind === place.kind && each.text === place.text;
    return this.live.some((each) => each !== line && isIt(each) && spell(each) !== spell(place));
  }

  /** @returns whether the way is still one that fits with the others */
  private takeByRoute(line: LockLine, place: SourcePlace): boolean {
    const route = this.route(line, place);
    if (route === undefined) return false;
    this.note(place, route);
    this.matching.pair(line, place);
    // What was given to the call went with it.
    this.matching.matchArguments(line, place);
    for (const [inner, then] of [...this.matching.pairs])
      if (isOwnedBy(place, inner)) this.matching.match(inside(then), inside(inner), this.tiers());
    return true;
  }

  private note(place: SourcePlace, route: Route): void {
    for (const [call, how] of route.through) this.through.set(call, how);
    this.routes.set(place, route);
  }

  /** How the keys of a place are made of what its line's were made of; undefined if they cannot be. */
  private route(line: LockLine, place: SourcePlace): Route | undefined {
    const met = this.commonFunction(line, place);
    if (met === undefined) return undefined;
    const [then, now] = met;
    const skipped = skippedLegs(then, line.skip ?? 0);
    const depthThen =
      sum(then.map((leg) => leg.call.loops + (skipped.has(leg) && isCounted(leg) ? 1 : 0))) + line.loops;
    const depthNow = sum(now.map(({ call }) => call.loops)) + place.loops;
    const counted = countedLegs(then, now, depthNow - depthThen);
    if (counted === undefined) return undefined;
    const through = new Map(
      now.flatMap((leg) => {
        const how = counted.has(leg) ? "@" : "";
        // A function that is given to a call may be entered later, without it.
        return [leg.call, ...(leg.callback === undefined ? [] : [leg.callback])].map((each) => [each, how] as const);
      }),
    );
    for (const [call, how] of through) if ((this.howThrough(call) ?? how) !== how) return undefined;
    const under = then
      .filter((leg) => !skipped.has(leg))
      .map((leg): GoneLine => {
        const { text, loops } = leg.call;
        const tag = leg.callback === undefined ? leg.call.tag : `${leg.call.tag}+${leg.callback.tag}`;
        return { ...this.names.place(leg.call), tag, text, loops, indexed: counted.has(leg) };
      });
    return {
      through,
      under: [...under, ...(line.under ?? [])],
      skip: (line.skip ?? 0) - skipped.size + now.length,
      length: then.length + now.length,
      iterates: [...then, ...now].some((leg) => isIterating(leg) && !counted.has(leg)),
    };
  }

  /** What is known by now of how places past a call were born. */
  private howThrough(call: SourcePlace): LockLine["through"] {
    return this.through.get(call) ?? this.matching.pairs.get(call)?.through;
  }

  /** The nearest function that both are in or reached from: the calls from there to either. */
  private commonFunction(
    line: LockLine,
    place: SourcePlace,
  ): [then: Leg<LockLine>[], now: Leg<SourcePlace>[]] | undefined {
    const waysNow = this.waysNow.to(place);
    let best: [Leg<LockLine>[], Leg<SourcePlace>[]] | undefined;
    for (const then of this.waysThen.to(line)) {
      const now = waysNow.find(({ from }) => this.isSameFunction(then.from, from));
      if (now === undefined) continue;
      if (best === undefined || then.legs.length + now.legs.length < best[0].length + best[1].length)
        best = [then.legs, now.legs];
    }
    return best;
  }

  private isSameFunction(then: Fn, now: Fn): boolean {
    if (then.container === "" || now.container === "") return spell(then) === spell(now);
    return this.functionsThen().get(spell(now)) === spell(then);
  }

  /** What functions were, by what they are now, as far as that is known by now. */
  private functionsThen(): ReadonlyMap<string, string> {
    const { pairs } = this.matching;
    if (this.known.pairs !== pairs.size) {
      const functions = [...pairs].filter(([{ kind }]) => kind === "function");
      const before = new Map(functions.map(([place, line]) => [spell(inside(place)), spell(inside(line))]));
      this.known = { pairs: pairs.size, functions: before };
    }
    return this.known.functions;
  }

  /** Whether there is anything that could still be paired. */
  private hasUnmatched(): boolean {
    const paired = this.matching.pairs.size;
    return paired < this.places.length && paired < this.live.length;
  }

  private left(): LockLine[] {
    return this.live.filter((line) => !this.matching.isTaken(line));
  }

  private free(): SourcePlace[] {
    return this.places.filter((place) => !this.matching.pairs.has(place));
  }
}

/** Farther than this nothing is moved in one edit. */
const longestRoute = 4;

/** Whether the same is made of what comes of a call as of what comes of the call that leads to where it has gone, or was. */
function isResultOf({ own, near }: Pick<LockLine, "own" | "near">, leg: Pick<LockLine, "own"> | undefined): boolean {
  return !near && own === leg?.own;
}

/** Whether a place is a function that is given to a call. */
function isOwnedBy(call: SourcePlace, place: SourcePlace): boolean {
  return place.kind === "function" && spell(place) === spell(call) && ownerOf(place.anchor)?.call === call.anchor;
}

/** Calls that nothing tells apart, and that have moved together: as many as there were, in the order that they had. */
function pairsInOrder(lines: readonly LockLine[], places: readonly SourcePlace[]): Pair<SourcePlace>[] {
  const keyOf = ({ anchor, text, own }: Place): string => JSON.stringify([baseOf(anchor), text, own]);
  const isTogether = (each: readonly Place[]): boolean => new Set(each.map(spell)).size === 1;
  const inOrder = <T extends Place>(each: readonly T[]): T[] =>
    [...each].sort((a, b) => ordinalOf(a.anchor) - ordinalOf(b.anchor));
  const groupsOf = <T extends Place>(each: readonly T[]): Map<string, T[]> =>
    new Map([...group(inOrder(each), keyOf)].filter(([, same]) => isTogether(same)));
  return pairGroups(groupsOf(lines), groupsOf(places));
}

/** Those of the calls that led to a place past which it was born already. */
function skippedLegs(legs: readonly Leg<LockLine>[], skip: number): Set<AnyLeg> {
  const through = legs.filter(({ call }) => call.through !== undefined);
  return new Set(skip === 0 ? [] : through.slice(-skip));
}

function isCounted({ call }: Leg<LockLine>): boolean {
  return call.through === "@";
}

/** Library methods that call a function once for each item. */
const iterating = /^(map|forEach|flatMap|filter|some|every|find|reduce|from)$/;

function isIterating({ call, callback }: AnyLeg): boolean {
  return callback !== undefined && iterating.test(baseOf(call.anchor));
}

type AnyLeg = Leg<LockLine> | Leg<SourcePlace>;

/**
 * Whose entries count as iterations: an item of `map` is an iteration of the loop that it has become, or was.
 *
 * @param missing how many loops more there are now
 */
function countedLegs(then: readonly AnyLeg[], now: readonly AnyLeg[], missing: number): Set<AnyLeg> | undefined {
  if (missing === 0) return new Set();
  const legs = missing > 0 ? then : now;
  const candidates = legs.filter(isIterating);
  return candidates.length === Math.abs(missing) ? new Set(candidates) : undefined;
}

function textsByPath(places: ReadonlyArray<Pick<LockLine, "path" | "text">>): Map<string, string[]> {
  const byPath = group(places, ({ path }) => path);
  return new Map([...byPath].map(([path, those]) => [path, those.map(({ text }) => text)]));
}

function isSpotOf({ path, kind, container, anchor }: LockLine, place: SourcePlace): boolean {
  return path === place.path && kind === place.kind && container === place.container && anchor === place.anchor;
}

function module(path: string): Fn {
  return { path, container: "" };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
