/** How replay keys are spelled: readable paths whose parts are escaped so that no two paths collide. */
import { createHash } from "node:crypto";
import type { LoopPath, PathElement } from "./site-table.js";

/**
 * Number of the key scheme; stored with each run, since a run is only replayed under the scheme of its keys. Goes up when a
 * release spells a key, a chain or a fingerprint otherwise than the release before: `test/scheme` tells.
 */
export const KEY_SCHEME = 1;

/** A key longer than this (in UTF-16 units) keeps its tail and has its head replaced by a digest. */
const longest = 400;
const tailLength = 160;

// Everything that has a meaning in a key, control characters, and lone surrogates (which no encoder accepts).
const special = /[%/\\[\]()@#~"{}\s\p{Cc}\p{Cs}]/gu;

/** Escapes a name that a user chose; injective. */
export function escapePart(name: string): string {
  return name.replace(special, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}

/** A name that a user chose, as an anchor has it: the sign of ordinals is escaped. */
export function anchorOf(name: string): string {
  return name.replace(/[%~]/g, (sign) => (sign === "%" ? "%25" : "%7E"));
}

/** Spells a loop path: `@2`, `@1.0`, `@"order-7"`; empty if all zero. Leading zeros say nothing and are left out. */
export function pathSuffix(path: LoopPath): string {
  if (path === 0) return "";
  let first = 0;
  while (first < path.length && path[first] === 0) first++;
  if (first === path.length) return "";
  let text = "@";
  for (let i = first; i < path.length; i++) {
    if (i > first) text += ".";
    text += spellElement(path[i]!);
  }
  return text;
}

/** Spells one element of a path, or the number of a child. */
export function spellElement(element: PathElement): string {
  return typeof element === "number" ? String(element) : `"${escapePart(element)}"`;
}

/** Key of a function that was made outside of a step and entered on behalf of its body. */
export function visitKey(step: string, closure: string): string {
  return `${step}/{${closure}}`;
}

/** Keeps a key within bounds. Depends on nothing but the key. */
export function bound(key: string): string {
  if (key.length <= longest) return key;
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 32);
  return `#${digest}${tailOf(key)}`;
}

/** The end of a key, without half a surrogate pair at its beginning. */
function tailOf(key: string): string {
  const first = key.charCodeAt(key.length - tailLength);
  return key.slice(key.length - tailLength + (first >= 0xdc00 && first <= 0xdfff ? 1 : 0));
}
