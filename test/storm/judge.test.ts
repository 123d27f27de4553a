/** The storm's judge finds what is wrong. */
import { expect, it } from "vitest";
import { type Evidence, faultsOf, judge, type RunLeft, type Written } from "./judge.js";
import { type Line, labelOf, type Value } from "./ledger.js";

const steps = 3;
const values: Value[] = Array.from({ length: steps }, (_, index) => ({ label: labelOf("a", index), draw: `${index}` }));
const run: RunLeft = { id: "a", status: "completed", output: values, recorded: values };
const executed: Line[] = values.flatMap((value): Line[] => [
  { type: "begin", ...value },
  { type: "seen", ...value },
]);
const audit: Written[] = [1, 2, 3].map((seq) => ({ run: "a", seq, fence: 1, owner: "one", writer: "one" }));
const claimed: Line = { type: "claim", run: "a", fence: 1, machine: "one" };
const sound: Evidence = { steps, runs: [run], ledger: [claimed, ...executed], audit, queued: 0 };

function verdict(changed: Partial<Evidence>) {
  return judge({ ...sound, ...changed });
}

it("finds nothing wrong with a run that went well", () => {
  const counts = { entries: steps, takeovers: 0, refused: 0, again: 0 };
  const nothing = { unfinished: [], wrong: [], repeated: [], ownedTwice: [], unexplained: [] };
  expect(judge(sound)).toEqual({ ...nothing, ...counts });
  expect(faultsOf(judge(sound))).toEqual(nothing);
});

it("tells a run that did not complete, and one that the queue still holds", () => {
  expect(verdict({ runs: [{ ...run, status: "failed", error: "why" }] }).unfinished).toEqual(["a is failed: why"]);
  expect(verdict({ queued: 1 }).unfinished).toHaveLength(1);
});

it("tells a value of another call, one that is missing, one that is recorded twice or otherwise than it was seen", () => {
  const [first, second, third] = values as [Value, Value, Value];
  const wrong = (output: Value[], recorded: Value[]): string[] =>
    verdict({ runs: [{ ...run, output, recorded }] }).wrong;
  expect(wrong([second, first, third], values)).toHaveLength(1);
  expect(wrong([first, second], values)).toHaveLength(1);
  expect(wrong([first, second], [first, second])).not.toEqual([]);
  expect(wrong(values, [...values, third])).not.toEqual([]);
  const another = [{ ...first, draw: "9" }, second, third];
  expect(wrong(another, another)).toEqual(["a/0 is not recorded as it was seen"]);
  expect(verdict({ ledger: [...executed, { type: "seen", ...first, draw: "9" }] }).wrong).toContain(
    "a/0 was seen with two values",
  );
  expect(verdict({ ledger: [...executed, { type: "wrong", ...first }] }).wrong).toHaveLength(1);
});

it("tells a step that was executed again after it had been recorded, and lets one pass that was cut off before", () => {
  const other: Line = { type: "begin", label: "a/1", draw: "9" };
  expect(verdict({ ledger: [...executed, other] })).toMatchObject({ repeated: ["a/1"], again: 1 });
  expect(verdict({ ledger: [other, ...executed] })).toMatchObject({ repeated: [], again: 1 });
});

it("tells a run that two had under one fence, a write of another than the owner, and one under an earlier fence", () => {
  const [first, second, third] = audit as [Written, Written, Written];
  const owned = (...written: Written[]): string[] => verdict({ audit: written }).ownedTwice;
  expect(owned(first, second, { ...third, fence: 2, owner: "two", writer: "two" })).toEqual([]);
  expect(owned(first, { ...second, owner: "two", writer: "two" }, third)).not.toEqual([]);
  expect(owned(first, second, { ...third, writer: "two" })).toHaveLength(1);
  expect(owned({ ...first, fence: 2 }, second)).toHaveLength(1);
  const twice = verdict({ ledger: [claimed, { ...claimed, machine: "two" }, ...executed] });
  expect(twice.ownedTwice).toEqual(["a under fence 1 was given to one and to two"]);
});

it("tells an error that no restart and no cut explains, and counts what was taken over and refused", () => {
  const told = (code: string): Line => ({ type: "error", code, text: "why" });
  const refused: Line = { type: "refused", run: "a", fence: 1, machine: "one" };
  const ledger = [claimed, { ...claimed, fence: 2, machine: "two" }, refused, ...executed, told("STORE")];
  expect(verdict({ ledger })).toMatchObject({ takeovers: 1, refused: 1, unexplained: [], ownedTwice: [] });
  expect(verdict({ ledger: [...ledger, told("DIVERGENCE")] }).unexplained).toHaveLength(1);
});
