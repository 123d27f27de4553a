/** `events`: a stream of messages to one run. */
import { setTimeout as delay } from "node:timers/promises";
import {
  events,
  type MemoryStore,
  memoryStore,
  type StandardSchema,
  Stepmark,
  type Store,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
const work = async (item: string): Promise<string> => {
  bodies.note(item);
  return `w(${item})`;
};

beforeEach(() => bodies.reset());

const chat = workflow("chat", async () => {
  const done: string[] = [];
  for await (const message of events<string>("message")) {
    if (message === "bye") break;
    done.push(await step(work, message));
  }
  return [...done, await step(work, "end")];
});
const words = ["one", "two", "two", "bye"];

it("delivers each message once, in order, from every prefix", async () => {
  await replayFromEveryPrefix({
    workflow: chat,
    bodies,
    expected: ["w(one)", "w(two)", "w(two)", "w(end)"],
    drive: async (app) => {
      const { waits, status } = await app.get(id);
      const left = (await app.entries(id)).filter(({ kind, state }) => kind === "wait" && state === "done").length;
      if (status === "completed" || waits.length > 1) return;
      const unread = words.slice(left);
      for (const word of unread) await app.send(id, "message", word).catch(() => {});
    },
  });
});

it("keeps what is sent while nobody asks, and across processes", async () => {
  const store = memoryStore();
  for (const word of words) {
    const app = new Stepmark({ store, workflows: [chat] });
    if (word === "one") await app.start(chat, undefined, { id });
    else await app.resume(id);
    await app.send(id, "message", word);
    await rest();
    await app.shutdown();
  }
  expect((await store.read(id))?.status).toBe("completed");
  expect(bodies.labels).toEqual(["one", "two", "two", "end"]);
});

describe("a timeout", () => {
  const minute = 60_000;
  const watched = workflow("watched", async () => {
    const seen: unknown[] = [];
    for await (const message of events<string>("message", { timeout: "1 minute" })) {
      if (message.timedOut) seen.push(await step(work, "nothing"));
      else if (message.value === "bye") return seen;
      else seen.push(await step(work, message.value));
    }
    return seen;
  });

  it("is of each message, and none is lost to one that did not come", async () => {
    const clock = new FakeClock();
    const app = new Stepmark({ store: memoryStore(), workflows: [watched], clock });
    const run = await app.start(watched, undefined, { id });
    await clock.advance(minute / 2);
    await app.send(id, "message", "one");
    await clock.advance(minute + 1);
    await app.send(id, "message", "two");
    await clock.advance(2 * minute);
    await app.send(id, "message", "bye");
    expect(await run.result()).toEqual(["w(one)", "w(nothing)", "w(two)", "w(nothing)", "w(nothing)"]);
  });

  it("is replayed as it was, and counted on in another process", async () => {
    const store = memoryStore();
    let clock = new FakeClock();
    const first = new Stepmark({ store, workflows: [watched], clock });
    await first.start(watched, undefined, { id });
    await clock.advance(minute * 1.5);
    await first.shutdown();
    clock = new FakeClock(minute * 1.75);
    const next = new Stepmark({ store, workflows: [watched], clock });
    const run = await next.resume(id);
    await clock.advance(minute / 4 - 1);
    expect((await next.get(id)).waits).toMatchObject([{ key: "watched/message[1]", due: 2 * minute }]);
    await clock.advance(1);
    await next.send(id, "message", "bye");
    expect(await run.result()).toEqual(["w(nothing)", "w(nothing)"]);
  });

  for (const slow of [false, true]) {
    it(`of 0 takes what has been sent before, and no more, from a ${slow ? "slow" : "fast"} store`, async () => {
      const memory = memoryStore();
      const store: Store = {
        ...memory,
        inbox: async (...of) => {
          const messages = await memory.inbox(...of);
          if (slow) await delay(5);
          return messages;
        },
      };
      const drains = workflow("drains", async () => {
        await waitFor("begin");
        const seen: string[] = [];
        for await (const message of events<string>("message", { timeout: 0 })) {
          if (message.timedOut) return seen;
          seen.push(message.value);
        }
        return seen;
      });
      const app = new Stepmark({ store, workflows: [drains] });
      const run = await app.start(drains, undefined, { id });
      for (const word of words) await app.send(id, "message", word);
      await app.answer(id, "begin", true);
      expect(await run.result()).toEqual(words);
    });
  }

  it("of 0 takes what was sent in the very millisecond in which it is asked for", async () => {
    const drains = workflow("drains at once", async () => {
      const seen: string[] = [];
      for await (const message of events<string>("message", { timeout: 0 })) {
        if (message.timedOut) return seen;
        seen.push(message.value);
      }
      return seen;
    });
    const store = memoryStore();
    const clock = new FakeClock(minute);
    const held: Store = {
      ...store,
      append: async (...of) => {
        if (of[2][0]?.state === "open" && of[2][0].seq === 1)
          for (const word of words)
            await store.post(id, { target: "message", value: JSON.stringify([word]), at: minute });
        return store.append(...of);
      },
    };
    const run = await new Stepmark({ store: held, workflows: [drains], clock }).start(drains, undefined, { id });
    await rest();
    await clock.advance(0);
    expect(await run.result()).toEqual(words);
  });

  it("may be one point in time for all of them, also one that has passed", async () => {
    const clock = new FakeClock(10 * minute);
    const until = workflow("until", async (end: Date) => {
      const seen: string[] = [];
      for await (const message of events<string>("message", { timeout: end })) {
        if (message.timedOut) return seen;
        seen.push(message.value);
      }
      return seen;
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [until], clock });
    const run = await app.start(until, new Date(15 * minute), { id });
    for (const word of ["one", "two"]) {
      await clock.advance(2 * minute);
      await app.send(id, "message", word);
    }
    await clock.advance(minute);
    expect(await run.result()).toEqual(["one", "two"]);
    const late = await app.start(until, new Date(9 * minute), { id: "late" });
    await clock.advance(0);
    expect(await late.result()).toEqual([]);
    const never = await app.start(until, new Date(Number.NaN), { id: "never" });
    await expect(never.result()).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("`timeout` was given an invalid Date"),
    });
  });
});

it("two streams of one run each get their own; an ended run takes nothing", async () => {
  const two = workflow("two", async () => {
    const first = async (name: string): Promise<string> => {
      for await (const message of events<string>(name)) return message;
      return "";
    };
    return Promise.all([first("a"), first("b")]);
  });
  const app = new Stepmark({ store: memoryStore(), workflows: [two] });
  const run = await app.start(two, undefined, { id });
  await run.settled();
  expect((await app.get(id)).waits.map(({ name, key }) => [name, key])).toEqual([
    ["a", "two/first()/events[0]"],
    ["b", "two/first~1()/events[0]"],
  ]);
  await app.send(id, "b", "for b");
  await app.send(id, "a", "for a");
  expect(await run.result()).toEqual(["for a", "for b"]);
  await expect(app.send(id, "a", "late")).rejects.toMatchObject({ code: "ANSWER", message: /takes no answers/ });
});

describe("a run's inbox", () => {
  /** What a store has been asked for, and has given, of inboxes. */
  function counted(): { store: MemoryStore; given: number[] } {
    const [store, given] = [memoryStore(), [] as number[]];
    const inbox: MemoryStore["inbox"] = async (...args) => {
      const messages = await store.inbox(...args);
      given.push(messages.length);
      return messages;
    };
    return { store: { ...store, inbox }, given };
  }

  it("is read once, however much has come and however many messages of a stream are asked for", async () => {
    const { store, given } = counted();
    const many = workflow("many", async () => {
      let sum = 0;
      for await (const n of events<number>("n")) {
        sum += n;
        if (n === 50) break;
      }
      return [sum, await waitFor("ok")];
    });
    const app = new Stepmark({ store, workflows: [many] });
    const run = await app.start(many, undefined, { id });
    await run.settled();
    await app.shutdown();
    for (let n = 1; n <= 50; n++) await store.post(id, { target: "n", value: `[${n}]`, at: 0 });
    given.length = 0;
    const next = new Stepmark({ store, workflows: [many] });
    const resumed = await next.resume(id);
    await resumed.settled();
    expect(given.filter((length) => length > 0)).toEqual([50, 50]); // of which the first is the look for a cancellation
    await next.answer(id, "ok", true);
    expect(await resumed.result()).toEqual([1275, true]);
  });

  it("is read once for waits that are opened together", async () => {
    const { store, given } = counted();
    const names = Array.from({ length: 50 }, (_, index) => `question ${index}`);
    const all = workflow("all", async () => Promise.all(names.map((name) => waitFor<string>(name))));
    await store.create({ id, workflow: "all", input: "[-1]", inputPrint: "[]", scheme: 1, createdAt: 0 });
    for (const name of names.toReversed()) await store.post(id, { target: name, value: `["${name}"]`, at: 0 });
    const run = await new Stepmark({ store, workflows: [all] }).resume(id);
    expect(await run.result()).toEqual(names);
    expect(given.filter((length) => length > 0)).toEqual([50]);
  });

  it("keeps the order in which messages came, though one has been there long and another comes as they are asked for", async () => {
    const flow = workflow("flow", async () => {
      await waitFor("go");
      const seen: number[] = [];
      for await (const n of events<number>("n")) if (seen.push(n) === 3) break;
      return seen;
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    await app.send(id, "n", 1);
    await rest();
    await Promise.all([app.answer(id, "go", 1), app.send(id, "n", 2), app.send(id, "n", 3)]);
    expect(await run.result()).toEqual([1, 2, 3]);
  });
});

it("delivers messages in the order in which they are sent, as they were then, though the first one's check takes longer", async () => {
  let pass = (): void => {};
  const passed = new Promise<void>((resolve) => {
    pass = resolve;
  });
  const slow: StandardSchema<{ n: number }> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: async (value) => {
        if ((value as { n: number }).n === 1) await passed;
        return { value: value as { n: number } };
      },
    },
  };
  const pair = workflow("pair", async () => {
    const seen: number[] = [];
    for await (const { n } of events("part", { schema: slow })) if (seen.push(n) === 2) break;
    return seen;
  });
  const app = new Stepmark({ store: memoryStore(), workflows: [pair] });
  const run = await app.start(pair, undefined, { id });
  await run.settled();
  const message = { n: 1 };
  const first = app.send(id, "part", message);
  message.n = 2;
  const second = app.send(id, "part", message);
  message.n = 3;
  await rest();
  pass();
  await Promise.all([first, second]);
  expect(await run.result()).toEqual([1, 2]);
});

it("checks messages by a schema", async () => {
  const positive: StandardSchema<number> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        typeof value === "number" && value > 0 ? { value } : { issues: [{ message: "not positive" }] },
    },
  };
  const sum = workflow("sum", async () => {
    let total = 0;
    for await (const part of events("part", { schema: positive })) {
      total += part;
      if (total >= 3) break;
    }
    return total;
  });
  const app = new Stepmark({ store: memoryStore(), workflows: [sum] });
  const run = await app.start(sum, undefined, { id });
  await run.settled();
  await app.send(id, "part", 1);
  await rest();
  await expect(app.send(id, "part", -1)).rejects.toMatchObject({ code: "ANSWER", issues: ["$: not positive"] });
  await app.send(id, "part", 2);
  expect(await run.result()).toBe(3);
});
