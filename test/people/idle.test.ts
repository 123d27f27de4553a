/** Runs that wait leave memory after a while, and nobody notices. */
import {
  events,
  type MemoryStore,
  memoryStore,
  type RunEvent,
  Stepmark,
  sleep,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StaleOwnerError } from "../../runtime/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { Bodies } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
/** How often the workflows' code has begun: more than once, if it was replayed. */
let passes = 0;
const work = async (item: string): Promise<string> => {
  bodies.note(item);
  return `w(${item})`;
};

beforeEach(() => {
  bodies.reset();
  passes = 0;
});

const approval = workflow("approval", async () => {
  passes++;
  const before = await step(work, "before");
  const answer = await waitFor<string>("ok");
  return [before, answer, await step(work, "after")];
});
const nap = workflow("nap", async () => {
  passes++;
  await step(work, "before");
  await sleep("2h");
  return step(work, "after");
});
const asksInside = workflow("asksInside", async () => {
  passes++;
  return step("outer", async () => {
    bodies.note("outer");
    return waitFor<string>("ok");
  });
});
const chat = workflow("chat", async () => {
  passes++;
  const heard: string[] = [];
  for await (const message of events<string>("line")) {
    heard.push(message);
    if (message === "bye") return heard;
  }
  return heard;
});

const workflows = [approval, nap, asksInside, chat];
let clock = new FakeClock(0);
const app = (store = memoryStore()): Stepmark => {
  clock = new FakeClock(1_000);
  return new Stepmark({ store, clock, workflows, idle: "1m" });
};

/** The runs that an app has in memory. */
function inMemory(stepmark: Stepmark): string[] {
  return [...(stepmark as unknown as { driver: { active: Map<string, unknown> } }).driver.active.keys()];
}

async function collect(from: AsyncIterable<RunEvent>, into: string[]): Promise<void> {
  for await (const event of from) into.push(event.type);
}

describe("a run that waits", () => {
  it("leaves memory after the idle time and not before; an answer brings it back by a replay", async () => {
    const stepmark = app();
    const run = await stepmark.start(approval, undefined, { id });
    const result = run.result();
    await run.settled();
    await clock.advance(59_000);
    expect(inMemory(stepmark)).toEqual([id]);
    await clock.advance(2_000);
    expect(inMemory(stepmark)).toEqual([]);
    expect((await stepmark.get(id)).status).toBe("waiting");
    expect((await run.settled()).status).toBe("waiting");
    expect(passes).toBe(1);
    await stepmark.answer(id, "ok", "yes");
    expect(await result).toEqual(["w(before)", "yes", "w(after)"]);
    expect(await run.result()).toEqual(["w(before)", "yes", "w(after)"]);
    expect(passes).toBe(2);
    expect(bodies.labels).toEqual(["before", "after"]);
  });

  it("is brought back by its timer", async () => {
    const stepmark = app();
    const result = (await stepmark.start(nap, undefined, { id })).result();
    await clock.advance(61_000);
    expect(inMemory(stepmark)).toEqual([]);
    await clock.advance(2 * 3_600_000);
    expect(await result).toBe("w(after)");
    expect(bodies.labels).toEqual(["before", "after"]);
    expect(passes).toBe(2);
  });

  it("is brought back by each message of a stream, and may leave again in between", async () => {
    const stepmark = app();
    const result = (await stepmark.start(chat, undefined, { id })).result();
    for (const message of ["one", "two", "bye"]) {
      await clock.advance(61_000);
      expect(inMemory(stepmark), `before ${message}`).toEqual([]);
      await stepmark.send(id, "line", message);
    }
    expect(await result).toEqual(["one", "two", "bye"]);
    expect(passes).toBe(4);
  });

  it("stays while a body is under way that waits itself: it would have to run again", async () => {
    const stepmark = app();
    const run = await stepmark.start(asksInside, undefined, { id });
    await run.settled();
    await clock.advance(600_000);
    expect(inMemory(stepmark)).toEqual([id]);
    await stepmark.answer(id, "ok", "yes");
    expect(await run.result()).toBe("yes");
    expect(bodies.labels).toEqual(["outer"]);
  });

  it("tells its listeners all, those who came before it left memory, while it is away, and later", async () => {
    const stepmark = app();
    const run = await stepmark.start(approval, undefined, { id });
    const before: string[] = [];
    const meanwhile: string[] = [];
    const late: string[] = [];
    const all = [collect(run.events(), before)];
    await clock.advance(61_000);
    all.push(collect(stepmark.events(id), meanwhile));
    // It has come as far as it can get now.
    await rest();
    expect(meanwhile.at(-1)).toBe("run.waiting");
    all.push(collect(run.events(), late));
    const dropped = stepmark.events(id);
    for (let i = 0; i < 4; i++) await dropped.next();
    const pending = dropped.next();
    await rest();
    await dropped.return?.();
    expect(await pending).toEqual({ value: undefined, done: true });
    await stepmark.answer(id, "ok", "yes");
    await Promise.all(all);
    const expected = ["run.started", "step.completed", "wait.opened", "run.waiting", "wait.answered", "step.completed"];
    for (const told of [before, meanwhile, late]) expect(told).toEqual([...expected, "run.completed"]);
  });

  it("rejects what is awaited of it when the app is shut down or the run is cancelled", async () => {
    const store = memoryStore();
    const first = app(store);
    const ended = (await first.start(approval, undefined, { id })).result();
    await clock.advance(61_000);
    await first.shutdown();
    await expect(ended).rejects.toMatchObject({ code: "SHUTDOWN" });
    const second = app(store);
    const cancelled = (await second.resume(id)).result();
    await clock.advance(61_000);
    expect(inMemory(second)).toEqual([]);
    await second.cancel(id);
    await expect(cancelled).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  });

  it("is followed when another process goes on with it", async () => {
    const store = memoryStore();
    const first = app(store);
    const own = clock;
    const run = await first.start(approval, undefined, { id });
    const result = run.result();
    const told: string[] = [];
    const listening = collect(run.events(), told);
    await own.advance(61_000);
    const second = app(store);
    const taken = await second.resume(id);
    await second.answer(id, "ok", "elsewhere");
    await taken.result();
    await own.advance(11_000);
    expect(await result).toEqual(["w(before)", "elsewhere", "w(after)"]);
    await listening;
    expect(told.at(-1)).toBe("run.completed");
    expect(bodies.labels).toEqual(["before", "after"]);
  });

  it("cannot be brought back while the store fails: who waits for it is told", async () => {
    const store = memoryStore();
    const stepmark = app(store);
    const first = await stepmark.start(nap, undefined, { id });
    const result = first.result();
    const told: string[] = [];
    const listening = collect(first.events(), told);
    await clock.advance(61_000);
    const claim = store.claim.bind(store);
    store.claim = () => Promise.reject(new Error("the disk is gone"));
    await clock.advance(2 * 3_600_000);
    await expect(result).rejects.toMatchObject({ code: "STORE", message: /the disk is gone/ });
    await listening;
    expect(told.at(-1)).toBe("run.left");
    store.claim = claim;
    const run = await stepmark.resume(id);
    await clock.advance(0);
    expect(await run.result()).toBe("w(after)");
  });

  it("one thousand of them that somebody waits for all come back", async () => {
    const stepmark = app();
    const results: Array<Promise<unknown>> = [];
    for (let i = 0; i < 1_000; i++) results.push((await stepmark.start(approval, undefined, { id: `r${i}` })).result());
    await clock.advance(61_000);
    expect(inMemory(stepmark)).toEqual([]);
    for (let i = 0; i < 1_000; i++) await stepmark.answer(`r${i}`, "ok", i);
    const outputs = (await Promise.all(results)) as unknown[][];
    expect(outputs.map(([, answer]) => answer)).toEqual(outputs.map((_, i) => i));
    expect(bodies.labels).toHaveLength(2_000);
  });
});

describe("a run that waits out of memory, and that nobody waits for,", () => {
  /** What an app keeps of runs that it does not drive. */
  function kept(stepmark: Stepmark): unknown[] {
    const { driver } = stepmark as unknown as {
      driver: {
        dormant: Record<"waiters" | "timed" | "failed" | "waking", Map<string, unknown>>;
        ownership: { sure: Map<string, unknown> };
      };
    };
    const { waiters, timed, failed, waking } = driver.dormant;
    return [waiters, timed, failed, waking, driver.ownership.sure].flatMap((some) => [...some.keys()]);
  }

  /** The store, and what it is asked. */
  function watched(): {
    store: MemoryStore;
    calls: Array<[method: string, given: unknown[], answer: Promise<unknown>]>;
  } {
    const calls: Array<[string, unknown[], Promise<unknown>]> = [];
    const noted = Object.entries(memoryStore()).map(([name, method]) => [
      name,
      (...given: unknown[]) => {
        const answer = (method as (...given: unknown[]) => Promise<unknown>)(...given);
        if (name !== "onPost") calls.push([name, given, answer]);
        return answer;
      },
    ]);
    return { store: Object.fromEntries(noted) as MemoryStore, calls };
  }

  const hours = (count: number): number => count * 3_600_000;
  const minute = 60_000;
  const startMany = async (stepmark: Stepmark, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await (await stepmark.start(nap, undefined, { id: `r${i}` })).settled();
  };
  const completed = async (stepmark: Stepmark): Promise<string[]> =>
    (await stepmark.list({ status: "completed", limit: 1_000 })).map((run) => run.id).sort();

  let warnings: unknown[] = [];
  beforeEach(() => {
    warnings = [];
    vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(warning));
  });
  afterEach(() => void vi.restoreAllMocks());

  it("is known to the store alone, and asks for nothing until it is due", async () => {
    const { store, calls } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 3);
    await (await stepmark.start(approval, undefined, { id })).settled();
    await clock.advance(2 * minute);
    expect([inMemory(stepmark), kept(stepmark)]).toEqual([[], []]);
    calls.length = 0;
    await clock.advance(hours(2) - 4 * minute);
    expect(calls).toEqual([]);
    await clock.advance(4 * minute);
    expect(await completed(stepmark)).toEqual(["r0", "r1", "r2"]);
    calls.length = 0;
    await clock.advance(hours(100));
    expect(calls).toEqual([]);
    await stepmark.answer(id, "ok", "yes");
    await rest();
    expect(await completed(stepmark)).toContain(id);
  });

  it("goes on in its turn, where very many are due at once: never are all of them asked for", async () => {
    const { store, calls } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 100);
    await clock.advance(2 * minute);
    calls.length = 0;
    await clock.advance(hours(2));
    expect(await completed(stepmark)).toHaveLength(100);
    const pages = await Promise.all(calls.filter(([name]) => name === "timers").map(([, , answer]) => answer));
    expect(pages.every((page) => (page as unknown[]).length <= 32)).toBe(true);
    const claims = calls.filter(([name]) => name === "claim").map(([, [run]]) => run);
    expect(claims).toEqual(Array.from({ length: 100 }, (_, i) => `r${i}`));
  });

  it("goes on later if the store fails when it is due, which is told once", async () => {
    const { store } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 2);
    await clock.advance(2 * minute);
    const { timers } = store;
    store.timers = () => Promise.reject(new Error("the disk is gone"));
    await clock.advance(hours(3));
    store.timers = timers;
    expect(await completed(stepmark)).toEqual([]);
    await clock.advance(minute);
    expect(await completed(stepmark)).toEqual(["r0", "r1"]);
    expect(warnings).toEqual([new Error("the disk is gone")]);
  });

  it("goes on later if the store fails while it is taken up, which is told once", async () => {
    const { store } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 2);
    await clock.advance(2 * minute);
    const { claim } = store;
    let failures = 0;
    store.claim = (...given) =>
      given[0] === "r0" && failures++ < 3 ? Promise.reject(new Error("the disk is gone")) : claim(...given);
    await clock.advance(hours(2) - 100_000);
    expect(await completed(stepmark)).toEqual(["r1"]);
    await clock.advance(30_000);
    expect(await completed(stepmark)).toEqual(["r0", "r1"]);
    expect(warnings).toMatchObject([{ code: "STORE", message: /the disk is gone/ }]);
  });

  it.each(["claim", "append", "kept"] as const)(
    "goes on later if the store's %s fails when an answer has come, which is told once",
    async (method) => {
      const { store } = watched();
      const stepmark = app(store);
      await (await stepmark.start(approval, undefined, { id })).settled();
      await clock.advance(2 * minute);
      const sound = store[method] as (...given: unknown[]) => Promise<unknown>;
      let failures = 0;
      const unsound = (...given: unknown[]) =>
        failures++ < 3 ? Promise.reject(new Error("the disk is gone")) : sound(...given);
      Object.assign(store, { [method]: unsound });
      await stepmark.answer(id, "ok", "yes");
      await rest();
      expect(await completed(stepmark)).toEqual([]);
      await clock.advance(minute);
      expect(await completed(stepmark)).toEqual([id]);
      expect(warnings).toMatchObject([{ message: /the disk is gone/ }]);
    },
  );

  it("is not tried again and again if it cannot be taken up, and holds up nobody, however many there are", async () => {
    const { store } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 41);
    await clock.advance(minute);
    await (await stepmark.start(nap, undefined, { id: "later" })).settled();
    await clock.advance(2 * minute);
    const { entries } = store;
    const tried: string[] = [];
    store.entries = async (...given) => {
      const [run] = given;
      tried.push(run);
      return (await entries(...given)).map((each) =>
        run.startsWith("r") && run !== "r40" ? { ...each, seq: 9 } : each,
      );
    };
    await clock.advance(hours(3));
    expect(await completed(stepmark)).toEqual(["later", "r40"]);
    expect(tried.filter((run) => run === "r0")).toHaveLength(1);
    expect(warnings).toHaveLength(40);
    expect(warnings[0]).toMatchObject({ code: "DAMAGED_JOURNAL", runId: "r0" });
    store.entries = entries;
    const resumed = await stepmark.resume("r0");
    await clock.advance(0);
    expect(await resumed.result()).toBe("w(after)");
  });

  it("is left to the process that has gone on with it meanwhile, also if that one is gone", async () => {
    const { store, calls } = watched();
    const first = app(store);
    const own = clock;
    await startMany(first, 2);
    await own.advance(2 * minute);
    const second = app(store);
    await (await second.resume("r0")).settled();
    await second.shutdown();
    calls.length = 0;
    await own.advance(hours(2));
    expect(calls.filter(([name]) => name === "claim").map(([, [run]]) => run)).toEqual(["r1"]);
    expect(await completed(first)).toEqual(["r1"]);
  });

  it("is left to the process that takes it away while it is taken up", async () => {
    const { store } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 2);
    await clock.advance(2 * minute);
    const { append } = store;
    store.append = (...given) => (given[0] === "r0" ? Promise.reject(new StaleOwnerError("r0")) : append(...given));
    await clock.advance(hours(2));
    expect(await completed(stepmark)).toEqual(["r1"]);
    expect(warnings).toEqual([]);
  });

  it("goes on when it is due, though the clock is put back meanwhile", async () => {
    const stepmark = app();
    await startMany(stepmark, 1);
    await clock.advance(2 * minute);
    const now = clock.now.bind(clock);
    clock.now = () => now() - hours(1);
    await clock.advance(hours(2));
    expect(await completed(stepmark)).toEqual([]);
    await clock.advance(hours(1));
    expect(await completed(stepmark)).toEqual(["r0"]);
  });

  it("is left alone when the app is shut down, even in the midst of others", async () => {
    const { store, calls } = watched();
    const stepmark = app(store);
    await startMany(stepmark, 3);
    await clock.advance(2 * minute);
    const { claim } = store;
    let down: Promise<void> | undefined;
    store.claim = (...given) => {
      down ??= stepmark.shutdown();
      return claim(...given);
    };
    calls.length = 0;
    await clock.advance(hours(2));
    await down;
    await clock.advance(hours(2));
    expect(calls.filter(([name]) => name === "claim").map(([, [run]]) => run)).toEqual(["r0"]);
    expect((await store.list({ status: "waiting" })).every(({ owner }) => owner === undefined)).toBe(true);
    expect(warnings).toEqual([]);
  });

  it("is left to the queue that has handed it out last", async () => {
    const stepmark = app();
    await (await stepmark.start(approval, undefined, { id })).settled();
    await clock.advance(2 * minute);
    const { driver } = stepmark as unknown as { driver: { driveQueued(id: string): Promise<unknown> } };
    void driver.driveQueued(id);
    await rest();
    await stepmark.answer(id, "ok", "yes");
    await rest();
    expect(inMemory(stepmark)).toEqual([]);
    expect((await stepmark.get(id)).status).toBe("waiting");
  });
});
