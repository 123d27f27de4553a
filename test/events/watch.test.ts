/** How often the store is asked about runs that other processes drive. */
import { expect, it } from "vitest";
import { pauseAfter } from "../../runtime/app/watch.js";

it.each([
  ["at first", 0, 1, 100],
  ["a tenth of the time for which nothing has come", 5_000, 1, 500],
  ["never longer than a second", 3_600_000, 1, 1_000],
  ["a thousand looks a second for all runs together", 0, 1_000, 1_000],
  ["the same of many quiet ones", 3_600_000, 10_000, 10_000],
  ["few runs are no reason to wait", 0, 50, 100],
])("%s", (_, quiet, runs, pause) => {
  expect(pauseAfter(quiet, runs)).toBe(pause);
});
