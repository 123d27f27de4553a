/** When a queued run's turn comes, as its user says it. */
import { type Duration, milliseconds } from "../calls/duration.js";
import { InvalidArgumentError } from "../errors.js";
import { isA, shown } from "../journal/careful.js";
import type { Order } from "./queue.js";

export interface OrderOptions<Session = unknown> {
  /** Higher goes first; a whole number from -1000 to 1000 (default 0). */
  priority?: number;
  /** Not before: a moment, or so long from now. */
  runAt?: Date | Duration;
  /** What your own transaction goes by, as the queue takes it: the run is there, and queued, when you commit that. */
  session?: Session;
}

/** @throws InvalidArgumentError */
export function orderOf<Session>({ priority = 0, runAt, session }: OrderOptions<Session>, now: number): Order<Session> {
  if (!Number.isInteger(priority) || Math.abs(priority) > 1_000) {
    throw new InvalidArgumentError(
      `\`priority\` must be a whole number from -1000 to 1000, not ${shown(priority)}`,
      "Higher goes first.",
    );
  }
  const at = runAt === undefined || isA(runAt, Date) ? runAt?.getTime() : now + milliseconds(runAt, "`runAt`");
  if (at !== undefined && !Number.isFinite(at)) {
    throw new InvalidArgumentError("`runAt` is no moment", "Give a valid Date, or how long from now.");
  }
  return { priority, runAt: at, session };
}
