/** Scenarios A: steps whose bodies call steps. */
import { memoryStore, type RunEvent, Stepmark, step, waitFor, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
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
    ticket = 10;
    const resumed = new Stepmark({ store: store.fork("run", 4), workflows: [flow] });
    expect(await (await resumed.resume("run")).result()).toEqual([1, 2]);
  });
});
