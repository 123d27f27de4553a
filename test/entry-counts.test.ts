/** How entries of places are counted: as if by their keys alone, whatever is used to look them up. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { keyOf } from "../runtime/scope/birth.js";
import { EntryCounts } from "../runtime/scope/entry-counts.js";
import { type Place, readTable } from "../runtime/scope/module-table.js";
import { type LoopPath, RowKind } from "../runtime/scope/site-table.js";

// Of the call `map` and of the function that it is given, which share their segment; in no loop, in one, in two.
const { places } = readTable("flow.ts", "text", [
  [RowKind.call, "map", -1, 1, 1, "text"],
  [RowKind.fn, "map()", -1, 1, 1, "text"],
  [RowKind.call, "walk", -1, 1, 1, "text"],
]);

const element = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom("a", "1"));
const path: fc.Arbitrary<LoopPath> = fc.oneof(
  fc.constant<LoopPath>(0),
  fc.array(element, { minLength: 1, maxLength: 3 }),
);
const entries = fc.array(fc.tuple(fc.constantFrom(...places), path), { maxLength: 60 });

const keyIn = (place: Place, at: LoopPath): string => keyOf({ key: "flow" } as Parameters<typeof keyOf>[0], place, at);

it.each([false, true])("places are counted as if by their keys alone, moved by a lock file: %s", (moved) => {
  expect(new Set(places.map(({ segment }) => segment)).size).toBe(2);
  fc.assert(
    fc.property(entries, (entered) => {
      const counts = new EntryCounts();
      const byKey = new Map<string, number>();
      for (const [place, at] of entered) {
        const key = keyIn(place, at);
        const before = byKey.get(key) ?? 0;
        byKey.set(key, before + 1);
        expect(counts.next(place, at, key, moved)).toBe(before);
      }
    }),
  );
});
