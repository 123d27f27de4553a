/** Cases of the ordering, durability and concurrency-control kinds. */
import { codec, memoryStore, now, type Run, Stepmark, sleep, step, waitFor, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { die, Kill, rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
const result = (run: Promise<Run<unknown>>): Promise<unknown> => run.then((each) => each.result());

describe("ordering", () => {
  for (const combine of ["race", "any"] as const) {
    it(`B24: the loser of a Promise.${combine} is stored too; the winner wins again`, async () => {
      const kill = new Kill();
      const starts: string[] = [];
      let finishSlow!: () => void;
      const slow = async (): Promise<string> => {
        starts.push("slow");
        await new Promise<void>((resolve) => {
          finishSlow = resolve;
        });
        return "slow";
      };
      const fast = async (): Promise<string> => {
        starts.push("fast");
        return "fast";
      };
      const meanwhile = async (): Promise<void> => {
        finishSlow?.();
        await rest();
        await kill.here();
      };
      const w = workflow("b24", async () => {
        const first = await Promise[combine]([step(slow), step(fast)]);
        await step(meanwhile);
        return first;
      });
      const store = memoryStore();
      const left = await die(store, kill, new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
      expect((await left.entries(id)).map(({ key }) => key)).toEqual(["b24/fast", "b24/slow"]);
      for (let resume = 0; resume < 2; resume++) {
        expect(await result(new Stepmark({ store: left.fork(id), workflows: [w] }).resume(id))).toBe("fast");
      }
      expect(starts).toEqual(["slow", "fast"]);
    });
  }

  it("B23: a codec that takes longer the first time changes neither keys nor the order of delivery", async () => {
    let finish!: () => void;
    const load = async (): Promise<string> => "big";
    const useBig = async (n: number): Promise<string> => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return `big:${n}`;
    };
    const useTimer = async (): Promise<string> => "timer";
    let delivered: string[] = [];
    const w = workflow("b23", async () =>
      Promise.all([
        (async () => {
          const big = await step(load);
          delivered.push("load");
          return step(useBig, big.length);
        })(),
        (async () => {
          await sleep(5);
          delivered.push("timer");
          return step(useTimer);
        })(),
      ]),
    );
    const store = memoryStore();
    const clock = new FakeClock();
    const live = await new Stepmark({ store, workflows: [w], clock }).start(w, undefined, { id });
    await clock.advance(5);
    finish();
    expect(await live.result()).toEqual(["big:3", "timer"]);
    const journal = await store.entries(id);
    const keys = journal.map(({ key, state }) => `${key} ${state}`);
    expect(keys.slice(1, 3)).toEqual(["b23/fn()/load done", "b23/fn~1()/sleep done"]);
    for (const cost of [0, 1, 5, 16]) {
      const plain = codec();
      const known = new Set<string>();
      let spent = 0;
      const slow = {
        encode: plain.encode,
        decode: (text: string): unknown => {
          // The first time a value is read takes so long that timers fall due meanwhile.
          if (!known.has(text)) spent += cost;
          known.add(text);
          return plain.decode(text);
        },
      };
      for (const pass of ["cold", "warm"]) {
        const inner = new FakeClock(5);
        const drifting = { now: () => inner.now() + spent, after: inner.after.bind(inner) };
        const left = store.fork(id, 3);
        delivered = [];
        const app = new Stepmark({ store: left, workflows: [w], clock: drifting, codec: slow });
        const run = await app.resume(id);
        await rest();
        finish();
        expect(await run.result(), `${pass}, ${cost} ms`).toEqual(["big:3", "timer"]);
        expect(delivered).toEqual(["load", "timer"]);
        expect((await left.entries(id)).map(({ key, state }) => `${key} ${state}`)).toEqual(keys);
      }
    }
  });

  it("B27: a timer raced with an event in a loop; the abandoned timer delays nothing", async () => {
    const clock = new FakeClock();
    let pops = 0;
    const pop = async (): Promise<string> => (++pops === 1 ? "empty" : "j1");
    const w = workflow("b27", async () => {
      for (;;) {
        const job = await step(pop);
        if (job !== "empty") return job;
        await Promise.race([sleep(3_600_000), waitFor("wake")]);
      }
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w], clock });
    await (await first.start(w, undefined, { id })).settled();
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [w], clock });
    const run = await second.resume(id);
    await second.answer(id, "wake", null);
    expect(await run.result()).toBe("j1");
    expect(pops).toBe(2);
    // Killed at any time after the answer, with the first timer still set: its outcome is not served to the next round.
    const journal = await store.entries(id);
    const answered = journal.findIndex(({ kind, state }) => kind === "wait" && state === "done") + 1;
    for (let kept = answered; kept <= journal.length; kept++) {
      pops = 1;
      const app = new Stepmark({ store: store.fork(id, kept), workflows: [w], clock });
      expect(await result(app.resume(id)), `after ${kept} entries`).toBe("j1");
      expect(pops).toBe(kept === journal.length ? 1 : 2);
    }
  });

  it("B29: time that decides a branch is read from the record", async () => {
    const ran: string[] = [];
    const start = 1_000;
    const make = () =>
      workflow("b29", async (cutoff: number) => {
        await Promise.race([step(async () => "fast"), waitFor("x")]);
        const early = (await now()) < cutoff;
        await sleep(early ? 120_000 : 180_000);
        return early ? step(async () => ran.push("before")) : step(async () => ran.push("after"));
      });
    const store = memoryStore();
    const clock = new FakeClock(start);
    const first = make();
    await new Stepmark({ store, workflows: [first], clock }).start(first, 5_000, { id });
    await clock.advance(60_000);
    const later = new FakeClock(start + 60_000);
    const second = make();
    const run = await new Stepmark({ store: store.fork(id), workflows: [second], clock: later }).resume(id);
    await later.advance(60_000);
    expect(await run.result()).toBe(1);
    expect(ran).toEqual(["before"]);
  });

  it("B31, I7: a step pending when the workflow returns is drained and recorded before the run closes", async () => {
    const writeAudit = async (): Promise<string> => {
      bodies.note("audit");
      await rest();
      return "audited";
    };
    const main = async (): Promise<string> => {
      bodies.note("main");
      return "main";
    };
    const w = workflow("b31", async (skip: boolean) => {
      const audit = step(writeAudit);
      if (skip) return "skipped";
      return [await audit, await step(main)];
    });
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [w] });
    bodies.reset();
    expect(await result(app.start(w, true, { id }))).toBe("skipped");
    expect((await store.entries(id)).map(({ key, state }) => [key, state])).toEqual([["b31/writeAudit", "done"]]);
    expect(bodies.labels).toEqual(["audit"]);
    expect(await result(new Stepmark({ store, workflows: [w] }).resume(id))).toBe("skipped");
    expect(bodies.labels).toEqual(["audit"]);
    await replayFromEveryPrefix({ workflow: w, input: false, expected: ["audited", "main"], bodies });
  });

  it("B32: the run closes after the step that nobody awaits", async () => {
    let longDone = false;
    const w = workflow("b32", async () => {
      void step(async () => {
        await rest();
        longDone = true;
      });
      return step("quick", async () => "q");
    });
    const store = memoryStore();
    expect(await result(new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }))).toBe("q");
    expect(longDone).toBe(true);
    expect(await store.entries(id)).toHaveLength(2);
    // Cut after the quick one: the long one is done again, and again before the run closes.
    longDone = false;
    const left = store.fork(id, 1);
    expect(await result(new Stepmark({ store: left, workflows: [w] }).resume(id))).toBe("q");
    expect(longDone).toBe(true);
    expect(await left.entries(id)).toHaveLength(2);
  });

  it("B34: a parallel step that rejects while another is awaited raises no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listen);
    const failsFast = async (): Promise<never> => {
      bodies.note("fails");
      throw new Error("boom");
    };
    const slowOk = async (): Promise<string> => {
      bodies.note("slow");
      await rest();
      return "ok";
    };
    const caught = workflow("b34", async () => {
      const a = step(failsFast);
      const b = step(slowOk);
      const y = await b;
      try {
        await a;
      } catch (e) {
        return [y, (e as Error).message];
      }
      return null;
    });
    await replayFromEveryPrefix({ workflow: caught, expected: ["ok", "boom"], bodies });
    const failing = workflow("b34-fails", async () => {
      const a = step(failsFast);
      const b = step(slowOk);
      return [await b, await a];
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [failing] });
    await expect(result(app.start(failing, undefined, { id }))).rejects.toThrow("boom");
    const failed = (await app.entries(id)).find(({ state }) => state === "failed")!;
    expect(failed).toMatchObject({
      key: "b34-fails/failsFast",
      site: { module: expect.stringMatching(/^test\/cases\//) },
    });
    await rest();
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });

  for (const when of ["before the timer", "after the timer", "across a restart"] as const) {
    it(`B36: a wait and a timer at once, answered ${when}`, async () => {
      const clock = new FakeClock();
      const w = workflow("b36", async () => {
        const [a, b] = await Promise.all([waitFor<string>("a"), sleep(10).then(() => "slept")]);
        return [a, b];
      });
      const store = memoryStore();
      let app = new Stepmark({ store, workflows: [w], clock });
      let run: Run<unknown> = await app.start(w, undefined, { id });
      await run.settled();
      if (when === "after the timer") await clock.advance(10);
      if (when === "across a restart") {
        await app.shutdown();
        app = new Stepmark({ store, workflows: [w], clock });
        run = await app.resume(id);
      }
      await app.answer(id, "a", "A");
      await clock.advance(10);
      expect(await run.result()).toEqual(["A", "slept"]);
    });
  }
});

describe("durability", () => {
  it("B38: a nested workflow's recorded step is used on resume, nested or alone", async () => {
    let ran = 0;
    const work = async (): Promise<string> => `v${++ran === 1 ? "" : ran}`;
    const child = workflow("child", async () => {
      const v = await step(work);
      return v + (await waitFor<string>("pause"));
    });
    const parent = workflow("parent", async () => child());
    for (const flow of [child, parent]) {
      ran = 0;
      const store = memoryStore();
      const first = new Stepmark({ store, workflows: [flow] });
      await (await first.start(flow, undefined, { id })).settled();
      await first.shutdown();
      const second = new Stepmark({ store, workflows: [flow] });
      const run = await second.resume(id);
      await second.answer(id, "pause", "!");
      expect(await run.result()).toBe("v!");
      expect(ran).toBe(1);
    }
  });

  it("B39: shutting down while a step is in flight records nothing for it; cancelling is final", async () => {
    const starts: string[] = [];
    let kill = new Kill();
    const one = async (): Promise<string> => {
      starts.push("one");
      return "one";
    };
    const two = async (): Promise<string> => {
      starts.push("two");
      await kill.here();
      return "two";
    };
    const w = workflow("b39", async () => {
      await step(one);
      const r = await step(two);
      return r;
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    const run = await first.start(w, undefined, { id });
    await kill.reached;
    await first.shutdown();
    await expect(run.result()).rejects.toMatchObject({ code: "SHUTDOWN" });
    expect((await store.read(id))!.status).toBe("running");
    expect((await store.entries(id)).map(({ key }) => key)).toEqual(["b39/one"]);
    expect(await result(new Stepmark({ store, workflows: [w] }).resume(id))).toBe("two");
    expect(starts).toEqual(["one", "two", "two"]);

    kill = new Kill();
    const app = new Stepmark({ store, workflows: [w] });
    const other = await app.start(w, undefined, { id: "cancelled" });
    await kill.reached;
    await app.cancel("cancelled");
    await expect(other.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect((await app.get("cancelled")).status).toBe("cancelled");
    expect((await store.entries("cancelled")).map(({ key }) => key)).toEqual(["b39/one"]);
  });

  it("B40: a shutdown is no cancellation: nothing is recorded as an end, and the run can be resumed", async () => {
    const kill = new Kill();
    const w = workflow("b40", async () =>
      step(async () => {
        await kill.here();
        return "done";
      }),
    );
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    const run = await first.start(w, undefined, { id });
    const events = run.events();
    await kill.reached;
    await first.shutdown();
    const types: string[] = [];
    for await (const { type } of events) types.push(type);
    expect(types).toEqual(["run.started", "run.left"]);
    const { status, owner } = (await store.read(id))!;
    expect({ status, owner }).toEqual({ status: "running", owner: undefined });
    const again = new Stepmark({ store, workflows: [w] });
    expect(await result(again.resume(id))).toBe("done");
    await again.cancel(id);
    expect((await again.get(id)).status).toBe("completed");
  });

  it("B41: two parallel steps have attempts of their own", async () => {
    const attempts: Record<string, number> = { x: 0, y: 0 };
    const fails = async (name: string): Promise<never> => {
      attempts[name]!++;
      throw new Error(name);
    };
    const w = workflow("b41", async () => {
      const opt = { retries: 2, backoff: 0 };
      const r = await Promise.allSettled([step(opt, fails, "x"), step(opt, fails, "y")]);
      return r.map((x) => x.status);
    });
    expect(await result(new Stepmark({ store: memoryStore(), workflows: [w] }).start(w))).toEqual([
      "rejected",
      "rejected",
    ]);
    expect(attempts).toEqual({ x: 3, y: 3 });
  });

  it("B43: failures have entries too, so a retry loop takes the same turns", async () => {
    const flaky = async (n: number): Promise<string> => {
      bodies.note(`flaky:${n}`);
      if (n === 1) throw new Error("first");
      return "ok";
    };
    const note = async (n: number): Promise<void> => bodies.note(`note:${n}`);
    const w = workflow("b43", async () => {
      for (let n = 1; n < 4; n++) {
        try {
          return `try${n}:${await step(flaky, n)}`;
        } catch {
          await step(note, n);
        }
      }
      return "gave up";
    });
    const store = await replayFromEveryPrefix({ workflow: w, expected: "try2:ok", bodies });
    expect((await store.entries(id)).map(({ key, state }) => [key, state])).toEqual([
      ["b43/flaky", "failed"],
      ["b43/note", "done"],
      ["b43/flaky@1", "done"],
    ]);
  });

  const swallow: Array<[string, () => Promise<string>]> = [
    [
      "catch",
      async () => {
        try {
          return await waitFor<string>("name?");
        } catch {
          return "anonymous";
        }
      },
    ],
    [
      "finally",
      async () => {
        let who = "anonymous";
        try {
          who = await waitFor<string>("name?");
        } finally {
          // A finally that returns would swallow an exception thrown to pause the run.
          // biome-ignore lint/correctness/noUnsafeFinally: that is the point
          return who;
        }
      },
    ],
    [".catch", () => waitFor<string>("name?").catch(() => "anonymous")],
    [
      "allSettled",
      async () => {
        const [r] = await Promise.allSettled([waitFor<string>("name?")]);
        return r!.status === "fulfilled" ? r!.value : "anonymous";
      },
    ],
  ];
  for (const [name, ask] of swallow) {
    it(`B44, D6: a pause throws nothing that ${name} could swallow`, async () => {
      let greeted = 0;
      const greet = async (who: string): Promise<string> => {
        greeted++;
        return `hi ${who}`;
      };
      const w = workflow("b44", async () => {
        const who = await ask();
        return step(greet, who);
      });
      const store = memoryStore();
      const first = new Stepmark({ store, workflows: [w] });
      expect((await (await first.start(w, undefined, { id })).settled()).status).toBe("waiting");
      expect(greeted).toBe(0);
      await first.shutdown();
      const second = new Stepmark({ store, workflows: [w] });
      const run = await second.resume(id);
      await second.answer(id, "name?", "n1");
      expect(await run.result()).toBe("hi n1");
    });
  }

  it("B46, E6, I6: unchanged code that takes another path ends in a divergence error that no catch can hide", async () => {
    const ran: string[] = [];
    let coin = true;
    const one = async (): Promise<string> => {
      ran.push("one");
      return "one";
    };
    const two = async (): Promise<string> => {
      ran.push("two");
      return "two";
    };
    const w = workflow("b46", async () => {
      try {
        return coin ? await step(one) : await step(two);
      } catch {
        return "caught";
      }
    });
    const store = memoryStore();
    await result(new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    coin = false;
    const left = store.fork(id, 1);
    const app = new Stepmark({ store: left, workflows: [w], grace: 20 });
    const run = await app.resume(id);
    await expect(run.result()).rejects.toMatchObject({
      code: "DIVERGENCE",
      message: expect.stringMatching(/`one` \(test\/cases\/.*\d+\) is recorded next.*`two` \(test\/cases\/.*\d+\)/),
    });
    expect((await app.get(id)).status).toBe("failed");
    expect(ran).toEqual(["one"]);
    const onward = await app.resume(id, { divergence: "continue" });
    expect(await onward.result()).toBe("two");
    expect((await app.get(id)).orphans).toEqual(["b46/one"]);
  });
});

describe("I3, E6: a call that is unchanged, and calls another function than when it was recorded", () => {
  let coin = true;
  let drawn = 0;
  const draw = async (): Promise<number> => ++drawn;
  const shared = async (): Promise<number> => step(draw);
  const one = async (): Promise<string> => `one ${await step(draw)}`;
  const two = async (): Promise<string> => `two ${await step(draw)}`;
  const three = async (): Promise<string> => `three ${await shared()}`;
  const four = async (): Promise<string> => `four ${await shared()}`;
  it.each<[string, () => Promise<string>, RegExp]>([
    ["of two helpers", async () => (coin ? one : two)(), /`draw` .*\bone\{\}` is recorded here.*\btwo\{\}` was \(/],
    [
      "by another name",
      async () => {
        const f = coin ? one : two;
        return f();
      },
      /\bone\{\}` is recorded here.*\btwo\{\}` was \(/,
    ],
    [
      "of two with a helper in common",
      async () => (coin ? three : four)(),
      /it came to `draw` .*\bshared\{\}` through another function/,
    ],
    [
      "of a list",
      async () => {
        const list = [async () => `five ${await step(draw)}`, async () => `six ${await step(draw)}`];
        return list[coin ? 0 : 1]!();
      },
      /is recorded here.*was \(/,
    ],
  ])("%s: is a divergence, never the other's outcome", async (_, fn, says) => {
    coin = true;
    const w = workflow("flips", fn);
    const store = memoryStore();
    const live = await result(new Stepmark({ store, workflows: [w] }).start(w, undefined, { id }));
    const unchanged = new Stepmark({ store: store.fork(id), workflows: [w] });
    expect(await result(unchanged.resume(id))).toBe(live);
    coin = false;
    const before = drawn;
    const app = new Stepmark({ store: store.fork(id, 1), workflows: [w], grace: 20 });
    await expect(result(app.resume(id))).rejects.toMatchObject({
      code: "DIVERGENCE",
      message: expect.stringMatching(says),
    });
    expect(drawn).toBe(before);
  });
});

describe("concurrency control", () => {
  it("B78, C6, I8: two processes resume one run: one owner, one result", async () => {
    let ticket = 0;
    const w = workflow("b78", async () => {
      const v = await step(async () => ++ticket);
      await sleep(5);
      return v;
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    await first.start(w, undefined, { id });
    await first.shutdown();
    const x = new Stepmark({ store, workflows: [w] });
    const y = new Stepmark({ store, workflows: [w] });
    const settled = await Promise.allSettled([x.resume(id), y.resume(id)]);
    const owners = settled.filter((each) => each.status === "fulfilled");
    expect(owners).toHaveLength(1);
    expect(settled.find((each) => each.status === "rejected")!.reason).toMatchObject({ code: "RUN_OWNED" });
    const value = await owners[0]!.value.result();
    expect((await y.get(id)).output).toBe(value);
    expect((await store.entries(id)).filter(({ key }) => key === "b78/step")).toHaveLength(1);
  });

  it("B79: branches resumed from different prefixes keep ids of their own", async () => {
    const body = (name: string) => async (): Promise<string> => {
      bodies.note(name);
      return name.toUpperCase();
    };
    const [a1, a2, b1, b2] = ["a1", "a2", "b1", "b2"].map(body) as Array<() => Promise<string>>;
    const w = workflow("b79", async () =>
      Promise.all([
        (async () => {
          await step(a1!);
          return step(a2!);
        })(),
        (async () => {
          await step(b1!);
          return step(b2!);
        })(),
      ]),
    );
    await replayFromEveryPrefix({ workflow: w, expected: ["A2", "B2"], bodies });
  });

  it("B81: an event that wakes the run starts no body a second time", async () => {
    const starts: string[] = [];
    let release!: () => void;
    const slowPay = async (): Promise<string> => {
      starts.push("slowPay");
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return "paid";
    };
    const log = async (_: string): Promise<void> => {
      starts.push("log");
    };
    const w = workflow("b81", async () => {
      const note = waitFor<string>("note");
      const [r] = await Promise.all([step(slowPay), note.then((n) => step(log, n))]);
      return r;
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [w] });
    const run = await app.start(w, undefined, { id });
    await rest();
    await app.answer(id, "note", "hello");
    await rest();
    release();
    expect(await run.result()).toBe("paid");
    expect(starts).toEqual(["slowPay", "log"]);
  });

  it("B82, D1: two questions through one helper; each answer reaches its own, with restarts in between", async () => {
    const prep = async (_: string, slow: boolean): Promise<void> => (slow ? rest() : undefined);
    const ask = (tool: string): Promise<string> => waitFor<string>("confirm", { payload: { tool } });
    const tool = async (t: string, slow: boolean): Promise<[string, string]> => {
      await step(prep, t, slow);
      return [t, await ask(t)];
    };
    const w = workflow("b82", async () => Promise.all([tool("A", true), tool("B", false)]));
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    await (await first.start(w, undefined, { id })).settled();
    await rest();
    const { waits } = await first.get(id);
    const keyOf = (name: string): string =>
      waits.find(({ payload }) => (payload as { tool: string }).tool === name)!.key;
    expect(waits).toHaveLength(2);
    await expect(first.answer(id, "confirm", "?")).rejects.toMatchObject({
      code: "ANSWER",
      message: expect.stringContaining(keyOf("A")),
    });
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [w] });
    await second.resume(id);
    await second.answer(id, keyOf("B"), "ok B");
    await rest();
    expect((await second.get(id)).waits.map(({ key }) => key)).toEqual([keyOf("A")]);
    expect((await second.get(id)).status).toBe("waiting");
    await second.shutdown();
    const third = new Stepmark({ store, workflows: [w] });
    const run = await third.resume(id);
    await third.answer(id, keyOf("A"), "ok A");
    expect(await run.result()).toEqual([
      ["A", "ok A"],
      ["B", "ok B"],
    ]);
    await expect(third.answer(id, keyOf("A"), "again")).rejects.toMatchObject({ code: "ANSWER" });
  });

  for (const restarted of [false, true]) {
    it(`B86: a wait that lost its race does not take the next one's event${restarted ? ", with a restart" : ""}`, async () => {
      let clock = new FakeClock();
      const w = workflow("b86", async () => {
        const got: Array<string | null> = [];
        for (let i = 0; i < 2; i++) got.push(await Promise.race([waitFor<string>(`ev`), sleep(1000).then(() => null)]));
        return got;
      });
      const store = memoryStore();
      let app = new Stepmark({ store, workflows: [w], clock });
      let run: Run<unknown> = await app.start(w, undefined, { id });
      await clock.advance(1200);
      if (restarted) {
        await app.shutdown();
        clock = new FakeClock(1200);
        app = new Stepmark({ store, workflows: [w], clock });
        run = await app.resume(id);
      }
      await clock.advance(300);
      const { waits } = await app.get(id);
      await app.answer(id, waits.at(-1)!.key, "E");
      await clock.advance(1000);
      expect(await run.result()).toEqual([null, "E"]);
    });
  }
});
