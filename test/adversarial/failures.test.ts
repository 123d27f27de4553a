/** Runs that fail and are resumed: which steps run again, and what becomes of what was recorded after the failure. */
import {
  type AnyWorkflow,
  type Entry,
  type MemoryStore,
  memoryStore,
  NonRetryableError,
  Stepmark,
  sleep,
  step,
  stepContext,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { die, Kill } from "../support/kill.js";
import { Bodies } from "../support/replay.js";
import { Schedule } from "../support/schedule.js";

const id = "run";
const bodies = new Bodies();
let failing = new Set<string>();
let schedule: Schedule | undefined;

const work = async (item: string): Promise<string> => {
  bodies.note(item);
  await schedule?.turn();
  if (failing.has(item)) throw new Error(`${item} failed`);
  return `work(${item})`;
};

beforeEach(() => {
  bodies.reset();
  failing = new Set();
  schedule = undefined;
});

const app = (store: MemoryStore, flow: AnyWorkflow): Stepmark =>
  new Stepmark({ store, workflows: [flow], grace: 50, stallAfter: 300 });
const resumed = async (store: MemoryStore, flow: AnyWorkflow, options = {}): Promise<unknown> =>
  (await app(store, flow).resume(id, options)).result();
const started = async (store: MemoryStore, flow: AnyWorkflow, input?: unknown): Promise<unknown> =>
  (await app(store, flow).start(flow, input, { id })).result();
/** Bodies that ran since the last call. */
const ran = (): string[] => {
  const labels = [...bodies.labels];
  bodies.reset();
  return labels;
};

describe("a saga that compensates and rethrows", () => {
  const saga = workflow("saga", async () => {
    const reserved = await step(work, "reserve");
    try {
      const charged = await step(work, "charge");
      return [reserved, charged, await step(work, "ship")];
    } catch (error) {
      await step(work, "cancel");
      throw error;
    }
  });

  it("is mended by a resume that runs the failed step alone again", async () => {
    const store = memoryStore();
    failing = new Set(["charge"]);
    await expect(started(store, saga)).rejects.toThrow("charge failed");
    expect(ran()).toEqual(["reserve", "charge", "cancel"]);
    failing = new Set();
    expect(await resumed(store, saga)).toEqual(["work(reserve)", "work(charge)", "work(ship)"]);
    expect(ran()).toEqual(["charge", "ship"]);
  });

  it("fails twice, then is mended", async () => {
    const store = memoryStore();
    failing = new Set(["charge"]);
    await expect(started(store, saga)).rejects.toThrow("charge failed");
    await expect(resumed(store, saga)).rejects.toThrow("charge failed");
    await expect(resumed(store, saga)).rejects.toThrow("charge failed");
    expect(ran()).toEqual(["reserve", "charge", "cancel", "charge", "charge"]);
    failing = new Set();
    expect(await resumed(store, saga)).toEqual(["work(reserve)", "work(charge)", "work(ship)"]);
    expect(ran()).toEqual(["charge", "ship"]);
  });

  it("is mended, then fails at another step, then is mended", async () => {
    const store = memoryStore();
    failing = new Set(["charge"]);
    await expect(started(store, saga)).rejects.toThrow("charge failed");
    failing = new Set(["ship"]);
    await expect(resumed(store, saga)).rejects.toThrow("ship failed");
    failing = new Set();
    expect(await resumed(store, saga)).toEqual(["work(reserve)", "work(charge)", "work(ship)"]);
    expect(ran()).toEqual(["reserve", "charge", "cancel", "charge", "ship", "ship"]);
  });

  it("is mended, crashes after that, and goes on from every prefix", async () => {
    const store = memoryStore();
    failing = new Set(["charge"]);
    await expect(started(store, saga)).rejects.toThrow("charge failed");
    failing = new Set();
    await resumed(store, saga);
    const { length } = await store.entries(id);
    for (let kept = 4; kept <= length; kept++) {
      ran();
      const fork = store.fork(id, kept);
      expect(await resumed(fork, saga)).toEqual(["work(reserve)", "work(charge)", "work(ship)"]);
      expect(ran()).toEqual(kept === length ? [] : ["ship"]);
      expect((await app(fork, saga).get(id)).orphans).toEqual(["saga/work~3"]);
    }
  });
});

describe("a resume holds until the failed steps have run again, whatever its journal ends with", () => {
  const outer = async (): Promise<string> => (await step(work, "a")) + (await step(work, "b"));
  const quick = workflow("quick", async () => step(work, "b"));
  const flows = {
    "one step": workflow("one", async () => [await step(work, "a"), await step(work, "b"), await step(work, "c")]),
    "a compensation": workflow("compensated", async () => {
      try {
        return [await step(work, "a"), await step(work, "b")];
      } catch (error) {
        await step(work, "undo");
        throw error;
      }
    }),
    "a step in a step": workflow("inner", async () => [await step(outer), await step(work, "c")]),
    "one of two branches": workflow("branches", async () =>
      Promise.all(["a", "b"].map(async (item) => [await step(work, item), await step(work, `${item}2`)])),
    ),
    "a race": workflow("race", async () => [await Promise.race([step(work, "b"), sleep("1h")]), await step(work, "c")]),
    "a workflow in a workflow": workflow("outermost", async () => [await quick(undefined), await step(work, "c")]),
  } satisfies Record<string, AnyWorkflow>;
  const stepsDone = (entries: Entry[]): string[] =>
    entries.filter(({ kind, state }) => kind === "step" && state === "done").map(({ key }) => key);

  for (const [name, flow] of Object.entries(flows)) {
    it(`of ${name}`, async () => {
      const store = memoryStore();
      failing = new Set(["b"]);
      await expect(started(store, flow)).rejects.toThrow("b failed");
      failing = new Set();
      const before = (await store.entries(id)).length;
      const expected = await resumed(store, flow);
      const journal = await store.entries(id);
      expect(journal.length).toBeGreaterThan(before);
      for (let kept = before; kept <= journal.length; kept++) {
        const fork = store.fork(id, kept);
        bodies.reset();
        expect(await resumed(fork, flow), `after ${kept} of ${journal.length}`).toEqual(expected);
        const done = stepsDone(journal.slice(0, kept));
        expect(bodies.ran.filter((key) => done.includes(key))).toEqual([]);
        // And once more, by a crash in the midst of that.
        const length = (await fork.entries(id)).length;
        for (let again = kept; again <= length; again++)
          expect(await resumed(fork.fork(id, again), flow), `after ${kept}, then ${again}`).toEqual(expected);
      }
    });

    it(`of ${name}, which fails a second time: that is delivered, and the next resume runs it again`, async () => {
      const store = memoryStore();
      failing = new Set(["b"]);
      await expect(started(store, flow)).rejects.toThrow("b failed");
      const before = (await store.entries(id)).length;
      await expect(resumed(store, flow)).rejects.toThrow("b failed");
      const journal = await store.entries(id);
      failing = new Set();
      const expected = await resumed(store.fork(), flow);
      for (let kept = before + 1; kept <= journal.length; kept++) {
        const fork = store.fork(id, kept);
        bodies.reset();
        await expect(resumed(fork, flow), `after ${kept} of ${journal.length}`).rejects.toThrow("b failed");
        expect(bodies.labels).not.toContain("b");
        expect(await resumed(fork, flow)).toEqual(expected);
      }
    });
  }
});

describe("failed steps", () => {
  it("a caught failure is not run again when another step fails the run", async () => {
    const flow = workflow("caught", async () => {
      const first = await step(work, "a").catch(() => "fallback");
      return [first, await step(work, "b")];
    });
    const store = memoryStore();
    failing = new Set(["a", "b"]);
    await expect(started(store, flow)).rejects.toThrow("b failed");
    failing = new Set();
    expect(await resumed(store, flow)).toEqual(["fallback", "work(b)"]);
    expect(ran()).toEqual(["a", "b", "b"]);
  });

  it("retry all runs every failed step again, and what hung on the failure is an orphan", async () => {
    const flow = workflow("all", async () => {
      const first = await step(work, "a").catch(() => step(work, "instead"));
      return [first, await step(work, "b")];
    });
    const store = memoryStore();
    failing = new Set(["a", "b"]);
    await expect(started(store, flow)).rejects.toThrow("b failed");
    failing = new Set();
    expect(await resumed(store, flow, { retry: "all" })).toEqual(["work(a)", "work(b)"]);
    expect(ran()).toEqual(["a", "instead", "b", "a", "b"]);
  });

  it("in a loop: the iteration that failed runs again, the others do not, three times", async () => {
    const flow = workflow("loop", async (items: string[]) => {
      const out: string[] = [];
      for (const item of items) out.push(await step(work, item));
      return out;
    });
    const store = memoryStore();
    for (const item of ["b", "c", "d"]) {
      failing = new Set([item]);
      await expect(
        store.read(id).then((run) => (run ? resumed(store, flow) : started(store, flow, ["a", "b", "c", "d"]))),
      ).rejects.toThrow(`${item} failed`);
    }
    failing = new Set();
    expect(await resumed(store, flow)).toEqual(["a", "b", "c", "d"].map((x) => `work(${x})`));
    expect(ran()).toEqual(["a", "b", "b", "c", "c", "d", "d"]);
  });

  it("two of five concurrent ones: all others run once, whatever the order", async () => {
    const flow = workflow("five", async (items: string[]) =>
      Promise.all(items.map(async (item) => step(work, await step(work, item)))),
    );
    for (let seed = 1; seed <= 20; seed++) {
      const store = memoryStore();
      schedule = new Schedule(seed);
      failing = new Set(["b", "work(d)"]);
      const items = ["a", "b", "c", "d", "e"];
      await started(store, flow, items).catch(() => {});
      for (let round = 0; round < 3 && (await store.read(id))!.status === "failed"; round++) {
        if (round === 1) failing = new Set();
        schedule = new Schedule(seed + round * 100);
        await resumed(store, flow).catch((error: Error) => expect(error.message).toMatch(/failed$/));
      }
      expect(await resumed(store, flow)).toEqual(items.map((x) => `work(work(${x}))`));
      const labels = ran();
      for (const label of ["a", "c", "d", "e", "work(a)", "work(c)", "work(e)"])
        expect(
          labels.filter((x) => x === label),
          `seed ${seed}, ${label}`,
        ).toHaveLength(1);
    }
  });

  it("Promise.any: the failures that its AggregateError holds run again", async () => {
    const flow = workflow("any", async () => Promise.any([step(work, "a"), step(work, "b")]));
    const store = memoryStore();
    failing = new Set(["a", "b"]);
    await expect(started(store, flow)).rejects.toMatchObject({
      errors: [{ message: "a failed" }, { message: "b failed" }],
    });
    failing = new Set(["a"]);
    expect(await resumed(store, flow)).toBe("work(b)");
    expect(ran().sort()).toEqual(["a", "a", "b", "b"]);
  });

  it("allSettled and an error with all causes: they run again", async () => {
    const flow = workflow("settled", async () => {
      const results = await Promise.allSettled([step(work, "a"), step(work, "b"), step(work, "c")]);
      const errors = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      if (errors.length > 0) throw new AggregateError(errors, "some failed");
      return results.length;
    });
    const store = memoryStore();
    failing = new Set(["a", "c"]);
    await expect(started(store, flow)).rejects.toThrow("some failed");
    failing = new Set();
    expect(await resumed(store, flow)).toBe(3);
    expect(ran()).toEqual(["a", "b", "c", "a", "c"]);
  });

  it("a nested failure: the outer and the inner one run again, the inner one's finished sibling does not", async () => {
    const outer = async (): Promise<string> => {
      bodies.note("outer");
      return (await step(work, "x")) + (await step(work, "y"));
    };
    const flow = workflow("nested", async () => step(outer));
    const store = memoryStore();
    failing = new Set(["y"]);
    await expect(started(store, flow)).rejects.toThrow("y failed");
    await expect(resumed(store, flow)).rejects.toThrow("y failed");
    failing = new Set();
    expect(await resumed(store, flow)).toBe("work(x)work(y)");
    expect(ran()).toEqual(["outer", "x", "y", "outer", "y", "outer", "y"]);
  });

  it("a finally with a step runs it once, on every path", async () => {
    const flow = workflow("finally", async () => {
      try {
        return await step(work, "a");
      } finally {
        await step(work, "cleanup");
      }
    });
    const store = memoryStore();
    failing = new Set(["a"]);
    await expect(started(store, flow)).rejects.toThrow("a failed");
    failing = new Set();
    expect(await resumed(store, flow)).toBe("work(a)");
    expect(ran()).toEqual(["a", "cleanup", "a"]);
    const fork = store.fork(id, (await store.entries(id)).length);
    expect(await resumed(fork, flow)).toBe("work(a)");
    expect(ran()).toEqual([]);
  });

  for (const thrown of ["text", 0, null, undefined, { code: 7 }, [1]] as unknown[]) {
    it(`a thrown ${JSON.stringify(thrown)} fails the run as it is, and its step runs again`, async () => {
      let broken = true;
      const odd = async (): Promise<string> => {
        bodies.note("odd");
        if (broken) throw thrown;
        return "fine";
      };
      const flow = workflow("odd", async () => [await step(work, "a"), await step(odd)]);
      const store = memoryStore();
      const error = await started(store, flow).then(
        () => "none",
        (reason: unknown) => ({ reason }),
      );
      expect(error).toEqual({ reason: thrown });
      broken = false;
      expect(await resumed(store, flow)).toEqual(["work(a)", "fine"]);
      expect(ran()).toEqual(["a", "odd", "odd"]);
    });
  }

  it("a bug in the workflow's own code: nothing recorded runs again once it is mended", async () => {
    let bug = true;
    const flow = workflow("bug", async () => {
      const [a, b] = await Promise.all([step(work, "a"), step(work, "b")]);
      if (bug) throw new TypeError("bug");
      return a + b + (await step(work, "c"));
    });
    const store = memoryStore();
    await expect(started(store, flow)).rejects.toThrow("bug");
    await expect(resumed(store, flow)).rejects.toThrow("bug");
    bug = false;
    expect(await resumed(store, flow)).toBe("work(a)work(b)work(c)");
    expect(ran()).toEqual(["a", "b", "c"]);
  });
});

describe("retries", () => {
  it("a body with nested steps: what finished in the first attempt does not run again, what failed does", async () => {
    let attempts = 0;
    const outer = async (): Promise<string> => {
      bodies.note("outer");
      const a = await step(work, "a");
      if (++attempts === 1) failing = new Set(["b"]);
      else failing = new Set();
      return a + (await step(work, "b"));
    };
    const flow = workflow("retried", async () => step({ retries: 2, backoff: 0 }, outer));
    const store = memoryStore();
    expect(await started(store, flow)).toBe("work(a)work(b)");
    expect(ran()).toEqual(["outer", "a", "b", "outer", "b"]);
    for (let kept = 0; kept <= (await store.entries(id)).length; kept++) {
      attempts = 1;
      expect(await resumed(store.fork(id, kept), flow), `after ${kept} entries`).toBe("work(a)work(b)");
    }
  });

  it("a body with nested steps that times out: the attempt that is over cannot get in the way of the next", async () => {
    const clock = new FakeClock();
    let stuck!: () => void;
    const outer = async (): Promise<string> => {
      const { attempt } = stepContext();
      if (attempt === 1)
        await new Promise<void>((resolve) => {
          stuck = resolve;
        });
      return step(work, "inner");
    };
    const flow = workflow("zombie", async () => [
      await step({ retries: 1, backoff: 0, timeout: 100 }, outer),
      await step(work, "after"),
    ]);
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(100);
    await clock.advance(1);
    stuck();
    await clock.advance(1);
    expect(await run.result()).toEqual(["work(inner)", "work(after)"]);
    expect(ran()).toEqual(["inner", "after"]);
  });

  it("limits hold across crashes, and an error that is not to be retried ends them", async () => {
    const seen: number[] = [];
    const kill = new Kill();
    const flaky = async (): Promise<string> => {
      const { attempt } = stepContext();
      seen.push(attempt);
      if (attempt === 2) await kill.here();
      if (attempt < 4) throw new Error("again");
      return "done";
    };
    const flow = workflow("limits", async () => step({ retries: 3, backoff: 0 }, flaky));
    const store = memoryStore();
    const left = await die(store, kill, app(store, flow).start(flow, undefined, { id }));
    expect(await resumed(left, flow)).toBe("done");
    expect(seen).toEqual([1, 2, 3, 4]);
    let tries = 0;
    const stop = workflow("stop", async () =>
      step({ retries: 3, backoff: 0 }, async () => {
        tries++;
        throw new NonRetryableError("no use");
      }),
    );
    await expect(started(memoryStore(), stop)).rejects.toThrow("no use");
    expect(tries).toBe(1);
  });

  it("after the run has failed, a resume grants a fresh set of attempts", async () => {
    const seen: number[] = [];
    let most = 2;
    const flow = workflow("fresh", async () =>
      step({ retries: 1, backoff: 0 }, async () => {
        seen.push(stepContext().attempt);
        if (seen.length <= most) throw new Error("again");
        return "done";
      }),
    );
    const store = memoryStore();
    await expect(started(store, flow)).rejects.toThrow("again");
    most = 3;
    expect(await resumed(store, flow)).toBe("done");
    expect(seen).toEqual([1, 2, 1, 2]);
  });

  it("a backoff goes by what the attempt threw, as the other side asked for", async () => {
    class TooMany extends Error {
      constructor(readonly retryAfter: number) {
        super("429");
      }
    }
    const clock = new FakeClock();
    const begun: number[] = [];
    const flow = workflow("asked to wait", async () =>
      step(
        { retries: 2, backoff: (attempt, error) => (error instanceof TooMany ? error.retryAfter : attempt) },
        async () => {
          begun.push(clock.now());
          if (begun.length === 1) throw new TooMany(30_000);
          if (begun.length === 2) throw new Error("broken");
          return begun;
        },
      ),
    );
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow], clock }).start(flow);
    await clock.advance(40_000);
    expect(await run.result()).toEqual([0, 30_000, 30_002]);
  });

  for (const backoff of [
    () => {
      throw new Error("bad backoff");
    },
    () => "soon" as "1s",
    "soon" as "1s",
  ]) {
    it(`a backoff that is no duration (${String(backoff)}) fails the step, never the process`, async () => {
      const flow = workflow("backoff", async () =>
        step({ retries: 1, backoff }, async () => {
          throw new Error("body failed");
        }),
      );
      await expect(started(memoryStore(), flow)).rejects.toThrow(/bad backoff|must be a duration/);
    });
  }

  it("an error with a getter that throws fails its step, never the process", async () => {
    const flow = workflow("getter", async () =>
      step(async () => {
        throw Object.defineProperty(new Error("odd"), "extra", {
          enumerable: true,
          get: () => {
            throw new Error("getter");
          },
        });
      }),
    );
    await expect(started(memoryStore(), flow)).rejects.toThrow("odd");
  });

  it("a body that returns a thenable which throws fails its step, never the process", async () => {
    const flow = workflow("thenable", async () =>
      step("odd", () => ({
        // biome-ignore lint/suspicious/noThenProperty: that is the point
        then() {
          throw new Error("no promise");
        },
      })),
    );
    await expect(started(memoryStore(), flow)).rejects.toThrow("no promise");
  });
});

describe("steps that fail with what is no error, which may all be equal", () => {
  const busy = async (item: string): Promise<never> => {
    bodies.note(item);
    throw "busy";
  };

  it("do not count as each other's causes, however many there are", async () => {
    const polling = workflow("polling", async () => {
      for (let i = 0; i < 20; i++) await step(busy, `poll ${i}`).catch(() => {});
    });
    const store = memoryStore();
    await started(store, polling);
    expect((await store.entries(id)).filter(({ causes }) => causes !== undefined)).toEqual([]);
  });

  it("the last of them is what failed the run: those before have been dealt with", async () => {
    const flow = workflow("flow", async () => {
      await step(busy, "card A").catch(() => step(work, "cash"));
      return step(busy, "ship");
    });
    const store = memoryStore();
    await expect(started(store, flow)).rejects.toBe("busy");
    expect(ran()).toEqual(["card A", "cash", "ship"]);
    await expect(resumed(store, flow)).rejects.toBe("busy");
    expect(ran()).toEqual(["ship"]);
  });

  it("one that a step's body passes on is the step's cause", async () => {
    const flow = workflow("flow", async () => step(async () => step(busy, "inner")));
    const store = memoryStore();
    await expect(started(store, flow)).rejects.toBe("busy");
    const [inner, outer] = await store.entries(id);
    expect(outer?.causes).toEqual([inner?.key]);
    await expect(resumed(store, flow)).rejects.toBe("busy");
    expect(ran()).toEqual(["inner", "inner"]);
  });
});
