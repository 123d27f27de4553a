/** Jobs that fingerprints do not look into, taken from a queue by workers: where they come from tells one from another. */
import { setImmediate as tick } from "node:timers/promises";
import { type AnyWorkflow, codec, type MemoryStore, memoryStore, Stepmark, step, workflow } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { seeded } from "../support/schedule.js";
import { scatter } from "../support/unseen.js";

const id = "run";
let random = seeded(1);
let failing = new Set<string>();
let ran: string[] = [];

beforeEach(() => {
  random = seeded(1);
  failing = new Set();
  ran = [];
});

class Job {
  constructor(readonly label: string) {}
  act(): Promise<string> {
    return act(this.label);
  }
}

/** A few turns of the event loop, as many as the pass's seed says. */
const raw = async (): Promise<void> => {
  for (let i = Math.floor(random() * 5); i > 0; i--) await tick();
};

async function act(label: string): Promise<string> {
  ran.push(label);
  // Before the others are done, so that another job is taken then.
  if (failing.has(label)) throw new Error(`${label} failed`);
  await tick();
  await raw();
  return `done ${label}`;
}
const perform = (job: Job): Promise<string> => act(job.label);
const performAs = (job: Job, _version: string): Promise<string> => act(job.label);

const labels = ["a", "b", "c", "d", "e", "f"];

interface Waits {
  /** Between taking a job and its step. */
  before?: () => Promise<void>;
  /** Between a step and taking the next job. */
  after?: () => Promise<void>;
}

const right = labels.map((label) => `${label}: done ${label}`);

/** What the jobs are, and how a worker gives one to its step. */
const kinds: Record<string, (waits: Waits) => AnyWorkflow> = {
  "instances as arguments": (waits) =>
    workers(
      "arguments",
      () => labels.map((label) => new Job(label)),
      (job) => step(perform, job),
      waits,
    ),
  "instances beside constants": (waits) =>
    workers(
      "constants",
      () => labels.map((label) => new Job(label)),
      (job) => step(performAs, job, "v1"),
      waits,
    ),
  "instances in plain data": (waits) =>
    workers(
      "nested",
      () => labels.map((label) => new Job(label)),
      (job) => step(({ jobs }: { jobs: Job[] }) => jobs[0]!.act(), { jobs: [job] }),
      waits,
    ),
  "instances that a body closes over": (waits) =>
    workers(
      "captured",
      () => labels.map((label) => new Job(label)),
      (job) => step(() => job.act()),
      waits,
    ),
  "functions that a call has given": (waits) =>
    workers(
      "given",
      () => labels.map((label) => Object.assign(() => act(label), { label })),
      (job) => step(job),
      waits,
    ),
  "functions that were put into a list one by one": (waits) =>
    workers(
      "pushed",
      () => {
        const jobs: Array<(() => Promise<string>) & { label?: string }> = [];
        for (const label of labels) {
          const job: (() => Promise<string>) & { label?: string } = () => act(label);
          job.label = label;
          jobs.push(job);
        }
        return jobs as Array<(() => Promise<string>) & { label: string }>;
      },
      (job) => step(job),
      waits,
    ),
  "instances that a step has come to": (waits) =>
    workflow("loaded", async () => {
      const jobs = await step(load);
      return takeAll(jobs, (job) => step(perform, job), waits);
    }),
};
const load = async (): Promise<Job[]> => labels.map((label) => new Job(label));

function workers<T extends { label: string }>(
  name: string,
  make: () => T[],
  run: (job: T) => Promise<string>,
  waits: Waits,
): AnyWorkflow {
  return workflow(name, async () => takeAll(make(), run, waits));
}

/** Three workers on one queue, each job's result beside its label; fails at the end with what jobs failed with. */
async function takeAll<T extends { label: string }>(
  queue: T[],
  run: (job: T) => Promise<string>,
  { before, after }: Waits,
): Promise<string[]> {
  const results: string[] = [];
  const errors: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const { label } = job;
      await before?.();
      try {
        results.push(`${label}: ${await run(job)}`);
      } catch (error) {
        errors.push(error);
      }
      await after?.();
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  if (errors.length > 0) throw new AggregateError(errors);
  return results.sort();
}

const values = codec({ classes: [Job] });

async function recorded(flow: AnyWorkflow, seed = 1): Promise<MemoryStore> {
  const store = memoryStore();
  random = seeded(seed);
  const app = new Stepmark({ store, workflows: [flow], codec: values });
  await (await app.start(flow, undefined, { id })).result().catch(() => {});
  await app.shutdown();
  return store;
}

/** What a resume comes to: the result, or the error's code. */
async function resumed(
  store: MemoryStore,
  flow: AnyWorkflow,
  seed = 1001,
  options = {},
  grace = 5000,
): Promise<unknown> {
  random = seeded(seed);
  ran = [];
  const app = new Stepmark({ store, workflows: [flow], codec: values, grace });
  try {
    return await (await app.resume(id, options)).result();
  } catch (error) {
    return (error as { code?: string }).code ?? error;
  } finally {
    await app.shutdown();
  }
}

/** The store as if the process had ended when all was recorded but the end. */
async function whole(store: MemoryStore): Promise<MemoryStore> {
  return store.fork(id, (await store.entries(id)).length);
}

describe("I3: workers that take other jobs than they did get no outcome of those", () => {
  it.each(Object.keys(kinds))("%s: where waits for something raw differ from the first pass", async (kind) => {
    const flow = kinds[kind]!({ after: raw });
    const seen = new Set<string>();
    for (let seed = 1; seed <= 12; seed++) {
      const store = await recorded(flow, seed);
      const { length } = await store.entries(id);
      for (let kept = 0; kept <= length; kept++) {
        const result = await resumed(store.fork(id, kept), flow, seed + 1000, {}, 50);
        if (typeof result !== "string") expect(result, `seed ${seed}, after ${kept} entries`).toEqual(right);
        else expect(["REPLAY_MISMATCH", "DIVERGENCE"]).toContain(result);
        seen.add(typeof result === "string" ? result : "right");
      }
    }
    expect([...seen]).toEqual(expect.arrayContaining(["right", "REPLAY_MISMATCH"]));
  });

  it.each(Object.keys(kinds))("%s: where a job that failed is done again", async (kind) => {
    const flow = kinds[kind]!({});
    failing.add("a");
    const store = await recorded(flow);
    failing.clear();
    expect(await resumed(store.fork(id), flow)).toBe("REPLAY_MISMATCH");
    expect(ran).toEqual([]);
    // Nothing that was done belongs to another job then.
    expect(await resumed(store, flow, 1001, { divergence: "continue" })).toEqual(right);
  });

  it("the error says where the job came from that is recorded, and the cure", async () => {
    const flow = kinds["instances as arguments"]!({});
    failing.add("a");
    const store = await recorded(flow);
    failing.clear();
    random = seeded(1001);
    const run = await new Stepmark({ store, workflows: [flow] }).resume(id);
    await expect(run.result()).rejects.toThrow(
      /another function or instance, the one that came from arguments\/.*map\(\)\[\d\]\/Job\(\).* give steps .* a `key`/is,
    );
  });
});

describe("I3: what is right is not refused", () => {
  it.each(Object.keys(kinds))("%s: raw waits that change no worker's job", async (kind) => {
    const flow = kinds[kind]!({ before: raw });
    for (let seed = 1; seed <= 4; seed++) {
      const store = await recorded(flow, seed);
      const { length } = await store.entries(id);
      for (let kept = 0; kept <= length; kept++)
        expect(await resumed(store.fork(id, kept), flow, seed + 1000), `after ${kept} entries`).toEqual(right);
    }
  });

  it("a job that failed is done again, and the others were taken before", async () => {
    const flow = workflow("last", async () => {
      const queue = labels.slice(0, 3).map((label) => new Job(label));
      const errors: unknown[] = [];
      const results: string[] = [];
      const worker = async (): Promise<void> => {
        for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
          const taken = job;
          await step(perform, taken).then(
            (result) => results.push(`${taken.label}: ${result}`),
            (error) => errors.push(error),
          );
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      if (errors.length > 0) throw new AggregateError(errors);
      return results.sort();
    });
    failing.add("a");
    const store = await recorded(flow);
    failing.clear();
    expect(await resumed(store, flow)).toEqual(right.slice(0, 3));
    expect(ran).toEqual(["a"]);
  });

  it("a `key` that names the job follows it", async () => {
    const flow = workers(
      "keyed",
      () => labels.map((label) => new Job(label)),
      (job) => step({ key: job.label }, perform, job),
      {},
    );
    failing.add("a");
    const store = await recorded(flow);
    failing.clear();
    expect(await resumed(store, flow)).toEqual(right);
    expect(ran).toEqual(["a"]);
  });

  it("connections that calls take from a list and put back, where arguments say what a call is about", async () => {
    const ask = async (_connection: Job, question: string): Promise<string> => act(question);
    const flow = workflow("connections", async () => {
      const free = ["w", "x", "y", "z"].map((name) => new Job(name));
      const errors: unknown[] = [];
      const results = await Promise.all(
        ["a", "b", "c"].map(async (label) => {
          for (let i = 0; i < 3; i++) {
            const connection = free.shift()!;
            await step(ask, connection, label + i).catch((error) => errors.push(error));
            free.push(connection);
          }
          return label;
        }),
      );
      if (errors.length > 0) throw new AggregateError(errors);
      return results;
    });
    failing.add("a0");
    const store = await recorded(flow);
    failing.clear();
    expect(await resumed(store, flow)).toEqual(["a", "b", "c"]);
    expect(ran).toEqual(["a0"]);
  });

  it("a client that whoever comes first makes for all", async () => {
    const flow = workflow("client", async () => {
      let client: Job | undefined;
      const connect = (): Job => {
        client ??= new Job("client");
        return client;
      };
      return Promise.all(
        labels.map(async (label) => {
          await raw();
          return `${label}: ${await step(() => connect() && act(label))}${await step(perform, connect())}`;
        }),
      );
    });
    for (let seed = 1; seed <= 8; seed++) {
      const store = await whole(await recorded(flow, seed));
      expect(await resumed(store, flow, seed + 1000)).toEqual(
        labels.map((label) => `${label}: done ${label}done client`),
      );
    }
  });

  it("instances that code which is not transformed has made in any order", async () => {
    const flow = workflow("scattered", async () => {
      const shuffled = labels.map((label) => ({ label, at: random() })).sort((one, other) => one.at - other.at);
      const jobs = await scatter(shuffled, makeLate);
      const sorted = jobs.sort((one, other) => (one.label < other.label ? -1 : 1));
      return Promise.all(sorted.map((job) => step(perform, job)));
    });
    for (let seed = 1; seed <= 8; seed++) {
      const store = await whole(await recorded(flow, seed));
      expect(await resumed(store, flow, seed + 1000)).toEqual(labels.map((label) => `done ${label}`));
    }
  });

  it("a journal of before, which does not say where jobs come from", async () => {
    const flow = kinds["instances as arguments"]!({});
    const store = await recorded(flow);
    expect((await store.entries(id)).every(({ origins }) => origins !== undefined)).toBe(true);
    const before = await whole(store);
    const older: MemoryStore = {
      ...before,
      entries: async (...asked) => (await before.entries(...asked)).map(({ origins: _, ...entry }) => entry),
    };
    expect(await resumed(older, flow)).toEqual(right);
    expect(ran).toEqual([]);
  });
});

const makeLate = async ({ label }: { label: string }): Promise<Job> => new Job(label);
