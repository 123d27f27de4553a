/** Runs with very many messages and child runs: what one more of them costs does not grow with how many there are. */
import { setImmediate } from "node:timers/promises";
import { child, events, memoryStore, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { beforeEach, expect, it } from "vitest";

const id = "run";
const many = 300;
let store: Store;
/** Messages that the store has given out, and runs that it was asked for. */
let given: number;
let asked: number;

beforeEach(() => {
  const memory = memoryStore();
  given = 0;
  asked = 0;
  store = {
    ...memory,
    inbox: async (...of) => {
      const messages = await memory.inbox(...of);
      await setImmediate();
      given += messages.length;
      return messages;
    },
    read: async (run) => {
      asked++;
      await setImmediate();
      return memory.read(run);
    },
  };
});

it("messages that nobody reads are not read again with each new one", async () => {
  const deaf = workflow("deaf", async () => waitFor("other"));
  const app = new Stepmark({ store, workflows: [deaf] });
  const run = await app.start(deaf, undefined, { id });
  for (let i = 0; i < many; i++) await app.send(id, "stream", i);
  expect(given).toBeLessThan(3 * many);
  given = 0;
  await app.answer(id, "other", "heard");
  expect(await run.result()).toBe("heard");
  expect(given).toBeLessThan(3 * many);
});

it("messages of a stream that falls behind are read once, and taken in order", async () => {
  const adds = workflow("adds", async () => {
    const got: number[] = [];
    await waitFor("begin");
    for await (const message of events<number>("stream")) {
      got.push(await step(async (of: number) => of, message));
      if (got.length === many) return got;
    }
    return got;
  });
  const app = new Stepmark({ store, workflows: [adds] });
  const run = await app.start(adds, undefined, { id });
  for (let i = 0; i < many; i++) await app.send(id, "stream", i);
  await app.answer(id, "begin", true);
  expect(await run.result()).toEqual(Array.from({ length: many }, (_, i) => i));
  expect(given).toBeLessThan(3 * many);
});

it("the ends of child runs that come at once are looked at once each", async () => {
  const leaf = workflow("leaf", async (of: number) => step(async () => 2 * of));
  const fans = workflow("fans", async () => Promise.all(Array.from({ length: many }, (_, i) => child(leaf, i))));
  const app = new Stepmark({ store, workflows: [fans, leaf] });
  const run = await app.start(fans, undefined, { id });
  expect(await run.result()).toEqual(Array.from({ length: many }, (_, i) => 2 * i));
  expect(
    [given, asked].every((count) => count < 10 * many),
    `${given} messages, ${asked} runs`,
  ).toBe(true);
});
