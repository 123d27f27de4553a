/** Scenarios B: concurrent branches through one helper, in every order and from every prefix. */
import { memoryStore, Stepmark, step, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";
import { Schedule, seeded } from "../support/schedule.js";

const bodies = new Bodies();

interface Gate {
  promise: Promise<void>;
  open(): void;
}

function gate(): Gate {
  let open!: () => void;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe("B1, B2, B3: a branch that comes first live and second on replay", () => {
  // Branch A waits for a slow predecessor; branch B only for its start. B's shared step lets the predecessor end.
  let gates = { started: gate(), released: gate(), sharedA: gate() };
  /** On replay the gates are open, but branch B notices only after A has gone on. */
  const openLate = (): void => {
    const started = gate();
    gates = { ...gates, started };
    void rest().then(started.open);
  };
  const predecessor = async (label: string): Promise<string> => {
    bodies.note(`predecessor:${label}`);
    gates.started.open();
    await gates.released.promise;
    return label;
  };
  const shared = async (label: string): Promise<string> => {
    bodies.note(`shared:${label}`);
    if (label === "B") {
      gates.released.open();
      await gates.sharedA.promise;
    } else gates.sharedA.open();
    return `result:${label}`;
  };
  const helper = (label: string): Promise<string> => step(shared, label);
  let ticket = 0;
  const draw = async (): Promise<number> => {
    bodies.note("draw");
    return ++ticket;
  };
  const drawHelper = (): Promise<number> => step(draw);

  const direct = workflow("direct", async () =>
    Promise.all([
      (async () => {
        await step(predecessor, "A");
        return step(shared, "A");
      })(),
      (async () => {
        await gates.started.promise;
        return step(shared, "B");
      })(),
    ]),
  );
  const throughHelper = workflow("through-helper", async () =>
    Promise.all([
      (async () => {
        await step(predecessor, "A");
        return helper("A");
      })(),
      (async () => {
        await gates.started.promise;
        return helper("B");
      })(),
    ]),
  );

  for (const flow of [direct, throughHelper]) {
    it(`B1, B3: the finished run of ${flow.workflowName} replays with each result in its own branch`, async () => {
      gates = { started: gate(), released: gate(), sharedA: gate() };
      const store = memoryStore();
      bodies.reset();
      const app = new Stepmark({ store, workflows: [flow] });
      expect(await (await app.start(flow, undefined, { id: "run" })).result()).toEqual(["result:A", "result:B"]);
      expect(bodies.labels.filter((label) => label.startsWith("shared"))).toEqual(["shared:B", "shared:A"]);
      bodies.reset();
      openLate();
      const resumed = new Stepmark({ store: store.fork("run", 3), workflows: [flow] });
      expect(await (await resumed.resume("run")).result()).toEqual(["result:A", "result:B"]);
      expect(bodies.labels).toEqual([]);
    });

    it(`B2: with one of the two entries of ${flow.workflowName} it goes to its own branch and the other runs`, async () => {
      gates = { started: gate(), released: gate(), sharedA: gate() };
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow] });
      await (await app.start(flow, undefined, { id: "run" })).result();
      bodies.reset();
      // The journal holds the predecessor and shared(A); the gates are open, as they are in this same process.
      openLate();
      const resumed = new Stepmark({ store: store.fork("run", 2), workflows: [flow] });
      expect(await (await resumed.resume("run")).result()).toEqual(["result:A", "result:B"]);
      expect(bodies.labels).toEqual(["shared:B"]);
    });
  }

  it("B3: equal arguments and a body that is not deterministic: each branch keeps its own result", async () => {
    const flow = workflow("draws", async () =>
      Promise.all([
        (async () => {
          await step(predecessor, "A");
          return drawHelper();
        })(),
        (async () => {
          await gates.started.promise;
          const mine = await drawHelper();
          gates.released.open();
          return mine;
        })(),
      ]),
    );
    gates = { started: gate(), released: gate(), sharedA: gate() };
    ticket = 0;
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    expect(await (await app.start(flow, undefined, { id: "run" })).result()).toEqual([2, 1]);
    for (const kept of [1, 2, 3]) {
      ticket = 10;
      openLate();
      const resumed = new Stepmark({ store: store.fork("run", kept), workflows: [flow] });
      const expected = { 1: [11, 1], 2: [11, 1], 3: [2, 1] }[kept];
      expect(await (await resumed.resume("run")).result(), `after ${kept} entries`).toEqual(expected);
    }
  });
});

describe("B4-B9: any completion order, a crash after every entry", () => {
  let schedule = new Schedule(0);
  const body =
    (name: string) =>
    async (item: unknown): Promise<string> => {
      bodies.note(`${name}:${item}`);
      await schedule.turn();
      return `${name}(${item})`;
    };
  const load = body("load");
  const render = body("render");
  const work = body("work");

  const pages = workflow("pages", async (items: string[]) =>
    Promise.all(items.map(async (item) => step(render, await step(load, item)))),
  );

  it("B4: a hundred seeded schedules of five items", async () => {
    const items = ["a", "b", "c", "d", "e"];
    for (let seed = 1; seed <= 100; seed++) {
      await replayFromEveryPrefix({
        workflow: pages,
        input: items,
        expected: items.map((item) => `render(load(${item}))`),
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  });

  interface Node {
    name: string;
    children: Node[];
  }
  const tree = (name: string, depth: number): Node => ({
    name,
    children: depth === 0 ? [] : [0, 1, 2].slice(0, 1 + (depth % 3)).map((i) => tree(`${name}${i}`, depth - 1)),
  });
  const walk = async (node: Node): Promise<unknown> => [
    await step(work, node.name),
    await Promise.all(node.children.map(walk)),
  ];
  const expectedTree = (node: Node): unknown => [`work(${node.name})`, node.children.map(expectedTree)];

  it("B5: recursion with fan-out through one site", async () => {
    const flow = workflow("tree", async (root: Node) => walk(root));
    const root = tree("n", 3);
    for (let seed = 1; seed <= 20; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        input: root,
        expected: expectedTree(root),
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  });

  it("B6: two workers pull from one shared queue, a hundred seeded schedules", async () => {
    const flow = workflow("queue", async (jobs: string[]) => {
      const queue = [...jobs];
      const results: Record<string, string> = {};
      const worker = async (): Promise<void> => {
        for (let job = queue.shift(); job !== undefined; job = queue.shift()) results[job] = await step(work, job);
      };
      await Promise.all([worker(), worker()]);
      return results;
    });
    const jobs = ["j1", "j2", "j3", "j4", "j5"];
    for (let seed = 1; seed <= 100; seed++) {
      await replayFromEveryPrefix({
        workflow: flow,
        input: jobs,
        expected: Object.fromEntries(jobs.map((job) => [job, `work(${job})`])),
        bodies,
        prepare: () => {
          schedule = new Schedule(seed);
        },
      });
    }
  });

  it("B7: the live winner of a race wins again, a hundred seeded schedules", async () => {
    const after = body("after");
    const flow = workflow("race", async () => {
      const winner = await Promise.race([step(load, "slow"), step(load, "fast"), step(load, "third")]);
      return [winner, await step(after, winner)];
    });
    const winners = new Set<string>();
    for (let seed = 1; seed <= 100; seed++) {
      schedule = new Schedule(seed);
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow] });
      const live = (await (await app.start(flow, undefined, { id: "run" })).result()) as string[];
      winners.add(live[0]!);
      const { length } = await store.entries("run");
      for (let kept = 1; kept <= length; kept++) {
        schedule = new Schedule(seed + 1000);
        bodies.reset();
        const resumed = new Stepmark({ store: store.fork("run", kept), workflows: [flow] });
        expect(await (await resumed.resume("run")).result(), `seed ${seed}, after ${kept} entries`).toEqual(live);
      }
    }
    expect(winners.size).toBe(3);
  });

  it("B8: the first three of five are the same three, in the same order", async () => {
    const flow = workflow("first-three", async () => {
      const done: string[] = [];
      await new Promise<void>((resolve) => {
        for (const name of ["a", "b", "c", "d", "e"]) {
          void step(work, name).then((result) => {
            if (done.push(result) === 3) resolve();
          });
        }
      });
      return [...done];
    });
    for (let seed = 1; seed <= 30; seed++) {
      schedule = new Schedule(seed);
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [flow] });
      const live = await (await app.start(flow, undefined, { id: "run" })).result();
      const { length } = await store.entries("run");
      for (let kept = 3; kept <= length; kept++) {
        schedule = new Schedule(seed + 1000);
        const resumed = new Stepmark({ store: store.fork("run", kept), workflows: [flow] });
        expect(await (await resumed.resume("run")).result(), `seed ${seed}, after ${kept} entries`).toEqual(live);
      }
    }
  });

  /** A limiter that does not bind the async context: a waiting task starts in the context of the one that ended. */
  function limiter(most: number): <T>(task: () => Promise<T>) => Promise<T> {
    let running = 0;
    const waiting: Array<() => void> = [];
    const next = (): void => {
      running--;
      waiting.shift()?.();
    };
    return (task) =>
      new Promise((resolve, reject) => {
        const start = (): void => {
          running++;
          task().then(resolve, reject).finally(next);
        };
        if (running < most) start();
        else waiting.push(start);
      });
  }

  for (const most of [1, 2]) {
    it(`B9: a limiter of ${most} around closures`, async () => {
      const flow = workflow("limited", async (items: string[]) => {
        const limit = limiter(most);
        return Promise.all(
          items.map(async (item) => {
            const loaded = await step(load, item);
            return limit(async () => step(render, await step(work, loaded)));
          }),
        );
      });
      const items = ["a", "b", "c", "d"];
      const random = seeded(most);
      for (let round = 0; round < 30; round++) {
        const seed = Math.floor(random() * 1e9);
        await replayFromEveryPrefix({
          workflow: flow,
          input: items,
          expected: items.map((item) => `render(work(load(${item})))`),
          bodies,
          prepare: () => {
            schedule = new Schedule(seed);
          },
        });
      }
    });
  }
});
