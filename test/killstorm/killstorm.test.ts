/** C5, I4, I8: processes that are killed at random moments lose nothing that anybody has seen of them. */
import { expect, it } from "vitest";
import { buildChild } from "../support/build-child.js";
import { storm } from "./storm.js";

it("C5: fifteen kills: nothing seen complete runs again, no value is wrong, the journal opens each time", async () => {
  const { kills, ranAgain, wrong, unopened } = await storm({ kills: 15, child: await buildChild() });
  expect(kills).toBeGreaterThanOrEqual(15);
  expect({ ranAgain, wrong, unopened }).toEqual({ ranAgain: [], wrong: [], unopened: [] });
}, 60_000);
