/** Names of generated variables: free in the whole file, and the same whenever the file's text is the same. */

import type { Source } from "./syntax.js";

/** A namer's answers depend only on the kind and number asked for. */
export interface Names {
  /** The hoisted function that answers the module's root frame: `$s`. */
  readonly root: string;
  /** Key under which a replaced rest parameter gets its value: `$r`. */
  readonly rest: string;
  frame(number: number): string;
  temp(number: number): string;
  counter(loop: number): string;
  constant(loop: number): string;
  keyed(loop: number): string;
  item(loop: number): string;
  label(loop: number): string;
}

const ours = /\$+(?:s|r|\d+|[tickxl]\d+)/;

/** All identifiers that look like one of ours; and where direct `eval` may bring in more, all such words of the text. */
export function namesIn(source: Source): readonly string[] {
  const identifiers = source.identifiersLike(ours);
  if (!source.mentions("eval")) return identifiers;
  return [...identifiers, ...(source.file.text.match(new RegExp(`${ours.source}(?!\\w)`, "g")) ?? [])];
}

/** Takes one `$` more than any of the names. */
export function chooseNames(names: readonly string[]): Names {
  const dollars = Math.max(0, ...names.map((name) => name.lastIndexOf("$") + 1)) + 1;
  const prefix = "$".repeat(dollars);
  return {
    root: `${prefix}s`,
    rest: `${prefix}r`,
    frame: (number) => `${prefix}${number}`,
    temp: (number) => `${prefix}t${number}`,
    counter: (loop) => `${prefix}i${loop}`,
    constant: (loop) => `${prefix}c${loop}`,
    keyed: (loop) => `${prefix}k${loop}`,
    item: (loop) => `${prefix}x${loop}`,
    label: (loop) => `${prefix}l${loop}`,
  };
}
