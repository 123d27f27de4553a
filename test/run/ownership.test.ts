/** What an app does with a run that it has taken, or may have taken, while its store fails or its clock is set (I8). */
import { memoryStore, type Owner, type Queue, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { steadyClock, systemClock } from "../../runtime/clock.js";
import { rest } from "../support/kill.js";

const id = "run";
let bodies: string[] = [];
let apps: Stepmark[] = [];
const work = async (name: string): Promise<string> => {
  bodies.push(name);
  return name;
};
const flow = workflow("flow", async () => [await waitFor("ok"), await step(work, "a")]);

beforeEach(() => {
  bodies = [];
  apps = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.allSettled(apps.map((app) => app.shutdown()));
});

/** A process of this machine, which lives on; it looks after what it has left every few milliseconds. */
function process(store: Store): Stepmark {
  const app = new Stepmark({ store, workflows: [flow], lease: 30 });
  apps.push(app);
  return app;
}

describe("I8: a run that an app has without driving it is given up, though the app lives", () => {
  /** A run that waits for its answer, and that nobody has. */
  async function waiting(): Promise<ReturnType<typeof memoryStore>> {
    const store = memoryStore();
    const app = process(store);
    await (await app.start(flow, undefined, { id })).settled();
    await app.shutdown();
    return store;
  }

  /** A store that takes a claim without saying so: the first, the second, ... */
  function losingAnswer(store: Store, number: number): Store {
    let claims = 0;
    const claim: Store["claim"] = async (...args) => {
      const answer = await store.claim(...args);
      if (++claims === number) throw new Error("the connection was cut");
      return answer;
    };
    return { ...store, claim };
  }

  it("where the store has lost the answer to a claim that it has taken", async () => {
    const store = await waiting();
    const losing = losingAnswer(store, 1);
    await expect(process(losing).resume(id)).rejects.toThrow("the connection was cut");
    expect((await store.read(id))?.owner).toBeDefined();
    await expect.poll(async () => (await store.read(id))?.owner).toBeUndefined();
    const other = process(store);
    const run = await other.resume(id);
    await other.answer(id, "ok", 1);
    expect(await run.result()).toEqual([1, "a"]);
  });

  it("and not given up where it takes it again before it can be", async () => {
    const store = await waiting();
    const losing = losingAnswer(store, 1);
    const app = process(losing);
    await expect(app.resume(id)).rejects.toThrow("the connection was cut");
    await store.post(id, { target: "ok", value: "[1]", at: 0 });
    expect(await (await app.resume(id)).result()).toEqual([1, "a"]);
    expect(bodies).toEqual(["a"]);
  });

  it("where the answer to a claim is lost by which it takes a run back that waited", async () => {
    const store = memoryStore();
    const losing = losingAnswer(store, 2);
    const app = process(losing);
    const run = await app.start(flow, undefined, { id });
    const left = expect(run.result()).rejects.toThrow("the connection was cut");
    await run.settled();
    await app.answer(id, "ok", 1);
    await left;
    await expect.poll(async () => (await store.read(id))?.owner).toBeUndefined();
    expect(await (await process(store).resume(id)).result()).toEqual([1, "a"]);
  });

  it("where the store fails while the app takes a run back that waited, and then gives it", async () => {
    const store = memoryStore();
    let [claims, fails] = [0, false];
    let [isAsked, give] = [(): void => {}, (): void => {}];
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const slow: Store = {
      ...store,
      inbox: async (...args) => {
        if (fails) throw new Error("out of order");
        return store.inbox(...args);
      },
      claim: async (...args) => {
        if (++claims === 2) {
          isAsked();
          await new Promise<void>((resolve) => {
            give = resolve;
          });
        }
        return store.claim(...args);
      },
    };
    const app = process(slow);
    const run = await app.start(flow, undefined, { id });
    const left = expect(run.result()).rejects.toThrow("out of order");
    await run.settled();
    await app.answer(id, "ok", 1);
    await asked;
    fails = true;
    await store.post(id, { target: "another", value: "[1]", at: 0 });
    await left;
    await rest();
    give();
    await rest();
    expect(await store.read(id)).toMatchObject({ fence: 2, owner: undefined });
    expect(await (await process(store).resume(id)).result()).toEqual([1, "a"]);
  });

  it("where the store fails between a cancellation's claim and its end", async () => {
    const store = await waiting();
    let failures = 1;
    const failing: Store = {
      ...store,
      append: async (...args) => {
        if (args[3]?.status === "cancelled" && failures-- > 0) throw new Error("out of order");
        return store.append(...args);
      },
    };
    await expect(process(failing).cancel(id)).rejects.toThrow("out of order");
    expect(await store.read(id)).toMatchObject({ status: "waiting", owner: undefined });
    await process(store).cancel(id);
    expect(await store.read(id)).toMatchObject({ status: "cancelled", owner: undefined });
  });
});

describe("I8: an owner that may have lost its run", () => {
  /** A run whose first body has ended, with another one to begin. */
  const two = workflow("two", async () => [await step(first), await step(work, "second")]);
  let end: () => void;
  const first = async (): Promise<string> => {
    bodies.push("first");
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    return "first";
  };

  it("begins no body without asking, though its clock was put back while it stood still", async () => {
    let [time, steady] = [1e12, 0];
    vi.spyOn(systemClock, "now").mockImplementation(() => time);
    vi.spyOn(steadyClock, "now").mockImplementation(() => steady);
    const store = memoryStore();
    const other: Owner = { token: "other", host: "another machine", pid: 1, processStart: "" };
    let asked = 0;
    const watched: Store = {
      ...store,
      renew: async (...args) => {
        asked++;
        return store.renew(...args);
      },
    };
    const app = new Stepmark({ store: watched, workflows: [two] });
    apps.push(app);
    const run = await app.start(two, undefined, { id });
    const left = expect(run.result()).rejects.toMatchObject({ code: "STALE_OWNER" });
    await rest();
    // A minute has passed, and the clock says that it was an hour ago. The first body's outcome is taken, then the run is lost.
    [time, steady] = [time - 3_600_000, 60_000];
    const { append } = watched;
    watched.append = async (...args) => {
      await append(...args);
      await store.claim(id, other, () => true, { now: 0, until: Number.MAX_SAFE_INTEGER });
    };
    end();
    await left;
    expect(asked).toBe(1);
    expect(bodies).toEqual(["first"]);
  });
});

describe("I8: a worker that is stopped gives its runs up, though the app lives", () => {
  const stuck = workflow("stuck", async () => step(() => new Promise(() => {})));

  /** Drives a run that a queue has handed out, and stops the worker. */
  async function stopped(store: Store, stopQueue: () => Promise<void>): Promise<void> {
    const queue: Queue = {
      put: (_id, _order, create) => create(store),
      join: async ({ drive }) => {
        void drive({ id, takeovers: 0 });
        return { stop: stopQueue };
      },
      close: async () => {},
    };
    const app = new Stepmark({ store, queue, workflows: [stuck], lease: 30 });
    apps.push(app);
    await app.enqueue(stuck, undefined, { id });
    const worker = await app.work({ stopWithin: 0 });
    await rest();
    expect((await store.read(id))?.owner).toBeDefined();
    await worker.stop();
  }

  it("where the store fails just then", async () => {
    const store = memoryStore();
    let failures = 2;
    const append: Store["append"] = async (...args) => {
      if (args[3]?.release && failures-- > 0) throw new Error("out of order");
      return store.append(...args);
    };
    await stopped({ ...store, append }, async () => {});
    await expect.poll(async () => (await store.read(id))?.owner).toBeUndefined();
  });

  it("where the queue fails just then", async () => {
    const store = memoryStore();
    const stop = async (): Promise<void> => Promise.reject(new Error("no connection"));
    await expect(stopped(store, stop)).rejects.toThrow("no connection");
    expect((await store.read(id))?.owner).toBeUndefined();
  });
});

describe("I8: an owner of several runs", () => {
  it("renews its leases of the others, though one is lost and an append to it is still under way", async () => {
    const store = memoryStore();
    const renewed: string[] = [];
    let isLost = false;
    const slow: Store = {
      ...store,
      append: async (...args) => {
        if (isLost) await new Promise(() => {});
        return store.append(...args);
      },
      renew: async (fences, lease) => {
        if (isLost) renewed.push([...fences.keys()].join());
        await store.renew(fences, lease);
        return isLost ? ["lost"] : [];
      },
    };
    const ends: Array<() => void> = [];
    const busy = workflow("busy", async () => step(() => new Promise<void>((resolve) => ends.push(resolve))));
    const app = new Stepmark({ store: slow, workflows: [busy], lease: 30 });
    await app.start(busy, undefined, { id: "lost" });
    await app.start(busy, undefined, { id: "other" });
    await rest();
    isLost = true;
    ends[0]!();
    await expect.poll(() => renewed).toEqual(expect.arrayContaining(["lost,other", "other"]));
  });

  it("asks about all at once that wait with it whether another process has gone on with them", async () => {
    const store = memoryStore();
    const reads: string[] = [];
    let looks = 0;
    const counted: Store = {
      ...store,
      read: async (given) => {
        reads.push(given);
        return store.read(given);
      },
      kept: async (...args) => {
        looks++;
        return store.kept(...args);
      },
    };
    const app = process(counted);
    const ids = Array.from({ length: 20 }, (_, index) => `run ${index}`);
    const runs = await Promise.all(ids.map((each) => app.start(flow, undefined, { id: each })));
    await Promise.all(runs.map((run) => run.settled()));
    reads.length = looks = 0;
    const lost = expect(runs[7]!.result()).rejects.toMatchObject({ code: "STALE_OWNER" });
    const other = process(store);
    await (await other.resume("run 7")).settled();
    await lost;
    expect(looks).toBeGreaterThan(0);
    expect(new Set(reads)).toEqual(new Set(["run 7"]));
  });
});

it("a lease of no time is refused, with which no process could ever be sure of a run", () => {
  expect(() => new Stepmark({ store: memoryStore(), lease: 0 })).toThrow(/`lease` of 0/);
});

it("I4: a store that throws where it should reject is a store that fails", async () => {
  const store = memoryStore();
  let [breaks, isBroken] = [true, false];
  const throwing: Store = {
    ...store,
    append: (...args) => {
      if (isBroken) throw new TypeError("no such table");
      return store.append(...args);
    },
  };
  const app = process(throwing);
  const breaking = workflow("breaking", async () => {
    await step(async () => {
      isBroken = breaks;
    });
    return step(work, "b");
  });
  const run = await app.start(breaking, undefined, { id });
  await expect(run.result()).rejects.toMatchObject({ code: "STORE", runId: id });
  expect(bodies).toEqual([]);
  breaks = isBroken = false;
  expect(await (await app.resume(id)).result()).toBe("b");
});
