/** `stepmark prune`: runs that ended long ago are deleted, or kept as text elsewhere. */
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { endedStatuses } from "../../runtime/app/ended.js";
import { prune } from "../../runtime/app/prune.js";
import { command, UsageError } from "../command.js";
import { durationOption } from "../duration-option.js";
import { existingStore, storeOption, using } from "../run-store.js";
import { counted, visible } from "../words.js";
import { statusesOf, wholeNumber } from "./runs.js";

export const pruneCommand = command({
  usage: ["prune --older-than TIME [--status STATUS]... [--workflow NAME] [--archive DIR] [--limit N] [--dry-run]"],
  about: `Deletes runs that ended so long ago, with their journals: they are lost, unless they are archived. Runs that have
not ended stay, and so do child runs whose outcome may still be asked for.`,
  options: {
    ...storeOption,
    "older-than": { type: "string", value: "TIME", help: "how long ago they must have ended: 12h, 30d" },
    status: {
      type: "string",
      multiple: true,
      value: "STATUS",
      help: `which runs: ${endedStatuses.join(", ")}; by default completed and cancelled ones, since a failed run can be resumed`,
    },
    workflow: { type: "string", value: "NAME", help: "only runs of this workflow" },
    archive: {
      type: "string",
      value: "DIR",
      help: "writes the runs into files there before, as `stepmark export` does; `stepmark import` takes them back",
    },
    limit: { type: "string", value: "N", help: "at most so many" },
    "dry-run": { type: "boolean", help: "only prints what would be deleted" },
  },
  async run({ values }, { print, warn }) {
    const olderThan = values["older-than"];
    if (olderThan === undefined) throw new UsageError("--older-than has to say how long ago runs must have ended");
    const { archive, workflow } = values;
    const dryRun = values["dry-run"] ?? false;
    const options = {
      olderThan: durationOption("--older-than", olderThan),
      dryRun,
      ...(values.status !== undefined && { status: statusesOf(values.status, endedStatuses) }),
      ...(workflow !== undefined && { workflow }),
      ...(values.limit !== undefined && { limit: wholeNumber(values.limit, "--limit") }),
      ...(archive !== undefined && { archive: archiveIn(archive) }),
    };
    return using(existingStore(values.store), async (store) => {
      let count = 0;
      for await (const ids of prune(store, Date.now(), options)) {
        count += ids.length;
        for (const id of ids) print(visible(id));
      }
      warn(dryRun ? `${counted(count, "run")} would be deleted.` : `${counted(count, "run")} deleted.`);
      return 0;
    });
  },
});

/** Each batch is a file of its own, whole and durable before anything of it is deleted. */
function archiveIn(folder: string): (lines: AsyncIterable<string>) => Promise<void> {
  const begun = new Date().toISOString().replaceAll(":", "-");
  let batch = 0;
  return async (lines) => {
    await mkdir(folder, { recursive: true });
    const file = await open(join(folder, `runs-${begun}-${++batch}.jsonl`), "wx");
    try {
      for await (const line of lines) await file.write(line);
      await file.sync();
    } finally {
      await file.close();
    }
  };
}
