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

const ours = /^(\$+)(?:s|r|\d+|[tickxl]\d+)$/;

/** All identifiers; and where direct `eval` may bring in more, all words of the text that look like one of ours. */
export function namesIn({ identifiers, file }: Source): Iterable<string> {
  return identifiers.has("eval") ? [...identifiers, ...(file.text.match(/\$+\w+/g) ?? [])] : identifiers;
}

/** Takes one `$` more than any identifier of the file that looks like one of ours. */
export function chooseNames(identifiers: Iterable<string>): Names {
  let dollars = 1;
  for (const text of identifiers) {
    const match = ours.exec(text);
    if (match !== null) dollars = Math.max(dollars, match[1]!.length + 1);
  }
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
