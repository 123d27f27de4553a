/** Functions that are made outside of a step and called on behalf of its body, and outside too: an answered step enters none. */
import { setImmediate as tick } from "node:timers/promises";
import Bottleneck from "bottleneck";
import DataLoader from "dataloader";
import pLimit from "p-limit";
import { type AnyWorkflow, memoryStore, Stepmark, step, workflow } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";
import { limiter, retry, scatter } from "../support/unseen.js";

const id = "run";
const bodies = new Bodies();
let tickets = 0;
let drawn: number[] = [];

beforeEach(() => {
  tickets = 0;
  drawn = [];
});

/** Every ticket is another one: nothing but identity can tell whose it is. */
const draw = async (): Promise<number> => {
  await tick();
  drawn.push(++tickets);
  return tickets;
};

/** Runs a workflow that returns tickets, in the order of its own code, and resumes it from every prefix, twice. */
async function everyPrefix(flow: AnyWorkflow): Promise<void> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [flow] });
  const first = (await (await app.start(flow, undefined, { id })).result()) as number[];
  expect(first).toEqual([...new Set(first)]);
  const journal = await store.entries(id);
  for (let kept = 0; kept <= journal.length; kept++) {
    drawn = [];
    const left = store.fork(id, kept);
    const second = new Stepmark({ store: left, workflows: [flow], grace: 50 });
    const result = (await (await second.resume(id)).result()) as number[];
    const recorded = journal.slice(0, kept).flatMap(({ site, value }) => (site?.anchor === "draw" ? [value] : []));
    // Whose ticket is recorded keeps it, and all others are new.
    for (const [index, ticket] of result.entries())
      expect([first[index], ...drawn], `ticket ${index} after ${kept} entries`).toContain(ticket);
    expect(new Set(result).size, `tickets after ${kept} entries`).toBe(result.length);
    expect(drawn.length).toBeLessThanOrEqual(first.length - recorded.length);
    drawn = [];
    const third = new Stepmark({ store: left.fork(id, (await left.entries(id)).length), workflows: [flow] });
    expect(await (await third.resume(id)).result()).toEqual(result);
    expect(drawn).toEqual([]);
  }
}

/** What a run came to at first, and on a resume; `isWhole`: from all of its entries. */
interface Resumed {
  first: number[];
  tickets: number[];
  isWhole: boolean;
}

/** No call gets another's ticket, whatever of the run is recorded; a resume may be refused with `code` before any body runs. */
async function everyPrefixOrRefused(flow: AnyWorkflow, code: string, check: (resumed: Resumed) => void): Promise<void> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [flow] });
  const first = (await (await app.start(flow, undefined, { id })).result()) as number[];
  const { length } = await store.entries(id);
  for (let kept = 0; kept <= length; kept++) {
    drawn = [];
    const second = new Stepmark({ store: store.fork(id, kept), workflows: [flow], grace: 50, drain: 20 });
    const result = await (await second.resume(id)).result().catch((error) => error.code);
    if (result === code) {
      expect(drawn).toEqual([]);
      continue;
    }
    const tickets = result as number[];
    for (const [index, ticket] of tickets.entries()) expect([first[index], ...drawn]).toContain(ticket);
    check({ first, tickets, isWhole: kept === length });
  }
}

describe("I3, B06: a function made in the workflow, called by code that is not transformed", () => {
  it.each<[string, AnyWorkflow]>([
    [
      "as a step's body, made by another function",
      workflow("factory", async () => {
        const make = (): (() => Promise<number>) => async () => step(draw);
        const body = make();
        return [await step(body), await step(body), await body(), await step(body)];
      }),
    ],
    [
      "as a step's body, made in another branch",
      workflow("branch", async () => {
        const [body] = await Promise.all([Promise.resolve().then(() => async () => step(draw))]);
        return [await step(body), await step(body), await step(body)];
      }),
    ],
    [
      "as the body of steps in branches at once",
      workflow("branches", async () => {
        const bodies = [1, 2].map(() => async () => step(draw));
        return (await Promise.all(bodies.map(async (body) => [await step(body), await step(body)]))).flat();
      }),
    ],
    [
      "by `then`, in bodies and outside",
      workflow("then", async () => {
        const take = async (): Promise<number> => step(draw);
        return [
          await step(async () => tick().then(take)),
          await tick().then(take),
          await step(() => tick().then(take)),
        ];
      }),
    ],
    [
      "by p-limit, in bodies and outside",
      workflow("limit", async () => {
        const limit = pLimit(1);
        const take = async (): Promise<number> => step(draw);
        return [await step(async () => limit(take)), await limit(take), await step(async () => limit(take))];
      }),
    ],
    [
      "by a retry helper that calls it again later",
      workflow("retry", async () => {
        let calls = 0;
        const take = async (): Promise<number> => {
          calls++;
          if (calls % 2 === 1) throw new Error("again");
          return step(draw);
        };
        return [await step(async () => retry(take)), await step(async () => retry(take))];
      }),
    ],
    [
      "several times in one body",
      workflow("scatter", async () => {
        const take = async (): Promise<number> => step(draw);
        const twice = await step(async () => scatter([1, 2], take));
        return [...twice, ...(await scatter([1, 2], take)), ...(await step(async () => scatter([1, 2], take)))];
      }),
    ],
    [
      "in a body that is inside another",
      workflow("nested", async () => {
        const take = async (): Promise<number> => step(draw);
        const inner = await step(async () => [
          await step(async () => tick().then(take)),
          await tick().then(take),
          await step(async () => tick().then(take)),
        ]);
        return [...inner, await tick().then(take)];
      }),
    ],
  ])("%s: each call has its own outcome", async (_name, flow) => {
    await everyPrefix(flow);
  });
});

describe("a limiter that bodies and branches share, which starts what waits when the body has its turn", () => {
  const slowly = async (turns: number): Promise<void> => {
    for (let i = 0; i < turns; i++) await tick();
  };

  it.each<[string, () => (task: () => Promise<unknown>) => Promise<unknown>]>([
    ["that is transformed", ownLimiter],
    ["that is not", () => limiter(1)],
    ["of p-limit", () => pLimit(1)],
  ])(
    "%s: nothing recorded is done twice, and no branch has another's outcome, or the run is refused",
    async (_, make) => {
      const flow = workflow("shared", async () => {
        const limit = make();
        const [, one, other] = await Promise.all([
          step(async () => {
            await limit(() => slowly(9));
            await slowly(9);
          }),
          step("first", draw).then((ticket) => limit(async () => [ticket, await step(draw)])),
          step("second", draw).then((ticket) => limit(async () => [ticket, await step(draw)])),
        ]);
        return [one, other].flat() as number[];
      });
      await everyPrefixOrRefused(flow, "DIVERGENCE", ({ isWhole }) => {
        if (isWhole) expect(drawn).toEqual([]);
      });
    },
  );
});

describe("I2: a limiter that bodies and branches share starts a function at once or later, as bodies have left it room", () => {
  const raw = async (turns: number): Promise<void> => {
    for (let i = 0; i < turns; i++) await tick();
  };
  const name = async (x: string): Promise<string> => {
    bodies.note(x);
    return x;
  };
  type Limit = <T>(task: () => Promise<T>) => Promise<T>;
  const shapes: Record<string, (limit: Limit) => Promise<unknown>> = {
    "with steps in the bodies' functions": (limit) =>
      Promise.all(["a", "b", "c"].map((x) => step(async () => limit(async () => step(name, x))))),
    "with bodies before and between the branches' functions": (limit) =>
      Promise.all(
        ["a", "b", "c"].map(async (x) => {
          await step("before", async () => limit(() => raw(3)));
          const y = await limit(async () => step(name, x));
          await step("between", async () => limit(() => raw(2)));
          return limit(async () => (await step(name, `${y}1`)) + (await step(name, `${y}2`)));
        }),
      ),
    "with functions that are entered again": (limit) =>
      Promise.all([
        step(async () => limit(() => raw(5))),
        ...["a", "b"].map(async (x) => {
          const take = async (): Promise<string> => step(name, x);
          return [await limit(take), await limit(async () => step(name, `${x}1`))];
        }),
      ]),
  };
  const limiters: Record<string, (most: number) => Limit> = { limiter, pLimit };

  it.each(
    Object.keys(shapes).flatMap((shape) =>
      Object.keys(limiters).flatMap((kind) => [1, 2].map((most) => [shape, kind, most] as const)),
    ),
  )("%s, by %s(%i): it has the key that is recorded", async (shape, kind, most) => {
    const flow = workflow(`${shape} ${kind} ${most}`, async () => shapes[shape]!(limiters[kind]!(most)));
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    const expected = await (await app.start(flow)).result();
    await replayFromEveryPrefix({ workflow: flow, expected, bodies });
  });
});

/** A limiter as people write it, at hand for the transformer. */
function ownLimiter(): <T>(task: () => Promise<T>) => Promise<T> {
  let isBusy = false;
  const waiting: Array<() => void> = [];
  return (task) =>
    new Promise((resolve, reject) => {
      const start = (): void => {
        isBusy = true;
        task()
          .then(resolve, reject)
          .finally(() => {
            isBusy = false;
            waiting.shift()?.();
          });
      };
      if (isBusy) waiting.push(start);
      else start();
    });
}

describe("a function that was given to a call where it was made, and is called on behalf of several bodies", () => {
  it.each<[string, AnyWorkflow]>([
    [
      "a data loader's",
      workflow("loader", async () => {
        const loader = new DataLoader(async (keys: readonly string[]) => {
          const ticket = await step(draw);
          return keys.map(() => ticket);
        });
        return [await step(async () => loader.load("a")), await step(async () => loader.load("b"))];
      }),
    ],
    [
      "a wrapped one",
      workflow("wrapped", async () => {
        const wrapped = new Bottleneck({ maxConcurrent: 1 }).wrap(async () => step(draw));
        return [await step(async () => wrapped()), await wrapped(), await step(async () => wrapped())];
      }),
    ],
  ])("%s: no body gets what another's has come to; where that cannot be told the run is refused", async (_, flow) => {
    await everyPrefixOrRefused(flow, "AMBIGUOUS_SCOPE", ({ first, tickets }) => {
      expect(new Set(tickets).size).toBe(first.length);
    });
  });
});
