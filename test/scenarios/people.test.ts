/** Scenarios D: people in the loop. D1 is with case B82, D6 with case B44. */
import { type Entry, memoryStore, type Run, Stepmark, step, waitFor, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { die, Kill, rest } from "../support/kill.js";
import { Bodies } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();

function opened(entries: readonly Entry[]): string[] {
  return entries.filter(({ kind, state }) => kind === "wait" && state === "open").map(({ key }) => key);
}

describe("D: people in the loop", () => {
  for (const when of ["before", "after"] as const) {
    it(`D2: a question asked while another branch's step is in flight is asked once, answered ${when} the step ends`, async () => {
      const kill = new Kill();
      const starts: string[] = [];
      let finish!: () => void;
      const slow = async (): Promise<string> => {
        starts.push("slow");
        await kill.here();
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return "slow";
      };
      const flow = workflow("d2", async () => Promise.all([step(slow), waitFor<string>("ok?", { payload: 7 })]));
      const store = memoryStore();
      const left = await die(store, kill, new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id }));
      expect(opened(await left.entries(id))).toEqual(["d2/ok?"]);
      const app = new Stepmark({ store: left, workflows: [flow] });
      const run = await app.resume(id);
      await rest();
      expect((await app.get(id)).waits).toMatchObject([{ key: "d2/ok?", name: "ok?", payload: 7 }]);
      if (when === "after") finish();
      await rest();
      await app.answer(id, "ok?", "yes");
      if (when === "before") finish();
      expect(await run.result()).toEqual(["slow", "yes"]);
      expect(opened(await left.entries(id))).toEqual(["d2/ok?"]);
      expect(starts).toEqual(["slow", "slow"]);
    });
  }

  const orders = [
    ["a", "b", "c"],
    ["a", "c", "b"],
    ["b", "a", "c"],
    ["b", "c", "a"],
    ["c", "a", "b"],
    ["c", "b", "a"],
  ];
  it.each(orders)("D3: three questions answered %s, %s, %s, each in a new process", async (...order) => {
    bodies.reset();
    const prepare = async (name: string): Promise<void> => bodies.note(`prepare:${name}`);
    const use = async (answer: string): Promise<string> => {
      bodies.note(`use:${answer}`);
      return answer.toUpperCase();
    };
    const flow = workflow("d3", async () => {
      const answers = await Promise.all(
        ["a", "b", "c"].map(async (name) => {
          await step(prepare, name);
          return step(use, await waitFor<string>(name));
        }),
      );
      return answers.join();
    });
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [flow] });
    await (await first.start(flow, undefined, { id })).settled();
    await first.shutdown();
    let last: Run | undefined;
    for (const [index, name] of order.entries()) {
      const app = new Stepmark({ store, workflows: [flow] });
      expect((await app.get(id)).waits.map((wait) => wait.name).sort()).toEqual(order.slice(index).sort());
      // Nothing to go on with before the answer, something after it.
      expect(await app.recover()).toEqual([]);
      await app.answer(id, name, `answer ${name}`);
      [last] = await app.recover();
      expect((await last!.settled()).status).toBe(index < 2 ? "waiting" : "completed");
      if (index < 2) await app.shutdown();
    }
    expect(await last!.result()).toBe("ANSWER A,ANSWER B,ANSWER C");
    expect([...bodies.labels].sort()).toEqual([
      ...["a", "b", "c"].map((name) => `prepare:${name}`),
      ...["a", "b", "c"].map((name) => `use:answer ${name}`),
    ]);
    expect(opened(await store.entries(id))).toHaveLength(3);
  });

  it("D4: a question inside a nested step, in a loop until the answer is valid: no old answer is used again", async () => {
    const ask = async (): Promise<number> => {
      for (;;) {
        const answer = await waitFor<string>("age?");
        if (/^\d+$/.test(answer)) return Number(answer);
      }
    };
    const flow = workflow("d4", async () => [await step(ask), await step(() => ask())]);
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [flow] });
    await (await first.start(flow, undefined, { id })).settled();
    await first.shutdown();
    const keys: string[] = [];
    const answers = ["old", "12", "young", "very", "30"];
    for (const [index, answer] of answers.entries()) {
      const app = new Stepmark({ store, workflows: [flow] });
      const run = await app.resume(id);
      const { waits } = await run.settled();
      expect(waits).toHaveLength(1);
      keys.push(waits[0]!.key);
      await app.answer(id, "age?", answer);
      if (index === answers.length - 1) expect(await run.result()).toEqual([12, 30]);
      else expect((await run.settled()).status).toBe("waiting");
      await app.shutdown();
    }
    expect(new Set(keys).size).toBe(5);
    const given = (await store.entries(id)).filter(({ kind, state }) => kind === "wait" && state === "done");
    expect(given.map(({ key }) => key)).toEqual(keys);
  });

  it("D5: `undefined` is an answer; an unknown key, a second answer and one too late are refused", async () => {
    const flow = workflow("d5", async () => {
      const first = await waitFor("first");
      const second = await waitFor("second");
      return [first === undefined, second];
    });
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    await run.settled();
    await expect(app.answer(id, "d5/third", 1)).rejects.toMatchObject({
      code: "ANSWER",
      message: expect.stringContaining('Open now: "first" (key d5/first)'),
    });
    await expect(app.answer("nobody", "first", 1)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await app.answer(id, "first", undefined);
    await expect(app.answer(id, "first", 1)).rejects.toMatchObject({ code: "ANSWER", message: /answered already/ });
    await expect(app.answer(id, "d5/first", 1)).rejects.toMatchObject({ code: "ANSWER", message: /answered already/ });
    await run.settled();
    await app.answer(id, "d5/second", null);
    expect(await run.result()).toEqual([true, null]);
    await expect(app.answer(id, "second", 1)).rejects.toMatchObject({ code: "ANSWER", message: /completed/ });
    const replayed = new Stepmark({ store: store.fork(id, 4), workflows: [flow] });
    expect(await (await replayed.resume(id)).result()).toEqual([true, null]);
  });

  it("D5: of answers given in two processes at once one is accepted, and none is used by a later question of that name", async () => {
    const flow = workflow("d5-twice", async () => [await waitFor("ok?"), await waitFor("ok?")]);
    const store = memoryStore();
    const [first, second] = [0, 1].map(() => new Stepmark({ store, workflows: [flow] }));
    const run = await first!.start(flow, undefined, { id });
    await run.settled();
    // Both have looked before either posts.
    const { post } = store;
    let posting = 0;
    let begin!: () => void;
    const both = new Promise<void>((resolve) => {
      begin = resolve;
    });
    store.post = async (...args) => {
      if (++posting === 2) begin();
      await both;
      return post(...args);
    };
    const given = [first!.answer(id, "ok?", "one"), second!.answer(id, "ok?", "two")];
    const settled = await Promise.allSettled(given);
    const refused = settled.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "ANSWER", message: /answered already/ } }]);
    const accepted = settled[0]!.status === "fulfilled" ? "one" : "two";
    await rest();
    expect((await first!.get(id)).waits.map(({ key }) => key)).toEqual(["d5-twice/ok?~1"]);
    await first!.answer(id, "ok?", "three");
    expect(await run.result()).toEqual([accepted, "three"]);
  });
});
