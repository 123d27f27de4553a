/** Bodies that run elsewhere: what an executor is asked, and what becomes of its answer. */
import { type Executor, type MemoryStore, memoryStore, type StepCall, Stepmark, step, workflow } from "stepmark";
import { expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";

async function charge(card: string, amount: number): Promise<string> {
  return `${card} here ${amount}`;
}

async function refuse(): Promise<never> {
  throw new Error("here");
}

/** What the other side has done, by execution key: it outlives the processes that ask it. */
class Elsewhere implements Executor {
  readonly calls: StepCall[] = [];
  readonly done = new Map<string, Promise<unknown>>();
  bodies = 0;

  constructor(private readonly body: (call: StepCall) => unknown = ({ args }) => `${args.join(" ")} elsewhere`) {}

  takes(fn: unknown): boolean {
    return fn === charge || fn === refuse;
  }

  run(call: StepCall): Promise<unknown> {
    this.calls.push(call);
    let outcome = this.done.get(call.executionKey);
    if (outcome === undefined) {
      this.bodies++;
      outcome = Promise.resolve().then(() => this.body(call));
      outcome.catch(() => {});
      this.done.set(call.executionKey, outcome);
    }
    return outcome;
  }
}

const pay = workflow("pay", async () => {
  const paid = await step(charge, "card", 5);
  const amount = 7;
  return [paid, await step(() => charge("thunk", amount)), await step({ retries: 1 }, charge, "again", 6)];
});

const once = workflow("once", async () => step(charge, "card", 5));
const twice = workflow("twice", async () => step({ retries: 1, backoff: 10 }, charge, "card", 5));
const refused = workflow("refused", async () => step(refuse));
const limited = workflow("limited", async () => step({ timeout: 1_000 }, charge, "card", 5));

function app(executor: Executor, store: MemoryStore = memoryStore(), clock = new FakeClock()): Stepmark {
  return new Stepmark({ store, executor, clock, workflows: [pay, once, twice, refused, limited] });
}

it("functions that it takes run there with their arguments, a thunk here", async () => {
  const elsewhere = new Elsewhere();
  const run = await app(elsewhere).start(pay, undefined, { id: "run" });
  expect(await run.result()).toEqual(["card 5 elsewhere", "thunk here 7", "again 6 elsewhere"]);
  const shown = elsewhere.calls.map(({ runId, key, attempt, args }) => [runId, key, attempt, args]);
  expect(shown).toEqual([
    ["run", "pay/charge", 1, ["card", 5]],
    ["run", "pay/charge~2", 1, ["again", 6]],
  ]);
});

it("what the driver could not save is not done again: the next process asks for the same execution", async () => {
  const elsewhere = new Elsewhere();
  const store = memoryStore();
  const run = await app(elsewhere, store).start(once, undefined, { id: "run" });
  await run.result();
  const resumed = await app(elsewhere, store.fork("run", 0)).start(once, undefined, { id: "run" });
  expect(await resumed.result()).toBe("card 5 elsewhere");
  expect(elsewhere.calls).toHaveLength(2);
  expect(elsewhere.bodies).toBe(1);
});

it("nor with `retries`, where the attempt was announced: that very attempt is asked for, and none is used up", async () => {
  const elsewhere = new Elsewhere();
  const store = memoryStore();
  await (await app(elsewhere, store).start(twice, undefined, { id: "run" })).result();
  // The announcement is saved, the outcome is not; and again.
  for (let crash = 0; crash < 3; crash++) {
    const resumed = await app(elsewhere, store.fork("run", 1)).start(twice, undefined, { id: "run" });
    expect(await resumed.result()).toBe("card 5 elsewhere");
  }
  expect(elsewhere.bodies).toBe(1);
  expect(elsewhere.calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
});

it("an attempt that has failed there is followed by another execution", async () => {
  const clock = new FakeClock();
  const elsewhere = new Elsewhere(({ attempt }) => {
    if (attempt === 1) throw new Error("busy");
    return "done";
  });
  const run = await app(elsewhere, memoryStore(), clock).start(twice, undefined);
  await clock.advance(20);
  expect(await run.result()).toBe("done");
  expect(new Set(elsewhere.calls.map(({ executionKey }) => executionKey)).size).toBe(2);
  expect(new Set(elsewhere.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
});

it("a failure that is resumed is another execution, and what it throws is what the step throws", async () => {
  let broken = true;
  const elsewhere = new Elsewhere(() => {
    if (broken) throw new TypeError("no such card");
    return "done";
  });
  const store = memoryStore();
  const run = await app(elsewhere, store).start(refused, undefined, { id: "run" });
  await expect(run.result()).rejects.toThrow(new TypeError("no such card"));
  broken = false;
  const resumed = await app(elsewhere, store).resume("run");
  expect(await resumed.result()).toBe("done");
  expect(elsewhere.bodies).toBe(2);
});

it("is told when the attempt has run out of time, when the run is cancelled, and when the app is shut down", async () => {
  const reasons: unknown[] = [];
  const elsewhere = new Elsewhere(
    ({ signal }) =>
      new Promise(() => signal.addEventListener("abort", () => reasons.push((signal.reason as { code: string }).code))),
  );
  const clock = new FakeClock();
  const one = app(elsewhere, memoryStore(), clock);
  const run = await one.start(limited, undefined);
  await clock.advance(1_000);
  await expect(run.result()).rejects.toMatchObject({ code: "STEP_TIMEOUT" });
  await one.start(once, undefined, { id: "cancelled" });
  await rest();
  await one.cancel("cancelled");
  await one.start(once, undefined, { id: "left" });
  await rest();
  await one.shutdown();
  expect(reasons).toEqual(["STEP_TIMEOUT", "RUN_CANCELLED", "SHUTDOWN"]);
});

it("a step's own executor comes before the app's, and has to take the function", async () => {
  const own = new Elsewhere(() => "own");
  const others = new Elsewhere(() => "the app's");
  const local = async (): Promise<string> => "here";
  const flow = workflow("own", async () => [
    await step({ executor: own }, charge, "card", 5),
    await step(charge, "card", 6),
    await step({ executor: own }, local).catch((error: { code: string }) => error.code),
  ]);
  const run = await app(others).start(flow, undefined);
  expect(await run.result()).toEqual(["own", "the app's", "INVALID_ARGUMENT"]);
});
