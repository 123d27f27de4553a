/** Which runs `app.list` asks for. */
import { checkLimit, checkObject, checkOneOf } from "../calls/given.js";
import { checkName } from "../calls/name.js";
import type { ListFilter } from "../stores/store.js";
import { storedStatuses } from "./ended.js";
import type { ListOptions } from "./options.js";

const statusCure =
  "Give that, or leave it out; a run that is stalled is listed as running, with the status that it has here.";

/** @throws InvalidArgumentError: stores would find nothing, or fail in words of their own */
export function listFilter(options: ListOptions): ListFilter {
  checkObject("What runs are listed by", options, "Call `list({ status, workflow, order, after, limit })`.");
  const { status, workflow, order = "newest", after, limit = 100 } = options;
  checkLimit("`limit`", limit);
  checkOneOf("`order`", order, ["newest", "oldest"]);
  for (const each of status === undefined ? [] : [status].flat())
    checkOneOf("`status`", each, storedStatuses, statusCure);
  if (after !== undefined) checkName("`after`", after, "Give the id of the last run of the page before.");
  if (workflow !== undefined) checkName("`workflow`", workflow, "Give a workflow's name.");
  return {
    order,
    ...(limit !== Number.POSITIVE_INFINITY && { limit }),
    ...(status !== undefined && { status }),
    ...(workflow !== undefined && { workflow }),
    ...(after !== undefined && { after }),
  };
}
