/** What every replay test does: a first run, a resume from each prefix of its journal, and a second resume of each. */
import {
  type AnyWorkflow,
  type Entry,
  type MemoryStore,
  memoryStore,
  Stepmark,
  type StepmarkOptions,
  stepContext,
} from "stepmark";
import { expect } from "vitest";

/** Keys of the steps whose bodies ran. */
export class Bodies {
  readonly ran: string[] = [];
  readonly labels: string[] = [];

  /** To be called at the start of each body. */
  note(label = ""): void {
    this.ran.push(stepContext().key);
    this.labels.push(label);
  }

  count(label: string): number {
    return this.labels.filter((each) => each === label).length;
  }

  reset(): void {
    this.ran.length = 0;
    this.labels.length = 0;
  }
}

export interface ReplayTest<T> {
  workflow: AnyWorkflow;
  input?: unknown;
  expected: T;
  bodies: Bodies;
  options?: Omit<StepmarkOptions, "store" | "workflows">;
  /** Called before each pass: resets what the test's code keeps outside the run. */
  prepare?: () => void;
  /** Called when a run has been started or resumed: answers waits and the like. */
  drive?: (app: Stepmark, id: string) => Promise<void>;
}

const id = "run";

/** @returns the store of the first run, for further checks */
export async function replayFromEveryPrefix<T>(test: ReplayTest<T>): Promise<MemoryStore> {
  const { workflow, expected, bodies } = test;
  const store = memoryStore();
  const first = await pass(test, store, (app) => app.start(workflow, test.input, { id }));
  expect(first).toEqual(expected);
  const journal = await store.entries(id);
  for (let kept = 0; kept <= journal.length; kept++) {
    const fork = store.fork(id, kept);
    expect(await pass(test, fork, (app) => app.resume(id)), `resumed after ${kept} entries`).toEqual(expected);
    expectNoneAgain(bodies, journal.slice(0, kept));
    const again = fork.fork(id, (await fork.entries(id)).length);
    expect(await pass(test, again, (app) => app.resume(id)), `resumed again after ${kept} entries`).toEqual(expected);
    expect(bodies.ran, "bodies that a replay of a whole journal ran").toEqual([]);
  }
  return store;
}

async function pass<T>(
  { workflow, bodies, options, prepare, drive }: ReplayTest<T>,
  store: MemoryStore,
  begin: (app: Stepmark) => Promise<{ result(): Promise<unknown> }>,
): Promise<unknown> {
  bodies.reset();
  prepare?.();
  const app = new Stepmark({ ...options, store, workflows: [workflow] });
  const run = await begin(app);
  await drive?.(app, id);
  const result = await run.result();
  await app.shutdown();
  return result;
}

/** No step whose outcome was recorded ran again, and none ran twice. */
function expectNoneAgain(bodies: Bodies, recorded: readonly Entry[]): void {
  const done = new Set(recorded.filter(({ state }) => state === "done").map(({ key }) => key));
  expect(bodies.ran.filter((key) => done.has(key))).toEqual([]);
  expect(new Set(bodies.ran).size).toBe(bodies.ran.length);
}
