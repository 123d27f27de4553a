/**
 * What a person would take for one call, or one function, in two texts of a project, though a build may not decide it:
 * `stepmark accept` shows these pairs and asks.
 */
import { hash } from "node:crypto";
import { baseOf } from "../plan/anchors.js";
import type { CalledNames } from "./called-names.js";
import type { LockLine } from "./lock-line.js";
import {
  alone,
  type Contents,
  certainTiers,
  group,
  keepsOrder,
  nameOf,
  type Pair,
  pairGroups,
  same,
  settled,
  type Tier,
  type Tiers,
} from "./match.js";
import { calledAs } from "./routes.js";
import type { SourcePlace } from "./source-file.js";

/**
 * @param names what is known of functions with other names
 * @param mentions whether a file still speaks of a name
 * @param boldly whether calls are taken for those of old although such have moved elsewhere, or come from there
 */
export function likelyTiers(
  names: CalledNames,
  mentions: (path: string, name: string) => boolean,
  boldly = false,
): Tiers<SourcePlace> {
  const tiers = tiersFor(names, mentions);
  return boldly ? tiers : { ...tiers, calls: tiers.calls.map((tier) => settled(tier)) };
}

function tiersFor(names: CalledNames, mentions: (path: string, name: string) => boolean): Tiers<SourcePlace> {
  const nameThen = (place: SourcePlace): string => names.of(place);
  const textOf = ({ anchor, text }: LockLine): string => JSON.stringify([baseOf(anchor), text]);
  const restOf = ({ anchor, rest }: LockLine): string => JSON.stringify([baseOf(anchor), rest]);
  return {
    calls: [
      byNeighbours(textOf, (place) => JSON.stringify([nameThen(place), place.text])),
      same(textOf, (place) => JSON.stringify([nameThen(place), place.text])),
      byNeighbours(restOf, (place) => JSON.stringify([nameThen(place), place.rest])),
      same(restOf, (place) => JSON.stringify([nameThen(place), place.rest])),
      alone(nameOf, nameThen),
      similar(names),
      edited(nameThen),
      renamed(names, mentions),
    ],
    functions: certainTiers<SourcePlace>().functions,
  };
}

/** Calls that are equal in what is looked at, more or fewer than there were: by what is made of them, and the statements around. */
function byNeighbours(ofLine: (line: LockLine) => string, ofPlace: (place: SourcePlace) => string): Tier<SourcePlace> {
  return (lines, places) => {
    const after = group(places, ofPlace);
    return [...group(lines, ofLine)].flatMap(([key, then]) => bestPairs(then, after.get(key) ?? [], nearness, 1));
  };
}

/** Calls of one function with other arguments, or under a name of their own: by all that is as it was. */
function similar(names: CalledNames): Tier<SourcePlace> {
  const score = (line: LockLine, place: SourcePlace): number => {
    if (!names.isSameName(line, place) && !names.callSame(line, place)) return 0;
    return 2 * overlap(argumentsOf(line), argumentsOf(place)) + nearness(line, place);
  };
  return (lines, places) => bestPairs(lines, places, score, 2);
}

/** Whether a call is given anything but what it calls. */
export function hasArguments({ rest }: Pick<LockLine, "rest">): boolean {
  return rest.includes("-", 1);
}

/** Whether a call stands where another one stood: the same is made of its result, or of nothing its neighbours are the same. */
export function standsIn(line: LockLine, place: SourcePlace): boolean {
  if (line.near !== undefined || place.near !== "") return line.near === place.near && line.near !== "-.-";
  return line.own === place.own && line.own !== plain;
}

/** What is made of a result of which a function makes no more than to return it. */
const plain = hash("sha256", "*").slice(0, 8);

function argumentsOf({ rest }: Pick<LockLine, "rest">): string[] {
  return rest === "-" ? [] : rest.split("-");
}

/** Calls of one name with another text, if there are as many as there were, in the order that they had. */
function edited(nameThen: (place: SourcePlace) => string): Tier<SourcePlace> {
  return (lines, places, { pairs }) =>
    pairGroups(group(lines, nameOf), group(places, nameThen)).filter((pair) =>
      keepsOrder(
        pair,
        pairs.filter(([line]) => nameOf(line) === nameOf(pair[0])),
      ),
    );
}

/** Calls of another function with the arguments that they had, at their place, where the file no longer speaks of the old one. */
function renamed(names: CalledNames, mentions: (path: string, name: string) => boolean): Tier<SourcePlace> {
  return (lines, places) => {
    const score = (line: LockLine, place: SourcePlace): number => {
      if (line.rest !== place.rest || nameOf(line) === nameOf(place)) return 0;
      if (mentions(place.path, nameOf(line)) || names.contradict(line, place)) return 0;
      return 1 + nearness(line, place);
    };
    return bestPairs(lines, places, score, 2);
  };
}

/** How much of what two functions hold is the same; what they call counts for less than how they call it. */
export function likeness(contents: Contents<SourcePlace>, line: LockLine, place: SourcePlace): number {
  const [then, now] = [contents.ofLine(line), contents.ofPlace(place)];
  const texts = overlap(then, now);
  const callees = overlap(then.map(withoutText), now.map(withoutText));
  const name = calledAs(line);
  return texts + (name !== "" && name === calledAs(place) ? callees : callees / 4);
}

/** Of what `Contents` says of a call: its kind and what it calls. */
function withoutText(spelt: string): string {
  return spelt.slice(0, spelt.lastIndexOf(" "));
}

/** How much of the surroundings of a call is as it was: from 0 to 4. */
function nearness(line: LockLine, place: SourcePlace): number {
  const own = line.own === place.own ? 2 : 0;
  if (line.near === undefined || place.near === "") return own;
  const [before, after] = line.near.split(".");
  const [beforeNow, afterNow] = place.near.split(".");
  return own + (before === beforeNow ? 1 : 0) + (after === afterNow ? 1 : 0);
}

/** Share of what either has that both have. */
export function overlap(then: readonly string[], now: readonly string[]): number {
  const left = [...now];
  let common = 0;
  for (const each of then) {
    const index = left.indexOf(each);
    if (index < 0) continue;
    left.splice(index, 1);
    common++;
  }
  return common === 0 ? 0 : (2 * common) / (then.length + now.length);
}

/**
 * Pairs those that are each other's best by far enough: neither has another of the same score.
 *
 * @param least the least score that counts
 */
export function bestPairs<P>(
  lines: readonly LockLine[],
  places: readonly P[],
  score: (line: LockLine, place: P) => number,
  least: number,
): Pair<P>[] {
  const pairs: Pair<P>[] = [];
  let left = lines;
  let free = places;
  for (;;) {
    const found = left.flatMap((line) => {
      const place = onlyBest(free, (each) => score(line, each), least);
      if (place === undefined) return [];
      return onlyBest(left, (each) => score(each, place), least) === line ? [[line, place] as const] : [];
    });
    if (found.length === 0) return pairs;
    pairs.push(...found);
    // Those that are left may be told apart now.
    left = left.filter((line) => !found.some(([each]) => each === line));
    free = free.filter((place) => !found.some(([, each]) => each === place));
  }
}

function onlyBest<T>(candidates: readonly T[], score: (candidate: T) => number, least: number): T | undefined {
  let best: { candidate: T; score: number; alone: boolean } | undefined;
  for (const candidate of candidates) {
    const points = score(candidate);
    if (points < least || (best !== undefined && points < best.score)) continue;
    best = { candidate, score: points, alone: best === undefined || points > best.score };
  }
  return best?.alone ? best.candidate : undefined;
}
