/** Scenarios A: steps whose bodies call steps. */
import {
  codec,
  type Entry,
  memoryStore,
  type RunEvent,
  Stepmark,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { describe, expect, it } from "vitest";
import { die, Kill } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

class Job {
  constructor(readonly label: string) {}
}

const bodies = new Bodies();
let ticket = 0;

const tick = async (label: string): Promise<string> => {
  bodies.note(`tick:${label}`);
  return label.toUpperCase();
};
const tickJob = async (job: Job): Promise<string> => tick(job.label);
const wrapper = async (label: string): Promise<string> => {
  bodies.note(`wrapper:${label}`);
  return step(tick, label);
};
const wrapperOfJob = async (job: Job): Promise<string> => {
  bodies.note(`wrapper:${job.label}`);
  return step(tickJob, job);
};
const wrapperWithKey = async (label: string): Promise<string> => {
  bodies.note(`wrapper:${label}`);
  return step({ key: "tick" }, tick, label);
};
const draw = async (): Promise<number> => {
  bodies.note("draw");
  return ++ticket;
};
const drawer = async (_label: string): Promise<number> => {
  bodies.note("drawer");
  return step(draw);
};

describe("A: nested steps", () => {
  it("A1: class-instance arguments: each wrapper has its own inner step, from every prefix", async () => {
    const flow = workflow("a1", async () => [
      await step(wrapperOfJob, new Job("a")),
      await step(wrapperOfJob, new Job("b")),
    ]);
    await replayFromEveryPrefix({ workflow: flow, expected: ["A", "B"], bodies });
  });

  it("A1: a crash inside tick(b): on resume only wrapper(b) and tick(b) run", async () => {
    const flow = workflow("a1", async () => [
      await step(wrapperOfJob, new Job("a")),
      await step(wrapperOfJob, new Job("b")),
    ]);
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    await (await app.start(flow, undefined, { id: "run" })).result();
    bodies.reset();
    const resumed = new Stepmark({ store: store.fork("run", 2), workflows: [flow] });
    expect(await (await resumed.resume("run")).result()).toEqual(["A", "B"]);
    expect(bodies.labels).toEqual(["wrapper:b", "tick:b"]);
  });

  it("A2: a wait between the two instead of a crash; each body once", async () => {
    const flow = workflow("a2", async () => {
      const a = await step(wrapper, "a");
      const answer = await waitFor<string>("go");
      const b = await step(wrapper, "b");
      return [a, b, answer];
    });
    const store = memoryStore();
    bodies.reset();
    const first = new Stepmark({ store, workflows: [flow] });
    const run = await first.start(flow, undefined, { id: "run" });
    expect((await run.settled()).status).toBe("waiting");
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [flow] });
    const resumed = await second.resume("run");
    await second.answer("run", "go", "yes");
    expect(await resumed.result()).toEqual(["A", "B", "yes"]);
    expect(bodies.labels).toEqual(["wrapper:a", "tick:a", "wrapper:b", "tick:b"]);
  });

  it("A3: events arrive as things happen, not at the end", async () => {
    const flow = workflow("a3", async () => {
      const a = await step(wrapper, "a");
      const answer = await waitFor<string>("go");
      return [a, answer];
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow, undefined, { id: "run" });
    const seen: RunEvent[] = [];
    for await (const event of run.events()) {
      seen.push(event);
      // Only if the event comes while the run is still under way can this answer end it.
      if (event.type === "run.waiting") await app.answer("run", "go", "yes");
    }
    expect(await run.result()).toEqual(["A", "yes"]);
    expect(seen.map(({ type }) => type)).toEqual([
      "run.started",
      "step.completed",
      "step.completed",
      "wait.opened",
      "run.waiting",
      "wait.answered",
      "run.completed",
    ]);
    expect(seen.map(({ key }) => key).filter(Boolean)).toEqual(["a3/wrapper/tick", "a3/wrapper", "a3/go", "a3/go"]);
    expect(seen[1]!.at).toMatch(/^test\/scenarios\/nested-steps\.test\.ts:\d+$/);
  });

  it("A4: string arguments", async () => {
    const flow = workflow("a4", async () => [await step(wrapper, "a"), await step(wrapper, "b")]);
    await replayFromEveryPrefix({ workflow: flow, expected: ["A", "B"], bodies });
  });

  it("A5: explicit keys count from the nearest step body or run", async () => {
    const flow = workflow("a5", async () => [
      await step({ key: "first" }, wrapperWithKey, "a"),
      await step({ key: "second" }, wrapperWithKey, "b"),
    ]);
    const store = await replayFromEveryPrefix({ workflow: flow, expected: ["A", "B"], bodies });
    expect((await store.entries("run")).map(({ key }) => key)).toEqual([
      "a5/wrapperWithKey#first/tick#tick",
      "a5/wrapperWithKey#first",
      "a5/wrapperWithKey#second/tick#tick",
      "a5/wrapperWithKey#second",
    ]);
  });

  it("A6: a direct call of the inner step does not take the nested call's entry", async () => {
    const flow = workflow("a6", async () => [await step(wrapper, "a"), await step(tick, "a")]);
    const store = await replayFromEveryPrefix({ workflow: flow, expected: ["A", "A"], bodies });
    expect((await store.entries("run")).map(({ key }) => key)).toEqual(["a6/wrapper/tick", "a6/wrapper", "a6/tick"]);
  });

  it("A8: equal arguments from two parents and a body that is not deterministic, one after the other", async () => {
    const flow = workflow("a8", async () => [await step(drawer, "x"), await step(drawer, "x")]);
    const store = memoryStore();
    ticket = 0;
    const app = new Stepmark({ store, workflows: [flow] });
    expect(await (await app.start(flow, undefined, { id: "run" })).result()).toEqual([1, 2]);
    for (let kept = 0; kept <= 4; kept++) {
      ticket = 10;
      const resumed = new Stepmark({ store: store.fork("run", kept), workflows: [flow] });
      const expected = [
        [11, 12],
        [1, 11],
        [1, 11],
        [1, 2],
        [1, 2],
      ][kept];
      expect(await (await resumed.resume("run")).result(), `after ${kept} entries`).toEqual(expected);
    }
  });

  it("A8: the same concurrently", async () => {
    const flow = workflow("a8c", async () => Promise.all([step(drawer, "x"), step(drawer, "x")]));
    const store = memoryStore();
    ticket = 0;
    const app = new Stepmark({ store, workflows: [flow] });
    expect(await (await app.start(flow, undefined, { id: "run" })).result()).toEqual([1, 2]);
    const journal = await store.entries("run");
    for (let kept = 0; kept <= journal.length; kept++) {
      ticket = 10;
      const resumed = new Stepmark({ store: store.fork("run", kept), workflows: [flow] });
      const result = (await (await resumed.resume("run")).result()) as number[];
      // A draw that is recorded stays its parent's; the others are drawn anew, each for itself.
      const drawn = new Map(journal.slice(0, kept).map(({ key, value }) => [key, value]));
      const fresh = ["a8c/drawer/draw", "a8c/drawer~1/draw"].map((key, branch) => !drawn.has(key) || branch + 1);
      for (const [branch, expected] of fresh.entries()) {
        if (expected === true) expect(result[branch], `branch ${branch} after ${kept}`).toBeGreaterThan(10);
        else expect(result[branch], `branch ${branch} after ${kept}`).toBe(expected);
      }
      expect(result[0]).not.toBe(result[1]);
    }
  });

  it("A3: a crash inside tick(b) while events are consumed: what they told is not done again", async () => {
    const kill = new Kill();
    let dying = true;
    const tickOnce = async (label: string): Promise<string> => {
      if (label === "b" && dying) await kill.here();
      return tick(label);
    };
    const outer = async (label: string): Promise<string> => step(tickOnce, label);
    const flow = workflow("a3-crash", async () => [await step(outer, "a"), await step(outer, "b")]);
    const store = memoryStore();
    bodies.reset();
    const told: string[] = [];
    const started = new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id: "run" });
    void started.then(async (run) => {
      for await (const event of run.events()) told.push(event.key ?? event.type);
    });
    const left = await die(store, kill, started);
    dying = false;
    expect(told).toEqual(["run.started", "a3-crash/outer/tickOnce", "a3-crash/outer"]);
    const run = await new Stepmark({ store: left, workflows: [flow] }).resume("run");
    const rest: string[] = [];
    for await (const event of run.events({ after: 2 })) rest.push(event.key ?? event.type);
    expect(rest).toEqual(["a3-crash/outer~1/tickOnce", "a3-crash/outer~1", "run.completed"]);
    expect(await run.result()).toEqual(["A", "B"]);
    expect(bodies.labels).toEqual(["tick:a", "tick:b"]);
  });

  it("A7, A9: a journal under another key scheme is refused before any body runs, with the cure, and left as it is", async () => {
    const flow = workflow("a7", async () => [await step(wrapper, "a"), await step(tick, "b")]);
    const store = memoryStore();
    const { id, createdAt } = { id: "run", createdAt: 0 };
    await store.create({ id, workflow: "a7", input: codec().encode(undefined), inputPrint: "", scheme: 0, createdAt });
    const owner = { token: "old", host: "old", pid: 1, processStart: "" };
    await store.claim(id, owner, () => true, { now: 0, until: 0 });
    // Calls known by their names alone, as they came.
    const entries = ["tick", "wrapper"].map((key, index): Entry => {
      const times = { startedAt: 0, endedAt: 0 };
      return { seq: index + 1, key, kind: "step", state: "done", value: codec().encode("A"), attempt: 1, ...times };
    });
    await store.append(id, 1, entries, { release: true });
    bodies.reset();
    const before = [await store.read(id), await store.entries(id)];
    const app = new Stepmark({ store, workflows: [flow] });
    for (const options of [{}, { accept: "edits" }, { divergence: "continue" }] as const) {
      await expect(app.resume(id, options)).rejects.toMatchObject({
        code: "KEY_SCHEME",
        runId: id,
        message: expect.stringContaining("Finish the run with the version of stepmark that recorded it"),
      });
    }
    expect(bodies.ran).toEqual([]);
    const [run, journal] = [await store.read(id), await store.entries(id)];
    expect([{ ...run!, fence: 0, updatedAt: 0 }, journal]).toEqual([
      { ...before[0]!, fence: 0, updatedAt: 0 },
      before[1],
    ]);
  });

  it("A10: a flat step with an opaque argument, through a crash after every entry and a wait", async () => {
    const flow = workflow("a10", async () => {
      const job = new Job("a");
      const first = await step(tickJob, job);
      const answer = await waitFor<string>("go");
      return [first, answer, await step(tickJob, new Job("b"))];
    });
    await replayFromEveryPrefix({
      workflow: flow,
      expected: ["A", "yes", "B"],
      bodies,
      drive: async (app, id) => {
        const { status, waits } = await app.get(id);
        const journal = await app.entries(id);
        const asked = journal.some(({ key, state }) => key === "a10/go" && state === "done");
        if (status !== "completed" && !asked && waits.length < 2) await app.answer(id, "go", "yes").catch(() => {});
      },
    });
  });

  for (const when of ["before", "inside", "after"] as const) {
    it(`A12: a workflow started inside a step, with a crash ${when} it: one child run, found again by its id`, async () => {
      const kill = new Kill();
      let app: Stepmark;
      bodies.reset();
      const child = workflow("child", async (x: string) => {
        const made = await step(tick, x);
        return step(async () => {
          if (when === "inside") await kill.here();
          return `${made}!`;
        });
      });
      const spawn = async (x: string): Promise<unknown> => {
        const { idempotencyKey } = stepContext();
        if (when === "before") await kill.here();
        const result = await (await app.start(child, x, { id: idempotencyKey })).result();
        if (when === "after") await kill.here();
        return result;
      };
      const parent = workflow("parent", async () => step(spawn, "a"));
      const store = memoryStore();
      const workflows = [parent, child];
      app = new Stepmark({ store, workflows });
      const left = await die(store, kill, app.start(parent, undefined, { id: "run" }));
      expect(await left.list({ workflow: "child" })).toHaveLength(when === "before" ? 0 : 1);
      app = new Stepmark({ store: left, workflows });
      expect(await (await app.resume("run")).result()).toBe("A!");
      expect((await left.list({ workflow: "child" })).map(({ status }) => status)).toEqual(["completed"]);
      expect(bodies.labels).toEqual(["tick:a"]);
    });
  }
});
