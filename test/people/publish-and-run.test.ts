/** `publish`, and `app.run()`: what is seen of a run from outside, and who goes on with it. */
import {
  memoryStore,
  publish,
  Stepmark,
  type Store,
  StoreError,
  sleep,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
const work = async (item: string): Promise<string> => {
  bodies.note(item);
  return item;
};

beforeEach(() => bodies.reset());

/** For stores that take their time. */
const patience = { timeout: 15_000 };

describe("publish", () => {
  const flow = workflow("progress", async () => {
    const seen: unknown = await publish("progress", { done: 0 });
    await step(work, "a");
    await publish("progress", { done: 1 });
    await publish("__proto__", "odd");
    return [seen, await step(work, "b")];
  });

  it("is seen as it was recorded, the last one by name, all in the events, once whatever happens", async () => {
    const store = await replayFromEveryPrefix({ workflow: flow, bodies, expected: [undefined, "b"] });
    const app = new Stepmark({ store, workflows: [flow] });
    const { published } = await app.get(id);
    expect(Object.entries(published)).toEqual([
      ["progress", { done: 1 }],
      ["__proto__", "odd"],
    ]);
    const events: unknown[] = [];
    for await (const event of app.events(id)) if (event.type === "published") events.push([event.name, event.value]);
    expect(events).toEqual([
      ["progress", { done: 0 }],
      ["progress", { done: 1 }],
      ["__proto__", "odd"],
    ]);
  });

  describe("in a step's body", () => {
    const told: unknown[] = [];
    const tell = async (failures: number): Promise<number> => {
      const { attempt } = stepContext();
      for (const word of ["one", "two"]) {
        void publish("word", `${word} of ${told.length}`);
        told.push(word);
      }
      await step(work, "a");
      if (attempt <= failures) throw new Error("cut off");
      return attempt;
    };
    const tried = workflow("tried", async (failures: number) =>
      step({ retries: failures, backoff: 0 }, tell, failures),
    );

    async function seen(app: Stepmark): Promise<unknown[]> {
      const events: unknown[] = [];
      for await (const event of app.events(id))
        if (event.type === "published") events.push([event.attempt, event.value]);
      return events;
    }

    beforeEach(() => {
      told.length = 0;
    });

    it("is seen of each attempt, which the events tell, and not mixed with those before", async () => {
      const app = new Stepmark({ store: memoryStore(), workflows: [tried] });
      const run = await app.start(tried, 2, { id });
      expect(await run.result()).toBe(3);
      expect(await seen(app)).toEqual([
        [1, "one of 0"],
        [1, "two of 1"],
        [2, "one of 2"],
        [2, "two of 3"],
        [3, "one of 4"],
        [3, "two of 5"],
      ]);
      expect((await app.get(id)).published).toEqual({ word: "two of 5" });
      expect(bodies.labels).toEqual(["a"]);
    });

    it("is seen again when the body runs again after a crash, and not when its outcome is recorded", async () => {
      const untried = workflow("untried", async () => step(tell, 0));
      const store = memoryStore();
      const first = new Stepmark({ store, workflows: [untried] });
      await (await first.start(untried, undefined, { id })).result();
      const journal = await store.entries(id);
      for (let kept = 0; kept <= journal.length; kept++) {
        const before = journal.slice(0, kept);
        const isDone = before.some(({ key, state }) => key === "untried/tell" && state === "done");
        const app = new Stepmark({ store: store.fork(id, kept), workflows: [untried] });
        expect(await (await app.resume(id)).result()).toBe(1);
        const published = before.filter(({ kind }) => kind === "publish").length;
        expect((await seen(app)).length, `after ${kept} entries`).toBe(published + (isDone ? 0 : 2));
      }
    });
  });

  it("keeps the value as it was when it was published, and what cannot be kept fails there", async () => {
    const late = workflow("late", async () => {
      const value = { done: 0 };
      const published = publish("p", value);
      value.done = 9;
      await published;
      await publish("bad", { f: () => {} });
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [late] });
    await expect((await app.start(late, undefined, { id })).result()).rejects.toMatchObject({
      name: "SerialisationError",
      message: expect.stringContaining("$.f"),
    });
    expect((await app.get(id)).published).toEqual({ p: { done: 0 } });
  });
});

describe("app.run()", () => {
  const flow = workflow("long", async () => {
    const answer = await waitFor<string>("ok");
    await sleep("1h");
    return [answer, await step(work, "a")];
  });
  const plain = workflow("plain", async () => step(work, "a"));
  const asks = workflow("asks", async () => waitFor<string>("ok"));

  it("goes on with runs that were answered, and whose timers are due, from another process", async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const starting = new Stepmark({ store, workflows: [flow], clock });
    await (await starting.start(flow, undefined, { id })).settled();
    await starting.shutdown();
    const outside = new Stepmark({ store, workflows: [], clock });
    const stop = new AbortController();
    const worker = new Stepmark({ store, workflows: [flow], clock });
    const running = worker.run({ interval: 1, signal: stop.signal });
    await outside.answer(id, "ok", "yes");
    await vi.waitFor(async () => expect((await store.read(id))?.due).toBe(3_600_000));
    await clock.advance(3_600_000);
    await vi.waitFor(async () => expect((await store.read(id))?.status).toBe("completed"));
    expect((await outside.get(id)).output).toEqual(["yes", "a"]);
    stop.abort();
    await running;
    expect(bodies.labels).toEqual(["a"]);
  });

  it("looks at an answer that no wait takes only once", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    await (await app.start(flow, undefined, { id })).settled();
    await app.shutdown();
    await store.post(id, { target: "never asked", value: "[1]", at: 0 });
    let claims = 0;
    const counting = {
      ...store,
      claim: (...args: Parameters<typeof store.claim>) => {
        claims++;
        return store.claim(...args);
      },
    };
    const worker = new Stepmark({ store: counting, workflows: [flow] });
    let looks = 0;
    const stop = new AbortController();
    const ready = store.ready.bind(store);
    counting.ready = async (until) => {
      if (++looks === 6) stop.abort();
      return ready(until);
    };
    await worker.run({ interval: 1, signal: stop.signal });
    expect(claims).toBe(1);
  });

  it("takes a run up that a store which had failed kept it from before", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    await (await app.start(flow, undefined, { id })).settled();
    await app.shutdown();
    await store.post(id, { target: "ok", value: '["yes"]', at: 0 });
    const errors: unknown[] = [];
    const failing: Store = {
      ...store,
      claim: async (...args) => {
        if (errors.length < 2) throw new StoreError("The server is not there", { runId: id });
        return store.claim(...args);
      },
    };
    const worker = new Stepmark({ store: failing, workflows: [flow] });
    const running = worker.run({ interval: 1, onError: (error) => errors.push(error) });
    await vi.waitFor(async () => expect((await store.inbox(id)).length).toBe(0));
    expect(errors).toHaveLength(2);
    await worker.shutdown();
    await running;
  });

  /** A store, and what resolves when a loop that looks into it has decided on what it saw next. */
  const lookedAt = (store: Store): { store: Store; looked(): Promise<void> } => {
    let told: Array<() => void> = [];
    const ready: Store["ready"] = async (until) => {
      const listeners = told;
      told = [];
      const found = await store.ready(until);
      setImmediate(() => {
        for (const listener of listeners) listener();
      });
      return found;
    };
    return { store: { ...store, ready }, looked: () => new Promise((resolve) => told.push(resolve)) };
  };
  const isGone = (): never => {
    throw new StoreError("The server is not there", { runId: id });
  };

  it("goes on with a run that it saw while this app took it up, and that a failing store interrupted later", async () => {
    const { store, looked } = lookedAt(memoryStore());
    let failed = false;
    let running: Promise<void> | undefined;
    const entries: Store["entries"] = async (...args) => {
      // The run has an owner by now, and is not driven yet.
      if (running === undefined && (await store.read(id))?.owner) {
        const seen = looked();
        running = app.run({ interval: 1 });
        await seen;
      }
      return store.entries(...args);
    };
    const append: Store["append"] = async (...args) => {
      if (args[2].length > 0 && !failed) {
        failed = true;
        isGone();
      }
      return store.append(...args);
    };
    const app = new Stepmark({ workflows: [plain], store: { ...store, entries, append } });
    await expect((await app.start(plain, undefined, { id })).result()).rejects.toMatchObject({ code: "STORE" });
    await vi.waitFor(async () => expect(await store.read(id)).toMatchObject({ status: "completed" }), patience);
    await app.shutdown();
    await running;
  });

  it("goes on with a run that waits in memory, when a store that fails has kept it from its answer", async () => {
    const { store, looked } = lookedAt(memoryStore());
    let failed = false;
    const claim: Store["claim"] = async (...args) => {
      if ((await store.inbox(id)).length > 0 && !failed) {
        failed = true;
        // The loop has seen the answer, and leaves it to this app.
        await looked();
        isGone();
      }
      return store.claim(...args);
    };
    const app = new Stepmark({ workflows: [asks], store: { ...store, claim } });
    const running = app.run({ interval: 1 });
    const run = await app.start(asks, undefined, { id });
    await run.settled();
    await app.answer(id, "ok", "yes");
    await expect(run.result()).rejects.toMatchObject({ code: "STORE" });
    await vi.waitFor(async () => expect(await store.read(id)).toMatchObject({ status: "completed" }), patience);
    await app.shutdown();
    await running;
  });

  it("reports what it cannot take up once, and goes on with the others; ends with the app", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    for (const each of ["bad", "good"]) await (await app.start(flow, undefined, { id: each })).settled();
    await app.shutdown();
    for (const each of ["bad", "good"]) await store.post(each, { target: "ok", value: '["yes"]', at: 0 });
    const errors: unknown[] = [];
    const entries = store.entries.bind(store);
    const worker = new Stepmark({
      store: {
        ...store,
        entries: async (run, ...rest) => {
          if (run === "bad") throw new Error("unreadable");
          return entries(run, ...rest);
        },
      },
      workflows: [flow],
    });
    const running = worker.run({ interval: 1, onError: (error, run) => errors.push([run, (error as Error).message]) });
    await vi.waitFor(async () => expect((await store.entries("good")).length).toBeGreaterThan(2));
    await worker.shutdown();
    await running;
    expect(errors).toEqual([["bad", expect.stringContaining("unreadable")]]);
  });

  it("forgets the runs that it has seen once they are gone: one that is back is tried anew", async () => {
    const store = memoryStore();
    const starting = new Stepmark({ store, workflows: [asks] });
    await (await starting.start(asks, undefined, { id })).settled();
    await starting.shutdown();
    await store.post(id, { target: "no wait of it", value: "[1]", at: 0 });
    const there = await store.ready(0);
    const looks = [there, there, [], there];
    const unreadable: Store = {
      ...store,
      ready: async () => looks.shift() ?? [],
      read: async () => Promise.reject(new Error("cannot be read")),
    };
    const problems: unknown[] = [];
    const app = new Stepmark({ store: unreadable, workflows: [asks] });
    const running = app.run({ interval: 1, onError: (error) => problems.push(error) });
    await expect.poll(() => looks.length, patience).toBe(0);
    await app.shutdown();
    await running;
    expect(problems).toHaveLength(2);
  });

  it("takes a run up that was faster in another process, which died with it before it wrote anything", async () => {
    const store = memoryStore();
    const clock = new FakeClock();
    const app = new Stepmark({ store, workflows: [asks], clock });
    await (await app.start(asks, undefined, { id })).settled();
    await app.shutdown();
    await store.post(id, { target: "ok", value: '["yes"]', at: 0 });
    let isFaster = true;
    const dead = { token: "dead", host: "another machine", pid: 1, processStart: "" };
    const other: Store = {
      ...store,
      claim: async (...args) => {
        if (isFaster) await store.claim(id, dead, () => true, { now: 0, until: 1_000 });
        isFaster = false;
        return store.claim(...args);
      },
    };
    const worker = new Stepmark({ store: other, workflows: [asks], clock });
    const running = worker.run({ interval: 1 });
    await vi.waitFor(async () => expect((await store.read(id))?.owner).toEqual(dead));
    await clock.advance(2_000);
    await vi.waitFor(async () => expect(await store.read(id)).toMatchObject({ status: "completed" }));
    await worker.shutdown();
    await running;
  });

  it("takes a run up again that is still due, though it has seen it so before", async () => {
    const store = memoryStore();
    const clock = new FakeClock();
    const patient = workflow("patient", async () => waitFor("ok", { timeout: "1h" }));
    const app = new Stepmark({ store, workflows: [patient], clock });
    await (await app.start(patient, undefined, { id })).settled();
    await app.shutdown();
    await clock.advance(3_600_000);
    const worker = new Stepmark({ store, workflows: [patient], clock });
    const running = worker.run({ interval: 1 });
    await vi.waitFor(async () => expect((await store.read(id))?.owner).toBeDefined());
    // Another process takes it for its own, and comes to its end before the timer has gone off there.
    const other = { token: "other", host: "another machine", pid: 1, processStart: "" };
    const claim = await store.claim(id, other, () => true, { now: 0, until: 0 });
    const { fence } = (claim as { run: { fence: number } }).run;
    await store.append(id, fence, [], { status: "waiting", due: 3_600_000, release: true });
    await clock.advance(0);
    await vi.waitFor(async () => expect((await store.read(id))?.fence).toBeGreaterThan(fence));
    await clock.advance(0);
    await vi.waitFor(async () => expect(await store.read(id)).toMatchObject({ status: "completed" }));
    await worker.shutdown();
    await running;
  });

  it("takes intervals and leases that are longer than a timer runs: none goes off at once instead", async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): number => warnings.push(name);
    process.on("warning", note);
    const { store, looked } = lookedAt(memoryStore());
    const app = new Stepmark({ store, workflows: [asks], lease: "90d" });
    await (await app.start(asks, undefined, { id })).settled();
    const running = app.run({ interval: Number.POSITIVE_INFINITY });
    await looked();
    await new Promise((resolve) => setImmediate(resolve));
    process.removeListener("warning", note);
    expect(warnings).toEqual([]);
    await app.shutdown();
    await running;
  });

  it("I8: works on SQLite, with two workers on one file", async () => {
    const store = (): ReturnType<typeof sqliteStore> => sqliteStore(":memory:");
    const one = store();
    const apps = [0, 1].map(() => new Stepmark({ store: one, workflows: [flow], clock: new FakeClock() }));
    const starting = new Stepmark({ store: one, workflows: [flow], clock: new FakeClock() });
    const ids = Array.from({ length: 10 }, (_, i) => `run-${i}`);
    for (const each of ids) await (await starting.start(flow, undefined, { id: each })).settled();
    await starting.shutdown();
    const running = apps.map((app) => app.run({ interval: 1 }));
    for (const each of ids) await apps[0]!.answer(each, "ok", each);
    await vi.waitFor(async () => {
      for (const each of ids) expect((await one.read(each))?.due).toBe(3_600_000);
    }, patience);
    await Promise.all(apps.map((app) => app.shutdown()));
    await Promise.all(running);
    await one.close();
  });
});
