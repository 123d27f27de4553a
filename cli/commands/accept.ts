/** `stepmark accept`: brings the lock file up to the code. */
import { writeFileSync } from "node:fs";
import type { Doubt } from "../../transformer/lock/doubts.js";
import { printLock } from "../../transformer/lock/lock-file.js";
import { isGone, type LockLine } from "../../transformer/lock/lock-line.js";
import { heldBy, type Move, type Reconciliation, reconcile } from "../../transformer/lock/reconcile.js";
import { lockLines } from "../../transformer/lock/write-lock.js";
import { command, type Output } from "../command.js";
import { doubtText, goneText, moveText, nameOf, whereIs } from "../place-text.js";
import { projectOptions, readSources } from "../project.js";
import { type Ask, isNo, isYes } from "../question.js";

export const accept = command({
  usage: ["accept [--yes]"],
  about: `Writes the lock file. Places that are certainly those of old keep their identity, new ones get one of their own. For each
place that only looks like one of old (moved, renamed, reached by other calls) it asks: yes, and runs in flight go on with it; no,
and it is a new place, and the old one is gone. Of a place that is gone while something new does work like its own it asks whether that
is for good; as long as nobody says so it is \`unclear\`, and runs with its records are refused. Of places that are gone without any such
doubt it asks once for all. The identity of a place that is gone is never used again.`,
  options: { yes: { type: "boolean", help: "yes to all" }, ...projectOptions },
  ends: "Ends with 1 if there were questions that nobody has answered, and writes nothing then; with --yes what is unclear stays so.",
  async run({ values }, output) {
    const { files, lock, lockFile } = readSources(values);
    const before = lock?.lines ?? [];
    const found = reconcile(before, files);
    const answers = values.yes ? { taken: found.moves, unclear: found.unclear } : await answersTo(found, output);
    if (answers === undefined) return 1;
    const { taken, unclear } = answers;
    const refused = found.moves.filter((move) => !taken.includes(move));
    for (const move of values.yes ? taken : []) output.print(`kept      ${moveText(move)}`);
    const left = [...found.retired, ...found.unclear.map(({ line }) => line), ...refused.map(({ line }) => line)];
    for (const line of left.filter((each) => !unclear.some((doubt) => doubt.line === each)))
      output.print(goneText(line));
    for (const doubt of unclear) output.print(`unclear   ${doubtText(doubt)}`);
    const added = [...found.added, ...refused.map(({ place }) => place)];
    if (lock !== undefined) for (const place of added) output.print(`new       ${whereIs(place)}  ${nameOf(place)}`);
    const lines = lockLines(before, files, [...found.kept, ...taken], unclear);
    writeFileSync(lockFile, printLock(lines));
    if (unclear.length > 0)
      output.warn(
        "Runs with records of what is unclear are refused, until its line in the lock file says `retired` instead, or a line `moved` says where it is now.",
      );
    output.print(`${lockFile}: ${lines.filter((line) => !isGone(line)).length} places, ${added.length} of them new`);
    return 0;
  },
});

/** A place that is gone, and what may do its work now, if anything. */
type Unclear = Pick<Doubt, "line"> & Partial<Doubt>;

interface Answers {
  readonly taken: readonly Move[];
  readonly unclear: readonly Unclear[];
}

/** Undefined if they are not all answered. */
async function answersTo(found: Reconciliation, output: Output): Promise<Answers | undefined> {
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
