/** `app.recover()` of very many runs: a few at a time, each once, in order. */
import { memoryStore, Stepmark, type Store, sleep, step, workflow } from "stepmark";
import { expect, it } from "vitest";
import { inTurns } from "../../runtime/app/in-turns.js";
import { FakeClock } from "../support/fake-clock.js";

const nap = workflow("nap", async (n: number) => {
  const first = await step(async () => n);
  await sleep("1 day");
  return first;
});
const many = 300;
const idOf = (n: number): string => `run-${String(n).padStart(3, "0")}`;

async function asleep(): Promise<ReturnType<typeof memoryStore>> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [nap], clock: new FakeClock() });
  for (let n = 0; n < many; n++) await (await app.start(nap, n, { id: idOf(n) })).settled();
  await app.shutdown();
  return store.fork();
}

it("takes runs up a few at a time, oldest first, and gives all of them", async () => {
  const store = await asleep();
  let [now, most] = [0, 0];
  const begun: string[] = [];
  const watched: Store = {
    ...store,
    async claim(id, ...rest) {
      begun.push(id);
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      return store.claim(id, ...rest).finally(() => now--);
    },
  };
  const clock = new FakeClock(1_000);
  const app = new Stepmark({ store: watched, workflows: [nap], clock });
  const runs = await app.recover();
  const ids = Array.from({ length: many }, (_, n) => idOf(n));
  expect(runs.map(({ id }) => id)).toEqual(ids);
  expect(begun).toEqual(ids);
  expect(most).toBe(64);
  await clock.advance("1 day");
  expect(await Promise.all(runs.map((run) => run.result()))).toEqual(ids.map((_, n) => n));
  await app.shutdown();
});

it("takes up all others where some cannot be, and throws what is wrong with the first of these", async () => {
  const store = await asleep();
  const bad = [idOf(7), idOf(3), idOf(250)];
  const failing: Store = {
    ...store,
    // The one that comes last is the first that is told.
    claim: async (id, ...rest) => {
      if (!bad.includes(id)) return store.claim(id, ...rest);
      if (id === idOf(3)) for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      throw new Error(`no ${id}`);
    },
  };
  const app = new Stepmark({ store: failing, workflows: [nap], clock: new FakeClock() });
  const error = await app.recover().catch((error) => error);
  expect(String(error.message)).toContain(`no ${idOf(3)}`);
  const held = (await store.list({ limit: many })).filter(({ fence }) => fence > 1);
  expect(held).toHaveLength(many - bad.length);
  await app.shutdown();
});

it.each([
  [0, 4, 0],
  [3, 4, 3],
  [10, 4, 4],
])("%d pieces of work, %d at a time", async (count, most, expected) => {
  let [now, seen] = [0, 0];
  const work = async (n: number): Promise<number> => {
    seen = Math.max(seen, ++now);
    await new Promise((resolve) => setTimeout(resolve, n % 3));
    now--;
    return n * 2;
  };
  const items = Array.from({ length: count }, (_, n) => n);
  expect(await inTurns(items, most, work)).toEqual(items.map((n) => n * 2));
  expect(seen).toBe(expected);
});

it("`app.run()` wakes very many a few at a time, and tells once of a store that fails when it is asked for them", async () => {
  const store = await asleep();
  let isDown = true;
  let most = 0;
  let now = 0;
  const failing: Store = {
    ...store,
    inbox: async (id) => {
      if (isDown) throw new Error("the store is down");
      return store.inbox(id);
    },
    claim: async (id, ...rest) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      return store.claim(id, ...rest).finally(() => now--);
    },
  };
  // They are due since 1970.
  const app = new Stepmark({ store: failing, workflows: [nap] });
  const told: unknown[] = [];
  const stop = new AbortController();
  const running = app.run({
    ...{ interval: 5, signal: stop.signal },
    onError: (error, runId) => {
      told.push([(error as Error).message, runId]);
      isDown = false;
    },
  });
  await expect
    .poll(async () => (await store.list({ status: "completed", limit: many })).length, { timeout: 15_000 })
    .toBe(many);
  stop.abort();
  await running;
  expect(told).toEqual([["the store is down", undefined]]);
  expect(most).toBe(64);
  await app.shutdown();
});
