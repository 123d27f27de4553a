/**
 * Figures of several rounds. All times are the processor's, of all threads, since what else a machine does lengthens those of
 * the clock.
 */

export function median(all: readonly number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** @returns milliseconds of processor time since the last call */
export function stopwatch(): () => number {
  let last = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    return (user + system) / 1000;
  };
}

/** Rounds that do not count, in which engines compile what is measured. */
const warmUp = 2;

/** Measures several things in turn, so that what else the machine does meets all of them. */
export async function inTurn<T extends string>(
  rounds: number,
  work: Readonly<Record<T, () => number | Promise<number>>>,
): Promise<Record<T, number>> {
  const names = Object.keys(work) as T[];
  const times = new Map<T, number[]>(names.map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    for (const name of names) {
      const figure = await work[name]();
      if (round >= 0) times.get(name)!.push(figure);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name)!)])) as Record<T, number>;
}
