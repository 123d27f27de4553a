/**
 * Time as the timeline shows it. A run may work for milliseconds and wait for days: long stretches in which no step ran are
 * folded to a narrow band, so that what happened can be seen. Positions are in milliseconds of what is left.
 */

export interface Fold {
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  /** Positions. */
  at: number;
  width: number;
}

/** Work, or a moment: then both are the same. */
export type Stretch = readonly [start: number, end: number];

export class TimeScale {
  readonly start: number;
  readonly end: number;
  readonly folds: readonly Fold[];
  /** The last position. */
  readonly length: number;

  /**
   * @param busy in any order; what lies outside of start and end is left out
   * @param folding whether to fold at all
   */
  constructor(start: number, end: number, busy: Iterable<Stretch>, folding: boolean) {
    this.start = start;
    this.end = Math.max(end, start + 1);
    this.folds = folding ? foldsOf(this.start, this.end, busy) : [];
    this.length = this.end - this.start - this.folds.reduce((sum, { from, to, width }) => sum + to - from - width, 0);
  }

  /** Where a time is. */
  position(time: number): number {
    const fold = this.folds[this.lastFold((each) => each.from <= time)];
    if (fold === undefined) return time - this.start;
    if (time >= fold.to) return fold.at + fold.width + (time - fold.to);
    return fold.at + ((time - fold.from) / (fold.to - fold.from)) * fold.width;
  }

  /** What time it is somewhere. */
  time(position: number): number {
    const fold = this.folds[this.lastFold((each) => each.at <= position)];
    if (fold === undefined) return this.start + position;
    if (position >= fold.at + fold.width) return fold.to + (position - fold.at - fold.width);
    return fold.from + ((position - fold.at) / fold.width) * (fold.to - fold.from);
  }

  private lastFold(begins: (fold: Fold) => boolean): number {
    let low = 0;
    let high = this.folds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begins(this.folds[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** A stretch without work that is shorter is left as it is, in milliseconds. */
const shortest = 20;
/** How wide folds are, as a part of all work; all of them together are at most about as wide as that. */
const share = 0.08;

function foldsOf(start: number, end: number, busy: Iterable<Stretch>): Fold[] {
  const sorted = [...busy].filter(([from, to]) => to >= start && from <= end).sort(([a], [b]) => a - b);
  const gaps: Array<[number, number]> = [];
  let work = 0;
  let reached = start;
  for (const [from, to] of sorted) {
    if (from > reached) gaps.push([reached, from]);
    work += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  if (end > reached) gaps.push([reached, end]);
  const long = gaps.filter(([from, to]) => to - from > shortest).length;
  const width = Math.max(work * Math.min(share, 1 / Math.max(long, 1)), 1);
  const folds: Fold[] = [];
  let taken = 0;
  for (const [from, to] of gaps) {
    if (to - from <= Math.max(shortest, 4 * width)) continue;
    folds.push({ from, to, at: from - start - taken, width });
    taken += to - from - width;
  }
  return folds;
}
