/** What a run's end, an app's end or a refusal must not do to what is under way, and to what comes after. */
import {
  type AnyWorkflow,
  type Clock,
  child,
  type MemoryStore,
  memoryStore,
  Stepmark,
  type Store,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { build } from "../support/build.js";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";

const id = "run";
const stuck = workflow("stuck", async () => step(() => new Promise(() => {})));
let attempts: string[] = [];
let failing = new Set<string>();
const work = async (name: string): Promise<string> => {
  attempts.push(`${name} ${stepContext().attempt}`);
  if (failing.has(name)) throw new Error(`${name} failed`);
  return name;
};

beforeEach(() => {
  attempts = [];
  failing = new Set();
});

describe("I7: a step that waits to be tried again when its run ends", () => {
  const flow = workflow("patient", async () =>
    Promise.all([step({ retries: 3, backoff: "1h" }, work, "patient"), waitFor("go").then(() => step(work, "hasty"))]),
  );

  async function failInThePause(): Promise<{ store: MemoryStore; clock: FakeClock }> {
    failing = new Set(["patient", "hasty"]);
    const store = memoryStore();
    const clock = new FakeClock();
    const app = new Stepmark({ store, workflows: [flow], clock });
    const run = await app.start(flow, undefined, { id });
    await clock.advance(10);
    await app.answer(id, "go", true);
    await expect(run.result()).rejects.toThrow("hasty failed");
    expect(clock.now(), "the pause is not waited for").toBe(10);
    await clock.advance(10 * 3_600_000);
    expect(attempts, "nothing starts after the end").toEqual(["patient 1", "hasty 1"]);
    return { store, clock };
  }

  it("is not tried again, and has not failed", async () => {
    const { store } = await failInThePause();
    const states = (await store.entries(id)).filter(({ kind }) => kind === "step").map(({ state }) => state);
    expect(states).toEqual(["attempt", "failed"]);
  });

  it("goes on with its next attempt in the next process", async () => {
    const { store, clock } = await failInThePause();
    failing = new Set();
    attempts = [];
    const run = await new Stepmark({ store, workflows: [flow], clock }).resume(id);
    expect(await run.result()).toEqual(["patient", "hasty"]);
    expect(attempts.sort()).toEqual(["hasty 1", "patient 2"]);
  });

  it("gives its attempts up on a cancellation", async () => {
    failing = new Set(["patient"]);
    const clock = new FakeClock();
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow], clock });
    const run = await app.start(flow, undefined, { id });
    await clock.advance(10);
    await app.cancel(id);
    await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    await clock.advance(10 * 3_600_000);
    expect(attempts).toEqual(["patient 1"]);
  });
});

describe("I7: what has been announced when its run fails, and is not durable yet", () => {
  /** Runs `flow`, which fails when it gets the promise, while its first announcement is on its way to the store. */
  async function failMeanwhile(makes: (failed: Promise<never>) => AnyWorkflow): Promise<MemoryStore> {
    const store = memoryStore();
    let [fail, arrive] = [(): void => {}, (): void => {}];
    const failed = new Promise<never>((_, reject) => {
      fail = () => reject(new Error("the code failed"));
    });
    const isUnderWay = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    let isThere = (): void => {};
    const slow: Store = {
      ...store,
      append: async (...args) => {
        if (["attempt", "open"].includes(String(args[2][0]?.state))) {
          arrive();
          await new Promise<void>((resolve) => {
            isThere = resolve;
          });
        }
        return store.append(...args);
      },
    };
    const flow = makes(failed);
    const run = await new Stepmark({ store: slow, workflows: [flow] }).start(flow, undefined, { id });
    await isUnderWay;
    fail();
    await rest();
    isThere();
    await expect(run.result()).rejects.toThrow("the code failed");
    await rest();
    return store;
  }

  it("an attempt does not begin, and its step has not failed", async () => {
    const store = await failMeanwhile((failed) =>
      workflow("attempting", async () => Promise.all([step({ retries: 1 }, work, "a"), failed])),
    );
    expect(attempts).toEqual([]);
    expect((await store.entries(id)).map(({ state }) => state)).toEqual(["attempt"]);
  });

  it("a child run does not begin", async () => {
    const inner = workflow("inner", async () => step(work, "a"));
    const store = await failMeanwhile((failed) =>
      workflow("parent", async () => Promise.all([child(inner, undefined, { id: "inner" }), failed])),
    );
    expect(attempts).toEqual([]);
    expect(await store.read("inner")).toBeUndefined();
  });
});

it("an app that is shut down leaves no timer behind that keeps its process, whatever bodies do", async () => {
  const [clock, pending] = [new FakeClock(), new Set<number>()];
  const counting: Clock = {
    now: () => clock.now(),
    after(ms, callback, background) {
      const stop = clock.after(ms, callback, background);
      if (!background) pending.add(ms);
      return () => {
        pending.delete(ms);
        stop();
      };
    },
  };
  const flow = workflow("limited", async () => step({ timeout: "1h" }, () => new Promise(() => {})));
  const app = new Stepmark({ store: memoryStore(), workflows: [flow], clock: counting });
  await app.start(flow, undefined, { id });
  await rest();
  expect(pending).toEqual(new Set([3_600_000]));
  await app.shutdown();
  expect(pending).toEqual(new Set());
});

describe("an app that ends while it takes a run up", () => {
  const flow = workflow("taken", async () => step(work, "a"));

  it("I8: gives the run up again", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const starting = app.start(flow, undefined, { id });
    const down = app.shutdown();
    await expect(starting).rejects.toMatchObject({ code: "SHUTDOWN", runId: id });
    await down;
    await rest();
    expect(attempts).toEqual([]);
    expect(await (await new Stepmark({ store, workflows: [flow] }).resume(id)).result()).toBe("a");
  });

  it("I8: gives up a run that it takes back after a pause", async () => {
    const waiting = workflow("paused", async () => [await waitFor("go"), await step(work, "a")]);
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [waiting] });
    const run = await app.start(waiting, undefined, { id });
    await run.settled();
    const answered = app.answer(id, "go", 1);
    const down = app.shutdown();
    await Promise.all([answered, down]);
    await rest();
    expect(await (await new Stepmark({ store, workflows: [waiting] }).resume(id)).result()).toEqual([1, "a"]);
  });

  it("I8: is not shut down before the end of a run that is being written", async () => {
    const store = memoryStore();
    let release!: () => void;
    const written = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = {
      ...store,
      append: async (...args: Parameters<typeof store.append>) => {
        if (args[3]?.status === "completed") await written;
        return store.append(...args);
      },
    };
    const app = new Stepmark({ store: slow, workflows: [flow] });
    await app.start(flow, undefined, { id });
    await rest();
    let over = false;
    const down = app.shutdown().then(() => {
      over = true;
    });
    await rest();
    expect(over).toBe(false);
    release();
    await down;
    expect(await store.read(id)).toMatchObject({ status: "completed" });
    expect((await store.read(id))?.owner).toBeUndefined();
  });

  it("is not shut down for whoever asks a second time before it is for the first", async () => {
    const store = memoryStore();
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: Store = {
      ...store,
      append: async (...args) => {
        if (args[3]?.release) await released;
        return store.append(...args);
      },
    };
    const app = new Stepmark({ store: slow, workflows: [stuck] });
    const run = await app.start(stuck, undefined, { id });
    run.result().catch(() => {});
    await rest();
    const over: string[] = [];
    const downs = ["first", "second"].map((name) => app.shutdown().then(() => over.push(name)));
    await rest();
    expect(over).toEqual([]);
    release();
    await Promise.all(downs);
    expect((await store.read(id))?.owner).toBeUndefined();
  });

  it("a cancellation that comes while a run is taken up is final", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const starting = app.start(flow, undefined, { id });
    await Promise.resolve();
    await app.cancel(id).catch(() => app.cancel(id));
    await expect((await starting).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    await rest();
    expect((await store.read(id))?.status).toBe("cancelled");
    const again = await new Stepmark({ store, workflows: [flow] }).resume(id);
    await expect(again.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  });

  it("a run that was cancelled between two looks at it is not begun", async () => {
    const store = memoryStore();
    await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id });
    const fork = store.fork(id, 0);
    const other = new Stepmark({ store: fork, workflows: [flow] });
    const app = new Stepmark({
      store: {
        ...fork,
        // Between the look and the claim another process cancels the run.
        claim: async (...args) => {
          await other.cancel(id);
          return fork.claim(...args);
        },
      },
      workflows: [flow],
    });
    attempts = [];
    await expect((await app.resume(id)).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect(attempts).toEqual([]);
    expect((await fork.read(id))?.owner).toBeUndefined();
  });

  it("a store that fails at the end is reported, and nobody waits for ever", async () => {
    const store = memoryStore();
    let down = false;
    const failingStore = {
      ...store,
      append: async (...args: Parameters<typeof store.append>) => {
        if (down) throw new Error("disk full");
        return store.append(...args);
      },
    };
    const app = new Stepmark({ store: failingStore, workflows: [stuck] });
    const cancelled = await app.start(stuck, undefined, { id });
    const left = await app.start(stuck, undefined, { id: "other" });
    await rest();
    down = true;
    const ends = [cancelled, left].map((run) => expect(run.result()).rejects.toMatchObject({ code: /STORE|SHUTDOWN/ }));
    await expect(app.cancel(id)).rejects.toMatchObject({ code: "STORE", runId: id });
    await expect(app.shutdown()).rejects.toMatchObject({ code: "STORE", runId: "other" });
    await Promise.all(ends);
  });
});

describe("a refusal", () => {
  const head = 'import { step, waitFor, workflow } from "stepmark";\nimport { work } from "bodies";\n';
  const flow = (source: string): AnyWorkflow =>
    (build(head + source, { imports: { bodies: { work } } }) as { w: AnyWorkflow }).w;
  const start = async (store: MemoryStore, w: AnyWorkflow): Promise<unknown> =>
    (await new Stepmark({ store, workflows: [w] }).start(w, undefined, { id })).result();
  const resume = async (store: MemoryStore, w: AnyWorkflow): Promise<unknown> =>
    (await new Stepmark({ store, workflows: [w], grace: 10 }).resume(id)).result();

  it("leaves what is to be run again as it was", async () => {
    const v1 = flow(`export const w = workflow("w", async () => {
      const a = await step("a", work, "a");
      const caught = await step("b", work, "b").catch((error) => error.message);
      return [a, caught, await step("c", work, "c")];
    });`);
    const v2 = flow(`export const w = workflow("w", async () => {
      const caught = await step("b", work, "b").catch((error) => error.message);
      return [caught, await step("c", work, "c")];
    });`);
    failing = new Set(["b", "c"]);
    const store = memoryStore();
    await expect(start(store, v1)).rejects.toThrow("c failed");
    const before = await store.entries(id);
    await expect(resume(store, v2)).rejects.toMatchObject({ code: "RETIRED_SITE" });
    expect(await store.entries(id), "nothing is written").toEqual(before);
    failing = new Set();
    attempts = [];
    expect(await resume(store, v1)).toEqual(["a", "b failed", "c"]);
    expect(attempts, "the failure that was caught stays, the one that failed the run is tried again").toEqual(["c 1"]);
  });

  it("starts nothing of what it held back, though a body in flight has asked for it", async () => {
    const inner = (first: string, second: string): string => `export const w = workflow("w", async () =>
      step("outer", async () => [${first}, ${second}]));`;
    const [a, b] = ['await step(work, "a")', 'await step(work, "b")'];
    const v1 = flow(inner(a, b));
    const v2 = flow(inner(`await (async () => ${a})()`, b));
    const store = memoryStore();
    expect(await start(store, v1)).toEqual(["a", "b"]);
    const inTheMiddle = (await store.entries(id)).findIndex(({ state }) => state === "done") + 1;
    attempts = [];
    const fork = store.fork(id, inTheMiddle);
    await expect(resume(fork, v2)).rejects.toMatchObject({
      code: expect.stringMatching(/AMBIGUOUS_SITE|RETIRED_SITE/),
    });
    expect(attempts).toEqual([]);
    // As a new process has it, in which the other build is not loaded.
    expect(await resume(fork, flow(inner(a, b)))).toEqual(["a", "b"]);
    expect(attempts).toEqual(["b 1"]);
  });
});
