/**
 * How often each place of a frame has been entered. Places with one key count as one. A key is a long text that has to be
 * read to be looked up, and kept: iterations of a loop are counted by their number instead, where that says as much.
 */
import type { Place } from "./module-table.js";
import type { LoopPath } from "./site-table.js";

export class EntryCounts {
  /** By segment and iteration. */
  private readonly iterations = new Map<string, Map<number, number>>();
  private readonly byKey = new Map<string, number>();

  /**
   * @param key of the place at that path
   * @param moved whether a lock file lets places of the module have keys that are not made from their segment and path alone
   * @returns how often it was entered before
   */
  next(place: Place, path: LoopPath, key: string, moved: boolean): number {
    const iteration = moved ? undefined : onlyIteration(path);
    if (iteration === undefined) return countIn(this.byKey, key);
    let counts = this.iterations.get(place.segment);
    if (counts === undefined) {
      counts = new Map();
      this.iterations.set(place.segment, counts);
    }
    return countIn(counts, iteration);
  }
}

/** How often `key` has been counted before; counts it. */
export function countIn<K>(counts: Map<K, number>, key: K): number {
  const number = counts.get(key) ?? 0;
  counts.set(key, number + 1);
  return number;
}

/** The iteration of the innermost loop if it is all that keys tell of a path: see `pathSuffix`. */
function onlyIteration(path: LoopPath): number | undefined {
  if (path === 0) return 0;
  const last = path.length - 1;
  for (let i = 0; i < last; i++) if (path[i] !== 0) return undefined;
  const iteration = path[last];
  return typeof iteration === "number" ? iteration : undefined;
}
