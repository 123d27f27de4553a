/** A7, A9: histories of another key scheme, which know a step by its name and its place in a list. */
import { type AnyWorkflow, type FlatStep, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { build, forgetModules } from "../support/build.js";

const id = "old/run";
let ran: string[] = [];
const note = (label: string): string => {
  ran.push(label);
  return label;
};
beforeEach(() => {
  ran = [];
  // Each test is a process of its own: what the others have loaded must not have a say.
  forgetModules();
});

const head = `import { changed, child, now, publish, sleep, step, waitFor, workflow } from "stepmark"; import { note } from "bodies";
  const load = async (x) => note("load " + x); const save = async (x) => note("save " + x); const mail = async (x) => note("mail " + x);
  export const other = workflow("other", async () => 1);\n`;
const module_ = (source: string): Record<string, AnyWorkflow> =>
  build(head + source, { imports: { bodies: { note } } }) as Record<string, AnyWorkflow>;
const flow = (body: string, more = ""): AnyWorkflow =>
  module_(`${more}\nexport const w = workflow("w", async (input) => {\n${body}\n});`).w!;

const done = (name: string, value: unknown = `old ${name}`): FlatStep => ({ name, value });

async function imported(w: AnyWorkflow, steps: FlatStep[], store: MemoryStore = memoryStore()): Promise<MemoryStore> {
  await new Stepmark({ store, workflows: [w], grace: 100 }).importFlat({ id, workflow: w, input: { n: 1 }, steps });
  expect(ran).toEqual([]);
  return store;
}

async function resumed(store: MemoryStore, w: AnyWorkflow): Promise<unknown> {
  const app = new Stepmark({ store, workflows: [w], grace: 30 });
  const result = await (await app.resume(id)).result();
  await app.shutdown();
  return result;
}

async function refused(w: AnyWorkflow, steps: FlatStep[], message: RegExp | string): Promise<void> {
  const store = memoryStore();
  await expect(imported(w, steps, store)).rejects.toMatchObject({
    code: "FLAT_HISTORY",
    runId: id,
    message: expect.stringMatching(message),
  });
  expect([ran, await store.list({})]).toEqual([[], []]);
}

describe("A9: a flat, sequential history", () => {
  const w = (): AnyWorkflow =>
    flow("const a = await step(load, input.n); const b = await step(save, a); return [a, b, await step(mail, b)];");

  it("is taken over under our keys, and the run goes on from there", async () => {
    for (let known = 0; known <= 3; known++) {
      forgetModules();
      const flow = w();
      const store = await imported(
        flow,
        ["load", "save", "mail"].slice(0, known).map((name) => done(name)),
      );
      expect(await store.read(id)).toMatchObject({ workflow: "w", status: "running", fence: 0, owner: undefined });
      expect((await store.entries(id)).map(({ key }) => key)).toEqual(["w/load", "w/save", "w/mail"].slice(0, known));
      const [a, b, c] = ["load 1", "save old load", "mail old save"];
      const expected = [
        ["load 1", "save load 1", "mail save load 1"],
        ["old load", b, `mail ${b}`],
        ["old load", "old save", c],
        ["old load", "old save", "old mail"],
      ][known];
      expect([await resumed(store, flow), a]).toEqual([expected, a]);
      expect(ran).toHaveLength(3 - known);
      ran = [];
      const left = store.fork(id, 3);
      expect([await resumed(left, flow), ran]).toEqual([expected, []]);
    }
  });

  it("may hold failures, loops, and several steps of a name in the workflow's own function", async () => {
    const w = flow(`const out = [];
      for (const x of [1, 2]) {
        try { out.push(await step(load, x)); } catch (error) { out.push(error.name, error.message, error.code, error instanceof Error); }
        out.push(await step("load", save, x));
      }
      return out;`);
    const steps = [
      done("load", 1),
      done("load", null),
      { name: "load", error: { name: "TypeError", message: "no", code: 7 } },
    ];
    const store = await imported(w, steps);
    expect((await store.entries(id)).map(({ key, state }) => [key, state])).toEqual([
      ["w/load", "done"],
      ["w/load~1", "done"],
      ["w/load@1", "failed"],
    ]);
    expect(await resumed(store, w)).toEqual([1, null, "TypeError", "no", 7, true, "save 2"]);
    expect(ran).toEqual(["save 2"]);
  });

  it("may have names with signs that anchors escape", async () => {
    const w = flow('return [await step("50%~1", load, 1), await step("é/@#", save, 2)];');
    expect(await resumed(await imported(w, [done("50%~1"), done("é/@#")]), w)).toEqual(["old 50%~1", "old é/@#"]);
  });

  it("may end where the code returns, throws, or does several things at once", async () => {
    const w = flow(`const a = await step(load, 1);
      if (a === "throw") throw new Error("thrown");
      return Promise.all([step(save, 1), step(mail, 1)]);`);
    expect(await resumed(await imported(w, [done("load")]), w)).toEqual(["save 1", "mail 1"]);
    await expect(resumed(await imported2(w), w)).rejects.toThrow("thrown");
    async function imported2(flow: AnyWorkflow): Promise<MemoryStore> {
      ran = [];
      return imported(flow, [done("load", "throw")]);
    }
  });

  it("is never put over a run", async () => {
    const flow = w();
    const store = await imported(flow, [done("load")]);
    await expect(imported(flow, [done("load", "other")], store)).rejects.toMatchObject({
      code: "RUN_EXISTS",
      runId: id,
    });
    expect((await store.entries(id))[0]!.value).toContain("old load");
  });
});

describe("A7: a history that does not say who has called whom", () => {
  const nested = `const tick = async (x) => note("tick"); const wrapper = async (x) => step(tick, x);`;
  const a6 = (): AnyWorkflow => flow('return [await step(wrapper, "a"), await step(tick, "a")];', nested);

  it("is refused in whatever order it was written, since a nested entry may be meant", async () => {
    await refused(
      a6(),
      [done("tick"), done("wrapper")],
      /at step 1 of 2: it holds "tick", and the code asks for `wrapper`/,
    );
    await refused(
      a6(),
      [done("wrapper"), done("tick")],
      /at step 2 of 2: a step "tick" stands in another function than the workflow's own \(flow\.ts:4\)/,
    );
    await refused(a6(), [done("tick"), done("wrapper"), done("tick")], "FLAT_HISTORY");
  });

  it("is taken over as far as only the workflow's own steps are meant", async () => {
    const w = a6();
    const store = await imported(w, [done("wrapper")]);
    expect(await resumed(store, w)).toEqual(["old wrapper", "tick"]);
  });

  it("is refused where a closure in the workflow, or another workflow, has a step of that name", async () => {
    const asks = /stands in another function/;
    await refused(
      flow("const f = async () => step(load, 1); return [await step(save, 1), await step(load, 2), f];"),
      [done("save"), done("load")],
      asks,
    );
    await refused(
      flow("return step(load, 1);", 'export const x = workflow("x", async () => step(load, 1));'),
      [done("load")],
      asks,
    );
    await refused(flow("return (async () => step(load, 1))();"), [done("load")], asks);
    await refused(flow("return input ? w() : step(load, 1);"), [done("load")], asks);
    await refused(flow("return helper();", "const helper = async () => step(load, 1);"), [done("load")], asks);
  });
});

describe("a history that is not provably sequential", () => {
  it.each([
    [
      "calls at once",
      "return Promise.all([step(load, 1), step(save, 1)]);",
      /makes 2 calls at once, `load` \(flow\.ts:\d+\), `save`/,
    ],
    [
      "a promise that is kept",
      "const p = step(load, 1); const q = await step(save, 1); return [await p, q];",
      /makes 2 calls at once/,
    ],
    [
      "a wait for something outside",
      "const p = step(load, 1); await new Promise((resolve) => setTimeout(resolve, 20)); return [await step(save, 1), await p];",
      /at step 2 of 2: it goes on with "save", and the code waits for something outside any step/,
    ],
    [
      "another name",
      "await step(load, 1); return step(mail, 1);",
      /at step 2 of 2: it holds "save", and the code asks for `mail`/,
    ],
    [
      "too few steps",
      "return step(load, 1);",
      /at step 2 of 2: it goes on with "save", and the code has come to its end/,
    ],
    ["code that throws", 'await step(load, 1); throw new Error("x");', /the code has come to its end/],
    ["the time", "await step(load, 1); return now();", /the code asks for a value, `now`/],
    ["a timer", "await step(load, 1); return sleep(1);", /the code asks for a timer/],
    ["a question", 'await step(load, 1); return waitFor("save");', /the code asks for a wait/],
    ["a child run", "await step(load, 1); return child(other);", /the code asks for a child/],
    ["something published", 'await step(load, 1); return publish("save", 1);', /the code asks for a publish/],
    ["a change", 'await step(load, 1); await changed("v2"); return step(save, 1);', /the code asks for a changed/],
    [
      "equal keys",
      'await step({ key: "k" }, load, 1); return step({ key: "k" }, load, 1);',
      /Two calls of one run have the same key/,
    ],
  ])("is refused for %s", async (_, body, message) => {
    await refused(flow(body), [done("load"), done("save")], message);
  });

  it("is refused for what is no history", async () => {
    const w = flow("return step(load, 1);");
    await refused(w, [undefined as never], /holds undefined/);
    await refused(w, [{ value: 1 } as never], /holds undefined/);
    const app = new Stepmark({ store: memoryStore(), workflows: [w] });
    await expect(app.importFlat({ id, workflow: w, input: 1, steps: {} as never })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await expect(app.importFlat({ id: "", workflow: w, input: 1, steps: [] })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await expect(app.importFlat({ id, workflow: w, input: 1, steps: [done("load", () => {})] })).rejects.toMatchObject({
      code: "SERIALISATION",
    });
  });
});
