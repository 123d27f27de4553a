/** Moments that come by the machine's clock, whatever becomes of that. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { at, systemClock } from "../../runtime/clock.js";

const minute = 60_000;
const hour = 60 * minute;

let time: number;
/** Timers that are set, which know nothing of the time of day. */
let timers: Array<{ ms: number; callback: () => void }>;
let fired: number[];

beforeEach(() => {
  [time, timers, fired] = [0, [], []];
  vi.spyOn(systemClock, "now").mockImplementation(() => time);
  vi.spyOn(systemClock, "after").mockImplementation((ms, callback) => {
    const timer = { ms, callback };
    timers.push(timer);
    return () => {
      timers = timers.filter((each) => each !== timer);
    };
  });
});
afterEach(() => vi.restoreAllMocks());

/** The next timer goes off. */
function pass(): void {
  const { ms, callback } = timers.shift()!;
  time += ms;
  callback();
}

it("a moment comes when the clock shows it", () => {
  at(systemClock, hour, () => fired.push(time));
  while (timers.length > 0) pass();
  expect(fired).toEqual([hour]);
});

it("a moment that has passed comes at once", () => {
  at(systemClock, -hour, () => fired.push(time));
  expect(timers.map(({ ms }) => ms)).toEqual([0]);
  pass();
  expect(fired).toEqual([0]);
});

it("comes soon after, if the clock is put forward or the machine has slept", () => {
  at(systemClock, 2 * hour, () => fired.push(time));
  pass();
  time += 8 * hour;
  pass();
  expect(fired).toEqual([8 * hour + 2 * minute]);
});

it("does not come before, if the clock is put back", () => {
  at(systemClock, hour, () => fired.push(time));
  for (let passed = 0; passed < 59; passed++) pass();
  time -= hour;
  pass();
  expect(fired).toEqual([]);
  while (timers.length > 0) pass();
  expect(fired).toEqual([hour]);
});

it("does not come once it is called off, in whatever stretch", () => {
  const cancel = at(systemClock, hour, () => fired.push(time));
  pass();
  cancel();
  expect(timers).toEqual([]);
});
