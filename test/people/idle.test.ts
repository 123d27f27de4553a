/** Runs that wait leave memory after a while, and nobody notices. */
import { events, memoryStore, type RunEvent, Stepmark, sleep, step, waitFor, workflow } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
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

  it("one thousand of them are a few bytes each, and all come back", async () => {
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
