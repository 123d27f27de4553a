/** Recorded runs replayed against another build: what a resume would do is told, and nothing of it is done. */
import {
  type AnyWorkflow,
  codec,
  type MemoryStore,
  memoryStore,
  type ResumeOptions,
  Stepmark,
  type Store,
  step,
  workflow,
} from "stepmark";
import {
  describeReport,
  type ReplayOptions,
  type ReplayReport,
  readRun,
  replayExport,
  replayRun,
} from "stepmark/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { build } from "../support/build.js";
import { rest } from "../support/kill.js";

const id = "run";
let ran: string[] = [];
let failing = new Set<string>();
const env: { flag: unknown } = { flag: undefined };
const note = (label: string): string => {
  ran.push(label);
  if (failing.has(label)) throw new Error(`${label} failed`);
  return label;
};
beforeEach(() => {
  ran = [];
  failing = new Set();
  env.flag = undefined;
});

const head = `import { changed, child, now, publish, sleep, step, waitFor, workflow } from "stepmark"; import { env, note } from "bodies";
  const say = async (label, ...rest) => note(label);\n`;
const imports = { bodies: { env, note } };
const both = (source: string): Record<string, AnyWorkflow> =>
  build(head + source, { imports }) as Record<string, AnyWorkflow>;
const flow = (body: string): AnyWorkflow => both(`export const w = workflow("w", async () => {\n${body}\n});`).w!;

/** Runs a build, and cuts its journal. */
async function recorded(w: AnyWorkflow, kept?: number): Promise<MemoryStore> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [w] });
  await (await app.start(w, undefined, { id })).settled();
  await app.shutdown();
  ran = [];
  return kept === undefined ? store.fork() : store.fork(id, kept);
}

/** Replays a run of a store that nobody can write to, and checks that no body ran. */
async function replayed(store: Store, w: AnyWorkflow, options: Partial<ReplayOptions> = {}): Promise<ReplayReport> {
  const refuse = (): never => expect.fail("the store was written to");
  const before = [await store.read(id), await store.entries(id)];
  const readOnly = {
    ...store,
    append: refuse,
    claim: refuse,
    create: refuse,
    post: refuse,
    restore: refuse,
    renew: refuse,
  };
  const report = await replayRun(await readRun(readOnly, id), { workflows: [w], grace: 30, ...options });
  expect([ran, [await store.read(id), await store.entries(id)]]).toEqual([[], before]);
  return report;
}

/** What a resume comes to. */
async function resumeError(store: MemoryStore, w: AnyWorkflow, options: ResumeOptions = {}): Promise<Error> {
  const app = new Stepmark({ store: store.fork(), workflows: [w], grace: 30 });
  const error = await (await app.resume(id, options)).result().catch((error: Error) => error);
  await app.shutdown();
  ran = [];
  return error as Error;
}

const three = (first: string, second: string, third: string): AnyWorkflow =>
  flow(`return [${first}, ${second}, ${third}];`);
const [a, b, c] = ['await step("a", say, "a")', 'await step("b", say, "b")', 'await step("c", say, "c")'];

describe("a replay", () => {
  it("of a run by its own code goes as far as the record, from every prefix", async () => {
    const w = three(a, b, c);
    const store = await recorded(w);
    expect(await replayed(store, w)).toEqual({
      ...{ runId: id, workflow: "w", ok: true, end: "returned", hits: 3, sameOutput: true },
      ...{ edited: [], orphans: [], unreached: [], next: [], changed: {} },
    });
    for (let kept = 0; kept < 3; kept++) {
      const key = `w/${"abc"[kept]}`;
      // Once it is known what comes next there is nothing to wait for.
      expect(await replayed(store.fork(id, kept), w, { grace: "1m" })).toMatchObject({
        ...{ ok: true, end: "asks", hits: kept, unreached: [] },
        next: [{ key, kind: "step", name: "abc"[kept], at: "flow.ts:4", isNew: true }],
      });
    }
  });

  it("B72: tells what is new, and what it has not come to since that would run first", async () => {
    const store = await recorded(three(a, b, c), 2);
    const audit = 'await step("audit", say, "audit")';
    expect(await replayed(store, flow(`${audit}; return [${a}, ${b}, ${c}];`))).toMatchObject({
      ...{ ok: true, end: "asks", hits: 0, unreached: ["w/a", "w/b"] },
      next: [{ key: "w/audit", isNew: true }],
    });
    expect(
      await replayed(store, flow(`return Promise.all([${[a, b, audit, c].map((each) => each.slice(6)).join(", ")}]);`)),
    ).toMatchObject({
      ...{ ok: true, end: "asks", hits: 2, unreached: [] },
      next: [{ key: "w/audit" }, { key: "w/c" }],
    });
  });

  it("tells what was edited, and what another path leaves over", async () => {
    const store = await recorded(three(a, b, c));
    expect(await replayed(store, three(a, 'await step("b", say, "other")', c))).toMatchObject({
      ok: true,
      edited: ["w/b"],
    });
    const another = flow(`const skips = true; return [${a}, skips ? 0 : ${b}, ${c}];`);
    expect(await replayed(store, another)).toMatchObject({
      ok: true,
      end: "returned",
      hits: 2,
      orphans: ["w/b"],
      sameOutput: false,
    });
  });

  const renamed = 'await step("renamed", say, "b")';
  const refusals: Array<[string, AnyWorkflow | (() => AnyWorkflow), string]> = [
    ["a call is gone", () => flow(`return [${a}, ${c}, await step("d", say, "d")];`), "RETIRED_SITE"],
    ["a call was renamed", () => three(a, renamed, c), "RETIRED_SITE"],
    [
      "a call has got a namesake",
      () => flow(`return [${a}, await step("b", say, "x"), ${b}, ${c}];`),
      "AMBIGUOUS_SITE",
    ],
    [
      "a call does what was recorded elsewhere",
      () => flow(`const f = async () => ${b}; return [${a}, await f(), false && ${b}, ${c}];`),
      "AMBIGUOUS_SITE",
    ],
  ];
  it.each(refusals)("is refused if %s, with the words of a resume", async (_, edit, code) => {
    const store = await recorded(three(a, b, c), 2);
    const w =
      typeof edit === "function" && !("workflowName" in edit) ? (edit as () => AnyWorkflow)() : (edit as AnyWorkflow);
    const report = await replayed(store, w);
    const error = await resumeError(store, w);
    expect(error).toMatchObject({ code });
    expect(report).toMatchObject({ ok: false, end: "refused", error: { code, message: error.message } });
    expect(describeReport(report)).toContain(error.message);
    expect(describeReport(report)).toMatch(/^FAILS {2}run \(w\): \d hits?; /);
  });

  it("is refused for other arguments, and for another path of unchanged code", async () => {
    const valued = flow(`${a}; await step("b", say, "b", env.flag); return ${c};`);
    const store = await recorded(valued, 2);
    env.flag = "other";
    const mismatch = await replayed(store, valued);
    expect(mismatch).toMatchObject({
      ok: false,
      hits: 1,
      error: { code: "REPLAY_MISMATCH", message: (await resumeError(store, valued)).message },
    });
    env.flag = undefined;
    const flips = flow(`${a}; if (!env.flag) ${b}; return ${c};`);
    const flipped = await recorded(flips, 2);
    env.flag = true;
    const diverged = await replayed(flipped, flips);
    expect(diverged).toMatchObject({
      ok: false,
      unreached: ["w/b"],
      error: { code: "DIVERGENCE", message: (await resumeError(flipped, flips)).message },
    });
    expect(await replayed(flipped, flips, { divergence: "continue" })).toMatchObject({
      ok: true,
      next: [{ key: "w/c" }],
    });
  });

  it("accepts edits if it is told to, as a resume does", async () => {
    const store = await recorded(three(a, b, c), 2);
    const without = flow(`return [${a}, ${c}];`);
    expect(await replayed(store, without)).toMatchObject({ ok: false });
    expect(await replayed(store, without, { accept: "edits" })).toMatchObject({
      ok: true,
      next: [{ key: "w/c" }],
      unreached: ["w/b"],
    });
  });

  it("stands where the run waits: for an answer, a time, a child run, a step that is to be tried again", async () => {
    const source = `export const inner = workflow("inner", async () => waitFor("deep"));
      export const w = workflow("w", async () => Promise.all([
        waitFor("go"), sleep("3d"), child(inner), step({ retries: 3, backoff: "1h" }, say, "fails"),
        step("outer", async () => { await step("nested", say, "nested"); await waitFor("inside"); }),
      ]));`;
    failing = new Set(["fails"]);
    const { w, inner } = both(source) as { w: AnyWorkflow; inner: AnyWorkflow };
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [w, inner] });
    await app.start(w, undefined, { id });
    for (let i = 0; i < 5; i++) await rest();
    const left = store.fork();
    await app.shutdown();
    ran = [];
    const report = await replayed(left, w);
    expect(report).toMatchObject({ ok: true, end: "asks", hits: 0 });
    expect(report.next.map(({ kind, key, isNew }) => [kind, key, isNew])).toEqual([
      ["wait", "w/go", false],
      ["timer", "w/sleep", false],
      ["child", "w/inner", false],
      ["step", "w/say", false],
      ["step", "w/outer", false],
    ]);
    expect(report.unreached).toEqual([]);
    expect(describeReport(report)).toContain("goes on with the wait `go` (flow.ts:");
  });

  it("answers child runs from the record, and begins none", async () => {
    const source = (more: string): string => `export const inner = workflow("inner", async () => step("in", say, "in"));
      export const w = workflow("w", async () => [await child(inner)${more}]);`;
    const store = await recorded(both(source("")).w!);
    expect(await replayed(store, both(source("")).w!)).toMatchObject({ ok: true, end: "returned", hits: 1 });
    const again = both(source(", await child(inner, undefined, { id: 'another' })")).w!;
    expect(await replayed(store, again)).toMatchObject({
      ...{ ok: true, end: "asks", hits: 1 },
      next: [{ kind: "child", key: "w/inner~1", isNew: true }],
    });
    expect(await store.read("another")).toBeUndefined();
  });

  it("starts nothing new of any kind, also not what the code does not wait for", async () => {
    const store = await recorded(flow(`return ${a};`), 1);
    const w = flow(
      `${a}; void step("new", say, "new"); void now(); void publish("p", 1); void sleep(1); void waitFor("x"); return 1;`,
    );
    const report = await replayed(store, w);
    expect(report).toMatchObject({ ok: true, end: "returned" });
    expect(report.next.map(({ kind, isNew }) => [kind, isNew])).toEqual([
      ["step", true],
      ["value", true],
      ["publish", true],
      ["timer", true],
      ["wait", true],
    ]);
  });

  it("gives up code that waits for something outside, after the time of grace", async () => {
    const raw = (ms: number): AnyWorkflow =>
      flow(`${a}; await new Promise((resolve) => setTimeout(resolve, ${ms})); return ${b};`);
    const store = await recorded(raw(0));
    expect(await replayed(store, raw(5), { grace: 2_000 })).toMatchObject({ ok: true, end: "returned", hits: 2 });
    const report = await replayed(store, raw(100_000));
    expect(report).toMatchObject({
      ok: false,
      end: "refused",
      hits: 1,
      unreached: ["w/b"],
      error: { code: "STALLED" },
    });
    expect(await replayed(store.fork(id, 1), raw(100_000))).toMatchObject({
      ok: true,
      end: "outside",
      hits: 1,
      next: [],
    });
  });

  it("tells what the code throws, and takes it amiss unless the run has failed before", async () => {
    const store = await recorded(flow(`return ${a};`));
    const broken = flow(`${a}; throw new TypeError("broken");`);
    const report = await replayed(store, broken);
    expect(report).toMatchObject({ ok: false, end: "threw", hits: 1, error: { name: "TypeError", message: "broken" } });
    expect(describeReport(report)).toBe("FAILS  run (w): 1 hit; throws broken");
    const failed = await recorded(broken);
    expect(await replayed(failed, broken)).toMatchObject({ ok: true, end: "threw" });
    failing = new Set(["b"]);
    const w = three(a, b, c);
    const culprit = await recorded(w);
    expect(await replayed(culprit, w)).toMatchObject({
      ok: true,
      end: "asks",
      hits: 1,
      next: [{ key: "w/b", isNew: false }],
    });
  });

  it("B77: tells what changed(id) answers, without keeping it", async () => {
    const loop = (added: string): AnyWorkflow =>
      flow(`for (let i = 0; i < 3; i++) { await step("base", say, "b" + i); ${added} }`);
    const store = await recorded(loop(""));
    const v2 = loop('if (await changed("v2")) await step("extra", say, "e" + i);');
    expect(await replayed(store.fork(id, 2), v2)).toMatchObject({
      ok: true,
      hits: 2,
      changed: { v2: false },
      next: [{ key: "w/base@2" }],
    });
    const report = await replayed(store.fork(id, 1), v2);
    expect(report).toMatchObject({ ok: true, hits: 1, changed: { v2: true }, next: [{ key: "w/extra", isNew: true }] });
    expect(describeReport(report)).toContain('changed("v2") is true');
  });

  it("that cannot begin says why", async () => {
    const w = three(a, b, c);
    const store = await recorded(w, 2);
    const run = await readRun(store, id);
    const told = async (changes: object, workflows: AnyWorkflow[] = [w]): Promise<unknown> =>
      (await replayRun({ ...run, ...changes }, { workflows })).error;
    expect(await told({}, [])).toMatchObject({
      code: "UNKNOWN_WORKFLOW",
      message: expect.stringContaining("Export it from the module of workflows, or pass it in `workflows`."),
    });
    expect(await told({ values: false })).toMatchObject({
      code: "VALUES_LEFT_OUT",
      message: expect.stringContaining("cannot be replayed"),
    });
    expect(await told({ run: { ...run.run, scheme: 0 } })).toMatchObject({ code: "KEY_SCHEME" });
    expect(await told({ run: { ...run.run, input: "[[" } })).toMatchObject({ code: "DECODE" });
    expect(await told({ entries: run.entries.slice(1) })).toMatchObject({ code: "DAMAGED_JOURNAL" });
    await expect(told({}, [w, workflow("w", async () => 1)])).rejects.toMatchObject({ code: "DUPLICATE_WORKFLOW" });
  });

  it("reads values with the codec that recorded them", async () => {
    class Point {
      constructor(readonly x: number) {}
    }
    const own = codec({ classes: [Point] });
    const points = workflow("points", async () => (await step(async () => new Point(1))).x);
    const store = memoryStore();
    await (await new Stepmark({ store, codec: own }).start(points, undefined, { id })).result();
    expect(await replayed(store, points, { codec: own })).toMatchObject({ ok: true, sameOutput: true });
    expect(await replayed(store, points)).toMatchObject({ ok: false, error: { code: "DECODE" } });
  });

  it("goes through a whole file of runs", async () => {
    const w = three(a, b, c);
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [w] });
    for (const name of ["one", "two"]) await (await app.start(w, undefined, { id: name })).result();
    ran = [];
    let text = "";
    for await (const line of app.export(["one", "two"])) text += line;
    const reports = await replayExport(text, { workflows: [w] });
    expect(reports.map(({ runId, ok }) => [runId, ok])).toEqual([
      ["one", true],
      ["two", true],
    ]);
    let without = "";
    for await (const line of app.export("one", { values: false })) without += line;
    expect(await replayExport(without, { workflows: [w] })).toMatchObject([
      { ok: false, error: { code: "VALUES_LEFT_OUT" } },
    ]);
    expect(ran).toEqual([]);
  });
});
