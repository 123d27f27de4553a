/** `changed(id)`: runs that other code has recorded keep to the code as it was, all others follow the new one. */
import {
  type AnyWorkflow,
  changed,
  type MemoryStore,
  memoryStore,
  Stepmark,
  type StepmarkOptions,
  step,
  withoutRun,
  workflow,
} from "stepmark";
import { describe, expect, it } from "vitest";
import { build } from "../support/build.js";
import { rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
let ran: string[] = [];
let failing = new Set<string>();
const env: { flag: unknown } = { flag: undefined };
const note = (label: string): string => {
  ran.push(label);
  if (failing.has(label)) throw new Error(`${label} failed`);
  return label;
};
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

const head = `import { changed, step, waitFor, workflow } from "stepmark"; import { env, note, turns } from "bodies";
  const say = async (label, ...rest) => note(label);\n`;
const imports = { bodies: { env, note, turns } };
const flow = (body: string, path = "flow.ts", more: Record<string, unknown> = {}): AnyWorkflow =>
  build(`${head}export const w = workflow("w", async () => {\n${body}\n});`, { path, imports: { ...imports, ...more } })
    .w as AnyWorkflow;

interface Outcome {
  result: unknown;
  ran: string[];
}

/** Starts or resumes the run and sees it to its end. */
async function pass(store: MemoryStore, w: AnyWorkflow, options: Partial<StepmarkOptions> = {}): Promise<Outcome> {
  ran = [];
  const app = new Stepmark({ store, workflows: [w], grace: 30, ...options });
  const exists = (await store.read(id)) !== undefined;
  const result = await (await (exists ? app.resume(id) : app.start(w, undefined, { id }))).result();
  await app.shutdown();
  return { result, ran };
}

/** The store after `kept` entries of a run of `w`; of all by default. */
async function recorded(w: AnyWorkflow, kept?: number): Promise<MemoryStore> {
  const store = memoryStore();
  await pass(store, w).catch(() => {});
  return store.fork(id, kept ?? (await store.entries(id)).length);
}

/**
 * Resumes a run by `w`, then from each prefix that this makes of its journal, then each of those once more.
 *
 * @param settled what of a result does not depend on how long live bodies take
 */
async function resumedFromEveryPrefix(
  store: MemoryStore,
  w: AnyWorkflow,
  from: number,
  settled = (result: unknown): unknown => result,
): Promise<Outcome> {
  const first = store.fork(id, from);
  const outcome = await pass(first, w);
  const { length } = await first.entries(id);
  for (let kept = from; kept <= length; kept++) {
    const cut = first.fork(id, kept);
    const { result } = await pass(cut, w);
    expect(settled(result), `resumed after ${kept} entries`).toEqual(settled(outcome.result));
    const again = await pass(cut.fork(id, (await cut.entries(id)).length), w);
    expect(again, `resumed again after ${kept} entries`).toEqual({ result, ran: [] });
  }
  return outcome;
}

describe("B77: a run that meets the change", () => {
  const loop = (added: string): AnyWorkflow =>
    flow(`const out = [];
      for (let i = 0; i < 3; i++) { out.push((await step(say, "b" + i))); ${added} }
      return out;`);
  const v1 = (): AnyWorkflow => loop("");
  const v2 = (): AnyWorkflow => loop('if (await changed("v2")) out.push(await step(say, "e" + i));');

  it.each([2, 3])("in the midst of its record keeps to the old code in all passes: %i entries", async (kept) => {
    const store = await recorded(v1());
    const outcome = await resumedFromEveryPrefix(store, v2(), kept);
    expect(outcome).toEqual({ result: ["b0", "b1", "b2"], ran: ["b2"].slice(kept - 2) });
  });

  it.each([0, 1])("at the end of its record follows the new code from that pass on: %i entries", async (kept) => {
    const store = await recorded(v1());
    const outcome = await resumedFromEveryPrefix(store, v2(), kept);
    expect(outcome.result).toEqual(["b0", "e0", "b1", "e1", "b2", "e2"]);
  });

  it("is told the same by every call of that id, and by each later build", async () => {
    const store = await recorded(v1(), 2);
    await pass(store, v2());
    const cut = store.fork(id, 3);
    expect((await cut.entries(id)).at(-1)).toMatchObject({ key: "w#v2", kind: "changed", name: "v2", late: true });
    const v3 = flow(`const out = [await changed("v2")];
      for (let i = 0; i < 3; i++) out.push(await step(say, "b" + i), await changed("v2"));
      return out;`);
    expect((await pass(cut, v3)).result).toEqual([false, "b0", false, "b1", false, "b2", false]);
  });

  it("started by the new code follows it, whenever it is resumed", async () => {
    const outcome = await resumedFromEveryPrefix(await recorded(v2()), v2(), 0);
    expect(outcome.result).toEqual(["b0", "e0", "b1", "e1", "b2", "e2"]);
  });

  it("has come by where the code stands in a file that had no part in it before", async () => {
    const main = `const out = []; for (let i = 0; i < 3; i++) { out.push(await step(say, "b" + i)); await extra(out, i); } return out;`;
    const withHelper = (source: string): AnyWorkflow => {
      const { extra } = build(source, { path: "helper.ts", imports });
      const text = `import { extra } from "./helper"; ${head}export const w = workflow("w", async () => {${main}});`;
      return build(text, { imports: { ...imports, "./helper": { extra } } }).w as AnyWorkflow;
    };
    const plain = "export const extra = async () => {};";
    const versioned = `${head}export const extra = async (out, i) => { if (await changed("v2")) out.push(await step(say, "e" + i)); };`;
    const store = await recorded(withHelper(plain));
    expect(await resumedFromEveryPrefix(store, withHelper(versioned), 2)).toMatchObject({ result: ["b0", "b1", "b2"] });
    expect((await pass(memoryStore(), withHelper(versioned))).result).toHaveLength(6);
  });

  it("has not yet come past what waits for an answer", async () => {
    const asking = (added: string): AnyWorkflow =>
      flow(`const a = await step(say, "a"); ${added} return [a, await waitFor("go")];`);
    const v1 = asking("");
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [v1] });
    await (await app.start(v1, undefined, { id })).settled();
    await app.shutdown();
    const v2 = asking('if (await changed("v2")) await step(say, "extra");');
    const later = new Stepmark({ store: store.fork(), workflows: [v2] });
    ran = [];
    const run = await later.resume(id);
    await run.settled();
    await later.answer(id, "go", "yes");
    expect([await run.result(), ran]).toEqual([["a", "yes"], []]);
  });
});

describe("changed(id) in branches at once", () => {
  const branches = (added: string): AnyWorkflow =>
    flow(`const order = [];
      const branch = async (name, ticks) => {
        await step(async () => { await turns(ticks); return note(name + 1); });
        ${added}
        order.push(await step(async () => { await turns(10 - ticks); return note(name + 2); }));
      };
      await Promise.all([branch("a", 6), branch("b", 2)]);
      return order;`);
  const sorted = (result: unknown): string[] => [...(result as string[])].sort();
  const added = `order.push(name + (await changed("v2") ? " new" : " old"));`;

  it("is answered alike in all of them, in the same order on every pass of a new run", async () => {
    const v2 = branches(added);
    const { result } = await resumedFromEveryPrefix(await recorded(v2), v2, 0, sorted);
    expect([...(result as string[])].sort()).toEqual(["a new", "a2", "b new", "b2"]);
  });

  it("is answered alike in a run that other code has recorded, from every prefix", async () => {
    const store = await recorded(branches(""));
    const { length } = await store.entries(id);
    const v2 = branches(added);
    for (let kept = 0; kept <= length; kept++) {
      const outcome = await resumedFromEveryPrefix(store, v2, kept, sorted);
      const told = (outcome.result as string[]).filter((each) => each.includes(" "));
      expect(new Set(told.map((each) => each.slice(2))), `after ${kept} entries`).toEqual(
        new Set([kept < 2 ? "new" : "old"]),
      );
    }
  });

  it("by this very code, is new also where a crash has lost the answer and kept another branch's outcome", async () => {
    const twice = flow(`const both = [step(say, "a"), (async () => (await changed("v2")) ? "new" : "old")()];
      return Promise.all(both);`);
    const store = await recorded(twice);
    expect((await store.entries(id)).map(({ kind }) => kind).sort()).toEqual(["changed", "step"]);
    expect((await resumedFromEveryPrefix(store, twice, 0)).result).toEqual(["a", "new"]);
    const only = memoryStore();
    const journal = await store.entries(id);
    const { modules, root } = journal[0]!;
    await only.create((await store.read(id))!);
    await only.claim(id, { token: "t", host: "h", pid: 1, processStart: "" }, () => true, { now: 0, until: 0 });
    const entry = { ...journal.find(({ kind }) => kind === "step")!, seq: 1, modules, root };
    await only.append(id, 1, [entry], { release: true });
    expect((await pass(only, twice)).result).toEqual(["a", "new"]);
  });

  it("has one answer for calls that ask while it is being recorded", async () => {
    const bodies = new Bodies();
    const all = workflow("all", async () => {
      const order: string[] = [];
      const ask = async (name: string): Promise<boolean> => {
        const answer = await changed("v2");
        order.push(name);
        return answer;
      };
      const one = step(async () => bodies.note("one"));
      const answers = await Promise.all([ask("a"), ask("b"), ask("c")]);
      await one;
      return { answers, order, later: await changed("v2"), other: await changed("other") };
    });
    const store = await replayFromEveryPrefix({
      workflow: all,
      bodies,
      expected: { answers: [true, true, true], order: ["a", "b", "c"], later: true, other: true },
    });
    expect((await store.entries(id)).map(({ key }) => key)).toEqual(["all#v2", "all/note", "all#other"]);
  });
});

describe("changed(id) and failures", () => {
  const failed = async (w: AnyWorkflow): Promise<MemoryStore> => {
    failing = new Set(["charge"]);
    const store = memoryStore();
    await expect(pass(store, w)).rejects.toThrow("charge failed");
    return store.fork();
  };
  const saga = (before: string, after: string, undo: string): AnyWorkflow =>
    flow(`const out = [await step(say, "a")];
      ${before}
      try { out.push(await step(say, "charge")); } catch (error) { ${undo} await step(say, "cancel"); throw error; }
      ${after}
      return out;`);
  const ask = 'out.push(await changed("v2"));';

  it.each([
    ["before the failed step, is old", ask, "", ["a", false, "charge"]],
    ["after the failed step that is mended, is new", "", ask, ["a", "charge", true]],
  ])("%s", async (_, before, after, expected) => {
    const store = await failed(saga("", "", ""));
    failing = new Set();
    expect((await pass(store, saga(before, after, ""))).result).toEqual(expected);
  });

  it("before a failed step that led nowhere else, is old", async () => {
    const plain = (before: string): AnyWorkflow =>
      flow(`const out = [await step(say, "a")]; ${before} out.push(await step(say, "charge")); return out;`);
    const store = await failed(plain(""));
    failing = new Set();
    expect((await pass(store, plain(ask))).result).toEqual(["a", false, "charge"]);
  });

  it("where a failure has led before, is old when it leads there again", async () => {
    const store = await failed(saga("", "", ""));
    const v2 = saga("", "", 'if (await changed("v2")) await step("extra", say, "extra");');
    await expect(pass(store, v2)).rejects.toThrow("charge failed");
    failing = new Set();
    expect(ran).toEqual(["charge"]);
  });
});

describe("changed(id) in a step's body", () => {
  const outer = (added: string): AnyWorkflow =>
    flow(`const inner = async () => { const out = [await step(say, "x")]; ${added} out.push(await step(say, "y")); return out; };
      const out = await step(inner);
      return [out, await step(say, "z")];`);
  const asking = 'out.push(await changed("v2"));';

  it("is old if the body's calls are recorded beyond it, and does not run any of them again", async () => {
    const store = await recorded(outer(""));
    const v2 = outer(asking);
    const outcome = await resumedFromEveryPrefix(store, v2, 2);
    expect(outcome).toEqual({ result: [["x", false, "y"], "z"], ran: ["z"] });
    expect(await resumedFromEveryPrefix(store, v2, 1)).toMatchObject({ result: [["x", true, "y"], "z"] });
    expect(await resumedFromEveryPrefix(store, v2, 3)).toMatchObject({ result: [["x", "y"], "z"] });
  });

  it("need not be asked again once the step is recorded", async () => {
    const v2 = outer(asking);
    expect(await resumedFromEveryPrefix(await recorded(v2), v2, 0)).toMatchObject({ result: [["x", true, "y"], "z"] });
  });

  it("is answered alike in each attempt", async () => {
    const seen: boolean[] = [];
    const retried = workflow("retried", async () =>
      step({ retries: 2, backoff: 0 }, async () => {
        const asked = changed("v2");
        if (seen.length === 0) {
          seen.push(true);
          throw new Error("the first attempt fails while it asks");
        }
        seen.push(await asked);
        if (seen.length < 3) throw new Error("so does the second one");
        return await asked;
      }),
    );
    const store = memoryStore();
    const run = await new Stepmark({ store, workflows: [retried] }).start(retried, undefined, { id });
    expect(await run.result()).toBe(true);
    expect(seen).toEqual([true, true, true]);
  });

  it("is answered when the run has failed or returned around it, so that the body comes to its end", async () => {
    for (const fails of [true, false]) {
      const late = workflow("late", async () => {
        void step(async () => {
          await turns(6);
          return (await changed("v2")) ? "new" : "old";
        });
        await turns(2);
        if (fails) throw new Error("failed");
        return 1;
      });
      const store = memoryStore();
      const app = new Stepmark({ store, workflows: [late] });
      const started = Date.now();
      await (await app.start(late, undefined, { id })).result().catch(() => {});
      expect((await store.entries(id)).map(({ key }) => key)).toEqual(["late#v2", "late/step"]);
      expect(Date.now() - started).toBeLessThan(5_000);
    }
  });
});

describe("changed(id) and the code that asks", () => {
  it("does not hold up the end of a run that is refused", async () => {
    const refused = workflow("refused", async () => {
      void step(async () => {
        await turns(6);
        return changed("v2");
      });
      await turns(2);
      void step({ key: "same" }, async () => 1);
      return step({ key: "same" }, async () => 1);
    });
    const started = Date.now();
    await expect(pass(memoryStore(), refused)).rejects.toMatchObject({ code: "DUPLICATE_KEY" });
    expect(Date.now() - started).toBeLessThan(5_000);
  });

  const v2 = (): AnyWorkflow =>
    flow(`const a = await step(say, "a");
      const extra = (await changed("gone")) ? await step("extra", say, "extra") : "none";
      return [a, extra, await step(say, "z")];`);
  const v1 = (): AnyWorkflow => flow('const a = await step(say, "a"); return [a, "none", await step(say, "z")];');
  const v3 = (): AnyWorkflow =>
    flow(
      'const a = await step(say, "a"); const extra = await step("extra", say, "extra"); return [a, extra, await step(say, "z")];',
    );

  it("may be removed when no run is old: what it was told is no orphan", async () => {
    const store = await recorded(v2());
    const { length } = await store.entries(id);
    const cleaned = v3();
    for (let kept = 0; kept <= length; kept++) {
      const cut = store.fork(id, kept);
      expect((await pass(cut, cleaned)).result, `after ${kept} entries`).toEqual(["a", "extra", "z"]);
      expect((await cut.read(id))!.orphans).toEqual([]);
    }
  });

  it("may be named after a step, recorded or new, and changes no key of it", async () => {
    const named = (added: string): AnyWorkflow =>
      flow(`${added} return [await step("audit", say, "a"), await step("audit", say, "b")];`);
    const store = await recorded(named(""), 1);
    const asking = named('if (await changed("audit")) await step("other", say, "other");');
    expect(await pass(store, asking)).toEqual({ result: ["a", "b"], ran: ["b"] });
  });

  it("may go back to what it was, for a run that was told to be old", async () => {
    const first = v1();
    const store = await recorded(first, 2);
    expect(await pass(store, v2())).toEqual({ result: ["a", "none", "z"], ran: [] });
    const { length } = await store.entries(id);
    expect(length).toBe(3);
    expect(await pass(store.fork(id, length), v1())).toEqual({ result: ["a", "none", "z"], ran: [] });
  });

  it("may not go back for a run that has followed the change", async () => {
    const store = await recorded(v2(), 3);
    await expect(pass(store, v1())).rejects.toMatchObject({ code: "RETIRED_SITE" });
    expect(ran).toEqual([]);
  });

  it("I6: unchanged code that asks no more where it asked before has diverged", async () => {
    const flips = (): AnyWorkflow =>
      flow(`const a = await step(say, "a"); if (!env.flag) await changed("v2"); return [a, await step(say, "z")];`);
    const store = await recorded(flips(), 2);
    env.flag = true;
    await expect(pass(store, flips())).rejects.toMatchObject({
      code: "DIVERGENCE",
      message: expect.stringMatching(
        /^The code is unchanged .*: `changed\("v2"\)` is recorded next .*; `say~1` \(flow\.ts:/,
      ),
    });
    env.flag = undefined;
    expect(ran).toEqual([]);
  });

  it("that it was late to ask is nothing that unchanged code has to ask again", async () => {
    const v2 = (asking: string): AnyWorkflow =>
      flow(`const a = await step(say, "a"); ${asking} return [a, await step(say, "y"), await step(say, "z")];`);
    const store = await recorded(v2(""), 2);
    const asks = v2('if (!env.flag) await changed("v2");');
    await pass(store, asks);
    expect((await store.entries(id)).map(({ key }) => key)).toEqual(["w/say", "w/say~1", "w#v2", "w/say~2"]);
    env.flag = true;
    expect((await pass(store.fork(id, 3), asks)).result).toEqual(["a", "y", "z"]);
    env.flag = undefined;
  });

  it("I6: unchanged code that asks where it did not before is told so, and goes on", async () => {
    const flips = (): AnyWorkflow =>
      flow(
        `const a = await step(say, "a"); const b = env.flag ? await changed("v2") : "-"; return [a, b, await step(say, "z")];`,
      );
    const store = await recorded(flips());
    env.flag = true;
    await expect(pass(store.fork(id, 2), flips())).rejects.toMatchObject({ code: "DIVERGENCE" });
    expect((await pass(store.fork(id, 1), flips())).result).toEqual(["a", true, "z"]);
    env.flag = undefined;
  });

  it("an id that does not stand in the text is new only where nothing is recorded beyond", async () => {
    const named = (): AnyWorkflow =>
      flow(
        `const a = await step(say, "a"); const b = env.flag ? await changed(env.flag) : "-"; return [a, b, await step(say, "z")];`,
      );
    const store = await recorded(named());
    env.flag = "v2";
    expect((await pass(store.fork(id, 2), named())).result).toEqual(["a", false, "z"]);
    expect((await pass(store.fork(id, 1), named())).result).toEqual(["a", true, "z"]);
    env.flag = undefined;
  });

  it("has a key that no call can have, whatever the id", async () => {
    const odd = workflow("odd", async () => [
      await changed("a/b#c@1"),
      await changed("v2"),
      await step({ key: "v2" }, async () => "keyed"),
      await step("odd#v2", async () => "named"),
      await changed("x".repeat(1_000)),
    ]);
    const store = memoryStore();
    expect((await pass(store, odd)).result).toEqual([true, true, "keyed", "named", true]);
    const keys = (await store.entries(id)).map(({ key }) => key);
    expect(keys.slice(0, 4)).toEqual(["odd#a%002Fb%0023c%00401", "odd#v2", "odd/step#v2", "odd/odd%0023v2"]);
    expect(keys[4]!.length).toBeLessThan(400);
  });

  it("is told by events", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store });
    const asks = workflow("asks", async () => changed("v2"));
    const seen: unknown[] = [];
    for await (const event of (await app.start(asks, undefined, { id })).events())
      seen.push([event.type, event.name, event.at?.split(":")[0], event.value]);
    expect(seen).toEqual([
      ["run.started", undefined, undefined, undefined],
      ["changed.decided", "v2", "test/evolution/changed.test.ts", true],
      ["run.completed", undefined, undefined, true],
    ]);
  });

  it("needs an id, a run and the transformer", async () => {
    const asks = workflow("asks", async () => changed("" as never));
    await expect(pass(memoryStore(), asks)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(changed("v2")).rejects.toMatchObject({ code: "OUTSIDE_RUN" });
    expect(await withoutRun(() => changed("v2"))).toBe(true);
    const hidden = { changed };
    const untransformed = workflow("asks", async () => Reflect.apply(hidden.changed, undefined, ["v2"]));
    await expect(pass(memoryStore(), untransformed)).rejects.toMatchObject({ code: "NOT_TRANSFORMED" });
    await rest();
  });
});
