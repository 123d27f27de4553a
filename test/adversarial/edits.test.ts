/** Runs that meet edited code, crash, and go on under the same edited code. */
import { type AnyWorkflow, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import { describe, expect, it } from "vitest";
import { build } from "../support/build.js";

const id = "run";
let ran: string[] = [];
let failing = new Set<string>();
const note = (label: string): string => {
  ran.push(label);
  if (failing.has(label)) throw new Error(`${label} failed`);
  return label;
};
const head = 'import { step, waitFor, workflow } from "stepmark";\nimport { note } from "bodies";\n';
const flow = (source: string): AnyWorkflow =>
  (build(head + source, { imports: { bodies: { note } } }) as { w: AnyWorkflow }).w;
const bodiesOf = (...names: string[]): string =>
  names.map((name) => `const ${name} = async (x?: unknown) => note("${name}");\n`).join("");

async function recorded(source: string, kept: number): Promise<MemoryStore> {
  const w = flow(source);
  const store = memoryStore();
  await (await new Stepmark({ store, workflows: [w] }).start(w, undefined, { id })).result();
  ran = [];
  return store.fork(id, kept);
}

async function resumed(store: MemoryStore, w: AnyWorkflow, options = {}): Promise<unknown> {
  return (await new Stepmark({ store, workflows: [w], grace: 20 }).resume(id, options)).result();
}

describe("an edit that the run has met", () => {
  const v1 = `${bodiesOf("charge", "mail", "ship")}
    export const w = workflow("w", async () => [await step(charge), await step(mail), await step(ship)]);`;
  const skipping = `${bodiesOf("charge", "mail", "ship", "fast")}
    const slow = false;
    export const w = workflow("w", async () => {
      const c = await step(charge);
      const m = slow ? await step(mail) : await step(fast);
      return [c, m, await step(ship)];
    });`;
  const without = `${bodiesOf("charge", "ship")}
    export const w = workflow("w", async () => [await step(charge), await step(ship)]);`;

  it("that takes another path goes on, and goes on again after a crash", async () => {
    const store = await recorded(v1, 2);
    expect(await resumed(store, flow(skipping))).toEqual(["charge", "fast", "ship"]);
    expect(ran).toEqual(["fast", "ship"]);
    const { length } = await store.entries(id);
    for (let kept = 3; kept <= length; kept++) {
      ran = [];
      expect(await resumed(store.fork(id, kept), flow(skipping)), `after ${kept} entries`).toEqual([
        "charge",
        "fast",
        "ship",
      ]);
      expect(ran).toEqual(["fast", "ship"].slice(kept - 2));
    }
  });

  it("that was accepted once holds over crashes, of the first body too", async () => {
    const store = await recorded(v1, 2);
    await expect(resumed(store.fork(), flow(without))).rejects.toMatchObject({ code: "RETIRED_SITE" });
    expect(await resumed(store, flow(without), { accept: "edits" })).toEqual(["charge", "ship"]);
    expect(ran).toEqual(["ship"]);
    expect((await store.entries(id)).map(({ kind }) => kind)).toEqual(["step", "step", "accept", "step"]);
    expect(await resumed(store.fork(id, 4), flow(without))).toEqual(["charge", "ship"]);
    expect(ran).toEqual(["ship"]);
    expect(await resumed(store.fork(id, 3), flow(without))).toEqual(["charge", "ship"]);
    expect(ran).toEqual(["ship", "ship"]);
  });

  it("that was accepted holds for a run that waits, whoever goes on with it when the answer comes", async () => {
    const asks = `${bodiesOf("charge", "mail", "ship")}
      export const w = workflow("w", async () => {
        const done = [await step(charge), await step(mail)];
        return [...done, await waitFor("ok"), await step(ship)];
      });`;
    const w = flow(asks);
    const store = memoryStore();
    const first = new Stepmark({ store, workflows: [w] });
    await (await first.start(w, undefined, { id })).settled();
    await first.shutdown();
    const edited = flow(asks.replace(", await step(mail)", ""));
    const second = new Stepmark({ store, workflows: [edited], grace: 20 });
    await (await second.resume(id, { accept: "edits" })).settled();
    expect((await store.entries(id)).at(-1)).toMatchObject({ kind: "accept", accepted: { edits: expect.anything() } });
    await second.shutdown();
    const third = new Stepmark({ store, workflows: [edited], grace: 20 });
    await third.answer(id, "ok", true);
    expect(await (await third.resume(id)).result()).toEqual(["charge", true, "ship"]);
  });

  it("that was accepted once is accepted of that build alone, and never called a divergence", async () => {
    const more = `${bodiesOf("charge", "mail", "ship", "pack", "send")}
      export const w = workflow("w", async () => [
        await step(charge), await step(mail), await step(ship), await step(pack), await step(send),
      ]);`;
    const store = await recorded(more, 3);
    const edited = more.replace("await step(mail), ", "");
    expect(await resumed(store, flow(edited), { accept: "edits" })).toEqual(["charge", "ship", "pack", "send"]);
    const left = store.fork(id, 5);
    ran = [];
    const another = flow(edited.replace("await step(ship), ", ""));
    await expect(resumed(left, another)).rejects.toMatchObject({ code: "RETIRED_SITE" });
    await expect(resumed(left, flow(edited.replace("await step(pack), ", "")))).rejects.toMatchObject({
      code: "RETIRED_SITE",
    });
    expect(ran).toEqual([]);
    // The build that was accepted is still at liberty to go on, and so is the one that recorded the run.
    expect(await resumed(left.fork(), flow(edited))).toEqual(["charge", "ship", "pack", "send"]);
    expect(ran).toEqual(["send"]);
    expect(await resumed(left, flow(more))).toEqual(["charge", "mail", "ship", "pack", "send"]);
    expect(ran).toEqual(["send", "send"]);
  });

  it("that was accepted once holds for calls whose arguments it has changed", async () => {
    const first = `${bodiesOf("charge", "ship")}
      const card = "one";
      export const w = workflow("w", async () => [await step(charge, card), await step(ship)]);`;
    const store = await recorded(first, 1);
    const edited = first.replace('"one"', '"two"');
    await expect(resumed(store.fork(), flow(edited))).rejects.toMatchObject({ code: "REPLAY_MISMATCH" });
    expect(await resumed(store, flow(edited), { accept: "edits" })).toEqual(["charge", "ship"]);
    ran = [];
    expect(await resumed(store.fork(id, 3), flow(edited))).toEqual(["charge", "ship"]);
    await expect(resumed(store.fork(id, 3), flow(first.replace('"one"', '"three"')))).rejects.toMatchObject({
      code: "REPLAY_MISMATCH",
    });
    expect(ran).toEqual([]);
  });

  it("another path of unchanged code that was accepted once holds over crashes", async () => {
    let isSlow = true;
    const source = `import { step, workflow } from "stepmark";
      import { note, isSlow } from "bodies";
      ${bodiesOf("charge", "mail", "fast", "ship", "last")}
      export const w = workflow("w", async () => [
        await step(charge), isSlow() ? await step(mail) : await step(fast), await step(ship), await step(last),
      ]);`;
    const imports = { bodies: { note, isSlow: () => isSlow } };
    const torn = (build(source, { imports }) as { w: AnyWorkflow }).w;
    const store = memoryStore();
    await (await new Stepmark({ store, workflows: [torn] }).start(torn, undefined, { id })).result();
    const left = store.fork(id, 2);
    isSlow = false;
    await expect(resumed(left.fork(), torn)).rejects.toMatchObject({ code: "DIVERGENCE" });
    const went = ["charge", "fast", "ship", "last"];
    ran = [];
    expect(await resumed(left, torn, { divergence: "continue" })).toEqual(went);
    expect(ran).toEqual(["fast", "ship", "last"]);
    for (const kept of [3, 4, 5, 6]) {
      ran = [];
      expect(await resumed(left.fork(id, kept), torn), `after ${kept}`).toEqual(went);
      expect(ran).toEqual(["fast", "ship", "last"].slice(kept - 3));
    }
    // What was recorded since has been accepted by nobody.
    isSlow = true;
    ran = [];
    await expect(resumed(left.fork(id, 4), torn)).rejects.toMatchObject({ code: "DIVERGENCE" });
    expect(ran).toEqual([]);
  });

  it("in an error path: what a failure led to may be gone once the failed step is mended", async () => {
    const saga = `${bodiesOf("reserve", "charge", "cancel")}
      export const w = workflow("w", async () => {
        await step(reserve);
        try { return await step(charge); } catch (error) { await step(cancel); throw error; }
      });`;
    const mended = `${bodiesOf("reserve", "charge")}
      export const w = workflow("w", async () => { await step(reserve); return step(charge); });`;
    failing = new Set(["charge"]);
    const store = memoryStore();
    const w = flow(saga);
    await expect((await new Stepmark({ store, workflows: [w] }).start(w, undefined, { id })).result()).rejects.toThrow(
      "charge failed",
    );
    failing = new Set();
    ran = [];
    expect(await resumed(store, flow(mended))).toBe("charge");
    expect(ran).toEqual(["charge"]);
  });
});

describe("I3: calls that an edit has shifted to one another's places", () => {
  const inner = (body: string): string => `${bodiesOf("draw", "charge")}
    export const w = workflow("w", async () => { ${body} });`;

  it("a call that stands where another one of other text stood is refused, and nothing runs", async () => {
    const pair = 'Promise.all([step(charge, "outer"), (async () => step(charge, "inner"))()])';
    const store = await recorded(inner(`return ${pair};`), 2);
    const before = await store.entries(id);
    await expect(resumed(store, flow(inner(`return await (async () => ${pair})();`)))).rejects.toMatchObject({
      code: expect.stringMatching(/AMBIGUOUS_SITE|RETIRED_SITE/),
    });
    expect(ran).toEqual([]);
    expect(await store.entries(id)).toEqual(before);
  });

  it("so is one of equal text, where no argument tells them apart", async () => {
    const pair = "[await step(draw), await (async () => step(draw))()]";
    const store = await recorded(inner(`return ${pair};`), 2);
    await expect(resumed(store, flow(inner(`return await (async () => ${pair})();`)))).rejects.toMatchObject({
      code: "AMBIGUOUS_SITE",
      message: expect.stringContaining("calls have moved"),
    });
    expect(ran).toEqual([]);
  });

  it("a call whose text was edited in place is a hit, also where its old text stands elsewhere as before", async () => {
    const source = (text: string): string => `${bodiesOf("draw", "charge")}
      const other = async () => step(charge, "a");
      export const w = workflow("w", async () => [await step(charge, ${text}), await other()]);`;
    const store = await recorded(source('"a"'), 2);
    expect(await resumed(store, flow(source('"a" as string')))).toEqual(["charge", "charge"]);
    expect(ran).toEqual([]);
  });

  it("a copy in another function does not count", async () => {
    const store = await recorded(inner('return step(charge, "a");'), 1);
    const copied = `${inner('return step(charge, "a", 1 && undefined);').replace('"a", 1 && undefined', '"a"')}
      export const other = workflow("other", async () => step(charge, "a"));`;
    expect(await resumed(store, flow(copied))).toBe("charge");
    expect(ran).toEqual([]);
  });

  it("a call done between a failure and its repetition is not done again under another key", async () => {
    const compensated = (undo: string): string => `${bodiesOf("charge", "ship", "undo")}
      export const w = workflow("w", async () => {
        try { return await step(ship); } catch (error) { ${undo} throw error; }
      });`;
    failing = new Set(["ship"]);
    const w = flow(compensated('await step(undo, "x");'));
    const store = memoryStore();
    await expect((await new Stepmark({ store, workflows: [w] }).start(w, undefined, { id })).result()).rejects.toThrow(
      "ship failed",
    );
    ran = [];
    const moved = flow(compensated('await (async () => step(undo, "x"))();'));
    await expect(resumed(store, moved)).rejects.toMatchObject({ code: "AMBIGUOUS_SITE" });
    expect(ran.filter((name) => name === "undo")).toEqual([]);
    failing = new Set();
  });

  it("an iteration is not taken for another one when a loop is put around calls that nothing tells apart", async () => {
    const loops = (body: string): string =>
      inner(`const out: unknown[] = [];
      for (const i of [0, 1]) for (const j of [0, 1]) { ${body} }
      return out;`);
    const store = await recorded(loops("out.push(await step(draw));"), 4);
    const wrapped = flow(loops("for (const _ of [0]) out.push(await step(draw));"));
    await expect(resumed(store, wrapped)).rejects.toMatchObject({
      code: "AMBIGUOUS_SITE",
      message: expect.stringContaining("A loop has been put around `draw`"),
    });
    expect(ran).toEqual([]);
  });

  it("a loop around recorded code keeps what its first iteration did", async () => {
    const store = await recorded(inner("return [await step(draw), await step(charge)];"), 2);
    const wrapped = inner("for (const i of [0]) return [await step(draw), await step(charge)];");
    expect(await resumed(store, flow(wrapped))).toEqual(["draw", "charge"]);
    expect(ran).toEqual([]);
  });
});
