/** Cases of the identity kind: what goes wrong when a step is known by its order, its name or its arguments. */
import { memoryStore, type Run, Stepmark, sleep, step, waitFor, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { die, Kill, rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
const result = (run: Promise<Run<unknown>>): Promise<unknown> => run.then((each) => each.result());

describe("identity", () => {
  it("B01: a step that calls a step, killed inside the second inner call", async () => {
    const kill = new Kill();
    const starts: string[] = [];
    const inner = async (x: string): Promise<string> => {
      starts.push(`inner:${x}`);
      if (x === "b") await kill.here();
      return x.toUpperCase();
    };
    const outer = (x: string): Promise<string> => {
      starts.push(`outer:${x}`);
      return step(inner, x);
    };
    const w = workflow("b01", async () => {
      const a = await step(outer, "a");
      const b = await step(outer, "b");
      return [a, b];
    });
    const store = memoryStore();
    const left = await die(store, kill, new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    expect(await result(new Stepmark({ store: left, workflows: [w] }).resume(id))).toEqual(["A", "B"]);
    expect(starts).toEqual(["outer:a", "inner:a", "outer:b", "inner:b", "outer:b", "inner:b"]);
  });

  it("B02: a nested workflow keeps a scope of its own in its parent's journal", async () => {
    const work = async (p: string): Promise<string> => {
      bodies.note(p);
      return `done:${p}`;
    };
    const kid = workflow("kid", async (p: string) => step(work, `${p}/0`));
    const parent = workflow("parent", async () => {
      const x = await step(work, "top");
      const y = await kid("kid");
      return [x, y];
    });
    await replayFromEveryPrefix({ workflow: parent, expected: ["done:top", "done:kid/0"], bodies });
  });

  it("B03: two branches through one helper, the first to come live is the second on replay", async () => {
    let order: string[] = [];
    let slow!: () => void;
    const shared = async (x: string): Promise<string> => {
      order.push(x);
      if (x === "B") slow();
      return `r:${x}`;
    };
    const pre = async (x: string): Promise<void> => {
      if (x !== "A") return;
      await new Promise<void>((resolve) => {
        slow = resolve;
      });
    };
    const helper = (x: string): Promise<string> => step(shared, x);
    const w = workflow("b03", async () =>
      Promise.all([
        (async () => {
          await step(pre, "A");
          return helper("A");
        })(),
        (async () => {
          await step(pre, "B1");
          await step(pre, "B2");
          return helper("B");
        })(),
      ]),
    );
    const store = memoryStore();
    expect(await result(new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }))).toEqual(["r:A", "r:B"]);
    expect(order).toEqual(["B", "A"]);
    order = [];
    const left = store.fork(id, (await store.entries(id)).length);
    expect(await result(new Stepmark({ store: left, workflows: [w] }).resume(id))).toEqual(["r:A", "r:B"]);
    expect(order).toEqual([]);
  });

  it("B04: map over a list, killed after render(B) and before render(A)", async () => {
    const kill = new Kill();
    const starts: string[] = [];
    let loadedB!: () => void;
    const b = new Promise<void>((resolve) => {
      loadedB = resolve;
    });
    const load = async (name: string): Promise<string> => {
      starts.push(`load:${name}`);
      if (name === "B") loadedB();
      else await b;
      return name;
    };
    const render = async (name: string): Promise<string> => {
      starts.push(`render:${name}`);
      if (name === "A") {
        await rest();
        await kill.here();
      }
      return `page:${name}`;
    };
    const w = workflow("b04", async (ids: string[]) =>
      Promise.all(
        ids.map(async (name) => {
          const raw = await step(load, name);
          return step(render, raw);
        }),
      ),
    );
    const store = memoryStore();
    const left = await die(store, kill, new Stepmark({ store, workflows: [w] }).start(w, ["A", "B"], { id }));
    expect(await result(new Stepmark({ store: left, workflows: [w] }).resume(id))).toEqual(["page:A", "page:B"]);
    const count = (label: string): number => starts.filter((each) => each === label).length;
    expect(["load:A", "load:B", "render:A", "render:B"].map(count)).toEqual([1, 1, 2, 1]);
  });

  it("B05: a polling loop with equal arguments, with and without a kill inside the third poll", async () => {
    for (const killed of [false, true]) {
      const kill = new Kill();
      let completed = 0;
      const poll = async (_job: string): Promise<number> => {
        if (killed && completed === 2) await kill.here();
        return ++completed;
      };
      const w = workflow("b05", async () => {
        const seen: number[] = [];
        for (let i = 0; i < 3; i++) {
          seen.push(await step(poll, "job-1"));
          await sleep(1);
        }
        return seen;
      });
      let store = memoryStore();
      const started = new Stepmark({ store, workflows: [w] }).start(w, undefined, { id });
      if (killed) store = await die(store, kill, started);
      const run = killed ? new Stepmark({ store, workflows: [w] }).resume(id) : started;
      expect(await result(run as Promise<Run<unknown>>)).toEqual([1, 2, 3]);
      expect(completed).toBe(3);
    }
  });

  it("B06: no arguments at all and an impure inner body", async () => {
    const kill = new Kill();
    let ticket = 0;
    const draw = async (): Promise<number> => {
      if (ticket === 1) await kill.here();
      return ++ticket;
    };
    const outer = (_label: string): Promise<number> => step(draw);
    const w = workflow("b06", async () => {
      const a = await step(outer, "x");
      const b = await step(outer, "y");
      return [a, b];
    });
    const store = memoryStore();
    const left = await die(store, kill, new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    expect(await result(new Stepmark({ store: left, workflows: [w] }).resume(id))).toEqual([1, 2]);
  });

  it("B07: identity needs no arguments, and checking them runs no user code", async () => {
    let spied = 0;
    class Spy {
      toJSON(): object {
        spied++;
        return {};
      }
    }
    const pre = async (slow: boolean): Promise<void> => (slow ? rest() : undefined);
    const sum = async (m: Map<string, number>): Promise<number> => {
      bodies.note();
      return [...m.values()].reduce((a, b) => a + b, 0);
    };
    const look = async (_: Spy): Promise<string> => {
      bodies.note();
      return "seen";
    };
    const branch = async (m: Map<string, number>, slow: boolean): Promise<number> => {
      await step(pre, slow);
      return step(sum, m);
    };
    const w = workflow("b07", async () => [
      ...(await Promise.all([branch(new Map([["k", 1]]), true), branch(new Map([["k", 2]]), false)])),
      await step(look, new Spy()),
    ]);
    await replayFromEveryPrefix({ workflow: w, expected: [1, 2, "seen"], bodies });
    expect(spied).toBe(0);
  });

  it("B08: one function at three sites, twice with equal arguments, runs three times", async () => {
    let calls = 0;
    const callModel = async (_: string): Promise<string> => `r${++calls}`;
    const w = workflow("b08", async () => {
      const plan = await step(callModel, "plan");
      const code = await step(callModel, "write");
      const again = await step(callModel, "write");
      return [plan, code, again];
    });
    const store = memoryStore();
    expect(await result(new Stepmark({ store, workflows: [w] }).start(w))).toEqual(["r1", "r2", "r3"]);
    expect(calls).toBe(3);
  });

  it("B09: thunks to one host, the second page landing first, killed before the third", async () => {
    const kill = new Kill();
    const fetched: number[] = [];
    let two!: () => void;
    const second = new Promise<void>((resolve) => {
      two = resolve;
    });
    const http = {
      async get(url: string): Promise<string> {
        const page = Number(url.split("=")[1]);
        fetched.push(page);
        if (page === 1) await second.then(rest);
        if (page === 2) two();
        if (page === 3) await kill.here();
        return `page${page}`;
      },
    };
    const get = (page: number): Promise<string> => step(() => http.get(`https://api.test/items?page=${page}`));
    const w = workflow("b09", async () => {
      const [p1, p2] = await Promise.all([get(1), get(2)]);
      const p3 = await get(3);
      return [p1, p2, p3];
    });
    const store = memoryStore();
    const left = await die(store, kill, new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    expect(await result(new Stepmark({ store: left, workflows: [w] }).resume(id))).toEqual(["page1", "page2", "page3"]);
    expect(fetched).toEqual([1, 2, 3, 3]);
  });

  it("B10: waits in a loop, each answered in a new process", async () => {
    const ran: string[] = [];
    const draft = async (doc: string): Promise<string> => {
      ran.push(`draft:${doc}`);
      return `draft:${doc}`;
    };
    const publish = async (doc: string): Promise<string> => {
      ran.push(`pub:${doc}`);
      return `pub:${doc}`;
    };
    const w = workflow("b10", async () => {
      const log: string[] = [];
      for (const doc of ["d1", "d2"]) {
        log.push(await step(draft, doc));
        log.push(await waitFor<string>("ok?"));
        log.push(await step(publish, doc));
      }
      return log;
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    await (await first.start(w, undefined, { id })).settled();
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [w] });
    const again = await second.resume(id);
    await second.answer(id, "ok?", "y1");
    expect((await again.settled()).waits.map(({ key }) => key)).toEqual(["b10/ok?@1"]);
    await second.shutdown();
    const third = new Stepmark({ store, workflows: [w] });
    const last = await third.resume(id);
    await third.answer(id, "ok?", "y2");
    expect(await last.result()).toEqual(["draft:d1", "y1", "pub:d1", "draft:d2", "y2", "pub:d2"]);
    expect(ran).toEqual(["draft:d1", "pub:d1", "draft:d2", "pub:d2"]);
    const keys = (await store.entries(id)).filter(({ state }) => state === "done").map(({ key }) => key);
    expect(new Set(keys).size).toBe(6);
  });

  it("B12: a sleep whose duration is worked out from the clock does not start over", async () => {
    let after = 0;
    const start = 1_000_000;
    const getWake = async (): Promise<number> => start + 60_000;
    const w = (clock: FakeClock) =>
      workflow("b12", async () => {
        const wake = await step(getWake);
        await sleep(wake - (await step(async () => start)));
        await sleep(wake + 60_000 - clock.now());
        return step(async () => ++after);
      });
    const store = memoryStore();
    const firstClock = new FakeClock(start);
    const first = w(firstClock);
    await new Stepmark({ store, workflows: [first], clock: firstClock }).start(first, undefined, { id });
    await firstClock.advance(90_000);
    const left = store.fork(id);
    const secondClock = new FakeClock(start + 90_000);
    const second = w(secondClock);
    const run = await new Stepmark({ store: left, workflows: [second], clock: secondClock }).resume(id);
    await secondClock.advance(29_999);
    expect(after).toBe(0);
    await secondClock.advance(1);
    expect(await run.result()).toBe(1);
    const timers = (await left.entries(id)).filter(({ kind, state }) => kind === "timer" && state === "open");
    expect(timers).toHaveLength(2);
  });

  it("B13: two timers through one site keep their own times", async () => {
    let order: string[] = [];
    const clock = new FakeClock();
    const pre = async (tag: string): Promise<void> => {
      if (tag === "slow") await rest();
    };
    const nap = (ms: number): Promise<void> => sleep(ms);
    const br = async (hops: number, ms: number, tag: string): Promise<string> => {
      for (let i = 0; i < hops; i++) await step(pre, tag);
      await nap(ms);
      order.push(tag);
      return tag;
    };
    const w = workflow("b13", async () => Promise.all([br(1, 60_000, "slow"), br(2, 1_000, "fast")]));
    const store = memoryStore();
    await new Stepmark({ store, workflows: [w], clock }).start(w, undefined, { id });
    await clock.advance(0);
    await rest();
    expect((await store.entries(id)).filter(({ state }) => state === "open")).toHaveLength(2);
    order = [];
    const again = new FakeClock();
    const run = await new Stepmark({ store: store.fork(id), workflows: [w], clock: again }).resume(id);
    await again.advance(1_000);
    expect(order).toEqual(["fast"]);
    await again.advance(59_000);
    expect(order).toEqual(["fast", "slow"]);
    expect(await run.result()).toEqual(["slow", "fast"]);
  });

  it("B15: an unstable explicit key runs again and leaves one orphan; it is never matched by position", async () => {
    let ran = 0;
    const work = async (): Promise<number> => ++ran;
    const make = (key: string) =>
      workflow("b15", async () => {
        const a = await step({ key }, work);
        await sleep(1);
        return a;
      });
    const store = memoryStore();
    const first = make("k-1");
    await result(new Stepmark({ store, workflows: [first] }).start(first, undefined, { id }));
    const left = store.fork(id, 1);
    const second = make("k-2");
    const app = new Stepmark({ store: left, workflows: [second], grace: 5 });
    const run = await app.resume(id, { divergence: "continue" });
    expect(await run.result()).toBe(2);
    expect((await app.get(id)).orphans).toEqual(["b15/work#k-1"]);
  });

  it("B16: another input under the same id is refused; the same input is the same run", async () => {
    let answers = 0;
    const answer = async (q: string): Promise<string> => `${q}:${++answers}`;
    const w = workflow("b16", async (q: string) => {
      const a = await step(answer, q);
      return a;
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [w] });
    expect(await result(app.start(w, "q1", { id: "id1" }))).toBe("q1:1");
    await expect(app.start(w, "q2", { id: "id1" })).rejects.toMatchObject({ code: "RUN_EXISTS", runId: "id1" });
    expect(await result(app.start(w, "q1", { id: "id1" }))).toBe("q1:1");
  });

  it("B17: a pool that starts a waiting task in the context of the one that ended", async () => {
    const pool = (most: number) => {
      let active = 0;
      const queue: Array<() => void> = [];
      return <T>(fn: () => Promise<T>): Promise<T> =>
        new Promise<T>((resolve, reject) => {
          const start = (): void => {
            active++;
            fn()
              .then(resolve, reject)
              .finally(() => {
                active--;
                queue.shift()?.();
              });
          };
          if (active < most) start();
          else queue.push(start);
        });
    };
    const open = async (n: number): Promise<void> => bodies.note(`open:${n}`);
    const load = async (n: number): Promise<void> => bodies.note(`load:${n}`);
    const save = async (n: number): Promise<string> => {
      bodies.note(`save:${n}`);
      return `s${n}`;
    };
    const w = workflow("b17", async () => {
      const limit = pool(2);
      const one = async (n: number): Promise<string> => {
        await step(open, n);
        return limit(async () => {
          await step(load, n);
          return step(save, n);
        });
      };
      return Promise.all([1, 2, 3, 4].map(one));
    });
    const store = await replayFromEveryPrefix({ workflow: w, expected: ["s1", "s2", "s3", "s4"], bodies });
    const keys = (await store.entries(id)).map(({ key }) => key);
    for (const [branch, place] of ["b17/map()", "b17/map()[1]", "b17/map()[2]", "b17/map()[3]"].entries()) {
      const own = keys.filter((key) => key === `${place}/open` || key.startsWith(`${place}/limit()`));
      expect(own, `branch ${branch + 1}`).toHaveLength(3);
    }
  });
});
