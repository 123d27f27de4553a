/**
 * What tells a call apart from its namesakes.
 *
 * A key names places by their anchors, and an anchor that two places of a function share carries an ordinal. After
 * an edit an ordinal may mean another place. So each entry also keeps, for every level of its key, the text of the
 * place and, where the anchor is shared, how many namesakes have that same text. A level is in doubt if its anchor
 * is shared, then or now, and text or count differ. Each level also says how many loops are around its place: iterations
 * are numbered loop by loop, so with another loop around a number may mean another iteration.
 *
 * Twins, namesakes with one text, are told apart by what is made of their results: if that has changed places, so have they.
 *
 * Each level also says where its place stands, so that a record's way to a call can be looked for in another build, and
 * the place's tag, if a lock file knows it: then nothing is in doubt.
 */
import { createHash } from "node:crypto";
import type { Place } from "./module-table.js";

const longest = 1000;
const digested = "#";

/**
 * The chain of a place below a chain.
 *
 * @param whereabouts a digest of the place's function and anchor
 * @param loops how many loops are around the place
 */
export function extendChain(chain: string, place: Place, whereabouts: string, loops = place.loops.length): string {
  let level = `${whereabouts}:${place.text}`;
  if (place.shared > 1) level += `+${place.twins}`;
  if (place.own !== undefined) level += `~${place.own}`;
  if (place.tag !== undefined) level += `=${place.tag}`;
  if (loops > 0) level += `^${loops}`;
  return joined(chain, level);
}

/**
 * The chain of a function that a place has entered, where nothing but its position among others names it: the place may enter
 * another one next time. How many others there are says nothing, as long as its text is where it was.
 */
export function extendByEntered(chain: string, { text, own, tag }: Place, whereabouts: string): string {
  if (own === undefined) return chain;
  return joined(chain, `${whereabouts}:${text}~${own}${tag === undefined ? "" : `=${tag}`}`);
}

function joined(chain: string, level: string): string {
  const longer = chain === "" ? level : `${chain}/${level}`;
  return longer.length > longest ? digested + digestOf(longer).slice(0, 32) : longer;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * Whether two chains of one build lead past other places. What a lock file calls the places says nothing of that: it may have been
 * begun since. Of chains that are too long to say, `isTagged` tells whether both were made with the same tags.
 */
export function differInPlaces(then: string, now: string, isTagged: () => boolean): boolean {
  if (then === now) return false;
  if (then.includes(digested) || now.includes(digested)) return isTagged();
  return then.replace(tagOfLevel, "") !== now.replace(tagOfLevel, "");
}

const tagOfLevel = /=[^^/]*/g;

/** Whether a call was come to past a place where today's way does not lead, although that place is still there. */
export function leadsElsewhere(then: string, now: string, isThere: (whereabouts: string) => boolean): boolean {
  const before = whereaboutsOf(then);
  const after = whereaboutsOf(now);
  if (before === undefined || after === undefined) return false;
  const tags = [tagsOf(then), tagsOf(now)];
  return before.some((place, level) => {
    if (place === after[level] || !isThere(place)) return false;
    const [tagThen, tagNow] = tags.map((each) => each?.[level]);
    return tagThen === undefined || tagNow === undefined || !isSameTag(tagThen, tagNow);
  });
}

/** Where the places of a chain stand, outermost first; undefined if the chain is too long to say. */
export function whereaboutsOf(chain: string): string[] | undefined {
  if (chain.includes(digested)) return undefined;
  return chain.split("/").map((level) => level.slice(0, level.indexOf(":")));
}

/** A digest of the way to a call: which places it leads past, whatever their texts. */
export function wayOf(chain: string): string {
  return digestOf(whereaboutsOf(chain)?.join("/") ?? chain).slice(0, 8);
}

/** Whether two tags name one place. A function that is given to a call has that of the call too. */
export function isSameTag(one: string, other: string): boolean {
  if (one === other) return true;
  const others = other.split("+");
  return one.split("+").some((tag) => others.includes(tag));
}

/** Whether one of the places on a way is known to be gone. */
export function isOnGoneWay(chain: string, gone: ReadonlySet<string>): boolean {
  return tagsOf(chain)?.some((tag) => tag.split("+").every((each) => gone.has(each))) ?? false;
}

/** The tags of the places of a chain, outermost first; undefined if one has none, or the chain is too long to say. */
export function tagsOf(chain: string): string[] | undefined {
  if (chain.includes(digested)) return undefined;
  const tags = chain.split("/").flatMap((level) => readLevel(level).tag ?? []);
  return tags.length === chain.split("/").length ? tags : undefined;
}

/** Whether a recorded chain and today's may mean different calls although their keys are equal. */
export function chainInDoubt(then: string, now: string): boolean {
  if (then === now) return false;
  if (then.includes(digested) || now.includes(digested)) return true;
  const before = then.split("/");
  const after = now.split("/");
  if (before.length !== after.length) return true;
  return before.some((level, index) => levelInDoubt(readLevel(level), readLevel(after[index]!)));
}

/**
 * Whether a recorded chain leads past a place that may be another one now.
 *
 * @param levelAt what a chain of today says of the place that stands somewhere
 */
export function leadsPastAnother(chain: string, levelAt: (whereabouts: string) => string | undefined): boolean {
  if (chain.includes(digested)) return false;
  return chain.split("/").some((level) => {
    const now = levelAt(level.slice(0, level.indexOf(":")));
    return now !== undefined && levelInDoubt(readLevel(level), readLevel(now));
  });
}

/** Whether a place on the way stands in more or fewer loops than it did. */
export function loopsDiffer(then: string, now: string): boolean {
  if (then === now || then.includes(digested) || now.includes(digested)) return false;
  const after = now.split("/");
  return then.split("/").some((level, index) => readLevel(level).loops !== readLevel(after[index] ?? "").loops);
}

/** What a level says of its place. */
interface Level {
  text: string;
  /** How many namesakes have the same text; undefined if it has no namesakes. */
  twins: string | undefined;
  own: string | undefined;
  tag: string | undefined;
  loops: string | undefined;
}

function readLevel(level: string): Level {
  const said = /:([^+~=^]*)(?:\+(\d+))?(?:~([^=^]*))?(?:=([^^]*))?(?:\^(\d+))?$/.exec(level);
  const [, text = "", twins, own, tag, loops] = said ?? [];
  return { text, twins, own, tag, loops };
}

function levelInDoubt(then: Level, now: Level): boolean {
  if (then.tag !== undefined && now.tag !== undefined) return !isSameTag(then.tag, now.tag);
  if (then.twins === undefined && now.twins === undefined) return false;
  return then.text !== now.text || (then.twins ?? "1") !== (now.twins ?? "1");
}

/**
 * The texts of places on the way that have twins and are told apart from them otherwise than before: then and now, as
 * `textOf` spells them.
 */
export function changedTwins(then: string, now: string): Array<readonly [then: string, now: string]> {
  if (then === now || then.includes(digested) || now.includes(digested)) return [];
  const after = now.split("/");
  return then.split("/").flatMap((level, index) => {
    const [before, present] = [readLevel(level), readLevel(after[index] ?? "")];
    if (before.own === undefined || present.own === undefined || before.own === present.own) return [];
    if (before.tag !== undefined && present.tag !== undefined && isSameTag(before.tag, present.tag)) return [];
    return [[textOf(before), textOf(present)] as const];
  });
}

/** A place's text, with what tells it apart from its twins. */
export function textOf({ text, own }: { text: string; own?: string | undefined }): string {
  return own === undefined ? text : `${text}/${own}`;
}
