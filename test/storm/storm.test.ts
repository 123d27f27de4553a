/** I4, I8: processes are killed, Postgres restarts and a network is cut, all at once; `npm run storm` makes a longer storm. */
import { expect, it } from "vitest";
import { binaries } from "../postgres/server.js";
import { faultsOf } from "./judge.js";
import { type KindName, kinds } from "./kinds.js";
import { storm } from "./storm.js";

it.skipIf(binaries() === undefined).each(Object.keys(kinds) as KindName[])(
  "forty runs on four processes, driven by %s: every run ends, no value is wrong, nothing finished runs again, one owner each",
  async (by) => {
    const size = { processes: 4, runs: 40, steps: 20, concurrency: 2 };
    // By progress, not by time: a machine that is busy gets as far between two of them as any other.
    const disturbances = { kills: { runs: 4 }, restarts: { runs: 10 }, cuts: { runs: 12 } };
    const { verdict, kills, restarts, cuts } = await storm({ by, ...size, ...disturbances, seed: 1 });
    expect(faultsOf(verdict)).toEqual({ unfinished: [], wrong: [], repeated: [], ownedTwice: [], unexplained: [] });
    expect(verdict.entries).toBe(40 * 20);
    for (const count of [kills, restarts.fast, restarts.immediate, cuts]) expect(count).toBeGreaterThan(0);
  },
  300_000,
);
