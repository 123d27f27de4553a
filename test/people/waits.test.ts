/** `waitFor` in full: schemas, timeouts, and what is said of open waits. */
import {
  memoryStore,
  type RunEvent,
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
const work = async (item: unknown): Promise<unknown> => {
  bodies.note(String(item));
  return item;
};

beforeEach(() => bodies.reset());

/** A number of at least `least`; a text that is one is taken for it. */
function atLeast(least: number, validate = (value: unknown): unknown => value): StandardSchema<number> {
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: async (value) => {
        const number = Number(validate(value));
        if (number >= least) return { value: number };
        return { issues: [{ message: `less than ${least}`, path: ["order", { key: 0 }, "amount"] }] };
      },
    },
  };
}

it("an answer, and a run's input, are what they were when they were given", async () => {
  const flow = workflow("flow", async (input: { n: number }) => [input.n, (await waitFor<{ n: number }>("ok")).n]);
  const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
  const given = { n: 1 };
  const starting = [1, 2].map(() => app.start(flow, given, { id }));
  given.n = 2;
  const [run] = await Promise.all(starting);
  await run!.settled();
  const answered = app.answer(id, "ok", given);
  given.n = 3;
  await answered;
  expect(await run!.result()).toEqual([1, 2]);
});

describe("a schema", () => {
  const flow = workflow("priced", async () => [await waitFor("price", { schema: atLeast(5) }), await step(work, "a")]);

  it("D5: checks an answer at the door, and what it makes of it is what the code receives", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    await expect(app.answer(id, "price", 3)).rejects.toMatchObject({
      code: "ANSWER",
      issues: ["$.order[0].amount: less than 5"],
      message: expect.stringContaining('The schema of the wait "price" does not take the answer: $.order[0].amount'),
    });
    expect((await app.get(id)).waits).toMatchObject([{ name: "price", key: "priced/price" }]);
    await app.answer(id, "price", "7");
    expect(await run.result()).toEqual([7, "a"]);
  });

  it("is replayed without being asked again", async () => {
    let asked = 0;
    const counted = workflow("counted", async () => {
      const schema = atLeast(5, (value) => {
        asked++;
        return value;
      });
      return [await waitFor("price", { schema }), await step(work, "a")];
    });
    await replayFromEveryPrefix({
      workflow: counted,
      bodies,
      expected: [7, "a"],
      drive: async (app) => {
        await app.answer(id, "price", "7").catch(() => {});
      },
    });
    asked = 0;
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [counted] });
    await first.start(counted, undefined, { id });
    await first.answer(id, "price", "7");
    await rest();
    expect(asked).toBeGreaterThan(0);
    asked = 0;
    const again = new Stepmark({ store: store.fork(id, 2), workflows: [counted] });
    expect(await (await again.resume(id)).result()).toEqual([7, "a"]);
    expect(asked).toBe(0);
  });

  it("refuses what came from elsewhere when the run takes it; the wait stays open and the refusal is recorded", async () => {
    const store = memoryStore();
    const outside = new Stepmark({ store, workflows: [] });
    const app = new Stepmark({ store, workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    const events: RunEvent[] = [];
    const listening = (async () => {
      for await (const event of run.events()) events.push(event);
    })();
    await outside.answer(id, "price", 3);
    await rest();
    expect((await app.get(id)).waits).toHaveLength(1);
    await expect(outside.answer(id, "price", 9)).resolves.toBeUndefined();
    expect(await run.result()).toEqual([9, "a"]);
    await listening;
    const refused = events.find(({ type }) => type === "wait.refused");
    expect(refused).toMatchObject({ key: "priced/price", name: "price" });
    expect(refused?.value).toEqual(["$.order[0].amount: less than 5"]);
    const again = new Stepmark({ store: store.fork(id, 3), workflows: [flow] });
    expect(await (await again.resume(id)).result()).toEqual([9, "a"]);
  });

  it("that throws refuses the answer, and tells why", async () => {
    const broken = workflow("broken", async () =>
      waitFor("x", {
        schema: atLeast(1, () => {
          throw new Error("no connection");
        }),
      }),
    );
    const app = new Stepmark({ store: memoryStore(), workflows: [broken] });
    await (await app.start(broken, undefined, { id })).settled();
    await expect(app.answer(id, "x", 1)).rejects.toMatchObject({
      code: "ANSWER",
      issues: [expect.stringContaining("no connection")],
    });
  });

  it("that is none is an error at the call", async () => {
    const wrong = workflow("wrong", async () => waitFor("x", { schema: {} as StandardSchema }));
    const run = await new Stepmark({ store: memoryStore(), workflows: [wrong] }).start(wrong, undefined, { id });
    await expect(run.result()).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: /no Standard Schema/ });
  });
});

describe("a timeout", () => {
  const flow = workflow("patient", async () => {
    const first = await waitFor<string>("ok", { timeout: "1h" });
    const second = await waitFor<string>("ok", { timeout: "1h" });
    return [first, second, await step(work, "a")];
  });
  const hour = 3_600_000;

  it.each([Number.POSITIVE_INFINITY, Number.MAX_VALUE, 1e18])("may be for ever (%d)", async (timeout) => {
    const store = memoryStore();
    const forEver = workflow("for ever", async () => waitFor<string>("ok", { timeout }));
    const app = new Stepmark({ store, workflows: [forEver] });
    const { waits } = await (await app.start(forEver, undefined, { id })).settled();
    expect(waits).toMatchObject([{ name: "ok", due: 8.64e15 }]);
    expect((await store.read(id))?.due).toBe(8.64e15);
    await app.shutdown();
    const again = new Stepmark({ store, workflows: [forEver] });
    const run = await again.resume(id);
    await again.answer(id, "ok", "yes");
    expect(await run.result()).toEqual({ timedOut: false, value: "yes" });
  });

  it("may be a point in time, whenever the question is asked", async () => {
    const clock = new FakeClock(hour);
    const dated = workflow("dated", async (until: Date) => {
      const asked = waitFor("ok", { timeout: until });
      until.setTime(0);
      return asked;
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [dated], clock });
    const run = await app.start(dated, new Date(3 * hour), { id });
    await run.settled();
    expect((await app.get(id)).waits).toMatchObject([{ due: 3 * hour }]);
    await clock.advance(2 * hour);
    expect(await run.result()).toEqual({ timedOut: true });
  });

  it("settles with a typed result, and the next wait gets the next answer", async () => {
    const clock = new FakeClock();
    const app = new Stepmark({ store: memoryStore(), workflows: [flow], clock });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    expect((await app.get(id)).waits).toMatchObject([{ key: "patient/ok", due: hour }]);
    await clock.advance(hour);
    expect((await app.get(id)).waits).toMatchObject([{ key: "patient/ok~1", due: 2 * hour }]);
    await app.answer(id, "ok", "yes");
    expect(await run.result()).toEqual([{ timedOut: true }, { timedOut: false, value: "yes" }, "a"]);
    const types = (await app.entries(id)).map(({ kind, state, timedOut }) => [kind, state, timedOut]);
    expect(types).toEqual([
      ["wait", "open", undefined],
      ["wait", "done", true],
      ["wait", "open", undefined],
      ["wait", "done", undefined],
      ["step", "done", undefined],
    ]);
  });

  it("is counted from when the question was first asked, over as many processes as it takes", async () => {
    const store = memoryStore();
    const clock = new FakeClock();
    const app = new Stepmark({ store, workflows: [flow], clock });
    await (await app.start(flow, undefined, { id })).settled();
    await clock.advance(hour / 2);
    await app.shutdown();
    const later = new FakeClock(hour - 1);
    const next = new Stepmark({ store, workflows: [flow], clock: later });
    await (await next.resume(id)).settled();
    expect((await next.get(id)).waits).toMatchObject([{ key: "patient/ok" }]);
    await later.advance(1);
    expect((await next.get(id)).waits).toMatchObject([{ key: "patient/ok~1", due: 2 * hour }]);
  });

  it("that fell due while no process ran is not waited for once more: the run keeps its owner until it is over", async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow], clock });
    await (await app.start(flow, undefined, { id })).settled();
    await app.shutdown();
    await clock.advance(2 * hour);
    const pauses: number[] = [];
    const noting: Store = {
      ...store,
      append: async (...args) => {
        if (args[3]?.status === "waiting") pauses.push(args[3].due!);
        return store.append(...args);
      },
    };
    const again = new Stepmark({ store: noting, workflows: [flow], clock });
    const run = await again.resume(id);
    await rest();
    expect(pauses).toEqual([]);
    await clock.advance(0);
    expect((await run.settled()).waits).toMatchObject([{ due: 3 * hour }]);
    expect(pauses).toEqual([3 * hour]);
  });

  it("that fell due while no process ran comes before an answer that was given later, and after one given before", async () => {
    for (const [given, expected] of [
      [hour - 1, { timedOut: false, value: "yes" }],
      [hour + 1, { timedOut: true }],
    ] as const) {
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow], clock: new FakeClock() });
      await (await app.start(flow, undefined, { id })).settled();
      await app.shutdown();
      await store.post(id, { target: "ok", value: '["yes"]', at: given });
      const clock = new FakeClock(10 * hour);
      const next = new Stepmark({ store, workflows: [flow], clock });
      await next.resume(id);
      await clock.advance(0);
      const [first] = (await store.entries(id)).filter(({ kind, state }) => kind === "wait" && state === "done");
      expect(first).toMatchObject(expected.timedOut ? { timedOut: true } : { state: "done" });
      expect(first!.timedOut).toBe(expected.timedOut || undefined);
      await next.shutdown();
    }
  });

  it("that has fallen due takes no answer any more, and says so to who gives one, whether a process has seen it or not", async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow], clock });
    const { waits } = await (await app.start(flow, undefined, { id })).settled();
    await app.shutdown();
    await clock.advance(hour);
    const outside = new Stepmark({ store, clock });
    for (const target of ["ok", waits[0]!.key]) {
      const late = outside.answer(id, target, "late");
      await expect(late).rejects.toMatchObject({ code: "ANSWER", runId: id });
      await expect(late).rejects.toThrow('The wait "ok" has timed out at 1970-01-01T01:00:00.000Z');
    }
    expect(await store.inbox(id)).toEqual([]);
    const later = new Stepmark({ store, workflows: [flow], clock });
    const run = await later.resume(id);
    await clock.advance(0);
    const next = (await run.settled()).waits[0]!.key;
    // Whoever drives the run would take the answer out of the inbox at once.
    await later.shutdown();
    await outside.answer(id, "ok", "in time");
    expect((await store.inbox(id)).map(({ target }) => target)).toEqual([next]);
  });

  it("I5: is replayed from every prefix, and an early answer beats it", async () => {
    await replayFromEveryPrefix({
      workflow: flow,
      bodies,
      expected: [{ timedOut: false, value: "one" }, { timedOut: false, value: "two" }, "a"],
      drive: async (app) => {
        for (const value of ["one", "two"]) {
          await rest();
          await app.answer(id, "ok", value).catch(() => {});
        }
      },
    });
  });

  it("I3: a wait that gets a timeout, or loses it, while its answer is recorded is refused", async () => {
    const plain = workflow("same", async () => waitFor("ok"));
    const timed = workflow("same", async () => waitFor("ok", { timeout: 1 }));
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [plain] });
    const run = await app.start(plain, undefined, { id });
    await app.answer(id, "ok", 1);
    await run.result();
    const fork = store.fork(id, 2);
    await expect((await new Stepmark({ store: fork, workflows: [timed] }).resume(id)).result()).rejects.toMatchObject({
      code: "AMBIGUOUS_SITE",
    });
  });
});
