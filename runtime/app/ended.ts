/** Whether a run has come to its end. */
import type { StoredStatus } from "../stores/store.js";

/** All that a store says of a run. */
export const storedStatuses = [
  "running",
  "waiting",
  "completed",
  "failed",
  "cancelled",
] as const satisfies StoredStatus[];

export const endedStatuses = ["completed", "failed", "cancelled"] as const;

/** A status that a run does not leave by itself. */
export type EndedStatus = (typeof endedStatuses)[number];

export function hasEnded(status: string): status is EndedStatus {
  return endedStatuses.includes(status as EndedStatus);
}
