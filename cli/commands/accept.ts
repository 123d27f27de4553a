/** `stepmark accept`: brings the lock file up to the code. */
import { writeFileSync } from "node:fs";
import { printLock } from "../../transformer/lock/lock-file.js";
import { isGone } from "../../transformer/lock/lock-line.js";
import { reconcile } from "../../transformer/lock/reconcile.js";
import { lockLines } from "../../transformer/lock/write-lock.js";
import { answersTo } from "../accept-questions.js";
import { command } from "../command.js";
import { doubtText, goneText, moveText, nameOf, whereIs } from "../place-text.js";
import { projectOptions, readSources } from "../project.js";

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
