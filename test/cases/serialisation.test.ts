/** Cases of the serialisation kind: what the code receives is the recorded value, on every pass the same. */
import assert from "node:assert";
import { codec, memoryStore, type Run, Stepmark, type Store, sleep, step, waitFor, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
const result = (run: Promise<Run<unknown>>): Promise<unknown> => run.then((each) => each.result());

describe("serialisation", () => {
  it("B49: a wide value is the same live and resumed, prototypes included", async () => {
    const wide = async () => ({
      d: new Date(0),
      u: undefined,
      n: Number.NaN,
      z: -0,
      i: Number.POSITIVE_INFINITY,
      big: 10n,
      m: new Map([[{ a: 1 }, new Set([1])]]),
      re: /x/gi,
      url: new URL("https://a.test/"),
      b: new Uint8Array([1, 2]),
      // biome-ignore lint/suspicious/noSparseArray: holes are kept
      hole: [1, , 3],
    });
    const w = workflow("b49", async () => {
      const v = await step(wide);
      return v;
    });
    const store = memoryStore();
    const live = await result(new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    const resumed = await result(new Stepmark({ store: store.fork(id, 1), workflows: [w] }).resume(id));
    assert.deepStrictEqual(live, await wide());
    assert.deepStrictEqual(resumed, live);
  });

  it("B51: each resume has an object of its own; two awaits of one step share it", async () => {
    const w = workflow("b51", async () => {
      const p = step(async () => ({ n: 0, xs: [1] }));
      const a = await p;
      a.n++;
      a.xs.push(2);
      const b = await p;
      await waitFor("go");
      return [b.n, b.xs.length];
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    await (await first.start(w, undefined, { id })).settled();
    for (let resume = 0; resume < 3; resume++) {
      const app = new Stepmark({ store: store.fork(id), workflows: [w] });
      const run = await app.resume(id);
      await app.answer(id, "go", null);
      expect(await run.result()).toEqual([1, 2]);
    }
  });

  it("B52: undefined, null and nothing are recorded as themselves", async () => {
    const body = (value: undefined | null) => async () => {
      bodies.note();
      return value;
    };
    const w = workflow("b52", async () => {
      const a = await step(body(undefined));
      const b = await step(body(null));
      const c = await step(async () => bodies.note());
      return [a === undefined, b === null, c === undefined];
    });
    await replayFromEveryPrefix({ workflow: w, expected: [true, true, true], bodies });
  });

  it("B53: false, zero and the empty string do not disappear", async () => {
    const w = workflow("b53", async () => {
      const f = await step(async () => {
        bodies.note();
        return { ok: false, n: 0, s: "", x: null, u: undefined };
      });
      const bare = [
        await step(async () => {
          bodies.note();
          return false;
        }),
        await step(async () => {
          bodies.note();
          return 0;
        }),
        await step(async () => {
          bodies.note();
          return "";
        }),
      ];
      return [f, bare, "u" in f];
    });
    const expected = [{ ok: false, n: 0, s: "", x: null, u: undefined }, [false, 0, ""], true];
    await replayFromEveryPrefix({ workflow: w, expected, bodies });
  });

  it("B54: a Date is a Date on every pass", async () => {
    const w = workflow("b54", async () => {
      const at: Date = await step(async () => {
        bodies.note();
        return new Date(60_000);
      });
      return new Date(at.getTime()).toISOString();
    });
    await replayFromEveryPrefix({ workflow: w, expected: "1970-01-01T00:01:00.000Z", bodies });
  });

  it("B54: a sleep until a recorded Date goes on after a kill in the middle", async () => {
    const w = workflow("b54-sleep", async () => {
      const at: Date = await step(async () => new Date(60_000));
      await sleep(at.getTime() - 30_000);
      return at.toISOString();
    });
    const store = memoryStore();
    const clock = new FakeClock();
    await new Stepmark({ store, workflows: [w], clock }).start(w, undefined, { id });
    await clock.advance(20_000);
    const later = new FakeClock(20_000);
    const app = new Stepmark({ store: store.fork(id), workflows: [w], clock: later });
    const run = await app.resume(id);
    await later.advance(9_999);
    expect((await app.get(id)).status).not.toBe("completed");
    await later.advance(1);
    expect(await run.result()).toBe("1970-01-01T00:01:00.000Z");
  });

  it("B56: an error's class, cause and stack are the same live and resumed", async () => {
    const boom = async (): Promise<never> => {
      bodies.note();
      throw new TypeError("t", { cause: Object.assign(new Error("c"), { code: "E1" }) });
    };
    const many = async (): Promise<never> => {
      bodies.note();
      throw new AggregateError([new RangeError("r"), "plain"], "many");
    };
    const throwing = (value: unknown) => async (): Promise<never> => {
      bodies.note();
      throw value;
    };
    const w = workflow("b56", async () => {
      const seen: unknown[] = [];
      try {
        await step(boom);
      } catch (e) {
        const c = (e as Error).cause as { code?: string };
        seen.push((e as Error).name, (e as Error).message, c.code, e instanceof TypeError, typeof (e as Error).stack);
      }
      try {
        await step(many);
      } catch (e) {
        const { errors } = e as AggregateError;
        seen.push(errors[0] instanceof RangeError, errors[0].message, errors[1]);
      }
      for (const value of ["text", undefined]) {
        try {
          await step(throwing(value));
        } catch (e) {
          seen.push(e);
        }
      }
      return seen;
    });
    const expected = ["TypeError", "t", "E1", true, "string", true, "r", "plain", "text", undefined];
    await replayFromEveryPrefix({ workflow: w, expected, bodies });
  });

  it("B58: what cannot be kept fails at its step, once, with the path; a cycle round-trips", async () => {
    let ran = 0;
    const unkept: Array<[string, () => unknown, string]> = [
      ["a function", () => ({ list: [() => {}] }), "$.list[0]"],
      ["a symbol", () => ({ s: Symbol("x") }), "$.s"],
      ["a promise that stays pending", () => ({ p: new Promise(() => {}) }), "$.p"],
      ["an unregistered class", () => ({ at: [new (class Point {})()] }), "$.at[0]"],
    ];
    for (const [what, make, path] of unkept) {
      ran = 0;
      const w = workflow("b58", async () => {
        try {
          return await step({ retries: 3, backoff: 0 }, async () => {
            ran++;
            return make();
          });
        } catch (e) {
          return [(e as Error).name, (e as Error & { path: string }).path, (e as Error).message];
        }
      });
      const [name, at, message] = (await result(
        new Stepmark({ store: memoryStore(), workflows: [w] }).start(w),
      )) as string[];
      expect([name, at, ran], what).toEqual(["SerialisationError", path, 1]);
      expect(message).toMatch(/b58\/step.*test\/cases\/serialisation\.test\.ts:\d+/);
    }
    const cyclic = workflow("b58-ring", async () => {
      const ring = await step(async () => {
        const r: Record<string, unknown> = {};
        r.self = r;
        return r;
      });
      return ring.self === ring;
    });
    expect(await result(new Stepmark({ store: memoryStore(), workflows: [cyclic] }).start(cyclic))).toBe(true);
    const big = workflow("b58-big", async () => {
      ran = 0;
      return step({ retries: 3, backoff: 0 }, async () => {
        ran++;
        return "x".repeat(5_000_000);
      });
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [big], codec: codec({ maxBytes: 1_000_000 }) });
    await expect(result(app.start(big))).rejects.toMatchObject({ name: "SerialisationError" });
    expect(ran).toBe(1);
  });

  it("B59: a record that cannot be read ends the resume with the run, the site and the tag; no body runs again", async () => {
    class Point {
      constructor(
        readonly x: number,
        readonly y: number,
      ) {}
    }
    let ran = 0;
    const w = workflow("b59", async () => {
      const p = await step(async () => {
        ran++;
        return new Point(1, 2);
      });
      await waitFor("go");
      return p.x + p.y;
    });
    const store = memoryStore();
    const knowing = codec({ classes: [Point] });
    const first = new Stepmark({ store, workflows: [w], codec: knowing });
    await (await first.start(w, undefined, { id })).settled();
    await first.shutdown();
    const app = new Stepmark({ store, workflows: [w] });
    const run = await app.resume(id);
    await expect(run.result()).rejects.toMatchObject({
      code: "DECODE",
      runId: id,
      key: "b59/step",
      at: expect.stringMatching(/serialisation\.test\.ts:\d+$/),
      message: expect.stringContaining("Point"),
    });
    expect(ran).toBe(1);
    await app.shutdown();
    const again = new Stepmark({ store, workflows: [w], codec: knowing });
    const resumed = await again.resume(id);
    await again.answer(id, "go", null);
    expect(await resumed.result()).toBe(3);
    expect(ran).toBe(1);
  });

  it("B59: an entry that lost its last bytes ends the resume with the run and the site; no body runs again", async () => {
    let ran = 0;
    const w = workflow("b59-cut", async () => {
      const list = await step(async () => [++ran, 2, 3]);
      return [list, await step(async () => ++ran)];
    });
    const store = memoryStore();
    await result(new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    const left = store.fork(id, 1);
    const cut = Object.assign(Object.create(left) as Store, {
      entries: async (...args: Parameters<Store["entries"]>) =>
        (await left.entries(...args)).map((entry) => ({ ...entry, value: entry.value!.slice(0, -3) })),
    });
    await expect(result(new Stepmark({ store: cut, workflows: [w] }).resume(id))).rejects.toMatchObject({
      code: "DECODE",
      runId: id,
      key: "b59-cut/step",
      at: expect.stringMatching(/serialisation\.test\.ts:\d+$/),
    });
    expect(ran).toBe(2);
  });

  it("B59: what an app cannot read of a run hides nothing else: it can list, look at and answer it", async () => {
    class Money {
      constructor(readonly cents: number) {}
    }
    const asks = workflow("b59-asks", async () => {
      const sum = await waitFor<number>("sum", { payload: new Money(5) });
      return new Money(sum);
    });
    const store = memoryStore();
    const worker = new Stepmark({ store, workflows: [asks], codec: codec({ classes: [Money] }) });
    const run = await worker.start(asks, undefined, { id });
    await run.settled();
    const desk = new Stepmark({ store });
    const unreadable = expect.objectContaining({
      code: "DECODE",
      message: expect.stringMatching(/"Money".*run "run"/),
    });
    const [wait] = (await desk.get(id)).waits;
    expect(wait).toMatchObject({ name: "sum", key: "b59-asks/sum" });
    expect(() => wait!.payload).toThrow(unreadable);
    await desk.answer(id, "sum", 7);
    expect(await run.result()).toEqual(new Money(7));
    const [info] = await desk.list();
    expect(info).toMatchObject({ id, status: "completed" });
    expect(JSON.parse(JSON.stringify(info))).not.toHaveProperty("output");
    expect(() => info!.output).toThrow(unreadable);
  });

  it("I3, §6: what a body changes after it returned changes nothing", async () => {
    const kept: number[][] = [];
    const w = workflow("late", async () => {
      const list = await step(async () => {
        const own = [1];
        kept.push(own);
        return own;
      });
      return list;
    });
    const run = await new Stepmark({ store: memoryStore(), workflows: [w] }).start(w);
    while (kept.length === 0) await new Promise((resolve) => setImmediate(resolve));
    kept[0]!.push(2);
    expect(await run.result()).toEqual([1]);
  });
});
