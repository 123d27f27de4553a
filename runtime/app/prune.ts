/** Old runs out of the store. */
import { type Duration, milliseconds } from "../calls/duration.js";
import { checkLimit, checkObject } from "../calls/given.js";
import { checkName } from "../calls/name.js";
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";
import type { ListFilter, RunRecord, Store } from "../stores/store.js";
import { exportText } from "../transfer/export.js";
import { type EndedStatus, endedStatuses, hasEnded } from "./ended.js";
import { isParent } from "./parenthood.js";

export interface PruneOptions {
  /** Only runs that ended at least so long ago. */
  olderThan: Duration;
  /** Default: completed and cancelled runs. Failed ones can be resumed as long as they are there. */
  status?: EndedStatus | readonly EndedStatus[];
  workflow?: string;
  /** At most so many runs. */
  limit?: number;
  /**
   * Gets runs before they are deleted, as `app.export` tells them, a hundred at most in each call; they are deleted when it
   * resolves, so what it was given must be durable by then. If it rejects, nothing more is deleted.
   */
  archive?(lines: AsyncIterable<string>, ids: readonly string[]): Promise<void>;
  /** Only tells which runs would be deleted. */
  dryRun?: boolean;
}

const batchSize = 100;

/**
 * Deletes old runs a few at a time, so that others get their turn in the store. A child run stays as long as the run that began
 * it may still ask for its outcome; a run that goes on in the meantime stays as well.
 *
 * @returns from `next`: ids of deleted runs, those of one batch together
 */
export async function* prune(store: Store, now: number, options: PruneOptions): AsyncGenerator<string[], void> {
  checkObject("What `prune` is given", options, 'Call `prune({ olderThan: "30d" })`.');
  const { workflow, limit = Number.POSITIVE_INFINITY, archive, dryRun = false } = options;
  checkLimit("`limit`", limit);
  if (workflow !== undefined) checkName("`workflow`", workflow, "Give a workflow's name.");
  const filter: ListFilter = {
    status: checkedStatus(options.status),
    order: "oldest",
    unchangedSince: now - milliseconds(options.olderThan, "`olderThan`"),
    ...(workflow !== undefined && { workflow }),
  };
  let left = limit;
  let skip = 0;
  while (left > 0) {
    const found = await store.list({ ...filter, skip, limit: Math.min(batchSize, left) });
    if (found.length === 0) return;
    const wanted: RunRecord[] = [];
    for (const run of found) if (!(await isNeeded(store, run))) wanted.push(run);
    const ids = wanted.map(({ id }) => id);
    if (archive !== undefined && !dryRun && ids.length > 0) await archive(exportText(store, ids), ids);
    const deleted: string[] = [];
    for (const { id, updatedAt } of wanted) if (dryRun || (await store.delete(id, updatedAt))) deleted.push(id);
    left -= deleted.length;
    skip += dryRun ? found.length : found.length - deleted.length;
    if (deleted.length > 0) yield deleted;
  }
}

/** Whether the run that began this one may still ask for its outcome. */
async function isNeeded(store: Store, { parent }: RunRecord): Promise<boolean> {
  const run = parent && (await store.read(parent.id));
  if (run === undefined || !isParent(run, parent!)) return false;
  return run.status !== "completed" && run.status !== "cancelled";
}

function checkedStatus(given: PruneOptions["status"]): EndedStatus[] {
  const statuses = given === undefined ? (["completed", "cancelled"] as const) : [given].flat();
  for (const status of statuses) {
    if (!hasEnded(status)) {
      const cure = `Runs that have not ended are never deleted so: give any of ${endedStatuses.join(", ")}.`;
      throw new InvalidArgumentError(`\`status\` must be that of ended runs, not ${shown(status)}`, cure);
    }
  }
  return statuses as EndedStatus[];
}
