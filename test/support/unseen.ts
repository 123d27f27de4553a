/** Code that the transformer does not see, as a library's: nothing in this file imports it. */

type Task<T> = () => Promise<T>;

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Calls `task` again until it succeeds. */
export async function retry<T>(task: Task<T>, most = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await task();
    } catch (error) {
      if (attempt === most) throw error;
      await tick();
    }
  }
}

/** Calls `fn` for all items at once, each after a delay of its own. */
export async function scatter<T, R>(items: T[], fn: (item: T) => Promise<R>): Promise<R[]> {
  return Promise.all(
    items.map(async (item, index) => {
      for (let i = 0; i < items.length - index; i++) await tick();
      return fn(item);
    }),
  );
}

/** Calls `fn` for one item after the other, starting some time later. */
export async function sequence<T, R>(items: T[], fn: (item: T) => Promise<R>): Promise<R[]> {
  await tick();
  const results: R[] = [];
  for (const item of items) results.push(await fn(item));
  return results;
}

/**
 * At most `most` tasks at a time; the waiting one that is `next` starts in the async context of the one that ended.
 *
 * @param pause what the place of the one that ended, by number, waits for before it takes another
 */
export function limiter(
  most: number,
  next: "oldest" | "newest" = "oldest",
  pause?: (ended: number) => Promise<void>,
): <A extends unknown[], T>(task: (...args: A) => Promise<T>, ...args: A) => Promise<T> {
  let running = 0;
  let ended = 0;
  const waiting: Array<() => void> = [];
  return (task, ...args) =>
    new Promise((resolve, reject) => {
      const start = (): void => {
        running++;
        task(...args)
          .then(resolve, reject)
          .finally(async () => {
            if (pause) await pause(ended++);
            running--;
            (next === "oldest" ? waiting.shift() : waiting.pop())?.();
          });
      };
      if (running < most) start();
      else waiting.push(start);
    });
}

/** `fn`, through `limit`. */
export function wrapped<A extends unknown[], T>(
  limit: (task: (...args: A) => Promise<T>, ...args: A) => Promise<T>,
  fn: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  return (...args) => limit(fn, ...args);
}

export class Emitter {
  private readonly listeners: Array<(value: unknown) => void> = [];
  on(listener: (value: unknown) => void): void {
    this.listeners.push(listener);
  }
  emit(value: unknown): void {
    for (const listener of this.listeners) listener(value);
  }
}
