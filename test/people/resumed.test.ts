/** What a resume was asked for holds until it has been done, over as many processes as that takes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { child, memoryStore, Stepmark, type Store, step, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { Bodies } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
let failing = new Set<string>();
/** Bodies that have begun and that only the end of their process ends. */
let hanging = new Map<string, () => void>();

const work = async (item: string): Promise<string> => {
  bodies.note(item);
  const reached = hanging.get(item);
  if (reached !== undefined) {
    reached();
    await new Promise(() => {});
  }
  if (failing.has(item)) throw new Error(`${item} failed`);
  return `w(${item})`;
};

beforeEach(() => {
  bodies.reset();
  failing = new Set();
  hanging = new Map();
});

/** Bodies that ran since the last call. */
const ran = (): string[] => {
  const labels = [...bodies.labels];
  bodies.reset();
  return labels;
};

const plain = workflow("plain", async () => [await step(work, "a"), await step(work, "b"), await step(work, "c")]);
const two = workflow("two", async () => {
  const both = await Promise.allSettled([step(work, "a"), step(work, "b")]);
  const errors = both.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (errors.length > 0) throw new AggregateError(errors, "some failed");
  return step(work, "c");
});
const nested = workflow("nested", async () => {
  const outer = async (): Promise<string> => {
    bodies.note("outer");
    return (await step(work, "a")) + (await step(work, "b"));
  };
  return [await step(outer), await step(work, "c")];
});
const race = workflow("race", async () => [
  await Promise.race([step(work, "a").then(() => new Promise<never>(() => {})), step(work, "b")]),
  await step(work, "c"),
]);
const caught = workflow("caught", async () => [
  await step(work, "a").catch(() => "fallback"),
  await step(work, "b"),
  await step(work, "c"),
]);
const leaf = workflow("leaf", async () => [await step(work, "a"), await step(work, "b")]);
const parent = workflow("parent", async () => [
  await step(work, "before"),
  await child(leaf, undefined),
  await step(work, "c"),
]);
const workflows = [plain, two, nested, race, caught, leaf, parent];

const folder = mkdtempSync(join(tmpdir(), "stepmark-resumed-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const stores: Array<[name: string, make: () => Store]> = [
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore(join(folder, `${files++}.db`))],
];

describe.each(stores)("a resume, kept in %s,", (_, makeStore) => {
  let store: Store;
  beforeEach(() => {
    store = makeStore();
  });
  const app = (): Stepmark => new Stepmark({ store, workflows, grace: 50, stallAfter: 300 });

  /** Starts a run of a workflow whose step `item` fails. */
  async function failed(flow: (typeof workflows)[number], ...items: string[]): Promise<void> {
    failing = new Set(items);
    await expect((await app().start(flow as typeof plain, undefined, { id })).result()).rejects.toThrow("failed");
    failing = new Set();
    ran();
  }

  /** Has a process take the run up and end while the body of step `item` is under way. */
  async function interrupted(
    item: string,
    take = (mine: Stepmark): Promise<unknown> => mine.resume(id),
  ): Promise<void> {
    const reached = new Promise<void>((resolve) => hanging.set(item, resolve));
    const mine = app();
    await take(mine);
    await reached;
    await mine.shutdown();
    hanging.clear();
  }

  const resumed = async (): Promise<unknown> => (await app().resume(id)).result();
  const recovered = async (): Promise<unknown> => {
    const runs = await app().recover();
    return runs.find((run) => run.id === id)!.result();
  };
  const looked = async (): Promise<unknown> => {
    const mine = app();
    const ended = new AbortController();
    const looking = mine.run({ interval: 5, signal: ended.signal });
    let output: unknown;
    for await (const event of mine.events(id)) if (event.type === "run.completed") output = event.value;
    ended.abort();
    await looking;
    return output;
  };

  for (const [name, takeUp] of Object.entries({ resumed, recovered, looked })) {
    it(`holds over a process that ends before the failed step has run again (${name})`, async () => {
      await failed(plain, "b");
      await interrupted("b");
      await interrupted("b", (mine) => mine.recover());
      expect(ran()).toEqual(["b", "b"]);
      expect(await takeUp()).toEqual(["w(a)", "w(b)", "w(c)"]);
      expect(ran()).toEqual(["b", "c"]);
    });
  }

  it("is done with the failed step's new outcome: a process that ends after it has nothing to run again", async () => {
    await failed(plain, "b");
    await interrupted("c");
    expect(ran()).toEqual(["b", "c"]);
    expect((await store.read(id))?.culprits).toBeUndefined();
    expect(await recovered()).toEqual(["w(a)", "w(b)", "w(c)"]);
    expect(ran()).toEqual(["c"]);
  });

  it("is done with a second failure, which is delivered and not run again", async () => {
    await failed(caught, "a", "b");
    // The first step's failure was caught, and is asked for anew.
    failing = new Set(["a"]);
    await interrupted("b", (mine) => mine.resume(id, { retry: "all" }));
    expect(ran()).toEqual(["a", "b"]);
    expect((await store.read(id))?.culprits).toEqual(["caught/work~1"]);
    failing = new Set();
    expect(await recovered()).toEqual(["fallback", "w(b)", "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });

  it("holds for every failed step, if all were asked for", async () => {
    await failed(caught, "a", "b");
    await interrupted("a", (mine) => mine.resume(id, { retry: "all" }));
    ran();
    expect(await recovered()).toEqual(["w(a)", "w(b)", "w(c)"]);
    expect(ran()).toEqual(["a", "b", "c"]);
  });

  it("holds for every failed step, if all were asked for of a run that a process has left behind", async () => {
    failing = new Set(["a"]);
    await interrupted("b", (mine) => mine.start(caught, undefined, { id }));
    failing = new Set();
    await interrupted("a", (mine) => mine.resume(id, { retry: "all" }));
    ran();
    expect(await recovered()).toEqual(["w(a)", "w(b)", "w(c)"]);
    expect(ran()).toEqual(["a", "b", "c"]);
  });

  it("holds for those of several failed steps that have not run again", async () => {
    await failed(two, "a", "b");
    await interrupted("b");
    expect(ran().sort()).toEqual(["a", "b"]);
    expect(await recovered()).toEqual("w(c)");
    expect(ran()).toEqual(["b", "c"]);
  });

  it("holds for a step and the failed one in its body", async () => {
    await failed(nested, "b");
    await interrupted("b");
    expect(ran()).toEqual(["outer", "b"]);
    expect(await recovered()).toEqual(["w(a)w(b)", "w(c)"]);
    expect(ran()).toEqual(["outer", "b", "c"]);
  });

  it("holds for a step that lost no race by failing", async () => {
    await failed(race, "b");
    await interrupted("b");
    ran();
    expect(await recovered()).toEqual(["w(b)", "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });

  it("that fails again leaves the step to the next one", async () => {
    await failed(plain, "b");
    await interrupted("b");
    failing = new Set(["b"]);
    await expect(recovered()).rejects.toThrow("b failed");
    failing = new Set();
    ran();
    expect(await resumed()).toEqual(["w(a)", "w(b)", "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });

  it("comes to nothing with the run's cancellation", async () => {
    await failed(plain, "b");
    await interrupted("b");
    ran();
    await app().cancel(id);
    await expect(resumed()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect(await store.read(id)).toMatchObject({ status: "cancelled", culprits: undefined });
    expect(ran()).toEqual([]);
  });

  it("holds for a child run, and for what failed in it", async () => {
    await failed(parent, "b");
    await interrupted("b");
    expect(ran()).toEqual(["b"]);
    expect(await resumed()).toEqual(["w(before)", ["w(a)", "w(b)"], "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });

  it("of a parent holds if it ends before it has taken up its child", async () => {
    await failed(parent, "b");
    // The child's run cannot be taken up as long as somebody else has it.
    const childId = "run/parent/leaf";
    const other = { token: "other", host: "elsewhere", pid: 1, processStart: "" };
    const claim = await store.claim(childId, other, () => true, { now: Date.now(), until: Date.now() + 60_000 });
    const mine = app();
    await mine.resume(id);
    await mine.shutdown();
    await store.append(childId, claim.claimed ? claim.run.fence : 0, [], { release: true });
    expect(await store.read(id)).toMatchObject({ status: "running", culprits: ["parent/leaf"] });
    expect(ran()).toEqual([]);
    expect(await resumed()).toEqual(["w(before)", ["w(a)", "w(b)"], "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });

  it("of a parent is done when its child has failed again, though the parent has not heard of it", async () => {
    await failed(parent, "b");
    await interrupted("b");
    failing = new Set(["b"]);
    // The child alone is gone on with, and its parent is not there.
    const childId = "run/parent/leaf";
    await expect((await app().resume(childId)).result()).rejects.toThrow("b failed");
    failing = new Set();
    ran();
    await expect(resumed()).rejects.toThrow("b failed");
    expect(ran()).toEqual([]);
    expect(await resumed()).toEqual(["w(before)", ["w(a)", "w(b)"], "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });

  it("of a parent takes up a child that has failed again by itself before that", async () => {
    await failed(parent, "b");
    failing = new Set(["b"]);
    await expect((await app().resume("run/parent/leaf")).result()).rejects.toThrow("b failed");
    failing = new Set();
    ran();
    expect(await resumed()).toEqual(["w(before)", ["w(a)", "w(b)"], "w(c)"]);
    expect(ran()).toEqual(["b", "c"]);
  });
});
