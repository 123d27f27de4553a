/** What `stepmark accept` asks: which places are those of old, and which are gone for good. */
import type { Doubt } from "../transformer/lock/doubts.js";
import type { LockLine } from "../transformer/lock/lock-line.js";
import { heldBy, type Move, type Reconciliation } from "../transformer/lock/reconcile.js";
import type { Output } from "./command.js";
import { doubtText, goneText, moveText } from "./place-text.js";
import { type Ask, isNo, isYes } from "./question.js";

/** A place that is gone, and what may do its work now, if anything. */
type Unclear = Pick<Doubt, "line"> & Partial<Doubt>;

export interface Answers {
  readonly taken: readonly Move[];
  readonly unclear: readonly Unclear[];
}

/** Undefined if they are not all answered, which has been said then. */
export async function answersTo(found: Reconciliation, output: Output): Promise<Answers | undefined> {
  const { moves, unclear } = found;
  const { ask, print, warn } = output;
  const gone = goneWork(found);
  if (moves.length + unclear.length + gone.length === 0) return { taken: [], unclear: [] };
  if (ask === undefined) {
    for (const move of moves) print(`changed   ${moveText(move)}`);
    for (const doubt of unclear) print(`unclear   ${doubtText(doubt)}`);
    for (const line of gone) print(goneText(line));
    warn("Nothing was written: somebody has to say what became of these. Run it in a terminal, or with --yes.");
    return undefined;
  }
  try {
    const taken = await chosen(
      moves,
      moveText,
      async () => !isNo(await answer(ask, "The same as before? [Y/n]")),
      warn,
    );
    const left = await chosen(
      unclear,
      doubtText,
      async () => !isYes(await answer(ask, "Gone for good, and new work? [y/N]")),
      warn,
    );
    return { taken, unclear: [...left, ...(await keptOpen(gone, ask, warn))] };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    warn("Nothing was written: not all was answered.");
    return undefined;
  }
}

/** Places of whose records no other place takes care: the work in them is not done again, and nobody gets what it came to. */
function goneWork({ kept, moves, retired }: Reconciliation): LockLine[] {
  const held = heldBy([...kept, ...moves]);
  return retired.filter(({ kind, tag }) => kind !== "function" && !held.has(tag));
}

/** Those that are not gone for good. They are asked about together, and one by one if they are not all. */
async function keptOpen(gone: readonly LockLine[], ask: Ask, warn: Output["warn"]): Promise<Unclear[]> {
  if (gone.length === 0) return [];
  for (const line of gone) warn(goneText(line));
  const all = gone.length === 1 ? "Gone for good?" : `Are these ${gone.length} gone for good?`;
  if (!isNo(await answer(ask, `${all} [Y/n]`))) return [];
  if (gone.length === 1) return gone.map((line) => ({ line }));
  const left = await chosen(gone, goneText, async () => isNo(await answer(ask, "Gone for good? [Y/n]")), warn);
  return left.map((line) => ({ line }));
}

async function chosen<T>(
  each: readonly T[],
  show: (item: T) => string,
  isChosen: () => Promise<boolean>,
  warn: Output["warn"],
): Promise<T[]> {
  const those: T[] = [];
  for (const item of each) {
    warn(show(item));
    if (await isChosen()) those.push(item);
  }
  return those;
}

class NoAnswer extends Error {}

async function answer(ask: Ask, question: string): Promise<string> {
  const said = await ask(`  ${question} `);
  if (said === undefined) throw new NoAnswer();
  return said;
}
