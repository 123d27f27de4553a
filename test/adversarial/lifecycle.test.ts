/** Waits, timers, owners, events: what goes on around a run while it pauses, ends, or is driven from several places. */
import {
  type MemoryStore,
  memoryStore,
  now,
  type Run,
  type RunEvent,
  random,
  Stepmark,
  type Store,
  sleep,
  step,
  uuid,
  type Workflow,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../runtime/clock.js";
import { state } from "../../runtime/scope/process-state.js";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";
import { Schedule } from "../support/schedule.js";

const id = "run";
const bodies = new Bodies();
let schedule: Schedule | undefined;
const work = async (item: unknown): Promise<string> => {
  bodies.note(String(item));
  await schedule?.turn();
  return `w(${item})`;
};

beforeEach(() => {
  bodies.reset();
  schedule = undefined;
});

const options = { grace: 100, stallAfter: 500 };

describe("timers", () => {
  it("that fell due while no process ran fire in the order of their times", async () => {
    const flow = workflow("overdue", async () => {
      const order: string[] = [];
      const nap = async (ms: number, name: string): Promise<void> => {
        await sleep(ms);
        order.push(name);
      };
      const first = await Promise.race([
        sleep(60_000).then(() => "slow"),
        sleep(1_000).then(() => "fast"),
        sleep(30_000).then(() => "middle"),
      ]);
      await Promise.all([nap(50_000, "c"), nap(10, "a"), nap(700, "b")]);
      return [first, ...order];
    });
    const store = memoryStore();
    const clock = new FakeClock();
    await new Stepmark({ store, workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(0);
    const later = new FakeClock(3_600_000);
    const second = store.fork(id);
    await new Stepmark({ store: second, workflows: [flow], clock: later }).resume(id);
    await later.advance(0);
    const latest = new FakeClock(7_200_000);
    const run = await new Stepmark({ store: second.fork(id), workflows: [flow], clock: latest }).resume(id);
    await latest.advance(0);
    expect(await run.result()).toEqual(["fast", "a", "b", "c"]);
  });

  for (const [name, at, expected] of [
    ["before", 1_800_000, "answer"],
    ["after", 5_400_000, "timeout"],
  ] as const) {
    it(`an answer that came ${name} a timer fell due, while no process ran: the earlier of the two wins`, async () => {
      const flow = workflow("deadline", async () =>
        Promise.race([waitFor<string>("ok"), sleep("1h").then(() => "timeout")]),
      );
      const store = memoryStore();
      const clock = new FakeClock();
      const app = new Stepmark({ store, workflows: [flow], clock });
      await (await app.start(flow, undefined, { id })).settled();
      await app.shutdown();
      await new Stepmark({ store, workflows: [flow], clock: new FakeClock(at) }).answer(id, "ok", "answer");
      const later = new FakeClock(7_200_000);
      const run = await new Stepmark({ store, workflows: [flow], clock: later }).resume(id);
      await later.advance(0);
      expect(await run.result()).toBe(expected);
    });
  }

  it("of zero, in the past, very far ahead, and for ever", async () => {
    const flow = workflow("odd-times", async () => {
      await sleep(0);
      await sleep(-5);
      await sleep(new Date(5));
      return Promise.race([
        sleep(Number.POSITIVE_INFINITY).then(() => "for ever"),
        sleep("30 days").then(() => "month"),
        sleep(8e15).then(() => "far"),
      ]);
    });
    const store = memoryStore();
    const clock = new FakeClock(1_000);
    await new Stepmark({ store, workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(10);
    await clock.advance(10);
    const again = new FakeClock(2_000);
    const run = await new Stepmark({ store: store.fork(id), workflows: [flow], clock: again }).resume(id);
    await again.advance(86_400_000 * 31);
    expect(await run.result()).toBe("month");
  });

  it("an abandoned timer does not keep the run from ending, nor wake a later one", async () => {
    const flow = workflow("abandoned", async () => {
      const first = await Promise.race([step(work, "quick"), sleep("1h").then(() => "late")]);
      await sleep(10);
      return [first, await step(work, "end")];
    });
    const clock = new FakeClock();
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(10);
    expect(await run.result()).toEqual(["w(quick)", "w(end)"]);
  });

  it("a timeout race in a loop, by timers and steps, from every prefix", async () => {
    const flow = workflow("timeout-loop", async () => {
      const out: string[] = [];
      for (let i = 0; i < 3; i++) out.push(await Promise.race([step(work, i), sleep("1h").then(() => "late")]));
      return out;
    });
    await replayFromEveryPrefix({ workflow: flow, expected: ["w(0)", "w(1)", "w(2)"], bodies });
  });
});

describe("waits", () => {
  it("a question inside a step's body makes the run waiting, and is asked once", async () => {
    const outer = async (x: string): Promise<string> => {
      bodies.note(x);
      return `${await step(work, x)}:${await waitFor<string>("inner")}`;
    };
    const flow = workflow("nested-wait", async () => [await step(outer, "a"), await step(outer, "b")]);
    const store = memoryStore();
    let app = new Stepmark({ store, workflows: [flow] });
    let run: Run<unknown> = await app.start(flow, undefined, { id });
    for (const answer of ["1", "2"]) {
      const info = await run.settled();
      expect(info.status).toBe("waiting");
      expect(info.waits).toHaveLength(1);
      await app.shutdown();
      app = new Stepmark({ store, workflows: [flow] });
      run = await app.resume(id);
      await app.answer(id, "inner", answer);
    }
    expect(await run.result()).toEqual(["w(a):1", "w(b):2"]);
    expect(bodies.labels.filter((x) => x === "w(a)")).toHaveLength(0);
    expect((await store.entries(id)).filter(({ kind, state }) => kind === "wait" && state === "open")).toHaveLength(2);
  });

  it("a sleep inside a step's body goes on where it was", async () => {
    const flow = workflow("nested-sleep", async () =>
      step(async () => {
        await sleep("1h");
        return step(work, "after");
      }),
    );
    const store = memoryStore();
    const clock = new FakeClock();
    await new Stepmark({ store, workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(1_800_000);
    const later = new FakeClock(1_800_000);
    const run = await new Stepmark({ store: store.fork(id), workflows: [flow], clock: later }).resume(id);
    await later.advance(1_799_999);
    expect(bodies.labels).toEqual([]);
    await later.advance(1);
    expect(await run.result()).toBe("w(after)");
  });

  it("undefined and null are answers; an early one is kept; each is used once, in order", async () => {
    const flow = workflow("answers", async () => {
      const got: unknown[] = [];
      for (let i = 0; i < 4; i++) got.push(await waitFor("next"), await step(work, i));
      return got;
    });
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    for (const value of [undefined, null, "three", 0]) {
      await run.settled();
      await app.answer(id, "next", value);
      await rest();
    }
    expect(await run.result()).toEqual([undefined, "w(0)", null, "w(1)", "three", "w(2)", 0, "w(3)"]);
    const { length } = await store.entries(id);
    expect(
      await (await new Stepmark({ store: store.fork(id, length), workflows: [flow] }).resume(id)).result(),
    ).toEqual(await run.result());
  });

  it("of two answers given at once, one is refused, also when the same question is asked again", async () => {
    const flow = workflow("twice", async () => [await waitFor("ok"), await waitFor("ok")]);
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    const results = await Promise.allSettled([app.answer(id, "ok", 1), app.answer(id, "ok", 2)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("answers while a body is in flight go to their questions, from every prefix", async () => {
    const flow = workflow("busy", async (items: string[]) =>
      Promise.all(
        items.map(async (x) => [
          await step(work, x),
          await waitFor<string>("q", { payload: x }),
          await step(work, `${x}2`),
        ]),
      ),
    );
    for (let seed = 1; seed <= 5; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        input: ["a", "b", "c"],
        expected: ["a", "b", "c"].map((x) => [`w(${x})`, `for ${x}`, `w(${x}2)`]),
        bodies,
        options,
        prepare: () => {
          schedule = new Schedule(seed);
        },
        drive: async (app, run) => {
          for (let turns = 0; turns < 200; turns++) {
            const info = await app.get(run);
            if (info.status === "completed") return;
            for (const wait of info.waits) await app.answer(run, wait.key, `for ${wait.payload}`).catch(() => {});
            await new Promise((resolve) => setImmediate(resolve));
          }
        },
      });
    }
  });

  it("a wait that lost its race stays open and harms nothing; the run ends", async () => {
    const flow = workflow("loser", async () => [
      await Promise.race([waitFor("never"), step(work, "a")]),
      await step(work, "b"),
    ]);
    await replayFromEveryPrefix({ workflow: flow, expected: ["w(a)", "w(b)"], bodies });
  });
});

describe("owners", () => {
  it("two starts and three resumes of one id at once, through one app: one run, each body once", async () => {
    const flow = workflow("once", async (x: string) => step(work, await step(work, x)));
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const runs = await Promise.all([
      app.start(flow, "a", { id }),
      app.start(flow, "a", { id }),
      app.start(flow, "a", { id }),
    ]);
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(["w(w(a))", "w(w(a))", "w(w(a))"]);
    expect(bodies.labels).toEqual(["a", "w(a)"]);
    bodies.reset();
    const left = store.fork(id, 1);
    const second = new Stepmark({ store: left, workflows: [flow] });
    const resumed = await Promise.all([
      second.resume(id),
      second.resume(id),
      second.start(flow, "a", { id }),
      second.recover().then(([run]) => run),
    ]);
    expect(await Promise.all(resumed.map((run) => run?.result() ?? "w(w(a))"))).toEqual([
      "w(w(a))",
      "w(w(a))",
      "w(w(a))",
      "w(w(a))",
    ]);
    expect(bodies.labels).toEqual(["w(a)"]);
  });

  it("a run that waits in two processes is taken over by the one that resumed it last", async () => {
    const flow = workflow("handed-over", async () => [await waitFor("go"), await step(work, "after")]);
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [flow] });
    const run = await first.start(flow, undefined, { id });
    await run.settled();
    const second = new Stepmark({ store, workflows: [flow] });
    const taken = await second.resume(id);
    await taken.settled();
    await second.answer(id, "go", "went");
    expect(await taken.result()).toEqual(["went", "w(after)"]);
    await expect(run.result()).rejects.toMatchObject({ code: "STALE_OWNER" });
    expect(bodies.labels).toEqual(["after"]);
  });

  it("a run started inside a step of another, recursively, belongs to itself", async () => {
    const store = memoryStore();
    let app: Stepmark;
    const child = workflow("child", async (x: string) => step(work, await step(work, x)));
    const parent = workflow("parent", async (items: string[]) =>
      Promise.all(items.map((x) => step(async () => (await app.start(child, x, { id: `child-${x}` })).result()))),
    );
    app = new Stepmark({ store, workflows: [child, parent] });
    expect(await (await app.start(parent, ["a", "b"], { id })).result()).toEqual(["w(w(a))", "w(w(b))"]);
    expect((await store.entries("child-a")).map(({ key }) => key)).toEqual(["child/work", "child/work~1"]);
    for (let kept = 0; kept <= 2; kept++) {
      bodies.reset();
      app = new Stepmark({ store: store.fork(id, kept), workflows: [child, parent] });
      expect(await (await app.resume(id)).result()).toEqual(["w(w(a))", "w(w(b))"]);
      expect(bodies.labels).toEqual([]);
    }
  });

  it("a run started inside a step of another has no part in that one's async context, which would keep it in memory", async () => {
    const contexts: unknown[] = [];
    const begin = (): undefined => void contexts.push(state.context.getStore());
    const child = workflow("child", async () => waitFor("go"));
    const app = new Stepmark({ store: memoryStore(), telemetry: { here: () => undefined, begin } });
    const parent = workflow("parent", async () => step(async () => (await app.start(child)).id));
    await (await app.start(parent)).result();
    expect(contexts).toEqual([undefined, undefined]);
  });

  it("many runs at once through one app, each alone", async () => {
    schedule = new Schedule(7);
    const flow = workflow("many", async (n: number) => {
      const parts = await Promise.all([1, 2, 3].map(async (k) => step(work, await step(work, `${n}.${k}`))));
      return parts.join();
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const runs = await Promise.all(Array.from({ length: 30 }, (_, n) => app.start(flow, n)));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      Array.from({ length: 30 }, (_, n) => [1, 2, 3].map((k) => `w(w(${n}.${k}))`).join()),
    );
  });
});

describe("an owner whose lease has run out", () => {
  const flow = workflow("leased", async () => [await step(work, "a"), await step(work, "b")]);
  const retrying = workflow("leased retries", async () => step({ retries: 3 }, work, "a"));

  it.each<[string, Workflow<void, unknown>, unknown]>([
    ["the outcome of the step before", flow, ["w(a)", "w(b)"]],
    ["the attempt", retrying, "w(a)"],
  ])("I4, I8: begins no body when it hears late of %s, which another has gone on from", async (_, each, output) => {
    const store = memoryStore();
    let late!: () => void;
    const heard = new Promise<void>((resolve) => {
      late = resolve;
    });
    const append: Store["append"] = async (...args) => {
      await store.append(...args);
      await heard;
    };
    const behind = await new Stepmark({ store: { ...store, append }, workflows: [each] }).start(each, undefined, {
      id,
    });
    await rest();
    const other = new Stepmark({ store: usurping(store), workflows: [each] });
    expect(await (await other.resume(id)).result()).toEqual(output);
    const done = bodies.labels.length;
    const clock = vi.spyOn(systemClock, "now").mockReturnValue(Date.now() + 31_000);
    try {
      late();
      await expect(behind.result()).rejects.toMatchObject({ code: "STALE_OWNER", runId: id });
    } finally {
      clock.mockRestore();
    }
    expect(bodies.labels).toHaveLength(done);
  });

  it("goes on when nobody has taken its run", async () => {
    const store = memoryStore();
    const clock = vi.spyOn(systemClock, "now");
    const renewals: unknown[] = [];
    const renew: Store["renew"] = (fences, lease) => {
      renewals.push([...fences.keys()]);
      return store.renew(fences, lease);
    };
    const append: Store["append"] = async (...args) => {
      await store.append(...args);
      clock.mockReturnValue(Date.now() + 31_000);
    };
    try {
      const app = new Stepmark({ store: { ...store, append, renew }, workflows: [flow] });
      expect(await (await app.start(flow, undefined, { id })).result()).toEqual(["w(a)", "w(b)"]);
    } finally {
      clock.mockRestore();
    }
    expect(renewals).toEqual([[id]]);
  });
});

/** A store to which every owner is dead. */
function usurping(store: MemoryStore): Store {
  return {
    ...store,
    claim: (run, owner, _, lease) => store.claim(run, owner, () => true, lease),
    read: async (run) => {
      const found = await store.read(run);
      return found && { ...found, owner: undefined };
    },
  };
}

describe("the end", () => {
  it("after a shutdown at any moment the rest of the run goes on elsewhere, each recorded body once", async () => {
    const flow = workflow("shut", async (items: string[]) => {
      const a = await Promise.all(items.map(async (x) => step(work, await step(work, x))));
      await sleep(1);
      try {
        return [a, await step(work, "end")];
      } finally {
        await step(work, "finally");
      }
    });
    for (let turns = 0; turns < 40; turns += 3) {
      schedule = new Schedule(turns);
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow] });
      await app.start(flow, ["a", "b"], { id });
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      await app.shutdown();
      const before = new Set((await store.entries(id)).filter(({ state }) => state === "done").map(({ key }) => key));
      const { length } = await store.entries(id);
      bodies.reset();
      await rest();
      expect(await store.entries(id)).toHaveLength(length);
      const run = await new Stepmark({ store, workflows: [flow] }).resume(id);
      expect(await run.result()).toEqual([["w(w(a))", "w(w(b))"], "w(end)"]);
      expect(bodies.ran.filter((key) => before.has(key))).toEqual([]);
    }
  });

  it("cancelling at any moment is final: no catch, no finally, no entry afterwards", async () => {
    for (let turns = 0; turns < 30; turns += 3) {
      const log: string[] = [];
      const flow = workflow("cancelled", async () => {
        try {
          await Promise.all([step(work, "a"), step(work, "b"), waitFor("never")]);
        } catch {
          log.push("catch");
        } finally {
          log.push("finally");
        }
      });
      schedule = new Schedule(turns);
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow] });
      const run = await app.start(flow, undefined, { id });
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([app.cancel(id), app.cancel(id)]);
      const { length } = await store.entries(id);
      await rest();
      expect(await store.entries(id)).toHaveLength(length);
      expect(log).toEqual([]);
      await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      await expect((await app.resume(id)).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      await expect(app.answer(id, "never", 1)).rejects.toMatchObject({ code: "ANSWER" });
    }
  });

  it("result() again and again: equal values, each caller its own copy", async () => {
    const flow = workflow("copies", async () => ({ list: [await step(work, "a")] }));
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow);
    const [first, second] = await Promise.all([run.result(), run.result()]);
    first.list.push("mine");
    expect(second.list).toEqual(["w(a)"]);
    expect((await run.result()).list).toEqual(["w(a)"]);
  });

  it("a run that can go nowhere is stalled; one whose raw wait ends after all goes on", async () => {
    let release!: () => void;
    const raw = new Promise<void>((resolve) => {
      release = resolve;
    });
    const flow = workflow("stall", async () => {
      await step(work, "a");
      await raw;
      return step(work, "b");
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [flow], stallAfter: 20 });
    const run = await app.start(flow, undefined, { id });
    expect((await run.settled()).status).toBe("stalled");
    await expect(run.result()).rejects.toMatchObject({ code: "STALLED" });
    release();
    await rest();
    expect(await run.result()).toBe("w(b)");
  });

  it("dynamic import, raw timers and microtask tricks in workflow code, from every prefix", async () => {
    const flow = workflow("raw", async () => {
      const { join } = await import("node:path");
      const a = await step(work, join("a", "b"));
      await new Promise((resolve) => setTimeout(resolve, 1));
      await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
      const [b, c] = await Promise.all([
        new Promise<string>((resolve) => setTimeout(async () => resolve(await step(work, "late")), 2)),
        step(work, "soon"),
      ]);
      return [a, b, c];
    });
    await replayFromEveryPrefix({ workflow: flow, expected: ["w(a/b)", "w(late)", "w(soon)"], bodies });
  });

  it("recorded values: now, random and uuid are the same on every pass, in branches and helpers too", async () => {
    const draw = async (): Promise<unknown[]> => [await now(), await random(), await uuid()];
    const flow = workflow("values", async () => [
      await draw(),
      await Promise.all([draw(), draw()]),
      await step(work, "a"),
    ]);
    const store = memoryStore();
    const live = await (await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id })).result();
    const { length } = await store.entries(id);
    for (let kept = length - 1; kept <= length; kept++) {
      expect(
        await (await new Stepmark({ store: store.fork(id, kept), workflows: [flow] }).resume(id)).result(),
      ).toEqual(live);
    }
  });
});

describe("events", () => {
  it("reach slow, late and abandoning listeners complete and in order", async () => {
    const flow = workflow("heard", async () => {
      for (let i = 0; i < 5; i++) await step(work, i);
      return "end";
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    const all = async (source: AsyncIterable<RunEvent>, pause = 0): Promise<string[]> => {
      const types: string[] = [];
      for await (const event of source) {
        for (let i = 0; i < pause; i++) await new Promise((resolve) => setImmediate(resolve));
        types.push(event.seq === undefined ? event.type : `${event.seq}`);
      }
      return types;
    };
    const abandoned = async (): Promise<string> => {
      for await (const event of run.events()) if (event.seq === 2) return "left";
      return "never";
    };
    const [fast, slow, left] = await Promise.all([all(run.events()), all(run.events(), 30), abandoned()]);
    const late = await all(run.events());
    const stored = await all((await app.resume(id)).events());
    const expected = ["run.started", "1", "2", "3", "4", "5", "run.completed"];
    expect([fast, slow, late, stored, left]).toEqual([expected, expected, expected, expected, "left"]);
  });
});
