/** Of several rounds. */
export interface Spread {
  median: number;
  least: number;
  greatest: number;
}

export function spread(all: readonly number[]): Spread {
  const sorted = [...all].sort((a, b) => a - b);
  return {
    median: sorted[Math.floor(sorted.length / 2)]!,
    least: sorted[0]!,
    greatest: sorted.at(-1)!,
  };
}
