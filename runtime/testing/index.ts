/** For tests and CI: time in the test's hands, and recorded runs against the code as it is now. */
import { type ReplayOptions, type ReplayReport, replayRun } from "../rehearsal/replay.js";
import type { Store } from "../stores/store.js";
import { type ExportedRun, type ExportText, readExport } from "../transfer/read-export.js";
import { readWhole } from "../transfer/read-whole.js";

export {
  describeReport,
  type NextCall,
  type ReplayOptions,
  type ReplayReport,
  replayRun,
} from "../rehearsal/replay.js";
export { type ExportedRun, type ExportText, readExport } from "../transfer/read-export.js";
export { FakeClock } from "./fake-clock.js";

/**
 * A run of a store, for `replayRun`.
 *
 * @throws RunNotFoundError; RunOwnedError for a run that goes on all the time; StoreError
 */
export async function readRun(store: Store, id: string): Promise<ExportedRun> {
  return { ...(await readWhole(store, id)), values: true, absent: [] };
}

/**
 * Replays all runs of an exported file, one after the other: `replayExport(readFileSync("runs.jsonl", "utf8"), { workflows })`.
 *
 * @throws ExportFileError, NewerVersionError, DamagedJournalError if the file is not what was written; what is wrong with a run is
 *   told in its report
 */
export async function replayExport(text: ExportText, options: ReplayOptions): Promise<ReplayReport[]> {
  const reports: ReplayReport[] = [];
  for await (const run of readExport(text)) reports.push(await replayRun(run, options));
  return reports;
}
