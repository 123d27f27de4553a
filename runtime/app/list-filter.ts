/** Which runs `app.list` asks for. */
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";
import type { ListFilter, StoredStatus } from "../stores/store.js";
import { endedStatuses } from "./ended.js";
import type { ListOptions } from "./options.js";

const statuses: readonly StoredStatus[] = ["running", "waiting", ...endedStatuses];

/** @throws InvalidArgumentError: stores would find nothing, or fail in words of their own */
export function listFilter({ status, workflow, limit = 100 }: ListOptions): ListFilter {
  const filter: ListFilter = {};
  if (limit !== Number.POSITIVE_INFINITY) filter.limit = checkedLimit(limit);
  if (status !== undefined) {
    for (const each of Array.isArray(status) ? status : [status]) checkStatus(each);
    filter.status = status;
  }
  if (workflow !== undefined) filter.workflow = workflow;
  return filter;
}

function checkedLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 0) return limit;
  throw new InvalidArgumentError(
    `\`limit\` must be a whole number from 0, not ${shown(limit)}`,
    "Leave it out for 100, or give `Infinity` for all.",
  );
}

function checkStatus(status: string): void {
  if (statuses.includes(status as StoredStatus)) return;
  throw new InvalidArgumentError(
    `\`status\` must be that of runs as they are stored, not ${shown(status)}`,
    `Give any of ${statuses.join(", ")}; a run that is stalled is listed as running, with the status that it has here.`,
  );
}
