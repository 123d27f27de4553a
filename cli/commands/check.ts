/** `stepmark check`: whether the lock file says what the code says, for CI. */
import { command } from "../command.js";
import { lockDifferences } from "../lock-differences.js";
import { projectOptions, readSources } from "../project.js";
import { counted } from "../words.js";

export const check = command({
  usage: ["check"],
  about: "Compares the lock file with the code, and writes nothing.",
  options: projectOptions,
  ends: `Ends with 1 if they differ, if two places have one identity, or if one has that of a place that is gone; \`stepmark accept\`
brings them together.`,
  async run({ values }, { print, warn }) {
    const { files, lock, lockFile } = readSources(values);
    if (lock === undefined) {
      warn(`There is no lock file ${lockFile}. Run \`stepmark accept\`.`);
      return 1;
    }
    const lines = lockDifferences(lock, files);
    for (const line of lines) print(line);
    const counts = files.map(({ places }) => places.length).filter((count) => count > 0);
    const places = counts.reduce((sum, count) => sum + count, 0);
    if (lines.length === 0)
      print(`${counted(places, "place")} in ${counted(counts.length, "file")}, as the lock file has them`);
    else warn(`The lock file differs from the code in ${counted(lines.length, "place")}. Run \`stepmark accept\`.`);
    return lines.length === 0 ? 0 : 1;
  },
});
