/** Many pieces of work, a few of them at a time. */

/**
 * @param most how many are under way at once; they are begun in order
 * @param work must not reject
 * @returns what each has come to, in the order of `items`
 */
export async function inTurns<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const outcomes: R[] = new Array(items.length);
  const next = items.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [index, item] of next) outcomes[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, takeTurns));
  return outcomes;
}
