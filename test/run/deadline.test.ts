/** A step's `deadline`: how long all its attempts may take together, with the pauses between them, over all processes. */
import {
  type AnyWorkflow,
  type Entry,
  type MemoryStore,
  memoryStore,
  Stepmark,
  type StepOptions,
  step,
  stepContext,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const minute = 60_000;
const bodies = new Bodies();
let attempts: number[] = [];

beforeEach(() => {
  bodies.reset();
  attempts = [];
});

class NoLineError extends Error {}

const fails = async (): Promise<never> => {
  const { attempt } = stepContext();
  attempts.push(attempt);
  throw new NoLineError(`no line ${attempt}`);
};

const never = (): Promise<string> => {
  attempts.push(stepContext().attempt);
  return new Promise(() => {});
};

const told = (error: { code?: string; message: string }): string => error.code ?? error.message;

/** What a step with these options is caught to have failed with. */
const caught = (options: StepOptions, body: () => Promise<unknown>): AnyWorkflow =>
  workflow("caught", async () => step(options, body).catch(told)) as AnyWorkflow;

/** Goes on with the run in a process that begins at a time. */
async function at(time: number, store: MemoryStore, flow: AnyWorkflow): Promise<{ app: Stepmark; clock: FakeClock }> {
  const clock = new FakeClock(time);
  const app = new Stepmark({ store, workflows: [flow], clock });
  if ((await store.read(id)) === undefined) await app.start(flow, undefined, { id });
  else await app.resume(id);
  await clock.advance(0);
  return { app, clock };
}

async function fateOf(app: Stepmark): Promise<unknown> {
  const { status, output } = await app.get(id);
  return status === "completed" ? output : status;
}

describe("the attempts and the pauses between them", () => {
  const options = { retries: Number.POSITIVE_INFINITY, backoff: "10m", deadline: "25m" } as const;
  const flow = caught(options, fails);

  it("end when there is no time for another one, with the error of the last", async () => {
    const store = memoryStore();
    const { app, clock } = await at(0, store, flow);
    await clock.advance("10m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 2], "running"]);
    await clock.advance("10m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 2, 3], "no line 3"]);
    const due = (await store.entries(id)).map(({ state, due }) => [state, due]);
    expect(due).toEqual([...Array(3).fill(["attempt", 25 * minute]), ["failed", undefined]]);
  });

  it("count over all processes, from every prefix and whenever the next one comes", async () => {
    const store = memoryStore();
    const { clock } = await at(0, store, flow);
    await clock.advance("20m");
    const { length } = await store.entries(id);
    for (let kept = 0; kept <= length; kept++) {
      for (const time of [0, 14, 24, 25, 90].map((minutes) => minutes * minute)) {
        attempts = [];
        const fork = store.fork(id, kept);
        const next = await at(time, fork, flow);
        await next.clock.advance("1h");
        const isOver = kept === length;
        const begun = Math.min(kept, 3);
        // With nothing recorded it is the first attempt from which the time counts.
        const left = begun === 0 ? 25 * minute : 25 * minute - time;
        const ran = isOver
          ? []
          : Array.from({ length: Math.max(0, Math.ceil(left / (10 * minute))) }, (_, i) => begun + i + 1);
        const where = `after ${kept} entries, at ${time}`;
        expect(attempts, where).toEqual(ran);
        const error = isOver ? "no line 3" : ran.length > 0 ? `no line ${ran.at(-1)}` : "STEP_DEADLINE";
        expect(await fateOf(next.app), where).toBe(error);
        // The replay of all that asks nothing again.
        attempts = [];
        const again = await at(0, fork.fork(id, (await fork.entries(id)).length), flow);
        expect([await fateOf(again.app), attempts], where).toEqual([error, []]);
      }
    }
  });

  it("begin at once where the first pause is too long", async () => {
    const { app } = await at(0, memoryStore(), caught({ ...options, deadline: "10m" }, fails));
    expect([attempts, await fateOf(app)]).toEqual([[1], "no line 1"]);
  });

  it("go on to the last of `retries` where there is time", async () => {
    const { app, clock } = await at(0, memoryStore(), caught({ ...options, retries: 1 }, fails));
    await clock.advance("10m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 2], "no line 2"]);
  });

  it("come to an outcome that every replay has", async () => {
    const shaky = async (): Promise<string> => {
      if (stepContext().attempt < 3) throw new Error("again");
      bodies.note();
      return "done";
    };
    const steady = workflow("steady", async () => step({ retries: 5, backoff: 0, deadline: "1h" }, shaky));
    await replayFromEveryPrefix({ workflow: steady, expected: "done", bodies });
  });
});

describe("an attempt that is under way", () => {
  it("is told by its signal, and given up with an error that holds the one before", async () => {
    let signal!: AbortSignal;
    let error: Error | undefined;
    const body = async (): Promise<string> => {
      const { attempt } = stepContext();
      if (attempt === 1) return fails();
      ({ signal } = stepContext());
      return never();
    };
    const flow = workflow("under-way", async () =>
      step({ retries: 9, backoff: "1m", deadline: "5m" }, body).catch((thrown) => {
        error = thrown;
        return `${thrown.code} ${thrown.cause.message}`;
      }),
    );
    const { app, clock } = await at(0, memoryStore(), flow as AnyWorkflow);
    await clock.advance("4m");
    expect([attempts, signal.aborted, await fateOf(app)]).toEqual([[1, 2], false, "running"]);
    await clock.advance("1m");
    expect(signal.reason).toMatchObject({ code: "STEP_DEADLINE" });
    expect(await fateOf(app)).toBe("STEP_DEADLINE no line 1");
    expect(error!.message).toContain("not done by its deadline, 1970-01-01T00:05:00.000Z (run");
  });

  it("may end by its own `timeout` before, and be followed by another", async () => {
    const flow = caught({ retries: 9, backoff: 0, timeout: "2m", deadline: "5m" }, never);
    const { app, clock } = await at(0, memoryStore(), flow);
    await clock.advance("5m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 2, 3], "STEP_DEADLINE"]);
  });

  it("of a step that its body makes ends that step alone", async () => {
    const flow = caught({ retries: 1, backoff: 0 }, () => step({ deadline: "5m" }, never));
    const { app, clock } = await at(0, memoryStore(), flow);
    await clock.advance("5m");
    expect(await fateOf(app)).toBe("running");
    await clock.advance("5m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 1], "STEP_DEADLINE"]);
  });

  it("gets nothing more done", async () => {
    let release!: () => void;
    const body = async (): Promise<unknown> => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return step("late", () => bodies.note("late"));
    };
    const { clock, app } = await at(0, memoryStore(), caught({ deadline: "5m" }, body));
    await clock.advance("5m");
    release();
    await clock.advance("5m");
    expect([await fateOf(app), bodies.labels]).toEqual(["STEP_DEADLINE", []]);
  });
});

describe("a deadline without retries", () => {
  it("does not have a failed body tried again", async () => {
    const { app } = await at(0, memoryStore(), caught({ deadline: "5m" }, fails));
    expect([attempts, await fateOf(app)]).toEqual([[1], "no line 1"]);
  });

  it("lets a body that a crash has cut off run again until then, as often as it takes", async () => {
    const store = memoryStore();
    const flow = caught({ deadline: "5m" }, never);
    await at(0, store, flow);
    const [first] = (await store.entries(id)) as [Entry];
    expect(first).toMatchObject({ state: "attempt", attempt: 1, due: 5 * minute });
    const second = store.fork(id, 1);
    const { app, clock } = await at(3 * minute, second, flow);
    expect(attempts).toEqual([1, 2]);
    await clock.advance("2m");
    expect(await fateOf(app)).toBe("STEP_DEADLINE");
    const third = await at(7 * minute, second.fork(id, 2), flow);
    expect([attempts, await fateOf(third.app)]).toEqual([[1, 2], "STEP_DEADLINE"]);
  });
});

describe("a point in time", () => {
  it("is one for all attempts too", async () => {
    const flow = caught({ retries: 9, backoff: "3m", deadline: new Date(5 * minute) }, fails);
    const { app, clock } = await at(0, memoryStore(), flow);
    await clock.advance("3m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 2], "no line 2"]);
  });

  it.each([{ retries: 1 }, {}])("that has passed lets no body begin (%j)", async (options) => {
    const flow = caught({ ...options, deadline: new Date(5 * minute) }, fails);
    const store = memoryStore();
    const { app } = await at(5 * minute, store, flow);
    expect([attempts, await fateOf(app)]).toEqual([[], "STEP_DEADLINE"]);
    expect(await store.entries(id)).toMatchObject([{ state: "failed", attempt: 1 }]);
  });

  it.each([new Date(Number.NaN), "soon", Number.NaN, {}])("or a duration has to be one (%j)", async (deadline) => {
    const { app } = await at(0, memoryStore(), caught({ deadline: deadline as Date }, fails));
    expect([attempts, await fateOf(app)]).toEqual([[], "INVALID_ARGUMENT"]);
  });

  it("may be the end of time", async () => {
    const flow = caught({ retries: 1, backoff: "1w", deadline: Number.POSITIVE_INFINITY }, fails);
    const { app, clock } = await at(0, memoryStore(), flow);
    await clock.advance("1w");
    expect([attempts, await fateOf(app)]).toEqual([[1, 2], "no line 2"]);
  });
});

describe("what the first attempt has announced", () => {
  it("holds, whatever the code works out later", async () => {
    const store = memoryStore();
    const fork = async (): Promise<MemoryStore> => {
      await at(0, store, caught({ retries: 9, deadline: "5m" }, never));
      return store.fork(id, 1);
    };
    const { app, clock } = await at(minute, await fork(), caught({ retries: 9, deadline: "1h" }, never));
    await clock.advance("4m");
    expect(await fateOf(app)).toBe("STEP_DEADLINE");
  });

  it("is counted anew when a resume runs the failed step again", async () => {
    const store = memoryStore();
    const flow = workflow("fails", async () => step({ deadline: "5m" }, never)) as AnyWorkflow;
    const first = await at(0, store, flow);
    await first.clock.advance("5m");
    expect(await fateOf(first.app)).toBe("failed");
    const { app, clock } = await at(90 * minute, store, flow);
    await clock.advance("4m");
    expect([attempts, await fateOf(app)]).toEqual([[1, 1], "running"]);
    await clock.advance("1m");
    expect(await fateOf(app)).toBe("failed");
  });

  it("wakes a run that waits inside the body, in whatever process", async () => {
    const store = memoryStore();
    const flow = caught({ deadline: "1h" }, () => waitFor("never"));
    const { app, clock } = await at(0, store, flow);
    expect(await store.read(id)).toMatchObject({ status: "waiting", due: 60 * minute });
    const left = store.fork(id, (await store.entries(id)).length);
    await clock.advance("1h");
    expect(await fateOf(app)).toBe("STEP_DEADLINE");

    const later = new FakeClock(61 * minute);
    const next = new Stepmark({ store: left, workflows: [flow], clock: later });
    const stop = new AbortController();
    const running = next.run({ signal: stop.signal });
    await later.advance("1m");
    expect(await fateOf(next)).toBe("STEP_DEADLINE");
    stop.abort();
    await running;
  });
});

it("limits of bodies that nobody waits for any more do not keep the process", async () => {
  class CountedClock extends FakeClock {
    left = 0;
    override after(ms: number, callback: () => void, background = false): () => void {
      if (!background) this.left++;
      let isLeft = !background;
      const over = (): void => {
        if (isLeft) this.left--;
        isLeft = false;
      };
      const fire = (): void => {
        over();
        callback();
      };
      const cancel = super.after(ms, fire, background);
      return () => {
        over();
        cancel();
      };
    }
  }
  const clock = new CountedClock();
  const flow = caught({ timeout: "1h", deadline: "1 day" }, never);
  const app = new Stepmark({ store: memoryStore(), workflows: [flow], clock });
  await app.start(flow);
  await clock.advance(0);
  expect(clock.left).toBeGreaterThan(0);
  await app.shutdown();
  expect(clock.left).toBe(0);
});

it("a step that was cut off, and then fails in a body that is tried again, begins with its first attempt", async () => {
  const seen: string[] = [];
  const inner = async (): Promise<string> => {
    const { attempt } = stepContext();
    seen.push(`inner ${attempt}`);
    if (seen.length < 5) throw new Error("inner");
    return "in";
  };
  const flow = workflow("cut-off", async () =>
    step({ name: "outer", retries: 2, backoff: 0 }, () => step({ retries: 2, backoff: 0 }, inner)),
  ) as AnyWorkflow;
  const store = memoryStore();
  await at(0, store, flow);
  seen.length = 0;
  // The outer attempt and the first inner one are announced.
  const { app } = await at(0, store.fork(id, 2), flow);
  expect(seen).toEqual(["inner 2", "inner 3", "inner 1", "inner 2", "inner 3"]);
  expect(await fateOf(app)).toBe("in");
});
