/** `stepmark export`: runs of a store as text, on stdout. */
import { exportLines } from "../../runtime/transfer/export.js";
import { command } from "../command.js";
import { existingStore, storeOption, using } from "../run-store.js";

export const exportRuns = command({
  usage: ["export [RUN...] [--store FILE] [--no-values] [--children] > runs.jsonl"],
  about: `Prints runs as lines of JSON, each with its journal and the answers that it has not used: all runs, or those named.
\`stepmark import\` takes them into another store, and \`stepmark replay\` tries a build on them.`,
  arguments: { RUN: "ids of runs" },
  options: {
    ...storeOption,
    "no-values": {
      type: "boolean",
      help: "leave out inputs, outputs, errors and recorded values. Names, ids, keys and times stay, and of arguments a digest. Such a file can be looked at, not imported or replayed",
    },
    children: { type: "boolean", help: "with the child runs of the runs named, and those of these" },
  },
  ends: "Ends with 1 if a run cannot be read; then the output is not complete.",
  async run({ values, positionals }, { print }) {
    return using(existingStore(values.store), async (store) => {
      const ids = positionals.length > 0 ? positionals : (await store.list({})).map(({ id }) => id);
      const options = { values: !values["no-values"], children: values.children };
      for await (const line of exportLines(store, ids, options)) print(line);
      return 0;
    });
  },
});
