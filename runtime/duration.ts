/** Durations as users write them: their type, which errors have a use for as well. */

// Spelled out here, since the types of `ms` are not installed with this package.
type Unit =
  | ("ms" | "millisecond" | "milliseconds" | "s" | "sec" | "secs" | "second" | "seconds")
  | ("m" | "min" | "mins" | "minute" | "minutes" | "h" | "hr" | "hrs" | "hour" | "hours")
  | ("d" | "day" | "days" | "w" | "week" | "weeks" | "y" | "yr" | "yrs" | "year" | "years");

/** Milliseconds, or text such as `"2h"`, `"1.5 days"`, `"30s"`. */
export type Duration = number | `${number}${Unit}` | `${number} ${Unit}`;
