/** `child`: runs that are begun and awaited by runs. */
import { child, DamagedJournalError, memoryStore, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
let failing = new Set<string>();
const work = async (item: string): Promise<string> => {
  bodies.note(item);
  if (failing.has(item)) throw new Error(`${item} failed`);
  return `w(${item})`;
};

beforeEach(() => {
  bodies.reset();
  failing = new Set();
});

const leaf = workflow("leaf", async (item: string) => step(work, item));
const asking = workflow("asking", async (item: string) => [item, await waitFor<string>("ok")]);
const parent = workflow("parent", async () => {
  const both = await Promise.all(["a", "b"].map((item) => child(leaf, item)));
  return [...both, await step(work, "last")];
});
const app = (store = memoryStore()): Stepmark =>
  new Stepmark({ store, workflows: [leaf, asking, parent, waits, nested, lone] });
const waits = workflow("waits", async () => [await child(asking, "x"), await step(work, "after")]);
const nested = workflow("nested", async () => step("outer", async () => child(leaf, "deep")));
const lone = workflow("lone", async () => child(leaf, "a", { id: "mine" }));

describe("a child run", () => {
  it("A12: is a run of its own, with an id that is made of the parent's and the call's key", async () => {
    const stepmark = app();
    const run = await stepmark.start(parent, undefined, { id });
    expect(await run.result()).toEqual(["w(a)", "w(b)", "w(last)"]);
    const children = (await stepmark.get(id)).children;
    expect(children).toEqual([
      { id: "run/parent/map()/leaf", key: "parent/map()/leaf", status: "completed" },
      { id: "run/parent/map()[1]/leaf", key: "parent/map()[1]/leaf", status: "completed" },
    ]);
    expect(await stepmark.get(children[0]!.id)).toMatchObject({
      workflow: "leaf",
      status: "completed",
      output: "w(a)",
      parent: { id, key: "parent/map()/leaf" },
    });
  });

  it("is found again from every prefix of the parent's journal, and its bodies run once", async () => {
    let passes = 0;
    const counted = workflow("parent", async () => {
      passes++;
      return [await child(leaf, "a"), await child(leaf, "b")];
    });
    const store = await replayFromEveryPrefix({
      workflow: counted,
      bodies: new Bodies(),
      expected: ["w(a)", "w(b)"],
    });
    expect(passes).toBeGreaterThan(5);
    expect(bodies.labels.sort()).toEqual(["a", "b"]);
    expect(await store.list({ workflow: "leaf" })).toHaveLength(2);
  });

  it("is begun by a step's body too, and found again when the body runs again", async () => {
    const store = memoryStore();
    expect(await (await app(store).start(nested, undefined, { id })).result()).toBe("w(deep)");
    bodies.reset();
    for (const kept of [0, 1, 2, 3]) {
      expect(await (await app(store.fork(id, kept)).resume(id)).result(), `after ${kept}`).toBe("w(deep)");
    }
    expect(bodies.labels).toEqual([]);
  });

  it("that is busy in this process keeps its parent running: nothing is written of a pause", async () => {
    const store = memoryStore();
    const statuses: string[] = [];
    const append = store.append.bind(store);
    store.append = (run, fence, entries, change) => {
      if (run === id && change?.status) statuses.push(change.status);
      return append(run, fence, entries, change);
    };
    await (await app(store).start(parent, undefined, { id })).result();
    expect(statuses).toEqual(["completed"]);
    // One that waits has it wait too.
    statuses.length = 0;
    await store.delete(id);
    const run = await app(store).start(waits, undefined, { id });
    expect((await run.settled()).status).toBe("waiting");
    expect(statuses).toEqual(["waiting"]);
  });

  it("has the parent wait with it, and go on when it has ended, in whatever process that is", async () => {
    const store = memoryStore();
    const first = app(store);
    const run = await first.start(waits, undefined, { id });
    expect((await run.settled()).status).toBe("waiting");
    expect((await first.get(id)).children).toMatchObject([{ status: "open" }]);
    await first.shutdown();
    const other = app(store);
    const childId = "run/waits/asking";
    await other.answer(childId, "ok", "yes");
    await (await other.resume(childId)).result();
    await other.shutdown();
    expect((await store.ready(0)).map((each) => each.id)).toEqual([id]);
    const last = app(store);
    const [recovered] = await last.recover();
    expect(await recovered!.result()).toEqual([["x", "yes"], "w(after)"]);
    expect(bodies.labels).toEqual(["after"]);
  });

  it("goes on in memory when its answer comes", async () => {
    const stepmark = app();
    const run = await stepmark.start(waits, undefined, { id });
    await run.settled();
    await stepmark.answer("run/waits/asking", "ok", "yes");
    expect(await run.result()).toEqual([["x", "yes"], "w(after)"]);
  });
});

describe("how it ends", () => {
  it("its failure is the call's, recorded, and resuming the parent resumes it", async () => {
    const store = memoryStore();
    failing = new Set(["b"]);
    const run = await app(store).start(parent, undefined, { id });
    await expect(run.result()).rejects.toThrow("b failed");
    failing = new Set();
    bodies.reset();
    expect(await (await app(store).resume(id)).result()).toEqual(["w(a)", "w(b)", "w(last)"]);
    expect(bodies.labels).toEqual(["b", "last"]);
  });

  it("a failure that the parent has caught stays caught", async () => {
    const catching = workflow("catching", async () => {
      const caught = await child(leaf, "b").catch((error: Error) => error.message);
      return [caught, await step(work, "c")];
    });
    failing = new Set(["b"]);
    await replayFromEveryPrefix({
      workflow: catching,
      bodies: new Bodies(),
      expected: ["b failed", "w(c)"],
    });
  });

  it("a child whose record does not fit the code ends its parent, which catches nothing and goes on with it later", async () => {
    let asked = "a";
    const unsteady = workflow("unsteady", async () => [await step(work, asked), await waitFor<string>("ok")]);
    const catching = workflow("catching", async () => {
      try {
        return await child(unsteady, undefined);
      } catch {
        return step(work, "compensation");
      }
    });
    const grand = workflow("grand", async () => child(catching, undefined));
    const store = memoryStore();
    const start = (): Stepmark => new Stepmark({ store, workflows: [grand, catching, unsteady] });
    const kid = `${id}/grand/catching/catching/unsteady`;
    const first = start();
    await (await first.start(grand, undefined, { id })).settled();
    await rest();
    await first.shutdown();
    await first.answer(kid, "ok", "yes");
    asked = "b";
    const second = start();
    const before = (await store.entries(id)).length;
    await expect((await second.resume(id)).result()).rejects.toMatchObject({ code: "REPLAY_MISMATCH", runId: kid });
    expect((await store.list({})).map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
    expect((await store.entries(id)).length).toBe(before);
    await second.shutdown();
    asked = "a";
    expect(await (await start().resume(id)).result()).toEqual(["w(a)", "yes"]);
    expect(bodies.labels).toEqual(["a"]);
  });

  it("is told once it has been resumed: a refusal of before, heard of meanwhile, is no end of it", async () => {
    let asked = "a";
    const unsteady = workflow("unsteady", async () => [await step(work, asked), await waitFor<string>("ok")]);
    const both = workflow("both", async () =>
      Promise.all(["one", "two"].map((name) => child(unsteady, undefined, { id: name }))),
    );
    const store = memoryStore();
    const start = (of: Store = store): Stepmark => new Stepmark({ store: of, workflows: [both, unsteady] });
    const first = start();
    await (await first.start(both, undefined, { id })).settled();
    await first.shutdown();
    for (const kid of ["one", "two"]) await first.answer(kid, "ok", kid);
    asked = "b";
    const second = start();
    await expect((await second.resume(id)).result()).rejects.toMatchObject({ code: "REPLAY_MISMATCH" });
    await rest();
    await second.shutdown();
    expect((await store.list({})).map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
    asked = "a";
    let go!: () => void;
    const slow = new Promise<void>((resolve) => {
      go = resolve;
    });
    const third = start({
      ...store,
      create: async (run) => {
        if (run.id === "two") await slow;
        return store.create(run);
      },
    });
    const run = await third.resume(id);
    await rest();
    go();
    expect(await run.result()).toEqual([
      ["w(a)", "one"],
      ["w(a)", "two"],
    ]);
  });

  it("a child whose journal cannot be read ends its parent, which catches nothing and goes on with it later", async () => {
    const catching = workflow("catching", async () => {
      try {
        return await child(asking, "x", { id: "kid" });
      } catch {
        return step(work, "compensation");
      }
    });
    const store = memoryStore();
    let isDamaged = false;
    const damaged: Store = {
      ...store,
      entries: async (of, ...rest) => {
        if (of === "kid" && isDamaged) throw new DamagedJournalError("Entry 1 is damaged", { runId: of });
        return store.entries(of, ...rest);
      },
    };
    const start = (): Stepmark => new Stepmark({ store: damaged, workflows: [catching, asking] });
    const first = start();
    await (await first.start(catching, undefined, { id })).settled();
    await first.shutdown();
    isDamaged = true;
    const second = start();
    await expect((await second.resume(id)).result()).rejects.toMatchObject({ code: "DAMAGED_JOURNAL", runId: "kid" });
    expect((await store.entries(id)).map(({ state }) => state)).toEqual(["open"]);
    await second.shutdown();
    isDamaged = false;
    const third = start();
    const run = await third.resume(id);
    await run.settled();
    await third.answer("kid", "ok", "yes");
    expect(await run.result()).toEqual(["x", "yes"]);
    expect(bodies.labels).toEqual([]);
  });

  it("is cancelled with its parent, and theirs with it", async () => {
    const grand = workflow("grand", async () => child(waits, undefined));
    const store = memoryStore();
    const stepmark = new Stepmark({ store, workflows: [grand, waits, asking] });
    const run = await stepmark.start(grand, undefined, { id });
    await run.settled();
    await rest();
    await stepmark.cancel(id);
    await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect((await store.list({})).map(({ workflow: name, status }) => [name, status]).sort()).toEqual([
      ["asking", "cancelled"],
      ["grand", "cancelled"],
      ["waits", "cancelled"],
    ]);
  });

  it("a child that a crash left behind when its parent was cancelled is cancelled when it is taken up", async () => {
    const store = memoryStore();
    const first = app(store);
    await (await first.start(waits, undefined, { id })).settled();
    await first.shutdown();
    // As a process leaves it that dies between the two: the parent's end is written, the child's is not.
    const { fence } = await store
      .claim(id, { token: "t", host: "h", pid: 1, processStart: "" }, () => true, { now: 0, until: 0 })
      .then((claim) => (claim.claimed ? claim.run : expect.fail("not claimed")));
    await store.append(id, fence, [], { status: "cancelled", release: true });
    const next = app(store);
    await next.answer("run/waits/asking", "ok", "yes");
    await expect((await next.resume("run/waits/asking")).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect((await store.read("run/waits/asking"))?.status).toBe("cancelled");
  });

  it("a cancelled child is a failure of the call", async () => {
    const stepmark = app();
    const run = await stepmark.start(waits, undefined, { id });
    await run.settled();
    await stepmark.cancel("run/waits/asking");
    await expect(run.result()).rejects.toMatchObject({ name: "RunCancelledError" });
  });

  it("an id that another run has is refused", async () => {
    const store = memoryStore();
    const stepmark = app(store);
    await (await stepmark.start(leaf, "other", { id: "mine" })).result();
    await expect((await stepmark.start(lone, undefined, { id })).result()).rejects.toMatchObject({
      name: "RunExistsError",
    });
    const alone = app();
    expect(await (await alone.start(lone, undefined, { id })).result()).toBe("w(a)");
    expect((await alone.get("mine")).parent).toEqual({ id, key: "lone/leaf" });
  });
});
