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
  workflow,
} from "stepmark";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildChild } from "../support/build-child.js";
import { FakeClock } from "../support/fake-clock.js";

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
const workflows = [held, inner, outer];

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
