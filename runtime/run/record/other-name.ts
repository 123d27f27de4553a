/** Calls in functions that have two names; see `OtherName`. */
import { keyOf } from "../../scope/birth.js";
import { bound } from "../../scope/key.js";
import type { OtherName } from "../../scope/place.js";

/** What a call is called. */
export interface Named {
  key: string;
  chain: string;
}

/** A call by the other name of the function around; undefined if its own is too long to say. */
export function otherwise(named: Named, { key, chain, creator, other, path }: OtherName): Named | undefined {
  if (!isBelow(named.key, key) || !isBelow(named.chain, chain)) return undefined;
  return {
    key: bound(keyOf(creator, other, path) + named.key.slice(key.length)),
    chain: creator.chainOf(other) + named.chain.slice(chain.length),
  };
}

function isBelow(path: string, above: string): boolean {
  return path.startsWith(above) && path[above.length] === "/";
}
