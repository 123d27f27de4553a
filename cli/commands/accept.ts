/** `stepmark accept`: brings the lock file up to the code. */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline/promises";
import { printLock } from "../../transformer/lock/lock-file.js";
import { type Move, reconcile } from "../../transformer/lock/reconcile.js";
import { lockLines } from "../../transformer/lock/write-lock.js";
import { command, type Output } from "../command.js";
import { moveText, nameOf, whereIs } from "../place-text.js";
import { projectOptions, readSources } from "../project.js";

export const accept = command({
  usage: ["accept [--yes]"],
  about: `Writes the lock file. Places that are certainly those of old keep their identity, new ones get one of their own. For each
place that only looks like one of old (moved, renamed, reached by other calls) it asks: yes, and runs in flight go on with it; no,
and it is a new place, and the old one is gone. The identity of a place that is gone is never used again.`,
  options: { yes: { type: "boolean", help: "yes to all" }, ...projectOptions },
  ends: "Ends with 1 if there were questions and nobody was there to answer.",
  async run({ values }, output) {
    const { files, lock, lockFile } = readSources(values);
    const before = lock?.lines ?? [];
    const found = reconcile(before, files);
    const taken = values.yes ? found.moves : await ask(found.moves, output);
    if (taken === undefined) return 1;
    const refused = found.moves.filter((move) => !taken.includes(move));
    for (const move of values.yes ? taken : []) output.print(`kept      ${moveText(move)}`);
    const gone = [...found.retired, ...refused.map(({ line }) => line)];
    for (const line of gone) output.print(`gone      ${line.path}  ${nameOf(line)}`);
    const added = [...found.added, ...refused.map(({ place }) => place)];
    if (lock !== undefined) for (const place of added) output.print(`new       ${whereIs(place)}  ${nameOf(place)}`);
    const lines = lockLines(before, files, [...found.kept, ...taken]);
    writeFileSync(lockFile, printLock(lines));
    output.print(`${lockFile}: ${lines.filter(({ retired }) => !retired).length} places, ${added.length} of them new`);
    return 0;
  },
});

/** The moves that are taken; undefined if nobody is there to answer. */
async function ask(moves: readonly Move[], { print, warn }: Output): Promise<Move[] | undefined> {
  if (moves.length === 0) return [];
  if (!process.stdin.isTTY) {
    for (const move of moves) print(`changed   ${moveText(move)}`);
    warn("Nothing was written: somebody has to say what became of these. Run it in a terminal, or with --yes.");
    return undefined;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const taken: Move[] = [];
    for (const move of moves) {
      const answer = await terminal.question(`${moveText(move)}\n  The same as before? [Y/n] `);
      if (!/^n/i.test(answer.trim())) taken.push(move);
    }
    return taken;
  } finally {
    terminal.close();
  }
}
