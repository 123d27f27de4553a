/** What a journal takes in memory when it is arranged for a replay. */
import type { Entry } from "stepmark";
import { expect, it } from "vitest";
import { arrange } from "../../runtime/run/record/record.js";

const site = { module: "flow.ts", moduleText: "t1", container: "flow()", anchor: "work", line: 3, text: "abc" };
const entry = (seq: number, of: Partial<Entry> = {}): Entry =>
  // As a store gives it: nothing of one entry is a part of another.
  JSON.parse(
    JSON.stringify({
      ...{ seq, key: `flow/work@${seq}`, kind: "step", state: "done", value: "[1]" },
      ...{ chain: "11:abc^1", site, attempt: 1, startedAt: 0, endedAt: 0, ...of },
    }),
  );

it("entries of one place share what they say of it, and say what they said", () => {
  const entries = [
    entry(1),
    entry(2),
    entry(3, { site: { ...site, line: 4 } }),
    entry(4),
    entry(5, { chain: "12:def" }),
  ];
  const before = structuredClone(entries);
  const { calls } = arrange(entries, new Set());
  expect(entries).toEqual(before);
  const [first, second, moved, last, other] = [...calls.values()].map((call) => call.site);
  expect(second).toBe(first);
  expect(moved).not.toBe(first);
  // The other build's place is the last one that was known.
  expect(last).toEqual(first);
  expect(other).not.toBe(first);
});

it("an entry without a site or a chain shares nothing", () => {
  const bare = { chain: undefined, site: undefined };
  const entries = [entry(1, bare), entry(2, { chain: undefined }), entry(3, bare)];
  const before = structuredClone(entries);
  arrange(entries, new Set());
  expect(entries).toEqual(before);
});
