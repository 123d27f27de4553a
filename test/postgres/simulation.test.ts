/** I1 to I8 on random programs, as in `test/simulation`, with Postgres under the simulated processes. */
import { expect, it } from "vitest";
import { explore, tell } from "../simulation/explore.js";

it("a hundred random programs: no wrong value, no lost step, no body twice, after any crash", async () => {
  const { programs, wrong } = await explore({ runs: 100, seed: 10_001, mostWrong: 1, shrink: false, cuts: 1 });
  expect(wrong.map(tell)).toEqual([]);
  expect(programs).toBe(100);
}, 900_000);
