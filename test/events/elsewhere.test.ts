/** `events()` of runs that another process drives: two apps, each with a store of its own on one SQLite file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { all, short, until, whole } from "./collect.js";

const id = "run";
let folder: string;
let driver: Stepmark;
let watcher: Stepmark;
/** How often the watching process has asked the store. */
let asked: number;
let opening: Array<() => void>;

/** Bodies that end when the test says so, one by one. */
const gated = workflow("gated", async (count: number) => {
  for (let i = 0; i < count; i++) {
    await step(async () => {
      await new Promise<void>((resolve) => opening.push(resolve));
      return i;
    });
  }
  return "end";
});
const many = workflow("many", async (count: number) => {
  await Promise.all(Array.from({ length: count }, async (_, i) => step(async () => i)));
  return count;
});
const asks = workflow("asks", async () => waitFor<string>("go"));
let failing = false;
const fails = workflow("fails", async () =>
  step(async () => {
    if (failing) throw new Error("not yet");
    return "end";
  }),
);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stepmark-events-"));
  opening = [];
  asked = 0;
  const open = (): Store => sqliteStore(join(folder, "runs.db"));
  driver = new Stepmark({ store: open(), workflows: [gated, many, asks, fails] });
  const store = open();
  const counted = new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name, target) as unknown;
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => {
        asked++;
        return Reflect.apply(method, target, args);
      };
    },
  });
  watcher = new Stepmark({ store: counted, workflows: [gated, many, asks] });
});

afterEach(async () => {
  await Promise.all([driver.shutdown(), watcher.shutdown()]);
  rmSync(folder, { recursive: true, force: true });
});

/** What an app does by itself every ten seconds. */
function beat(app: Stepmark): Promise<void> {
  return (
    app as unknown as { driver: { ownership: { noticeTakeovers(): Promise<void> } } }
  ).driver.ownership.noticeTakeovers();
}

async function open(): Promise<void> {
  while (opening.length === 0) await new Promise((resolve) => setImmediate(resolve));
  opening.shift()!();
}

describe("events of a run that another process drives", () => {
  it("tell how a run stands when they are asked for, not how it stood a moment before", async () => {
    failing = true;
    await expect((await driver.start(fails, undefined, { id })).result()).rejects.toThrow("not yet");
    expect((await all(watcher.events(id))).map(short)).toEqual(["run.started", 1, "run.failed"]);
    failing = false;
    await (await driver.resume(id)).result();
    expect((await all(watcher.events(id))).map(short)).toEqual(["run.started", 1, 2, "run.completed"]);
    expect(await (await watcher.start(fails, undefined, { id })).result()).toBe("end");
    const waits = await driver.start(asks, undefined, { id: "asks" });
    await waits.settled();
    await until(watcher.events("asks"), "run.waiting");
    await driver.answer("asks", "go", "on");
    await waits.result();
    expect((await all(watcher.events("asks", { after: 1 }))).map(short)).toEqual([2, "run.completed"]);
  });

  it("come as they become durable, and are those that its own process tells", async () => {
    const run = await driver.start(gated, 3, { id });
    const own = all(run.events());
    const joined = await watcher.start(gated, 3, { id });
    const events = joined.events();
    const found = await until(events, "run.started");
    for (let i = 0; i < 3; i++) {
      await open();
      found.push(...(await until(events, "step.completed")));
    }
    found.push(...(await all(events)));
    expect(found.map(short)).toEqual(["run.started", 1, 2, 3, "run.completed"]);
    expect(found.map(whole)).toEqual((await own).map(whole));
    expect(await joined.result()).toBe("end");
  });

  it("are complete, page by page, however many there are and wherever one goes on", async () => {
    await (await driver.start(many, 500, { id })).result();
    const numbers = (from: number): Array<number | string> => [
      ...Array.from({ length: 500 - from }, (_, i) => i + 1 + from),
      "run.completed",
    ];
    const results = await Promise.all([
      all(watcher.events(id)),
      all(watcher.events(id, { after: 31 })),
      all(watcher.events(id, { after: 32 })),
      all(watcher.events(id, { after: 499 })),
      all(watcher.events(id, { after: 9_999 })),
    ]);
    expect(results.map((events) => events.map(short))).toEqual([
      ["run.started", ...numbers(0)],
      numbers(31),
      numbers(32),
      numbers(499),
      ["run.completed"],
    ]);
  });

  it("tell once that the run waits, and go on with the process that takes it over", async () => {
    await (await driver.start(asks, undefined, { id })).settled();
    const events = watcher.events(id);
    expect((await until(events, "run.waiting")).map(short)).toEqual(["run.started", 1, "run.waiting"]);
    const third = new Stepmark({ store: sqliteStore(join(folder, "runs.db")), workflows: [asks] });
    await third.answer(id, "go", "on");
    await third.resume(id);
    expect((await all(events)).map(short)).toEqual([2, "run.completed"]);
    await third.shutdown();
  });

  it("a process that gave the run up while it waits notices that another has gone on with it", async () => {
    const run = await driver.start(asks, undefined, { id });
    const events = all(run.events());
    const result = run.result();
    await run.settled();
    await beat(driver);
    await watcher.answer(id, "go", "on");
    await (await watcher.resume(id)).result();
    await beat(driver);
    expect((await events).map(short)).toEqual(["run.started", 1, "run.waiting", "run.left"]);
    await expect(result).rejects.toMatchObject({ code: "STALE_OWNER" });
    expect((await all(driver.events(id, { after: 1 }))).map(short)).toEqual([2, "run.completed"]);
  });

  it("a run that waits again in the process that has it is not given away", async () => {
    const twice = workflow("twice", async () => [await waitFor("first"), await waitFor("second")]);
    const run = await driver.start(twice, undefined, { id });
    await run.settled();
    await driver.answer(id, "first", 1);
    await until(run.events({ after: 2 }), "run.waiting");
    await beat(driver);
    await driver.answer(id, "second", 2);
    expect(await run.result()).toEqual([1, 2]);
  });

  it("a thousand listeners ask the store no more than a few", async () => {
    await driver.start(gated, 1, { id });
    const listeners = Array.from({ length: 1_000 }, () => watcher.events(id));
    await Promise.all(listeners.map((events) => until(events, "run.started")));
    asked = 0;
    const found = Promise.all(listeners.map((events) => all(events)));
    await open();
    expect(new Set((await found).map((events) => events.map(short).join()))).toEqual(new Set(["1,run.completed"]));
    expect(asked).toBeLessThan(50);
  });

  it("end with the app that listens; so does a result that is awaited", async () => {
    await driver.start(gated, 1, { id });
    const joined = await watcher.start(gated, 1, { id });
    const [events, result, settled] = [all(joined.events()), joined.result(), joined.settled()];
    await until(watcher.events(id), "run.started");
    const rejected = [
      expect(result).rejects.toMatchObject({ code: "SHUTDOWN" }),
      expect(settled).rejects.toMatchObject({ code: "SHUTDOWN" }),
    ];
    await watcher.shutdown();
    expect((await events).map(short)).toEqual(["run.started", "run.left"]);
    await Promise.all(rejected);
    expect((await all(joined.events())).map(short).at(-1)).toBe("run.left");
    asked = 0;
    await open();
    await (await driver.resume(id)).result();
    expect(asked).toBe(0);
  });

  it("of a run that has ended are complete although the app is shut down meanwhile, if its store stays open", async () => {
    await (await driver.start(many, 100, { id })).result();
    const store = sqliteStore(join(folder, "runs.db"));
    const { entries } = { entries: store.entries.bind(store) };
    // A store across a network.
    store.entries = async (...args) => {
      await new Promise((resolve) => setImmediate(resolve));
      return entries(...args);
    };
    const app = new Stepmark({ store, workflows: [many] });
    const joined = await app.resume(id);
    const events = all(joined.events());
    expect(await joined.result()).toBe(100);
    await app.shutdown();
    expect((await events).map(short).slice(-2)).toEqual([100, "run.completed"]);
    expect(await joined.result()).toBe(100);
    await store.close();
  });

  it("`return()` ends a listener that waits, and nobody asks the store any more", async () => {
    await driver.start(gated, 1, { id });
    const events = watcher.events(id);
    await until(events, "run.started");
    const pending = events.next();
    await events.return!();
    expect((await pending).done).toBe(true);
    await until(driver.events(id), "run.started");
    asked = 0;
    await open();
    await (await driver.resume(id)).result();
    expect(asked).toBeLessThan(3);
  });

  it("a store that fails is an error of `next`, and ends the events", async () => {
    await (await driver.start(many, 1, { id })).result();
    const store = sqliteStore(join(folder, "runs.db"));
    store.read = async () => {
      throw new Error("disk on fire");
    };
    const events = new Stepmark({ store }).events(id);
    await expect(events.next()).rejects.toMatchObject({ code: "STORE", runId: id, message: /disk on fire/ });
    expect((await events.next()).done).toBe(true);
  });
});
