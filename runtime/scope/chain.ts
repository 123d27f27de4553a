/**
 * What tells a call apart from its namesakes.
 *
 * A key names places by their anchors, and an anchor that two places of a function share carries an ordinal. After
 * an edit an ordinal may mean another place. So each entry also keeps, for every level of its key, the text of the
 * place and, where the anchor is shared, how many namesakes have that same text. A level is in doubt if its anchor
 * is shared, then or now, and text or count differ. Each level also says how many loops are around its place: iterations
 * are numbered loop by loop, so with another loop around a number may mean another iteration.
 *
 * Each level also says where its place stands, so that a record's way to a call can be looked for in another build.
 */
import { createHash } from "node:crypto";
import type { Place } from "./module-table.js";

const longest = 1000;
const digested = "#";

/**
 * The chain of a place below a chain.
 *
 * @param whereabouts a digest of the place's function and anchor
 */
export function extendChain(chain: string, place: Place, whereabouts: string): string {
  const text = place.shared > 1 ? `${place.text}+${place.twins}` : place.text;
  const level = `${whereabouts}:${text}${place.loops.length === 0 ? "" : `^${place.loops.length}`}`;
  const longer = chain === "" ? level : `${chain}/${level}`;
  return longer.length > longest ? digested + createHash("sha256").update(longer).digest("hex").slice(0, 32) : longer;
}

/** Where the places of a chain stand, outermost first; undefined if the chain is too long to say. */
export function whereaboutsOf(chain: string): string[] | undefined {
  if (chain.includes(digested)) return undefined;
  return chain.split("/").map((level) => level.slice(0, level.indexOf(":")));
}

/** Whether a recorded chain and today's may mean different calls although their keys are equal. */
export function chainInDoubt(then: string, now: string): boolean {
  if (then === now) return false;
  if (then.includes(digested) || now.includes(digested)) return true;
  const before = then.split("/");
  const after = now.split("/");
  if (before.length !== after.length) return true;
  return before.some((level, index) => levelInDoubt(textOf(level), textOf(after[index]!)));
}

/** Whether a place on the way stands in more or fewer loops than it did. */
export function loopsDiffer(then: string, now: string): boolean {
  if (then === now || then.includes(digested) || now.includes(digested)) return false;
  const after = now.split("/");
  return then.split("/").some((level, index) => loopsOf(level) !== loopsOf(after[index] ?? ""));
}

function loopsOf(level: string): string {
  return level.split("^")[1] ?? "";
}

function textOf(level: string): string {
  return level.slice(level.indexOf(":") + 1).split("^", 1)[0]!;
}

function levelInDoubt(then: string, now: string): boolean {
  if (then === now || !(then + now).includes("+")) return false;
  const [textThen, twinsThen = "1"] = then.split("+");
  const [textNow, twinsNow = "1"] = now.split("+");
  return textThen !== textNow || twinsThen !== twinsNow;
}
