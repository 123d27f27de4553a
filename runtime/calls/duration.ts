/** Durations as users write them. */
import parse, { type StringValue } from "ms";
import { InvalidArgumentError } from "../errors.js";

/** Milliseconds, or text such as `"2h"`, `"1.5 days"`, `"30s"`. */
export type Duration = number | StringValue;

/** @returns milliseconds */
export function milliseconds(duration: Duration, what: string): number {
  const ms = typeof duration === "string" ? parse(duration) : duration;
  if (typeof ms === "number" && ms >= 0 && !Number.isNaN(ms)) return ms;
  throw new InvalidArgumentError(
    `${what} must be a duration, not ${JSON.stringify(duration) ?? String(duration)}`,
    'Give milliseconds or text such as "2h" or "30s".',
  );
}
