/** `events`: a stream of messages to one run. */
import { setTimeout as delay } from "node:timers/promises";
import { events, memoryStore, type StandardSchema, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
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
