/** Scenarios C1-C4: saves under way when a sibling fails, drains, pauses, failing stores. */
import { setTimeout as delay } from "node:timers/promises";
import { type MemoryStore, memoryStore, type RunEvent, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { Bodies } from "../support/replay.js";

const bodies = new Bodies();
let failing = true;

const prepare = async (): Promise<number> => {
  bodies.note("prepare");
  return 0;
};
const done = async (base: number): Promise<number> => {
  bodies.note("done");
  return base + 1;
};
const flaky = async (base: number): Promise<number> => {
  bodies.note("flaky");
  if (failing) throw new Error("flaky failed");
  return base + 2;
};

const flow = workflow("c1", async () => {
  const base = await step(prepare);
  return Promise.all([step(done, base), step(flaky, base)]);
});

/** The store with a pause before each append. */
function slow(store: MemoryStore, ms: number): Store {
  return Object.assign(Object.create(store) as Store, {
    append: async (...args: Parameters<Store["append"]>) => {
      await delay(ms);
      return store.append(...args);
    },
  });
}

beforeEach(() => {
  bodies.reset();
  failing = true;
});

describe("C: durability", () => {
  for (const ms of [0, 1, 10]) {
    it(`C1, B37: a save in flight when a sibling fails is not lost, with a store that takes ${ms} ms`, async () => {
      const memory = memoryStore();
      const store = ms === 0 ? memory : slow(memory, ms);
      const app = new Stepmark({ store, workflows: [flow] });
      await expect((await app.start(flow, undefined, { id: "run" })).result()).rejects.toThrow("flaky failed");
      expect((await app.get("run")).status).toBe("failed");
      failing = false;
      const second = new Stepmark({ store, workflows: [flow] });
      expect(await (await second.resume("run")).result()).toEqual([1, 2]);
      expect(["prepare", "done", "flaky"].map((label) => bodies.count(label))).toEqual([1, 1, 2]);
    });
  }

  it("C2: a body that still runs when a sibling fails is drained and recorded", async () => {
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slowDone = async (): Promise<number> => {
      bodies.note("slow");
      await released;
      return 1;
    };
    const fails = async (): Promise<number> => {
      bodies.note("flaky");
      if (!failing) return 2;
      setImmediate(() => setImmediate(release));
      throw new Error("flaky failed");
    };
    const drained = workflow("c2", async () => Promise.all([step(slowDone), step(fails)]));
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [drained] });
    await expect((await app.start(drained, undefined, { id: "run" })).result()).rejects.toThrow("flaky failed");
    failing = false;
    const second = new Stepmark({ store, workflows: [drained] });
    expect(await (await second.resume("run")).result()).toEqual([1, 2]);
    expect(bodies.count("slow")).toBe(1);
  });

  it("C2, I7: a body that exceeds the drain limit is not recorded, and writes nothing later", async () => {
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slowDone = async (): Promise<number> => {
      await released;
      return 1;
    };
    const drained = workflow("c2-limit", async () => Promise.all([step(slowDone), step(flaky, 0)]));
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [drained], drain: 5 });
    await expect((await app.start(drained, undefined, { id: "run" })).result()).rejects.toThrow("flaky failed");
    const { length } = await store.entries("run");
    release();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(await store.entries("run")).toHaveLength(length);
    expect((await store.entries("run")).map(({ key }) => key)).toEqual(["c2-limit/flaky"]);
  });

  it("C3: nothing is lost when the run pauses while a save is in flight", async () => {
    const paused = workflow("c3", async () => {
      const [value, answer] = await Promise.all([step(prepare), waitFor<string>("go")]);
      return [value, answer];
    });
    const store = slow(memoryStore(), 2);
    const app = new Stepmark({ store, workflows: [paused] });
    const run = await app.start(paused, undefined, { id: "run" });
    expect((await run.settled()).status).toBe("waiting");
    await app.shutdown();
    const second = new Stepmark({ store, workflows: [paused] });
    const resumed = await second.resume("run");
    await second.answer("run", "go", "yes");
    expect(await resumed.result()).toEqual([0, "yes"]);
    expect(bodies.count("prepare")).toBe(1);
  });

  it("C4: a save that fails is a store error; nobody saw the step complete, and it does not count as done", async () => {
    const memory = memoryStore();
    let broken = true;
    const store = Object.assign(Object.create(memory) as Store, {
      append: async (...args: Parameters<Store["append"]>) => {
        if (broken && args[2].some(({ key }) => key.endsWith("/done"))) throw new Error("disk on fire");
        return memory.append(...args);
      },
    });
    failing = false;
    const app = new Stepmark({ store, workflows: [flow] });
    const run = await app.start(flow, undefined, { id: "run" });
    const seen: RunEvent[] = [];
    const watching = (async () => {
      for await (const event of run.events()) seen.push(event);
    })();
    await expect(run.result()).rejects.toMatchObject({ code: "STORE", cause: { message: "disk on fire" } });
    await watching;
    expect(seen.some(({ key }) => key === "c1/done")).toBe(false);
    await app.shutdown();
    broken = false;
    // The process that met the fault has given the run up only in memory; the store still names it as the owner.
    const second = new Stepmark({ store: memory.fork("run", (await memory.entries("run")).length), workflows: [flow] });
    expect(await (await second.resume("run")).result()).toEqual([1, 2]);
    expect(bodies.count("prepare")).toBe(1);
    expect(bodies.count("done")).toBe(2);
  });
});
