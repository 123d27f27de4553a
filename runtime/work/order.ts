/** When a queued run's turn comes, as its user says it. */
import { type Duration, milliseconds } from "../calls/duration.js";
import { InvalidArgumentError } from "../errors.js";
import { isA, shown } from "../journal/careful.js";
import type { PostgresSession } from "../stores/postgres-driver.js";
import type { Order } from "./queue.js";

export interface OrderOptions {
  /** Higher goes first; a whole number from -1000 to 1000 (default 0). */
  priority?: number;
  /** Not before: a moment, or so long from now. */
  runAt?: Date | Duration;
  /** A connection of `pg` on which you have begun a transaction: the run is there, and queued, when you commit it. */
  session?: PostgresSession;
}

/** @throws InvalidArgumentError */
export function orderOf({ priority = 0, runAt, session }: OrderOptions, now: number): Order {
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
