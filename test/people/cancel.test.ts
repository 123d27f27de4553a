/** A run is cancelled by whoever wants it to be, whoever drives it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import {
  child,
  type MemoryStore,
  memoryStore,
  type Run,
  type RunCancelledError,
  Stepmark,
  type Store,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildChild } from "../support/build-child.js";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";

const id = "run";
const cancelled = { code: "RUN_CANCELLED" };

/** Bodies that have begun, and that were told to stop. */
let notes: string[] = [];
let hasBegun: Promise<void>;
let begin: () => void;

beforeEach(() => {
  notes = [];
  hasBegun = new Promise((resolve) => {
    begin = resolve;
  });
});

async function hold(name: string): Promise<string> {
  const { signal } = stepContext();
  notes.push(`${name} begins`);
  begin();
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      notes.push(`${name} ends: ${(signal.reason as RunCancelledError).code}`);
      resolve();
    });
  });
  return name;
}

const held = workflow("held", async () => {
  await step(async () => "first");
  return step(hold, "body");
});
const inner = workflow("inner", async () => step(hold, "inner"));
const outer = workflow("outer", async () => child(inner, undefined, { id: "inner" }));
const questions = workflow("questions", async () => waitFor("ok"));
const workflows = [held, inner, outer, questions];

/** A store as another process has it that is told of no message. */
function deaf(store: MemoryStore): Store {
  return { ...store, onPost: () => () => {} };
}

/** Drives a run until its body has begun. */
async function drive(app: Stepmark, flow: typeof held = held): Promise<Run<unknown>> {
  const run = await app.start(flow, undefined, { id });
  run.result().catch(() => {});
  await hasBegun;
  return run;
}

describe("a cancellation of a run that another app drives", () => {
  it("I7: ends it there as if it had been asked for there, and resolves when it has ended", async () => {
    const store = memoryStore();
    const owner = new Stepmark({ store, workflows });
    const run = await drive(owner);
    const other = new Stepmark({ store, workflows });
    await other.cancel(id);
    expect((await other.get(id)).status).toBe("cancelled");
    await expect(run.result()).rejects.toMatchObject(cancelled);
    expect(notes).toEqual(["body begins", "body ends: RUN_CANCELLED"]);
    expect((await other.entries(id)).map(({ state }) => state)).toEqual(["done"]);
    expect((await store.read(id))?.owner).toBeUndefined();
    // Once more is as good as once.
    await Promise.all([other.cancel(id), owner.cancel(id)]);
  });

  it("is noticed when the owner renews its lease, if nobody tells it", async () => {
    const store = memoryStore();
    const run = await drive(new Stepmark({ store: deaf(store), workflows, lease: 60 }));
    await new Stepmark({ store, workflows }).cancel(id);
    await expect(run.result()).rejects.toMatchObject(cancelled);
  });

  it("is noticed by `app.run()` at its next look", async () => {
    const store = memoryStore();
    const owner = new Stepmark({ store: deaf(store), workflows });
    const run = await drive(owner);
    const looking = owner.run({ interval: 5 });
    await new Stepmark({ store, workflows }).cancel(id);
    await expect(run.result()).rejects.toMatchObject(cancelled);
    await owner.shutdown();
    await looking;
  });

  it("ends its child runs too", async () => {
    const store = memoryStore();
    await drive(new Stepmark({ store, workflows }), outer as typeof held);
    const other = new Stepmark({ store, workflows });
    await other.cancel(id);
    expect((await other.get("inner")).status).toBe("cancelled");
    expect(notes).toEqual(["inner begins", "inner ends: RUN_CANCELLED"]);
  });

  it("holds although the owner dies before it hears of it: whoever takes the run up ends it, and no body runs", async () => {
    const store = memoryStore();
    await drive(new Stepmark({ store: deaf(store), workflows }));
    const asking = new Stepmark({ store, workflows });
    const asked = asking.cancel(id);
    await expect.poll(() => store.messaged([id])).toEqual([id]);
    // As the owner's death, and that of whoever asked, leaves it.
    const left = store.fork();
    const app = new Stepmark({ store: left, workflows });
    notes = [];
    const [taken] = await app.recover();
    await expect(taken!.result()).rejects.toMatchObject(cancelled);
    expect([notes, (await left.read(id))?.status]).toEqual([[], "cancelled"]);
    await asking.shutdown();
    await expect(asked).rejects.toMatchObject({ code: "SHUTDOWN" });
  });

  it("ends the run itself when the owner's lease has run out", async () => {
    const store = memoryStore();
    const clock = new FakeClock();
    const app = new Stepmark({ store, workflows, clock, lease: 3_000 });
    const far = { token: "far", host: "far", pid: 1, processStart: "" };
    await store.create({ id, workflow: "held", input: "[1]", inputPrint: "", scheme: 1, createdAt: 0 });
    await store.claim(id, far, () => false, { now: 0, until: 3_000 });
    const asked = app.cancel(id);
    await expect.poll(() => store.messaged([id])).toEqual([id]);
    await clock.advance(2_000);
    expect((await store.read(id))?.status).toBe("running");
    await clock.advance(2_000);
    await asked;
    expect((await store.read(id))?.status).toBe("cancelled");
  });

  it("that came too late for a run that failed does not end it when it is resumed, and the next one does", async () => {
    const store = memoryStore();
    let fail!: (error: Error) => void;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    let attempts = 0;
    const flow = workflow("late", async () => step(async () => (attempts++ === 0 ? failed : hold("again"))));
    const owner = new Stepmark({ store: deaf(store), workflows: [flow] });
    const run = await owner.start(flow, undefined, { id });
    await expect.poll(() => attempts).toBe(1);
    const other = new Stepmark({ store, workflows: [flow] });
    const late = other.cancel(id);
    await expect.poll(() => store.messaged([id])).toEqual([id]);
    fail(new Error("out of order"));
    await expect(run.result()).rejects.toThrow("out of order");
    await late;
    expect((await store.read(id))?.status).toBe("failed");
    const resumed = await new Stepmark({ store, workflows: [flow] }).resume(id);
    await hasBegun;
    expect(await store.messaged([id])).toEqual([]);
    await other.cancel(id);
    await expect(resumed.result()).rejects.toMatchObject(cancelled);
  });
});

describe("a cancellation of a run that this app had", () => {
  const asks = workflow("asks", async () => {
    await waitFor("ok");
    return step(hold, "body");
  });

  it("and that another process has gone on with since it waited here ends it there", async () => {
    const store = memoryStore();
    const here = new Stepmark({ store: deaf(store), workflows: [asks] });
    const waiting = await here.start(asks, undefined, { id });
    waiting.result().catch(() => {});
    await waiting.settled();
    const there = new Stepmark({ store, workflows: [asks] });
    const run = await there.resume(id);
    const ended = expect(run.result()).rejects.toMatchObject(cancelled);
    await there.answer(id, "ok", 1);
    await hasBegun;
    await here.cancel(id);
    await ended;
    expect((await store.read(id))?.status).toBe("cancelled");
  });

  it("and that it loses to a failing store in the midst of its end is cancelled all the same", async () => {
    const inner = memoryStore();
    let refuse!: () => void;
    const refused = new Promise<void>((resolve) => {
      refuse = resolve;
    });
    const store: Store = {
      ...inner,
      append: async (...args) => {
        if (args[3]?.status !== "completed") return inner.append(...args);
        await refused;
        throw new Error("out of order");
      },
    };
    const quick = workflow("quick", async () => step(async () => 1));
    const app = new Stepmark({ store, workflows: [quick] });
    const run = await app.start(quick, undefined, { id });
    const left = expect(run.result()).rejects.toMatchObject({ code: "STORE" });
    await rest();
    const over = app.cancel(id);
    await rest();
    refuse();
    await over;
    await left;
    expect(await inner.read(id)).toMatchObject({ status: "cancelled", owner: undefined });
  });
});

describe("a cancellation of a run whose call of `child` has begun no run yet", () => {
  /** The store as a crash leaves it between the call's entry and the child run. */
  async function cutOff(store: MemoryStore, flow: typeof outer): Promise<MemoryStore> {
    const cut: Store = { ...store, create: (run) => (run.parent ? new Promise(() => {}) : store.create(run)) };
    await new Stepmark({ store: cut, workflows }).start(flow, undefined, { id });
    await rest();
    return store.fork();
  }

  it("ends the run, and there is none to begin", async () => {
    const store = await cutOff(memoryStore(), outer);
    expect((await store.entries(id)).map(({ kind, state }) => [kind, state])).toEqual([["child", "open"]]);
    await new Stepmark({ store, workflows }).cancel(id);
    expect((await store.list({})).map((run) => [run.id, run.status])).toEqual([[id, "cancelled"]]);
  });

  it("ends that as well if it is begun meanwhile, and no body of it runs", async () => {
    const inner = memoryStore();
    let letGo!: () => void;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const store: Store = {
      ...inner,
      create: async (run) => {
        if (run.parent) await held;
        return inner.create(run);
      },
    };
    const app = new Stepmark({ store, workflows });
    const run = await app.start(outer, undefined, { id });
    const ended = expect(run.result()).rejects.toMatchObject(cancelled);
    await rest();
    await app.cancel(id);
    letGo();
    await ended;
    const statuses = async (): Promise<string[]> => (await inner.list({})).map((each) => each.status);
    await expect.poll(statuses).toEqual(["cancelled", "cancelled"]);
    expect(notes).toEqual([]);
  });

  it("leaves a run of somebody else's alone that has the child's id", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows });
    const foreign = await app.start(questions, undefined, { id: "inner" });
    await foreign.settled();
    await app.shutdown();
    const after = await cutOff(store, outer);
    await new Stepmark({ store: after, workflows }).cancel(id);
    expect((await after.read(id))?.status).toBe("cancelled");
    expect((await after.read("inner"))?.status).toBe("waiting");
  });
});

describe("a run that a process drives", () => {
  let program: string;
  const folder = mkdtempSync(join(tmpdir(), "stepmark-cancel-"));
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    program = await buildChild("test/people/cancel-process.ts");
  });
  afterAll(() => {
    for (const each of started) each.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });

  /** @returns the lines that it prints */
  function spawned(task: "drive" | "cancel"): AsyncIterator<string> {
    const child = spawn(process.execPath, [program, task], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    started.push(child);
    return createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  }

  it("is cancelled by another process", async () => {
    const owner = spawned("drive");
    expect((await owner.next()).value).toBe("begun");
    expect((await spawned("cancel").next()).value).toBe("cancelled");
    expect((await owner.next()).value).toBe("RUN_CANCELLED");
    expect(readFileSync(join(folder, "bodies.log"), "utf8")).toBe("begun\nRUN_CANCELLED\n");
  });
});
