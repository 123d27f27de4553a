/** The storm's verdict finds what is wrong. */
import { expect, it } from "vitest";
import { type Made, next } from "./flow.js";
import type { Line } from "./ledger.js";
import { type Death, damageOf } from "./verdict.js";

const steps = 5;

function made(): Made[] {
  return Array.from({ length: steps }, (_, step) => ({ run: "a", step, value: next(0, step), nonce: `1-${step}` }));
}

function lines(): Line[] {
  return made().map(({ step, nonce }) => ({ run: "a", step, nonce, process: 1, at: BigInt(step * 10) }));
}

function verdict(result: unknown, ledger: Line[], deaths: Death[] = [], queued = 0) {
  return damageOf(new Map([["a", result]]), steps, new Map([["a", ledger]]), deaths, queued);
}

const nothing = { unfinished: [], wrong: [], repeated: [], ownedTwice: [] };

it("of a run that went well is that nothing is wrong", () => {
  expect(verdict(made(), lines())).toEqual({ ...nothing, executions: steps, cut: 0 });
});

it("tells a run that did not complete, and one that the queue still holds", () => {
  expect(verdict("running", lines()).unfinished).toHaveLength(1);
  expect(verdict(made(), lines(), [], 1).unfinished).toHaveLength(1);
});

it("tells a value of another call, of another run, and one that is missing", () => {
  const [one, two, ...rest] = made();
  expect(verdict([two, one, ...rest], lines()).wrong).toHaveLength(2);
  expect(verdict([{ ...one!, run: "b" }, two, ...rest], lines()).wrong).toHaveLength(1);
  expect(verdict([{ ...one!, value: 1 }, two, ...rest], lines()).wrong).toHaveLength(1);
  expect(verdict(rest, lines()).wrong).not.toEqual([]);
});

it("tells a step that was executed again after it had been recorded, and lets one pass that was cut off before", () => {
  const again: Line = { run: "a", step: 4, nonce: "1-9", process: 1, at: 99n };
  expect(verdict(made(), [...lines(), again]).repeated).toEqual(["a: step 4"]);
  const [first, ...others] = lines();
  const before: Line = { ...first!, nonce: "0-0", process: 0, at: -1n };
  const cut = verdict(made(), [before, first!, ...others], [{ process: 0, at: -1n }]);
  expect(cut).toEqual({ ...nothing, executions: steps + 1, cut: 1 });
});

it("tells a run that went over to another process while the first one lived", () => {
  const taken = lines().map((line) => (line.step < 3 ? line : { ...line, process: 2 }));
  expect(verdict(made(), taken).ownedTwice).toEqual(["a: process 2 while 1 lived"]);
  expect(verdict(made(), taken, [{ process: 1, at: 31n }]).ownedTwice).toHaveLength(1);
  expect(verdict(made(), taken, [{ process: 1, at: 25n }]).ownedTwice).toEqual([]);
});
