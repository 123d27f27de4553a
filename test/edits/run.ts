/** Passes over flows: a run is recorded by one build, and resumed from a prefix of its journal by another one. */
import { setImmediate } from "node:timers/promises";
import { type Clock, type Entry, type MemoryStore, memoryStore, type Run, Stepmark } from "stepmark";
import type { Program } from "./program.js";
import { type Ask, World } from "./world.js";

export interface Pass {
  readonly asks: readonly Ask[];
  readonly entries: readonly Entry[];
  readonly orphans: readonly string[];
  /** Of the error that ended the run, if one did; an error of the flow's own has its message. */
  readonly error: string | undefined;
}

export interface Recording extends Pass {
  readonly store: MemoryStore;
}

export let lastError: Error | undefined;
const id = "run";

/** Runs a flow from its beginning to its end. */
export async function record(program: Program): Promise<Recording> {
  const store = memoryStore();
  return { ...(await pass(program, store, async (app, w, input) => app.start(w, input, { id }))), store };
}

/** Resumes a recorded run as a crash after `kept` entries would have left it. */
export function resume(program: Program, store: MemoryStore, kept: number): Promise<Recording> {
  const left = store.fork(id, kept);
  return pass(program, left, (app) => app.resume(id)).then((done) => ({ ...done, store: left }));
}

type Begin = (app: Stepmark, ...of: [w: ReturnType<Program["load"]>["w"], input: unknown]) => Promise<Run>;

async function pass(program: Program, store: MemoryStore, begin: Begin): Promise<Pass> {
  const world = new World(program.marks);
  const { w, input } = program.load(world);
  const clock = new QuietClock();
  const app = new Stepmark({ store, workflows: [w], clock, idle: "1000d" });
  const run = await begin(app, w, input);
  const error = await clock.during(
    () => world.progress,
    () => goOn(app, run, world),
  );
  const { orphans } = await app.get(id);
  const { asks } = world;
  const pass = { asks: [...asks], entries: await store.entries(id), orphans, error };
  await clock.during(
    () => world.progress,
    () => app.shutdown(),
  );
  return pass;
}

/** Answers what the run waits for until it has ended. */
async function goOn(app: Stepmark, run: Run, world: World): Promise<string | undefined> {
  const answered = new Set<string>();
  let result: string | undefined;
  let ended = false;
  const end = run.result().then(
    () => {
      ended = true;
    },
    (error: Error & { code?: string }) => {
      ended = true;
      result = error.code ?? error.message;
      lastError = error;
    },
  );
  for (;;) {
    await Promise.race([end, run.settled()]);
    if (ended) return result;
    const { waits, status } = await app.get(id);
    if (status === "stalled") return "STALLED";
    for (const { key, name } of waits) {
      if (answered.has(key)) continue;
      answered.add(key);
      // A crash may have left an answer that nobody has taken.
      await app.answer(id, key, world.answer(name)).catch((error: { code?: string }) => {
        if (error.code !== "ANSWER") throw error;
      });
    }
    for (let turns = 0; turns < 3; turns++) await setImmediate();
  }
}

/** A clock that goes on to the next timer when nothing else happens any more. No two of its times are equal, in this process. */
class QuietClock implements Clock {
  private static time = 1_700_000_000_000;
  private timers: Array<{ at: number; callback: () => void }> = [];

  now(): number {
    return ++QuietClock.time;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: QuietClock.time + ms, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((each) => each !== timer);
    };
  }

  /** @param progress changes as long as something happens */
  async during<T>(progress: () => number, work: () => Promise<T>): Promise<T> {
    let over = false;
    const result = work().finally(() => {
      over = true;
    });
    result.catch(() => {});
    let last = progress();
    for (let quiet = 0; !over; quiet++) {
      await setImmediate();
      if (progress() !== last) quiet = 0;
      last = progress();
      if (quiet < quietAfter) continue;
      quiet = 0;
      this.fireNext();
    }
    return result;
  }

  private fireNext(): void {
    const [first] = this.timers.sort((a, b) => a.at - b.at);
    if (first === undefined) return;
    this.timers.shift();
    QuietClock.time = Math.max(QuietClock.time, first.at);
    first.callback();
  }
}

/** So many macrotasks without anything to do, and only time can bring more. */
const quietAfter = 8;
