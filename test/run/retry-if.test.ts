/** Which errors a step is tried again after, and how long after: `retryIf`, `backoff` and errors that say it themselves. */
import {
  type AnyWorkflow,
  type Executor,
  type MemoryStore,
  memoryStore,
  NonRetryableError,
  RetryableError,
  Stepmark,
  type StepOptions,
  step,
  stepContext,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
let attempts: number[] = [];

beforeEach(() => {
  bodies.reset();
  attempts = [];
});

class HttpError extends Error {
  constructor(readonly status: number) {
    super(`status ${status}`);
  }
}

/** A body that fails with these errors, one an attempt, and is done then. */
const failing = (errors: unknown[]) => async (): Promise<string> => {
  const { attempt } = stepContext();
  attempts.push(attempt);
  if (attempt <= errors.length) throw errors[attempt - 1];
  return "done";
};

const caught = (options: StepOptions, body: () => Promise<unknown>): AnyWorkflow =>
  workflow("caught", async () =>
    step(options, body).catch(({ code, message }) => (code ? `${code}: ${message}` : message)),
  ) as AnyWorkflow;

async function fateOf(options: StepOptions, errors: unknown[], store = memoryStore()): Promise<unknown> {
  const flow = caught({ backoff: 0, ...options }, failing(errors));
  const app = new Stepmark({ store, workflows: [flow] });
  const run = await app.start(flow, undefined, { id });
  const result = await run.result();
  await app.shutdown();
  return result;
}

const isTransient = (error: unknown): boolean => error instanceof HttpError && error.status >= 500;

describe("`retryIf`", () => {
  it("decides about each failure, of those that `retries` leave", async () => {
    const asked: unknown[] = [];
    const retryIf = (error: unknown, attempt: number): boolean => {
      asked.push([(error as Error).message, attempt]);
      return isTransient(error);
    };
    const errors = [503, 500, 404].map((status) => new HttpError(status));
    expect([await fateOf({ retries: 9, retryIf }, errors), attempts]).toEqual(["status 404", [1, 2, 3]]);
    expect(asked).toEqual([
      ["status 503", 1],
      ["status 500", 2],
      ["status 404", 3],
    ]);
    attempts = [];
    expect([await fateOf({ retries: 1, retryIf }, errors), attempts]).toEqual(["status 500", [1, 2]]);
  });

  it("is not asked about what no attempt can mend", async () => {
    const retryIf = (): boolean => {
      throw new Error("asked");
    };
    expect(await fateOf({ retries: 9, retryIf }, [new NonRetryableError("declined")])).toBe("NON_RETRYABLE: declined");
    const odd = caught({ retries: 9, retryIf }, async () => () => {});
    const app = new Stepmark({ store: memoryStore(), workflows: [odd] });
    expect(await (await app.start(odd)).result()).toMatch(/^SERIALISATION/);
  });

  it("is asked about an attempt that took too long", async () => {
    const clock = new FakeClock();
    const asked: unknown[] = [];
    const retryIf = (error: unknown): boolean => {
      asked.push((error as { code: string }).code);
      return false;
    };
    const flow = caught({ retries: 9, timeout: "1s", retryIf }, () => new Promise(() => {}));
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow], clock }).start(flow);
    await clock.advance("1s");
    expect([await run.result(), asked]).toEqual([expect.stringMatching(/^STEP_TIMEOUT/), ["STEP_TIMEOUT"]]);
  });

  it("has effect before an attempt is recorded, and no replay asks it: from every prefix", async () => {
    let asked = 0;
    const retryIf = (): boolean => {
      asked++;
      return stepContextIsGone();
    };
    const flow = workflow("replayed", async () =>
      step({ retries: 5, backoff: 0, retryIf }, async () => {
        const { attempt } = stepContext();
        if (attempt < 3) throw new HttpError(503);
        bodies.note();
        return "done";
      }),
    );
    const store = await replayFromEveryPrefix({ workflow: flow, expected: "done", bodies });
    asked = 0;
    const whole = new Stepmark({ store: store.fork(id), workflows: [flow] });
    expect([await (await whole.resume(id)).result(), asked]).toEqual(["done", 0]);
  });

  it("that says no is recorded as the failure of the step: from every prefix nothing is asked or tried again", async () => {
    let says = false;
    let asked = 0;
    const retryIf = (): boolean => {
      asked++;
      return says;
    };
    const flow = caught({ retries: 5, backoff: 0, retryIf }, failing([new HttpError(404), new HttpError(404)]));
    const store = memoryStore();
    const run = await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id });
    expect([await run.result(), attempts, asked]).toEqual(["status 404", [1], 1]);
    // The code would decide otherwise by now: what is recorded holds.
    says = true;
    const resumed = async (kept: number): Promise<unknown> =>
      (await new Stepmark({ store: store.fork(id, kept), workflows: [flow] }).resume(id)).result();
    expect([await resumed(2), attempts, asked]).toEqual(["status 404", [1], 1]);
    // Where the process ended before that was recorded, the next attempt is the next process's, as for any error.
    expect([await resumed(1), attempts, asked]).toEqual(["done", [1, 2, 3], 2]);
    expect([await resumed(0), attempts.slice(3), asked]).toEqual(["done", [1, 2, 3], 4]);
  });

  it.each<[what: string, answer: () => unknown, said: RegExp]>([
    ["a promise", async () => true, /must answer true or false, not a promise/],
    ["a promise that is rejected", async () => Promise.reject(new Error("late")), /not a promise/],
    ["nothing", () => {}, /must answer true or false, not undefined/],
    ["what is only like true", () => 1, /must answer true or false, not 1/],
    [
      "an exception",
      () => {
        throw new TypeError("no field");
      },
      /`retryIf` has thrown: no field/,
    ],
  ])("that answers by %s fails the step, and tells what the body has failed with", async (_, answer, said) => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listen);
    const fate = await fateOf({ retries: 9, retryIf: answer as never }, [new HttpError(503)]);
    await new Promise((resolve) => setTimeout(resolve));
    process.off("unhandledRejection", listen);
    expect(fate).toMatch(said);
    expect(fate).toMatch(/^INVALID_ARGUMENT: .*the body had failed with: status 503 \(run "run", key caught/);
    expect([attempts, unhandled]).toEqual([[1], []]);
  });

  it("that throws has what failed in the body run again by a resume", async () => {
    let fails = true;
    const inner = async (): Promise<string> => {
      bodies.note("inner");
      if (fails) throw new HttpError(503);
      return "in";
    };
    const retryIf = (): boolean => {
      throw new Error("odd");
    };
    const flow = workflow("held", async () => step({ name: "outer", retries: 1, retryIf }, async () => step(inner)));
    const store = memoryStore();
    const run = await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id });
    await expect(run.result()).rejects.toMatchObject({ code: "INVALID_ARGUMENT", cause: { message: "odd" } });
    fails = false;
    expect(await (await new Stepmark({ store, workflows: [flow] }).resume(id)).result()).toBe("in");
    expect(bodies.count("inner")).toBe(2);
  });

  it.each<[StepOptions, RegExp]>([
    [{ retryIf: () => true }, /`retryIf` was given without `retries`/],
    [{ retries: 1, retryIf: true as never }, /`retryIf` must be a function, not true/],
  ])("has to be a function beside `retries` (%j)", async (options, said) => {
    expect(await fateOf(options, [])).toMatch(said);
    expect(attempts).toEqual([]);
  });

  it("decides while a run that fails is drained: what it says no to is recorded, else the next process goes on", async () => {
    for (const goesOn of [true, false]) {
      let release!: () => void;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const slow = async (): Promise<never> => {
        await released;
        throw new HttpError(503);
      };
      const flow = workflow("drained", async () => {
        const pending = step({ retries: 1, retryIf: () => goesOn }, slow);
        await step("fails", async () => {
          throw new Error("failed");
        });
        await pending;
      });
      const store: MemoryStore = memoryStore();
      const run = await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id });
      setImmediate(release);
      await expect(run.result()).rejects.toThrow("failed");
      const states = (await store.entries(id)).filter(({ key }) => key.endsWith("slow")).map(({ state }) => state);
      expect(states).toEqual(goesOn ? ["attempt"] : ["attempt", "failed"]);
    }
  });
});

/** Whether it is asked outside the step's body, and any run. */
function stepContextIsGone(): boolean {
  try {
    stepContext();
    return false;
  } catch {
    return true;
  }
}

describe("how long after", () => {
  /** When the attempts began, in seconds. */
  async function timesOf(options: StepOptions, errors: unknown[], seconds: number): Promise<number[]> {
    const clock = new FakeClock();
    const times: number[] = [];
    const body = failing(errors);
    const flow = caught(options, async () => {
      times.push(clock.now() / 1_000);
      return body();
    });
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow], clock }).start(flow, undefined, { id });
    await clock.advance(seconds * 1_000);
    times.push((await run.settled()).output === "done" ? -1 : Number.NaN);
    return times;
  }

  it("`backoff` may say by the error", async () => {
    const backoff = (attempt: number, error: unknown): number =>
      error instanceof HttpError && error.status === 429 ? 60_000 : attempt * 1_000;
    const errors = [503, 429, 503].map((status) => new HttpError(status));
    expect(await timesOf({ retries: 9, backoff }, errors, 64)).toEqual([0, 1, 61, 64, -1]);
  });

  it.each([
    ["text", "90s" as const],
    ["milliseconds", 90_000],
    ["a point in time", new Date(90_000)],
  ])("a RetryableError says by %s, in place of the backoff", async (_, retryAfter) => {
    const errors = [new RetryableError("too many", { retryAfter })];
    expect(await timesOf({ retries: 1, backoff: "1s" }, errors, 90)).toEqual([0, 90, -1]);
  });

  it("a RetryableError may say nothing, or a time that has passed", async () => {
    expect(await timesOf({ retries: 1, backoff: "5s" }, [new RetryableError("busy")], 5)).toEqual([0, 5, -1]);
    const passed = new RetryableError("busy", { retryAfter: new Date(-1) });
    expect(await timesOf({ retries: 1, backoff: "5s" }, [passed], 0)).toEqual([0, 0, -1]);
  });

  it("a RetryableError grants no attempt that `retries`, `retryIf` or the deadline do not", async () => {
    const errors = [1, 2].map((n) => new RetryableError(`busy ${n}`, { retryAfter: "10s" }));
    expect(await fateOf({ retries: 0 }, errors)).toBe("RETRYABLE: busy 1");
    expect(await fateOf({}, errors)).toBe("RETRYABLE: busy 1");
    expect(await fateOf({ retries: 1, retryIf: () => false }, errors)).toBe("RETRYABLE: busy 1");
    expect(await fateOf({ retries: 1, deadline: "10s" }, errors)).toBe("RETRYABLE: busy 1");
  });

  it("a RetryableError whose time cannot be read fails the step, and tells so", async () => {
    const odd = new RetryableError("busy", { retryAfter: "120 parsecs" as never });
    expect(await fateOf({ retries: 1 }, [odd])).toMatch(/^INVALID_ARGUMENT: `retryAfter` must be a duration/);
  });

  it("a RetryableError is recorded as what it is, and comes so from an executor", async () => {
    const until = new Date(90_000);
    const error = new RetryableError("too many", { retryAfter: until, cause: new HttpError(429) });
    let thrown: unknown;
    const flow = workflow("recorded", async () =>
      step({ retries: 0 }, failing([error])).catch((caught) => {
        thrown = caught;
      }),
    );
    const store = memoryStore();
    await (await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id })).result();
    expect(thrown).toBeInstanceOf(RetryableError);
    expect(thrown).toMatchObject({
      ...{ name: "RetryableError", code: "RETRYABLE", retryAfter: until, cause: { status: 429 } },
    });

    const clock = new FakeClock();
    let runs = 0;
    const call = async (): Promise<void> => {};
    const executor: Executor = {
      takes: () => true,
      run: async ({ codec }) => {
        if (++runs === 1) throw codec.decode(codec.encode(error));
        return "there";
      },
    };
    const remote = workflow("remote", async () => step({ retries: 1 }, call));
    const run = await new Stepmark({ store: memoryStore(), workflows: [remote], clock, executor }).start(remote);
    await clock.advance("89s");
    expect(runs).toBe(1);
    await clock.advance("1s");
    expect(await run.result()).toBe("there");
  });
});
