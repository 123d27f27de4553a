/** Whether a run has come to its end. */

export const endedStatuses = ["completed", "failed", "cancelled"] as const;

/** A status that a run does not leave by itself. */
export type EndedStatus = (typeof endedStatuses)[number];

export function hasEnded(status: string): status is EndedStatus {
  return endedStatuses.includes(status as EndedStatus);
}
