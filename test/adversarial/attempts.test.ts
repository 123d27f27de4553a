/** Attempts, limiters and several apps: what may be in flight when something else fails, ends or is taken over. */
import pLimit from "p-limit";
import { memoryStore, type Run, Stepmark, sleep, step, stepContext, waitFor, workflow } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";
import { Schedule } from "../support/schedule.js";
import { limiter } from "../support/unseen.js";

const id = "run";
const bodies = new Bodies();
let failing = new Set<string>();
let schedule: Schedule | undefined;
const work = async (item: unknown): Promise<string> => {
  bodies.note(String(item));
  await schedule?.turn();
  if (failing.has(String(item))) throw new Error(`${item} failed`);
  return `w(${item})`;
};
const workOn = (item: unknown): Promise<string> => step(work, item);

beforeEach(() => {
  bodies.reset();
  failing = new Set();
  schedule = undefined;
});

const ran = (): string[] => {
  const labels = [...bodies.labels];
  bodies.reset();
  return labels;
};

describe("attempts of bodies with calls inside", () => {
  it("a sibling in flight when the first attempt fails is joined by the second, not started again", async () => {
    let release!: () => void;
    const slow = async (): Promise<string> => {
      bodies.note("slow");
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return "slow";
    };
    const outer = async (): Promise<string[]> => {
      const { attempt } = stepContext();
      failing = attempt === 1 ? new Set(["x"]) : new Set();
      if (attempt === 2) setImmediate(release);
      return Promise.all([step(slow), step(work, "x")]);
    };
    const flow = workflow("joined", async () => step({ retries: 1, backoff: 0 }, outer));
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow] }).start(flow, undefined, { id });
    expect(await run.result()).toEqual(["slow", "w(x)"]);
    expect(ran()).toEqual(["slow", "x", "x"]);
  });

  const viaOne = (price: () => Promise<string>): Promise<string> => step("priced", price);
  const viaOther = (price: () => Promise<string>): Promise<string> => step("priced", price);

  for (const [state, ends] of [
    ["is done", true],
    ["is under way", false],
  ] as const) {
    let begun: Promise<void>;
    let begin: () => void;
    const price = async (_of?: number): Promise<string> => {
      begin();
      if (!ends) await new Promise(() => {});
      return "12 EUR";
    };
    /** The first attempt fails when its call is done, or under way. */
    const twice = (call: (attempt: number) => Promise<string>) => async (): Promise<string> => {
      const { attempt } = stepContext();
      begun = new Promise((resolve) => {
        begin = resolve;
      });
      const priced = call(attempt);
      if (attempt > 1) return priced;
      await (ends ? priced : begun);
      throw new Error("again");
    };
    const failureOf = async (body: () => Promise<string>): Promise<unknown> => {
      const flow = workflow("twice", async () => step({ retries: 1, backoff: 0 }, body));
      const app = new Stepmark({ store: memoryStore(), workflows: [flow], drain: 0 });
      const run = await app.start(flow, undefined, { id });
      return run.result().catch((error) => error);
    };

    it(`I3: an attempt that calls another function does not get what ${state} of the one before`, async () => {
      const body = twice((attempt) => {
        const via = attempt === 1 ? viaOne : viaOther;
        return via(price);
      });
      expect(await failureOf(body)).toMatchObject({
        code: "DIVERGENCE",
        recorded: { kind: "step", name: "priced" },
        asked: { kind: "step", name: "priced" },
      });
    });

    it(`I3: an attempt that works on something else does not get what ${state} of the one before`, async () => {
      expect(await failureOf(twice((attempt) => step(price, attempt)))).toMatchObject({
        code: "REPLAY_MISMATCH",
        recorded: { args: "[1]" },
        asked: { args: "[2]" },
        message: expect.stringContaining("The code is as it was, so what differs comes from outside the record"),
      });
    });
  }

  it("retries within retries: each level counts for itself, and what is done stays done", async () => {
    let inner = 0;
    let outer = 0;
    const flow = workflow("levels", async () =>
      step({ name: "outer", retries: 2, backoff: 0 }, async () => {
        bodies.note("outer");
        const first = await step(work, "first");
        const second = await step({ name: "inner", retries: 1, backoff: 0 }, async () => {
          bodies.note("inner");
          if (++inner < 4) throw new Error("inner");
          return step(work, "deep");
        });
        if (++outer < 2) throw new Error("outer");
        return [first, second];
      }),
    );
    const store = memoryStore();
    const run = await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id });
    expect(await run.result()).toEqual(["w(first)", "w(deep)"]);
    expect(ran()).toEqual(["outer", "first", "inner", "inner", "outer", "inner", "inner", "deep", "outer"]);
  });

  it("calls inside that nobody awaits get in nobody's way, live, after a crash and in the next attempt", async () => {
    let attempts = 0;
    const flow = workflow("unawaited", async () =>
      step({ name: "outer", retries: 5, backoff: 0 }, async () => {
        failing = new Set(["bad"]);
        void step(work, "bad");
        void step(work, "good");
        const value = await step(work, "x");
        if (++attempts === 1) throw new Error("first attempt");
        return value;
      }),
    );
    const store = memoryStore();
    expect(await (await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id })).result()).toBe(
      "w(x)",
    );
    for (let kept = 0; kept <= (await store.entries(id)).length; kept++) {
      for (const before of [0, 1]) {
        attempts = before;
        const run = await new Stepmark({ store: store.fork(id, kept), workflows: [flow] }).resume(id);
        expect(await run.result(), `after ${kept} entries`).toBe("w(x)");
      }
    }
  });

  it("a failure two levels down does not doom the attempt that a new process begins", async () => {
    failing = new Set(["deep"]);
    const flow = workflow("deep", async () =>
      step({ name: "outer", retries: 3, backoff: 0 }, async () =>
        step("middle", async () => {
          try {
            return await step(work, "deep");
          } catch {
            throw new Error("middle failed");
          }
        }),
      ),
    );
    const store = memoryStore();
    await (await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id })).result().catch(() => {});
    failing = new Set();
    const { length } = await store.entries(id);
    for (let kept = 0; kept < length; kept++) {
      const run = await new Stepmark({ store: store.fork(id, kept), workflows: [flow] }).resume(id);
      // Only where the record holds four attempts is there none left.
      const attempts = (await store.entries(id)).slice(0, kept).filter(({ state }) => state === "attempt").length;
      if (attempts < 4) expect(await run.result(), `after ${kept} entries`).toBe("w(deep)");
      else await expect(run.result()).rejects.toThrow("All 4 attempts");
    }
  });

  it("a question inside is asked once, and its answer serves the next attempt", async () => {
    const flow = workflow("asked-once", async () =>
      step({ name: "outer", retries: 1, backoff: 0 }, async () => {
        const answer = await waitFor<string>("ok");
        if (stepContext().attempt === 1) throw new Error("after the answer");
        return answer;
      }),
    );
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    await app.answer(id, "ok", "yes");
    expect(await run.result()).toBe("yes");
    expect((await store.entries(id)).filter(({ kind }) => kind === "wait")).toHaveLength(2);
  });

  it("a body that timed out for good gets nothing more done", async () => {
    const clock = new FakeClock();
    let release!: () => void;
    const flow = workflow("timed-out", async () => {
      const result = await step({ name: "outer", timeout: 10 }, async () => {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return step(work, "zombie");
      }).catch((error: Error) => error.name);
      await sleep(10);
      return [result, await step(work, "after")];
    });
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(10);
    release();
    await clock.advance(10);
    expect(await run.result()).toEqual(["StepTimeoutError", "w(after)"]);
    expect(ran()).toEqual(["after"]);
  });

  it("the idempotency key is one for all attempts and processes, and another for each call", async () => {
    const keys: string[] = [];
    const flow = workflow("idempotent", async () => {
      const body = async (): Promise<void> => {
        const { attempt, idempotencyKey } = stepContext();
        keys.push(idempotencyKey);
        if (attempt === 1) throw new Error("again");
      };
      for (let i = 0; i < 2; i++) await step({ retries: 1, backoff: 0 }, body);
    });
    for (let round = 0; round < 2; round++)
      await (await new Stepmark({ store: memoryStore(), workflows: [flow] }).start(flow, undefined, { id })).result();
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 2, 2, 0, 0, 2, 2]);
  });
});

describe("limiters and failures", () => {
  const makers: Array<[string, (most: number) => <T>(task: () => Promise<T>) => Promise<T>]> = [
    ["p-limit", pLimit],
    ["an unbound one", limiter],
  ];
  for (const [name, make] of makers) {
    it(`one of many through ${name} fails, twice: the others run once, whatever the order`, async () => {
      const flow = workflow("limited", async (items: string[]) => {
        const limit = make(2);
        return Promise.all(
          items.map(async (x) => {
            const first = await step(work, x);
            return limit(async () => step(work, await step(work, first)));
          }),
        );
      });
      const items = ["a", "b", "c", "d"];
      for (let seed = 1; seed <= 15; seed++) {
        const store = memoryStore();
        const app = new Stepmark({ store, workflows: [flow], grace: 50 });
        const all: string[] = [];
        for (const broken of ["w(b)", "w(w(c))", ""]) {
          schedule = new Schedule(seed);
          failing = new Set([broken]);
          const run = (await store.read(id)) ? await app.resume(id) : await app.start(flow, items, { id });
          const result = await run.result().catch((error: Error) => error.message);
          // The second one may have been done already while the first failed.
          if (result !== `${broken} failed`) expect(result).toEqual(items.map((x) => `w(w(w(${x})))`));
          if (broken === "w(b)") expect(result).toBe("w(b) failed");
          all.push(...ran());
        }
        for (const x of items.flatMap((item) => [item, `w(${item})`, `w(w(${item}))`])) {
          const { length } = all.filter((label) => label === x);
          if (x === "w(w(c))") expect([1, 2]).toContain(length);
          else expect(length, `seed ${seed}: ${x}`).toBe(x === "w(b)" ? 2 : 1);
        }
      }
    });
  }

  it("p-limit given a closure and an argument by branches that arrive in any order", async () => {
    const flow = workflow("limited-args", async (items: string[]) => {
      const limit = pLimit(1);
      const one = async (x: string): Promise<string> => step(work, await step(work, x));
      return Promise.all(items.map(async (x) => limit(one, await step(work, x))));
    });
    for (let seed = 1; seed <= 10; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        input: ["a", "b", "c"],
        expected: ["a", "b", "c"].map((x) => `w(w(w(${x})))`),
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  });

  it("a closure from a factory, called by branches that arrive in any order", async () => {
    const loader =
      (prefix: string) =>
      async (x: string): Promise<string> =>
        step(work, await step(work, prefix + x));
    const flow = workflow("factory", async (items: string[]) => {
      const load = loader("p");
      return Promise.all(items.map(async (x) => load(await step(work, x))));
    });
    for (let seed = 1; seed <= 10; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        input: ["a", "b", "c"],
        expected: ["a", "b", "c"].map((x) => `w(w(pw(${x})))`),
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  });

  it("a run that fails while closures of its own reject later raises no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listen);
    failing = new Set(["a", "b", "c"]);
    const flow = workflow("many-fail", async () => Promise.all(["a", "b", "c"].map(async (x) => step(work, x))));
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow] }).start(flow, undefined, { id });
    await expect(run.result()).rejects.toThrow("a failed");
    await rest();
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });
});

describe("keys that the user gives", () => {
  it("survive a move into helpers, loops and branches; each is used once", async () => {
    const flow = workflow("user-keys", async (items: string[]) =>
      Promise.all(items.map(async (x) => step({ key: x }, work, await step({ key: `pre-${x}` }, work, x)))),
    );
    for (let seed = 1; seed <= 5; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        input: ["a", "b", "c"],
        expected: ["a", "b", "c"].map((x) => `w(w(${x}))`),
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  });
});

describe("loops", () => {
  it("labels, continue, break, for await over step promises, closures that outlive their iteration", async () => {
    const flow = workflow("loops", async (items: string[]) => {
      const out: string[] = [];
      const later: Array<() => Promise<string>> = [];
      outer: for (const x of items) {
        for (let i = 0; ; i++) {
          if (x === "b" && i === 1) continue outer;
          if (x === "c") break outer;
          out.push(await workOn(x + i));
          later.push(async () => step(work, `later ${x}${i}`));
          if (i === 1) break;
        }
      }
      for await (const y of [workOn("p"), step(work, "q")]) out.push(y);
      for (const f of later.reverse()) out.push(await f());
      return [...out, ...(await Promise.all(later.map((f) => f())))];
    });
    const later = ["b0", "a1", "a0"].map((x) => `w(later ${x})`);
    await replayFromEveryPrefix({
      workflow: flow,
      input: ["a", "b", "c", "d"],
      expected: ["w(a0)", "w(a1)", "w(b0)", "w(p)", "w(q)", ...later, ...later],
      bodies,
    });
  });
});

describe("several apps on one store", () => {
  const asks = workflow("asks", async () => [await waitFor("go"), await step(work, "after")]);

  it("an answer given through another app reaches the run where it waits", async () => {
    const store = memoryStore();
    const run = await new Stepmark({ store, workflows: [asks] }).start(asks, undefined, { id });
    await run.settled();
    await new Stepmark({ store, workflows: [asks] }).answer(id, "go", 1);
    expect(await run.result()).toEqual([1, "w(after)"]);
  });

  it("an answer given while no app drives the run is found by recover", async () => {
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [asks] });
    await (await first.start(asks, undefined, { id })).settled();
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [asks] });
    expect(await second.recover()).toEqual([]);
    await second.answer(id, "go", undefined);
    const [run] = (await second.recover()) as [Run<unknown>];
    expect(await run.result()).toEqual([undefined, "w(after)"]);
  });

  it("a run that another app drives can be started again and followed, and is not resumed", async () => {
    const store = memoryStore();
    let release!: () => void;
    const flow = workflow("followed", async (x: string) =>
      step(
        async () =>
          new Promise<string>((resolve) => {
            release = () => resolve(x);
          }),
      ),
    );
    const first = new Stepmark({ store, workflows: [flow] });
    const second = new Stepmark({ store, workflows: [flow] });
    const [a, b] = await Promise.all([first.start(flow, "x", { id }), second.start(flow, "x", { id })]);
    await expect(Promise.any([first, second].map((app) => app.start(flow, "y", { id })))).rejects.toMatchObject({
      errors: [{ code: "RUN_EXISTS" }, { code: "RUN_EXISTS" }],
    });
    await rest();
    const owned = await Promise.allSettled([first.resume(id), second.resume(id)]);
    expect(owned.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    release();
    expect(await Promise.all([a.result(), b.result()])).toEqual(["x", "x"]);
  });

  it("a waiting run that another app cancels is cancelled where it waits, too, at the latest when it would go on", async () => {
    const store = memoryStore();
    const clock = new FakeClock();
    const flow = workflow("cancelled-elsewhere", async () =>
      Promise.race([waitFor("go"), sleep(10).then(() => step(work, "late"))]),
    );
    const run = await new Stepmark({ store, workflows: [flow], clock }).start(flow, undefined, { id });
    await run.settled();
    await new Stepmark({ store, workflows: [flow], clock }).cancel(id);
    await clock.advance(10);
    await expect(run.result()).rejects.toMatchObject({ code: expect.stringMatching(/STALE_OWNER|RUN_CANCELLED/) });
    expect(ran()).toEqual([]);
    expect((await store.read(id))!.status).toBe("cancelled");
  });
});
