/**
 * Three ways in which others know a call again, on paper: each as far as it goes, with a count for repeats. What is compared
 * are whole passes of both builds, so nothing is ever refused.
 */
import { createHash } from "node:crypto";
import { baseAnchor } from "../../runtime/scope/module-table.js";
import type { Program } from "./program.js";
import type { Truth } from "./truth.js";
import type { Ask } from "./world.js";

export const schemes = {
  /** File, line and column. */
  offset: (program: Program, { file, row }: Ask): string => {
    const { node } = program.place(file, row);
    const { line, character } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
    return `${file}:${line}:${character}`;
  },
  /** The name of what is called; the n-th call of one name in a run is the n-th. */
  ordinal: (program: Program, { file, row }: Ask): string => baseAnchor(program.place(file, row).row[1]),
  /** A digest of the call's text without its formatting. */
  content: (program: Program, { file, row }: Ask): string =>
    createHash("sha256").update(program.place(file, row).row[5]).digest("hex"),
} satisfies Record<string, (program: Program, ask: Ask) => string>;
export type Scheme = keyof typeof schemes;

export interface Paper {
  kept: number;
  /** Done again. */
  lost: number;
  /** Given to another call. */
  taken: number;
  /** Gone. */
  gone: number;
}

export function compare(
  scheme: Scheme,
  before: { program: Program; asks: readonly Ask[] },
  after: { program: Program; asks: readonly Ask[] },
  truth: Truth,
): Paper {
  const paper: Paper = { kept: 0, lost: 0, taken: 0, gone: 0 };
  const namesBefore = truth(before.asks);
  const namesAfter = truth(after.asks);
  const there = new Set(namesAfter.values());
  const owners = new Map([...idsOf(scheme, after.program, after.asks)].map(([ask, id]) => [id, ask]));
  for (const [call, id] of idsOf(scheme, before.program, before.asks)) {
    const taker = owners.get(id);
    const name = namesBefore.get(call);
    const isThere = name !== undefined && there.has(name);
    if (taker === undefined) paper[isThere ? "lost" : "gone"]++;
    else paper[name !== undefined && namesAfter.get(taker) === name ? "kept" : "taken"]++;
  }
  return paper;
}

function idsOf(scheme: Scheme, program: Program, asks: readonly Ask[]): Map<Ask, string> {
  const counts = new Map<string, number>();
  return new Map(
    asks.map((ask) => {
      const id = schemes[scheme](program, ask);
      const number = counts.get(id) ?? 0;
      counts.set(id, number + 1);
      return [ask, `${id} ${number}`];
    }),
  );
}
