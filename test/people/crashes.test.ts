/**
 * Every combination of crashes in the life of a question, in one process: at each point of it the process dies, or does not.
 * What a dead process has under way never ends, and the store is as the crash left it.
 */
import {
  events,
  type MemoryStore,
  memoryStore,
  type Run,
  Stepmark,
  type Store,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";
import { Bodies } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();

/** The points, in the order in which a run comes to them. */
const points = [
  "the question is recorded",
  "the pause is recorded",
  "the answer is posted",
  "the answer is recorded",
  "the next step is at work",
  "the next step is recorded",
] as const;
type Point = (typeof points)[number];

/** The process that lives at the moment: dies when it comes to a point at which it is to die. */
class Life {
  dead = false;
  private reach!: () => void;
  readonly died = new Promise<void>((resolve) => {
    this.reach = resolve;
  });

  constructor(private readonly deaths: Set<Point>) {}

  /** To be called at a point; never returns if the process dies there. */
  async at(point: Point): Promise<void> {
    if (this.dead || !this.deaths.delete(point)) return this.alive();
    this.dead = true;
    this.reach();
    await this.alive();
  }

  async alive(): Promise<void> {
    if (this.dead) await new Promise(() => {});
  }
}

let life: Life;
const work = async (label: string): Promise<string> => {
  bodies.note(label);
  if (label === "after") await life.at("the next step is at work");
  return label;
};

/** A store as a process has it that may die. */
function storeOf(memory: MemoryStore, mine: Life): Store {
  return {
    ...memory,
    async append(...args) {
      await mine.alive();
      await memory.append(...args);
      const [, , [entry], change] = args;
      if (entry?.kind === "wait" && entry.state === "open") await mine.at("the question is recorded");
      if (change?.status === "waiting") await mine.at("the pause is recorded");
      if (entry?.kind === "wait" && entry.state === "done") await mine.at("the answer is recorded");
      if (entry?.kind === "step" && bodies.labels.includes("after")) await mine.at("the next step is recorded");
      await mine.alive();
    },
    async post(...args) {
      await mine.alive();
      const posted = await memory.post(...args);
      await mine.at("the answer is posted");
      return posted;
    },
  };
}

const asking = workflow("asking", async () => {
  const before = await step(work, "before");
  const answer = await waitFor<string>("ok");
  return [before, answer, await step(work, "after")];
});
const listening = workflow("listening", async () => {
  const before = await step(work, "before");
  for await (const message of events<string>("ok")) return [before, message, await step(work, "after")];
  return [];
});

const idles = { "stays in memory": 300_000, "leaves memory at once": 0 };
/** Who answers: the app that has the run, by way of the store that dies with it, or another one that lives on. */
const senders = ["the process that has the run", "another process"] as const;

beforeEach(() => bodies.reset());

const combinations = Array.from({ length: 2 ** points.length }, (_, bits) =>
  points.filter((_, bit) => bits & (1 << bit)),
);

describe.each([
  ["a question", asking, "answer"],
  ["a stream", listening, "send"],
] as const)("%s", (_, flow, give) => {
  describe.each(Object.entries(idles))("of a run that %s", (_, idle) => {
    it.each(senders)("answered by %s comes to one answer, whichever of its processes die", async (sender) => {
      for (const deaths of combinations) {
        bodies.reset();
        const left = new Set<Point>(deaths);
        let memory = memoryStore();
        let given = false;
        let run: Run<unknown> | undefined;
        let output: unknown;
        for (let processes = 0; output === undefined; processes++) {
          expect(processes, `processes for ${deaths.join()}`).toBeLessThanOrEqual(deaths.length);
          const mine = new Life(left);
          life = mine;
          const app = new Stepmark({ store: storeOf(memory, mine), workflows: [flow], idle });
          const begun = processes === 0 ? app.start(flow, undefined, { id }) : app.resume(id);
          run = await Promise.race([begun as Promise<Run<unknown>>, mine.died.then(() => undefined)]);
          const settled = run && Promise.race([run.settled(), mine.died]);
          await settled;
          await rest();
          if (!given && !mine.dead) {
            const giver = sender === "another process" ? new Stepmark({ store: memory, workflows: [] }) : app;
            // One that dies while it answers does not know whether it has, and the next one is told.
            const answered = giver[give](id, "ok", "yes");
            await Promise.race([answered.catch(expectAnswered), mine.died]);
            given = true;
            await rest();
          }
          output = run && (await Promise.race([run.result(), mine.died]));
          if (output === undefined) memory = memory.fork();
        }
        expect(output, deaths.join()).toEqual(["before", "yes", "after"]);
        const entries = await memory.entries(id);
        const states = entries.map(({ kind, state }) => `${kind} ${state}`);
        expect(states, deaths.join()).toEqual(["step done", "wait open", "wait done", "step done"]);
        const cut = deaths.includes("the next step is at work") ? 2 : 1;
        expect([bodies.count("before"), bodies.count("after")], deaths.join()).toEqual([1, cut]);
        expect(await memory.inbox(id), deaths.join()).toEqual([]);
      }
    });
  });
});

function expectAnswered(error: unknown): void {
  expect(error).toMatchObject({ code: "ANSWER" });
}
