/**
 * Random programs whose jobs are begun late, by limiters, retries and queues that the transformer does not see, in whatever
 * async context. Nothing but keys tells the jobs apart, and raw pauses differ from process to process.
 */
import { type MemoryStore, memoryStore, Stepmark, step, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { seeded } from "../support/schedule.js";
import { limiter, retry, sequence } from "../support/unseen.js";

const id = "run";
const refusals: unknown[] = ["AMBIGUOUS_SCOPE", "DIVERGENCE", "REPLAY_MISMATCH"];

/** Opaque: arguments of this class are never told apart. */
class Job {
  constructor(readonly name: string) {}
}

interface Program {
  kind: string;
  name: string;
  parts: Program[];
}

const single = ["step", "helper", "workflow", "retried", "closure", "limited", "newest", "limited workflow", "then"];
const wrapping = ["late", "body"];
const several = ["all", "all", "loop", "sequence"];

function randomProgram(next: () => number, depth: number, names: { count: number }): Program {
  const pick = (kinds: string[]): string => kinds[Math.floor(next() * kinds.length)]!;
  const name = `job${names.count++}`;
  const part = (): Program => randomProgram(next, depth - 1, names);
  const size = next();
  if (depth === 0 || size < 0.25) return { kind: pick(single), name, parts: [] };
  if (size < 0.45) return { kind: pick(wrapping), name, parts: [part()] };
  return { kind: pick(several), name, parts: Array.from({ length: 2 + Math.floor(next() * 3) }, part) };
}

/** What a program comes to. */
function outcomeOf({ kind, name, parts }: Program): unknown {
  if (kind === "then") return `done done ${name}`;
  if (wrapping.includes(kind)) return outcomeOf(parts[0]!);
  return several.includes(kind) ? parts.map(outcomeOf) : `done ${name}`;
}

let next = seeded(1);
let program: Program;

async function pause(): Promise<void> {
  const turns = Math.floor(next() * 4);
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

const work = async ({ name }: Job): Promise<string> => {
  await pause();
  return `done ${name}`;
};
const workOn = (job: Job): Promise<string> => step(work, job);
const oneJob = workflow("one job", async (job: Job) => step(work, job));

interface Limits {
  oldest: ReturnType<typeof limiter>;
  newest: ReturnType<typeof limiter>;
}

async function perform({ kind, name, parts }: Program, limits: Limits): Promise<unknown> {
  const job = new Job(name);
  switch (kind) {
    case "step":
      return step(() => work(job));
    case "helper":
      return workOn(job);
    case "workflow":
      return oneJob(job);
    case "retried":
      return retry(async () => workOn(job));
    case "closure":
      return limits.oldest(async () => step(work, job));
    case "limited":
      return limits.oldest(workOn, job);
    case "newest":
      return limits.newest(workOn, job);
    case "limited workflow":
      return limits.newest(oneJob, job);
    case "then":
      return step(work, job).then((done) => workOn(new Job(done)));
    case "late":
      await pause();
      return perform(parts[0]!, limits);
    case "body":
      return step(async () => perform(parts[0]!, limits));
    case "all":
      return Promise.all(parts.map((part) => perform(part, limits)));
    case "sequence":
      return sequence(parts, async (part) => perform(part, limits));
    default: {
      const all: unknown[] = [];
      for (const part of parts) all.push(await perform(part, limits));
      return all;
    }
  }
}

const flow = workflow("late starts", async () =>
  perform(program, { oldest: limiter(2, "oldest", pause), newest: limiter(1, "newest", pause) }),
);

async function inProcess(seed: number, store: MemoryStore, begun: boolean): Promise<unknown> {
  next = seeded(seed);
  const app = new Stepmark({ store, workflows: [flow], grace: 20, drain: 20 });
  try {
    const run = begun ? await app.resume(id) : await app.start(flow, undefined, { id });
    return await run.result();
  } catch (error) {
    return (error as { code?: string }).code ?? error;
  } finally {
    await app.shutdown();
  }
}

describe("I2, I3: a job that is begun late, in whatever context, never gets another's outcome", () => {
  const chunks = [0, 1, 2, 3];
  it.each(chunks)("random programs, %d", async (chunk) => {
    let right = 0;
    let refused = 0;
    for (let seed = 10 * chunk + 1; seed <= 10 * (chunk + 1); seed++) {
      program = randomProgram(seeded(seed), 4, { count: 0 });
      const expected = outcomeOf(program);
      const store = memoryStore();
      expect(await inProcess(seed, store, false), `seed ${seed}`).toEqual(expected);
      const { length } = await store.entries(id);
      for (let kept = 0; kept <= length; kept += 1 + Math.floor(length / 8)) {
        const outcome = await inProcess(seed * 1000 + kept, store.fork(id, kept), true);
        if (refusals.includes(outcome)) refused++;
        else {
          expect(outcome, `seed ${seed}, after ${kept} entries`).toEqual(expected);
          right++;
        }
      }
    }
    expect(right, `${refused} were refused`).toBeGreaterThan(10);
  });
});
