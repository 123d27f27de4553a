/** What is measured: trivial steps, so that what remains is the library and the store. */
import { Stepmark, type Store, step, waitFor, workflow } from "stepmark";

/** Opens the store anew. */
export type Open = () => Store;

const work = async (x: number): Promise<number> => x + 1;

const chain = workflow("chain", async (count: number) => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await step(work, i);
  return sum;
});

const fans = workflow("fans", async ({ rounds, width }: { rounds: number; width: number }) => {
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    const parts = await Promise.all(Array.from({ length: width }, async (_, j) => step(work, j)));
    for (const part of parts) sum += part;
  }
  return sum;
});

const paused = workflow("paused", async (count: number) => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await step(work, i);
  await waitFor("never");
  return sum;
});

/** @returns milliseconds for one run of `count` steps, one after the other */
export async function sequential(open: Open, count: number): Promise<number> {
  return withApp(open, async (app) => {
    const start = performance.now();
    await (await app.start(chain, count)).result();
    return performance.now() - start;
  });
}

/** @returns milliseconds for one run of `rounds` times `width` steps at once */
export async function concurrent(open: Open, rounds: number, width: number): Promise<number> {
  return withApp(open, async (app) => {
    const start = performance.now();
    await (await app.start(fans, { rounds, width })).result();
    return performance.now() - start;
  });
}

/** @returns milliseconds for so many runs at once, of `count` steps each, one after the other */
export async function together(open: Open, runs: number, count: number): Promise<number> {
  return withApp(open, async (app) => {
    const start = performance.now();
    await Promise.all(Array.from({ length: runs }, async () => (await app.start(chain, count)).result()));
    return performance.now() - start;
  });
}

/** @returns milliseconds until a run with `count` recorded steps is back at the place where it waits, in a new app */
export async function resume(open: Open, count: number): Promise<number> {
  const id = "recorded";
  await withApp(open, async (app) => (await app.start(paused, count, { id })).settled());
  return withApp(open, async (app) => {
    const start = performance.now();
    await (await app.resume(id)).settled();
    return performance.now() - start;
  });
}

async function withApp<T>(open: Open, use: (app: Stepmark) => Promise<T>): Promise<T> {
  const store = open();
  const app = new Stepmark({ store, workflows: [chain, fans, paused] });
  try {
    return await use(app);
  } finally {
    await app.shutdown();
    await store.close();
  }
}
