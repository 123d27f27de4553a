/** Durations as users write them, and what they come to. */
import parse, { type StringValue } from "ms";
import { longestDelay } from "../clock.js";
import type { Duration } from "../duration.js";
import { InvalidArgumentError } from "../errors.js";
import { isA, shown } from "../journal/careful.js";

export type { Duration };

/** The last point in time that there is; "for ever" has to be a number that a journal can keep. */
const endOfTime = 8.64e15;

/** So many milliseconds after a time, in milliseconds since the epoch. */
function later(time: number, ms: number): number {
  return Math.min(time + ms, endOfTime);
}

/**
 * When a limit is over, in milliseconds since the epoch.
 *
 * @param limit so many milliseconds after `since`, or a point in time
 */
export function endOf(limit: number | Date, since: number): number {
  return typeof limit === "number" ? later(since, limit) : limit.getTime();
}

/** @returns the Date as it is now, if it is a valid one */
export function pointInTime(date: Date, what: string): Date {
  if (!Number.isNaN(date.getTime())) return new Date(date.getTime());
  throw new InvalidArgumentError(`${what} was given an invalid Date`, "Give a valid point in time.");
}

/**
 * The time that somebody has given as a point in time, or as so much from `now` on.
 *
 * @returns milliseconds since the epoch
 */
export function dueTime(until: unknown, now: number, what: string): number {
  if (isA(until, Date)) return pointInTime(until, what).getTime();
  // A time worked out from another clock may have passed already.
  if (typeof until === "number" && until < 0) return now;
  return later(now, milliseconds(until as Duration, what));
}

/** @returns milliseconds */
export function milliseconds(duration: Duration, what: string): number {
  // Longer texts and empty ones make the parser throw an error of its own.
  const spelt = typeof duration === "string" && duration.length > 0 && duration.length < 100;
  const ms: unknown = spelt ? parse(duration as StringValue) : duration;
  if (typeof ms === "number" && ms >= 0 && !Number.isNaN(ms)) return ms;
  throw new InvalidArgumentError(
    `${what} must be a duration, not ${shown(duration)}`,
    'Give milliseconds or text such as "2h" or "30s".',
  );
}

/** As `milliseconds`, but no longer than one of the platform's timers runs, which is 24 days: for what a timer is set to. */
export function delay(duration: Duration, what: string): number {
  return Math.min(milliseconds(duration, what), longestDelay);
}
