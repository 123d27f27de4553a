/** What is measured: trivial steps, so that what remains is the library and the store. */
import { Stepmark, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import type { DatabaseOptions } from "./raw-commits.js";

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
export async function sequential(options: DatabaseOptions, count: number): Promise<number> {
  return withApp(options, async (app) => {
    const start = performance.now();
    await (await app.start(chain, count)).result();
    return performance.now() - start;
  });
}

/** @returns milliseconds for one run of `rounds` times `width` steps at once */
export async function concurrent(options: DatabaseOptions, rounds: number, width: number): Promise<number> {
  return withApp(options, async (app) => {
    const start = performance.now();
    await (await app.start(fans, { rounds, width })).result();
    return performance.now() - start;
  });
}

/** @returns milliseconds until a run with `count` recorded steps is back at the place where it waits, in a new app */
export async function resume(options: DatabaseOptions, count: number): Promise<number> {
  const id = "recorded";
  await withApp(options, async (app) => (await app.start(paused, count, { id })).settled());
  return withApp(options, async (app) => {
    const start = performance.now();
    await (await app.resume(id)).settled();
    return performance.now() - start;
  });
}

async function withApp<T>(options: DatabaseOptions, use: (app: Stepmark) => Promise<T>): Promise<T> {
  const store = sqliteStore(options.path, { synchronous: options.synchronous });
  const app = new Stepmark({ store, workflows: [chain, fans, paused] });
  try {
    return await use(app);
  } finally {
    await app.shutdown();
    await store.close();
  }
}
