/** Unchanged code that comes another way than it did: what is recorded of other calls is never its own. */
import { setTimeout as delay } from "node:timers/promises";
import Bottleneck from "bottleneck";
import pLimit from "p-limit";
import {
  type AnyWorkflow,
  child,
  type MemoryStore,
  memoryStore,
  now,
  Stepmark,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { Emitter, limiter, sequence, wrapped } from "../support/unseen.js";

const id = "run";
let ran: string[] = [];
let keys: string[] = [];
let failing = new Set<string>();
/** What a workflow must not look at, and these do: it differs from process to process. */
let isFirst = true;
let tickets = 0;

beforeEach(() => {
  ran = [];
  keys = [];
  failing = new Set();
  isFirst = true;
  tickets = 0;
});

const act = async (label: string): Promise<string> => {
  ran.push(label);
  keys.push(stepContext().idempotencyKey);
  if (failing.has(label)) throw new Error(`${label} failed`);
  return `${label} ${isFirst ? "then" : "now"}`;
};
const draw = async (): Promise<number> => {
  ran.push("draw");
  return ++tickets;
};

const drawOne = (): Promise<number> => step(draw);

async function recorded(flow: AnyWorkflow, others: AnyWorkflow[] = []): Promise<MemoryStore> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [flow, ...others], grace: 50 });
  await (await app.start(flow, undefined, { id })).result().catch(() => {});
  await app.shutdown();
  isFirst = false;
  return store;
}

async function resumed(store: MemoryStore, flow: AnyWorkflow, options = {}): Promise<unknown> {
  ran = [];
  keys = [];
  const app = new Stepmark({ store, workflows: [flow], grace: 50 });
  try {
    return await (await app.resume(id, options)).result();
  } finally {
    await app.shutdown();
  }
}

describe('divergence: "continue", where one call has called another function', () => {
  const inner = async (label: string): Promise<string> => step(act, label);
  const one = async (): Promise<unknown[]> => [
    await step(act, "work"),
    await step(inner, "inner"),
    await step({ retries: 1 }, act, "tried"),
  ];
  const other = async (): Promise<unknown[]> => [
    await step(act, "work"),
    await step(inner, "inner"),
    await step({ retries: 1 }, act, "tried"),
  ];
  const flow = workflow("functions", async () => {
    const called = isFirst ? one : other;
    return [await called(), await step(act, "last")];
  });
  const anew = [["work now", "inner now", "tried now"], "last now"];

  it("I3: gives none of its calls what the other's came to, from every prefix, and the same on later resumes", async () => {
    const store = await recorded(flow);
    const { length } = await store.entries(id);
    for (let kept = 1; kept < length; kept++) {
      const left = store.fork(id, kept);
      await expect(resumed(left.fork(id, kept), flow)).rejects.toMatchObject({ code: "DIVERGENCE" });
      expect(ran).toEqual([]);
      expect(await resumed(left, flow, { divergence: "continue" }), `after ${kept}`).toEqual(anew);
      expect(ran).toEqual(["work", "inner", "tried", "last"]);
      const went = await left.entries(id);
      for (let more = kept + 1; more <= went.length; more++) {
        expect(await resumed(left.fork(id, more), flow), `after ${kept}, then ${more}`).toEqual(anew);
        const done = went
          .slice(kept, more)
          .filter(({ state, site }) => state === "done" && site?.anchor.startsWith("act"));
        expect(ran.length).toBe(4 - done.length);
      }
    }
  });

  it("lists what the other's came to as orphans, and gives the outside world keys of its own", async () => {
    const store = await recorded(flow);
    const before = [...keys];
    const left = store.fork(id, (await store.entries(id)).length - 1);
    await resumed(left, flow, { divergence: "continue" });
    const app = new Stepmark({ store: left, workflows: [flow] });
    expect((await app.get(id))?.orphans).toEqual([
      "functions/called()/act",
      "functions/called()/inner",
      "functions/called()/act~1",
    ]);
    // The last step is no other call than it was.
    expect(new Set([...before, ...keys]).size).toBe(before.length + keys.length - 1);
  });

  it("is accepted of what was recorded by then alone: the way back diverges again", async () => {
    const store = await recorded(flow);
    const left = store.fork(id, 2);
    await resumed(left, flow, { divergence: "continue" });
    isFirst = true;
    await expect(resumed(left.fork(id, 4), flow)).rejects.toMatchObject({ code: "DIVERGENCE" });
    expect(ran).toEqual([]);
  });

  it("opens questions, begins child runs and takes time anew", async () => {
    const kid = workflow("kid", async () => step(act, "kid"));
    const asks = async (): Promise<unknown[]> => [await waitFor("ok"), await child(kid), await now()];
    const asksToo = async (): Promise<unknown[]> => [await waitFor("ok"), await child(kid), await now()];
    const asking = workflow("asking", async () => {
      const called = isFirst ? asks : asksToo;
      return called();
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [asking, kid], clock: { now: () => 1, after: noTimers } });
    const run = await first.start(asking, undefined, { id });
    await run.settled();
    await first.answer(id, "ok", "then");
    expect(await run.result()).toEqual(["then", "kid then", 1]);
    isFirst = false;
    const left = store.fork(id, (await store.entries(id)).length);
    const second = new Stepmark({ store: left, workflows: [asking, kid], clock: { now: () => 2, after: noTimers } });
    const next = await second.resume(id, { divergence: "continue" });
    expect((await next.settled()).waits.map(({ name }) => name)).toEqual(["ok"]);
    await second.answer(id, "ok", "now");
    expect(await next.result()).toEqual(["now", "kid now", 2]);
  });
});

describe("a failed step that runs again", () => {
  /** Two workers and a queue: a job that fails at once leaves its worker the next one. */
  const pool = workflow("pool", async () => {
    const jobs = ["first", "flaky", "third", "fourth", "fifth"];
    const done: Record<string, unknown> = {};
    const worker = async (): Promise<void> => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
        try {
          done[job] = await step(act, job);
          await step(draw);
        } catch (error) {
          done[job] = error;
        }
      }
    };
    await Promise.all([worker(), worker()]);
    for (const each of Object.values(done)) if (each instanceof Error) throw each;
    return done;
  });

  it("I3: makes workers take other jobs: none gets another's outcome, the error says why and how to go on", async () => {
    failing.add("flaky");
    const store = await recorded(pool);
    const before = await store.entries(id);
    failing.clear();
    await expect(resumed(store, pool)).rejects.toMatchObject({
      code: "REPLAY_MISMATCH",
      message: expect.stringMatching(
        /after the failure of a step that runs again\. Give steps .* a `key`; `resume\(id, { divergence: "continue" }\)` does the call anew/,
      ),
    });
    expect(ran).toEqual([]);
    expect(await store.entries(id)).toEqual(before);
    const result = (await resumed(store.fork(id), pool, { divergence: "continue" })) as Record<string, string>;
    for (const [job, outcome] of Object.entries(result)) expect(outcome).toMatch(new RegExp(`^${job} (then|now)$`));
    expect(Object.keys(result).sort()).toEqual(["fifth", "first", "flaky", "fourth", "third"]);
  });

  it("hands each job its own outcome if the jobs' keys are their own", async () => {
    const keyed = workflow("keyed", async () => {
      const jobs = ["first", "flaky", "third", "fourth", "fifth"];
      const done: Record<string, unknown> = {};
      const worker = async (): Promise<void> => {
        for (let job = jobs.shift(); job !== undefined; job = jobs.shift())
          done[job] = await step({ key: job }, act, job).catch((error) => error);
      };
      await Promise.all([worker(), worker()]);
      for (const each of Object.values(done)) if (each instanceof Error) throw each;
      return done;
    });
    failing.add("flaky");
    const store = await recorded(keyed);
    failing.clear();
    expect(await resumed(store, keyed)).toEqual({
      ...Object.fromEntries(["first", "third", "fourth", "fifth"].map((job) => [job, `${job} then`])),
      flaky: "flaky now",
    });
    expect(ran).toEqual(["flaky"]);
  });

  it("may have led another branch through another function: that one's outcome is not used", async () => {
    const plain = async (): Promise<string> => step(act, "pay");
    const careful = async (): Promise<string> => step(act, "pay");
    const modes = workflow("modes", async () => {
      let pay = plain;
      const [flaky, paid] = await Promise.allSettled([
        step(act, "flaky").catch((error) => {
          pay = careful;
          throw error;
        }),
        (async () => {
          for (let i = 0; i < 3; i++) await step(draw);
          return pay();
        })(),
      ]);
      if (flaky.status === "rejected") throw flaky.reason;
      return paid.status === "fulfilled" ? paid.value : paid.reason;
    });
    failing.add("flaky");
    const store = await recorded(modes);
    failing.clear();
    await expect(resumed(store, modes)).rejects.toMatchObject({
      code: "DIVERGENCE",
      message: expect.stringContaining(
        "is recorded here, after the failure of a step that runs again, and was not asked for",
      ),
    });
    expect(ran).toEqual([]);
    expect(await resumed(store, modes, { divergence: "continue" })).toBe("pay now");
    expect(ran).toEqual(["flaky", "pay"]);
  });
});

describe("I3: branches that come to one closure in another order, since they wait for something raw", () => {
  const items = ["a", "b"];
  /** The first process is quick about `a`, the later ones about `b`. */
  const isQuick = (item: string): boolean => (item === "a") === isFirst;
  const raws: Record<string, (item: string) => Promise<void>> = {
    "one after the other": (item) => delay(isQuick(item) ? 1 : 30),
    "the second while the first is under way": async (item) => {
      for (let i = isQuick(item) ? 1 : 5; i > 0; i--) await null;
    },
  };
  type Raw = (item: string) => Promise<void>;
  const flows: Record<string, (name: string, raw: Raw) => AnyWorkflow> = {
    "p-limit": (name, raw) =>
      workflow(name, async () => {
        const limit = pLimit(1);
        const ticket = async (): Promise<number> => step(draw);
        return Promise.all(items.map(async (item) => raw(item).then(() => limit(ticket))));
      }),
    bottleneck: (name, raw) =>
      workflow(name, async () => {
        const ticket = new Bottleneck({ maxConcurrent: 1 }).wrap(async () => step(draw));
        return Promise.all(items.map(async (item) => raw(item).then(() => ticket())));
      }),
    "a limiter that binds nothing": (name, raw) =>
      workflow(name, async () => {
        const limit = limiter(1);
        const ticket = async (): Promise<number> => step(draw);
        return Promise.all(items.map(async (item) => raw(item).then(() => limit(ticket))));
      }),
    "a limiter that binds nothing, given a function of the module": (name, raw) =>
      workflow(name, async () => {
        const limit = limiter(1);
        return Promise.all(items.map(async (item) => raw(item).then(() => limit(drawOne))));
      }),
    "bottleneck, given a function of the module": (name, raw) =>
      workflow(name, async () => {
        const ticket = new Bottleneck({ maxConcurrent: 1 }).wrap(drawOne);
        return Promise.all(items.map(async (item) => raw(item).then(() => ticket())));
      }),
    "an emitter": (name, raw) =>
      workflow(name, async () => {
        const emitter = new Emitter();
        const tickets = new Map<unknown, Promise<number>>();
        emitter.on((item) => {
          tickets.set(item, (async () => step(draw))());
        });
        await Promise.all(items.map(async (item) => raw(item).then(() => emitter.emit(item))));
        return Promise.all(items.map((item) => tickets.get(item)));
      }),
  };

  it.each(Object.keys(flows).flatMap((through) => Object.keys(raws).map((when) => [through, when] as const)))(
    "through %s, %s: each has its own, or the run is refused",
    async (through, when) => {
      const flow = flows[through]!(through, raws[when]!);
      const store = await recorded(flow);
      const { length } = await store.entries(id);
      expect(length).toBe(2);
      for (let kept = 1; kept <= length; kept++) {
        const result = await resumed(store.fork(id, kept), flow).catch((error) => error.code);
        if (kept === length && Array.isArray(result)) expect(result).toEqual([1, 2]);
        else if (Array.isArray(result)) expect(result[0]).toBe(1);
        else expect(result).toMatch(/^(AMBIGUOUS_SCOPE|DIVERGENCE)$/);
      }
    },
  );
});

describe("I3: entries of one closure that were answered out of turn, and ask for what is new first", () => {
  it("are refused as those that ask for it later", async () => {
    const flow = workflow("early", async () => {
      const limit = pLimit(2);
      let late = (): void => {};
      const isLate = new Promise<void>((resolve) => {
        late = resolve;
      });
      let entered = 0;
      const ticket = async (): Promise<number> => {
        const isSecond = ++entered === 2;
        if (!isFirst && !isSecond) await isLate;
        const drawn = step(draw);
        if (isSecond) late();
        return drawn;
      };
      const branch = async (item: string): Promise<number> => {
        if ((item === "a") !== isFirst) await null;
        return limit(ticket);
      };
      return Promise.all([branch("a"), branch("b")]);
    });
    const store = await recorded(flow);
    await expect(resumed(store.fork(id, 1), flow)).rejects.toMatchObject({ code: "AMBIGUOUS_SCOPE" });
    expect(ran).toEqual([]);
  });
});

describe("I3: a function of the module that a limiter begins in the context of whichever call has ended", () => {
  class Job {
    constructor(readonly name: string) {}
  }
  const work = async ({ name }: Job): Promise<string> => {
    ran.push(name);
    return `done ${name}`;
  };
  const workOn = (job: Job): Promise<string> => step(work, job);
  const jobOf = workflow("job", async (job: Job) => step(work, job));
  const names = ["a", "b", "c", "d"];
  const jobs = names.map((name) => new Job(name));
  const expected = names.map((name) => `done ${name}`);
  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  /** In the first process the place of the task that ends first is free again after the other's; later it is not. */
  const pause = (ended: number): Promise<void> => turns(ended === (isFirst ? 0 : 1) ? 60 : 1);

  it.each<[string, AnyWorkflow]>([
    [
      "a function",
      workflow("limited", async () => {
        const limit = limiter(2, "oldest", pause);
        return Promise.all(jobs.map((job) => limit(workOn, job)));
      }),
    ],
    [
      "a workflow",
      workflow("limited-workflow", async () => {
        const limit = limiter(2, "oldest", pause);
        return Promise.all(jobs.map((job) => limit(jobOf, job)));
      }),
    ],
    [
      "a function wrapped once",
      workflow("limited-wrapped", async () => {
        const limit = limiter(2, "oldest", pause);
        const limited = wrapped(limit, workOn);
        return Promise.all(jobs.map((job) => limited(job)));
      }),
    ],
    [
      "a function, by functions that were made earlier",
      workflow("limited-later", async () => {
        const limit = limiter(2, "oldest", pause);
        return Promise.all(jobs.map((job) => Promise.resolve(job).then(async (each) => limit(workOn, each))));
      }),
    ],
  ])("%s: no job gets another's outcome, though nothing else tells them apart", async (_name, flow) => {
    const store = await recorded(flow);
    expect(await store.read(id)).toMatchObject({ status: "completed" });
    const { length } = await store.entries(id);
    expect(length).toBe(names.length);
    const kept = (count: number): Promise<unknown> => resumed(store.fork(id, count), flow).catch((error) => error.code);
    // What comes after the first two is in the order of the pauses.
    for (const count of [0, 1, 2]) expect(await kept(count)).toEqual(expected);
    for (const count of [3, 4]) expect(await kept(count)).toBe("AMBIGUOUS_SCOPE");
    ran = [];
    isFirst = true;
    expect(await kept(3)).toEqual(expected);
    expect(ran).toEqual(["d"]);
    expect(await kept(4)).toEqual(expected);
  });

  it("by one that begins the newest: what came later than it did is not taken for it", async () => {
    const flow = workflow("stacked", async () => {
      const limit = limiter(1, "newest");
      return Promise.all(
        jobs.slice(0, 3).map(async (job) => {
          if (job.name === "c" && !isFirst) await turns(60);
          return limit(workOn, job);
        }),
      );
    });
    const store = await recorded(flow);
    expect(ran).toEqual(["a", "c", "b"]);
    for (const count of [2, 3]) {
      // Whichever is found out first: that another turn came, or another job.
      const code = await resumed(store.fork(id, count), flow).catch((error) => error.code);
      expect(code).toMatch(/^(AMBIGUOUS_SCOPE|REPLAY_MISMATCH)$/);
    }
    isFirst = true;
    for (const count of [0, 1, 2, 3]) {
      expect(await resumed(store.fork(id, count), flow)).toEqual(expected.slice(0, 3));
    }
  });

  it("calls of it one after the other, in several branches at once, may come in another order", async () => {
    const flow = workflow("sequences", async () =>
      Promise.all(
        ["a", "b"].map(async (item) => {
          await turns((item === "a") === isFirst ? 1 : 60);
          return sequence([1, 2, 3], drawOne);
        }),
      ),
    );
    const store = await recorded(flow);
    for (let count = 0; count <= 6; count++) {
      expect(await resumed(store.fork(id, count), flow).catch((error) => error.code)).toHaveLength(2);
    }
  });
});

describe("I3: a closure that a limiter starts when another call of it has ended", () => {
  it("is refused where a failed step that runs again may have the branches queue in another order", async () => {
    const name = async (item: string): Promise<string> => act(item);
    const flow = workflow("queue", async () => {
      const limit = pLimit(1);
      const ticket = async (): Promise<number> => step(draw);
      const errors: unknown[] = [];
      const tickets = await Promise.all(
        ["a", "b", "c"].map(async (item) => {
          await step(name, item).catch((error) => errors.push(error));
          return limit(ticket);
        }),
      );
      if (errors.length > 0) throw new AggregateError(errors);
      return tickets;
    });
    failing.add("b");
    const store = await recorded(flow);
    failing.clear();
    await expect(resumed(store, flow)).rejects.toMatchObject({ code: "AMBIGUOUS_SCOPE" });
    expect(ran).toEqual([]);
  });
});

const noTimers = (): (() => void) => () => {};
