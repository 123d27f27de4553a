/** I1 to I8 on random programs; `npm run simulate` tries more of them. */
import { expect, it } from "vitest";
import { explore, tell } from "./explore.js";

it("a hundred and fifty random programs: no wrong value, no lost step, no body twice, after any crash", async () => {
  const { programs, wrong } = await explore({ runs: 150, seed: 1, mostWrong: 1 });
  expect(wrong.map(tell)).toEqual([]);
  expect(programs).toBe(150);
}, 120_000);
