/** `run.events()` of a run that is driven here: what comes, when, and for how long. */
import { type MemoryStore, memoryStore, now, Stepmark, type Store, sleep, step, waitFor, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { all, short, until, whole } from "./collect.js";

const id = "run";
const many = workflow("many", async (count: number) => {
  for (let i = 0; i < count; i++) await step(async () => i);
  return count;
});

function gate(): { open: () => void; opened: Promise<void> } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A store that shows what it was given at once and acknowledges it when `ack` is opened. */
function lateAck(memory: MemoryStore, ack: Promise<void>): Store {
  return Object.assign(Object.create(memory) as Store, {
    append: async (...args: Parameters<Store["append"]>) => {
      await memory.append(...args);
      if (args[2].length > 0) await ack;
    },
  });
}

describe("events", () => {
  it("tell each kind of entry with its run, key, place, times and value, and how the run ends", async () => {
    const clock = new FakeClock(1_000);
    let failures = 1;
    const flaky = async (): Promise<string> => {
      if (failures-- > 0) throw new TypeError("not yet");
      return "done";
    };
    const told = workflow("told", async (input: string) => {
      await step({ retries: 1, backoff: 10 }, flaky);
      await step(async () => {
        throw new RangeError("never");
      }).catch(() => {});
      await now();
      await Promise.all([sleep(500), waitFor("approve", { payload: { input } })]);
      return "end";
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [told], clock });
    const run = await app.start(told, "in", { id });
    const events = all(run.events());
    await clock.advance(10);
    await clock.advance(500);
    await app.answer(id, "approve", "yes");
    await run.result();
    const at = (anchor: number): unknown => expect.stringMatching(new RegExp(`^test/events/stream.test.ts:${anchor}$`));
    const line = Number(/:(\d+)$/.exec((await events).find(({ type }) => type === "step.attempted")!.at!)![1]);
    const place = (lines: number): object => ({ runId: id, at: at(line + lines) });
    expect((await events).map(whole)).toMatchObject([
      { type: "run.started", runId: id, time: 1_000, workflow: "told" },
      { ...place(0), type: "step.attempted", seq: 1, key: "told/flaky", time: 1_000, attempt: 1 },
      { ...place(0), type: "step.attempted", seq: 2, key: "told/flaky", time: 1_010, attempt: 2 },
      { ...place(0), type: "step.completed", seq: 3, key: "told/flaky", time: 1_010, attempt: 2, value: "done" },
      { ...place(1), type: "step.failed", seq: 4, time: 1_010, error: new RangeError("never"), value: undefined },
      { ...place(4), type: "value.recorded", seq: 5, key: "told/now", value: 1_010 },
      { ...place(5), type: "timer.set", seq: 6, key: "told/sleep", time: 1_010, due: 1_510 },
      { ...place(5), type: "wait.opened", seq: 7, key: "told/approve", name: "approve", value: { input: "in" } },
      { type: "run.waiting", runId: id, time: 1_010 },
      { ...place(5), type: "timer.fired", seq: 8, startedAt: 1_010, time: 1_510, due: 1_510 },
      { type: "run.waiting", runId: id, time: 1_510 },
      { ...place(5), type: "wait.answered", seq: 9, name: "approve", startedAt: 1_010, time: 1_510, value: "yes" },
      { type: "run.completed", runId: id, time: expect.any(Number), value: "end" },
    ]);
  });

  it("come while the run goes on, not at its end", async () => {
    const { open, opened } = gate();
    const slow = workflow("slow", async () => {
      await step(async () => "first");
      await step(() => opened);
    });
    const run = await new Stepmark({ store: memoryStore(), workflows: [slow] }).start(slow, undefined, { id });
    const events = run.events();
    expect((await until(events, "step.completed")).map(short)).toEqual(["run.started", 1]);
    open();
    expect((await until(events, "run.completed")).map(short)).toEqual([2, "run.completed"]);
    expect(await events.next()).toEqual({ value: undefined, done: true });
  });

  it("are the same from the start, from the middle, after the end, and in another process", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [many] });
    const run = await app.start(many, 100, { id });
    const live = all(run.events());
    const middle = run.events();
    await until(middle, "step.completed");
    const later = all(run.events());
    const rest = until(middle, "run.completed");
    const plain = async (events: ReturnType<typeof all>): Promise<object[]> => (await events).map(whole);
    const expected = await plain(live);
    expect((await live).map(short)).toEqual([
      "run.started",
      ...Array.from({ length: 100 }, (_, i) => i + 1),
      "run.completed",
    ]);
    expect(await plain(later)).toEqual(expected);
    expect(await plain(rest)).toEqual(expected.slice(2));
    expect(await plain(all(run.events()))).toEqual(expected);
    const elsewhere = new Stepmark({ store });
    expect(await plain(all(elsewhere.events(id)))).toEqual(expected);
    expect(await plain(all(elsewhere.events(id, { after: 97 })))).toEqual(expected.slice(98));
    expect(await plain(all(run.events({ after: 40 })))).toEqual(expected.slice(41));
    expect(await plain(all(run.events({ after: 0 })))).toEqual(expected);
    expect((await all(run.events({ after: 5_000 }))).map(short)).toEqual(["run.completed"]);
  });

  it("of a failed run can be read without resuming it", async () => {
    const store = memoryStore();
    const fails = workflow("fails", async () => {
      await step(async () => 1);
      throw new TypeError("bad");
    });
    const app = new Stepmark({ store, workflows: [fails] });
    const live = await all((await app.start(fails, undefined, { id })).events());
    const stored = await all(new Stepmark({ store }).events(id));
    expect(stored.map(whole)).toEqual(live.map(whole));
    expect(stored.at(-1)).toMatchObject({ type: "run.failed", error: new TypeError("bad") });
    expect((await store.read(id))!.status).toBe("failed");
  });

  it.each([-1, 1.5, Number.NaN, "3" as unknown as number])("refuse to go on after %s", async (after) => {
    const app = new Stepmark({ store: memoryStore() });
    expect(() => app.events(id, { after })).toThrow(/`after` must be the `seq` of an event, not .*\(run "run"\)/);
  });

  it("of a run that does not exist are an error of the first `next`", async () => {
    const events = new Stepmark({ store: memoryStore() }).events("nobody");
    await expect(events.next()).rejects.toMatchObject({ code: "RUN_NOT_FOUND", runId: "nobody" });
    expect(await events.next()).toEqual({ value: undefined, done: true });
  });

  it("can be read by `next` many times at once", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [many] });
    const events = (await app.start(many, 2, { id })).events();
    const results = await Promise.all(Array.from({ length: 6 }, () => events.next()));
    expect(results.map(({ value }) => value && short(value))).toEqual([
      "run.started",
      1,
      2,
      "run.completed",
      undefined,
      undefined,
    ]);
  });
});

describe("I4: no event before it is durable", () => {
  it("from a store that shows what it has not acknowledged, to listeners from before and from now", async () => {
    const ack = gate();
    const app = new Stepmark({ store: lateAck(memoryStore(), ack.opened), workflows: [many] });
    const run = await app.start(many, 2, { id });
    const seen: Array<number | string> = [];
    const watch = async (): Promise<void> => {
      for await (const event of run.events()) seen.push(short(event));
    };
    const before = watch();
    await rest();
    expect(await app.entries(id)).toHaveLength(1);
    const now = watch();
    await rest();
    expect(seen).toEqual(["run.started", "run.started"]);
    ack.open();
    await Promise.all([before, now]);
    expect(seen.filter((each) => each === 1)).toHaveLength(2);
  });

  it("from a store that shows more than it has acknowledged, to listeners that are behind", async () => {
    const memory = memoryStore();
    const ack = gate();
    const store = Object.assign(Object.create(memory) as Store, {
      append: async (...args: Parameters<Store["append"]>) => {
        await memory.append(...args);
        if (args[2].some(({ seq }) => seq === 4)) await ack.opened;
      },
    });
    // So large that only the last one is kept at hand.
    const large = workflow("large", async () => {
      for (let i = 0; i < 5; i++) await step(async () => String(i).repeat(200_000));
    });
    const run = await new Stepmark({ store, workflows: [large] }).start(large, undefined, { id });
    const behind = run.events();
    expect((await until(behind, "step.completed")).map(short)).toEqual(["run.started", 1]);
    while ((await memory.entries(id)).length < 4) await rest();
    const seen: Array<number | string> = [];
    const reads = [behind, run.events()].map(async (events) => {
      for await (const event of events) seen.push(short(event));
    });
    await rest();
    expect([...seen].sort()).toEqual([1, 2, 2, 3, 3, "run.started"]);
    ack.open();
    await Promise.all(reads);
    expect([...seen].sort().join()).toBe("1,2,2,3,3,4,4,5,5,run.completed,run.completed,run.started");
  });

  it("from a store that never acknowledges: the run's end is told, the entry is not", async () => {
    const memory = memoryStore();
    const store = Object.assign(Object.create(memory) as Store, {
      append: async (...args: Parameters<Store["append"]>) => {
        await memory.append(...args);
        if (args[2].some(({ seq }) => seq === 2)) throw new Error("disk on fire");
      },
    });
    const run = await new Stepmark({ store, workflows: [many] }).start(many, 3, { id });
    const live = await all(run.events());
    expect(live.map(short)).toEqual(["run.started", 1, "run.left"]);
    expect(live.at(-1)!.error).toMatchObject({ code: "STORE", runId: id });
    expect((await all(run.events())).map(short)).toEqual(["run.started", 1, "run.left"]);
  });
});

describe("events end", () => {
  const waiting = workflow("waiting", async () => {
    await step(async () => 1);
    return waitFor("go");
  });

  it("not while the run waits", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [waiting] });
    const run = await app.start(waiting, undefined, { id });
    const events = run.events();
    await until(events, "run.waiting");
    let come = false;
    const next = events.next().then(({ value }) => {
      come = true;
      return short(value!);
    });
    await rest();
    expect(come).toBe(false);
    await app.answer(id, "go", "on");
    expect(await next).toBe(3);
    expect((await all(events)).map(short)).toEqual(["run.completed"]);
  });

  it("when the run is cancelled", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [waiting] });
    const run = await app.start(waiting, undefined, { id });
    const events = all(run.events());
    await run.settled();
    await app.cancel(id);
    expect((await events).map(short)).toEqual(["run.started", 1, 2, "run.waiting", "run.cancelled"]);
  });

  it("when the app is shut down, also for a listener that is behind, whose store is closed", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [waiting] });
    const run = await app.start(waiting, undefined, { id });
    const [live, behind] = [all(run.events()), run.events()];
    await behind.next();
    await run.settled();
    await app.shutdown();
    expect((await live).map(short)).toEqual(["run.started", 1, 2, "run.waiting", "run.left"]);
    expect((await live).at(-1)!.error).toMatchObject({ code: "SHUTDOWN" });
    expect((await all(behind)).map(short)).toEqual([1, 2, "run.left"]);
  });

  it("when the run is stalled, as `result()` does; they can be asked for again if it goes on after all", async () => {
    const clock = new FakeClock();
    const { open, opened } = gate();
    const raw = workflow("raw", async () => {
      await step(async () => 1);
      await opened;
      return step(async () => 2);
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [raw], clock });
    const run = await app.start(raw, undefined, { id });
    const events = all(run.events());
    await clock.advance(3_000);
    const found = await events;
    expect(found.map(short)).toEqual(["run.started", 1, "run.stalled"]);
    expect(found.at(-1)).toMatchObject({ time: 3_000, error: { code: "STALLED" } });
    const again = run.events({ after: 1 });
    expect(short((await again.next()).value!)).toBe("run.stalled");
    open();
    await rest();
    expect((await all(run.events({ after: 1 }))).map(short)).toEqual([2, "run.completed"]);
  });

  it("when another process takes the run over", async () => {
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [waiting] });
    const run = await first.start(waiting, undefined, { id });
    const events = all(run.events());
    await run.settled();
    const second = new Stepmark({ store, workflows: [waiting] });
    const taken = await second.resume(id);
    await taken.settled();
    await second.answer(id, "go", "on");
    await taken.result();
    // The first process finds out when it wants to go on itself.
    const found = await events;
    expect(found.map(short)).toEqual(["run.started", 1, 2, "run.waiting", "run.left"]);
    expect(found.at(-1)!.error).toMatchObject({ code: "STALE_OWNER" });
    expect((await all(first.events(id, { after: 2 }))).map(short)).toEqual([3, "run.completed"]);
  });
});

describe("listeners", () => {
  const waiting = workflow("patient", async () => {
    for (let i = 0; i < 3; i++) await step(async () => i);
    return waitFor("go");
  });

  it("can leave while they wait: `return()` ends a pending `next()` at once", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [waiting] });
    const events = (await app.start(waiting, undefined, { id })).events();
    await until(events, "run.waiting");
    const pending = events.next();
    expect(await events.return!()).toEqual({ value: undefined, done: true });
    expect(await pending).toEqual({ value: undefined, done: true });
    expect(await events.next()).toEqual({ value: undefined, done: true });
  });

  it("can leave by `throw()`, `break` and an error of their own", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [waiting] });
    const run = await app.start(waiting, undefined, { id });
    const thrown = run.events();
    await thrown.next();
    await expect(thrown.throw!(new Error("out"))).rejects.toThrow("out");
    expect((await thrown.next()).done).toBe(true);
    const broken = run.events();
    for await (const event of broken) if (event.seq === 1) break;
    expect((await broken.next()).done).toBe(true);
    const failed = (async () => {
      for await (const { type } of run.events()) throw new Error(type);
    })();
    await expect(failed).rejects.toThrow("run.started");
  });

  it("that never ask again hold up nothing, and go on where they were", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [many] });
    const run = await app.start(many, 200, { id });
    const lazy = run.events();
    await until(lazy, "step.completed");
    expect(await run.result()).toBe(200);
    expect((await all(lazy)).map(short)).toEqual([...Array.from({ length: 199 }, (_, i) => i + 2), "run.completed"]);
  });

  it("are not told that the run waits when it no longer does", async () => {
    const app = new Stepmark({ store: memoryStore(), workflows: [waiting] });
    const run = await app.start(waiting, undefined, { id });
    const lazy = run.events();
    await lazy.next();
    await run.settled();
    await app.answer(id, "go", "on");
    await run.result();
    expect((await all(lazy)).map(short)).toEqual([1, 2, 3, 4, 5, "run.completed"]);
  });

  it("two thousand of them get every event, without a warning", async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error): unknown => warnings.push(warning);
    process.on("warning", warn);
    const app = new Stepmark({ store: memoryStore(), workflows: [many] });
    const run = await app.start(many, 20, { id });
    const found = await Promise.all(Array.from({ length: 2_000 }, () => all(run.events())));
    expect(new Set(found.map((events) => events.map(short).join()))).toEqual(
      new Set([["run.started", ...Array.from({ length: 20 }, (_, i) => i + 1), "run.completed"].join()]),
    );
    await rest();
    process.off("warning", warn);
    expect(warnings).toEqual([]);
  });

  it("that keep up cost the store nothing", async () => {
    let reads = 0;
    const memory = memoryStore();
    const store = Object.assign(Object.create(memory) as Store, {
      entries: (...args: Parameters<Store["entries"]>) => {
        reads++;
        return memory.entries(...args);
      },
    });
    const app = new Stepmark({ store, workflows: [many] });
    const run = await app.start(many, 50, { id });
    const before = reads;
    await Promise.all(Array.from({ length: 20 }, () => all(run.events())));
    expect(reads - before).toBe(0);
  });
});
