/** Entries are numbered without gaps; a store refuses others, as they would be an order of delivery that never was. */
import { StoreError } from "../errors.js";
import type { Entry } from "../journal/entry.js";

/**
 * Checks that the entries are numbered one after the other, and go on after `last` where that is known.
 *
 * @throws StoreError
 */
export function checkSequence(runId: string, entries: readonly Entry[], last?: number): void {
  let before = last ?? (entries[0]?.seq ?? 1) - 1;
  for (const { seq, key } of entries) {
    if (seq !== before + 1) throw new StoreError(`Entry ${seq} cannot follow entry ${before}`, { runId, key });
    before = seq;
  }
}
