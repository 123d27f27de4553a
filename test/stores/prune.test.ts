/** Old runs are deleted, and no others. */
import {
  type AnyWorkflow,
  child,
  memoryStore,
  NonRetryableError,
  type RunInfo,
  Stepmark,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { beforeEach, describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../runtime/errors.js";
import { FakeClock } from "../support/fake-clock.js";

const day = 86_400_000;
const done = workflow("prune: done", async (input: string) => step(() => `${input}!`));
const fails = workflow("prune: fails", async () =>
  step(() => {
    throw new NonRetryableError("no");
  }),
);
const waits = workflow("prune: waits", async () => waitFor("go"));
const parent = workflow("prune: parent", async () => {
  const got = await child(done, "c", { id: "child" });
  await waitFor("go");
  return got;
});

let clock: FakeClock;
let store: ReturnType<typeof memoryStore>;
let app: Stepmark;
beforeEach(() => {
  // What ends a run is dated by the store.
  clock = new FakeClock(Date.now());
  store = memoryStore();
  app = new Stepmark({ store, clock, workflows: [done, fails, waits, parent] });
});
const start = async (id: string, flow: AnyWorkflow = done): Promise<void> => {
  await (await app.start(flow as typeof done, id, { id })).settled();
};
const left = async (): Promise<string[]> => (await app.list()).map(({ id }) => id).sort();

describe("prune", () => {
  it("deletes completed and cancelled runs that ended so long ago, and keeps the others", async () => {
    await start("old");
    await start("failed", fails);
    await start("open", waits);
    await start("cancelled", waits);
    await app.cancel("cancelled");
    await clock.advance(30 * day - 600_000);
    expect(await app.prune({ olderThan: "30d", dryRun: true })).toEqual([]);
    await clock.advance(1_200_000);
    expect(await app.prune({ olderThan: "30d", dryRun: true })).toEqual(["old", "cancelled"]);
    expect(await left()).toHaveLength(4);
    expect(await app.prune({ olderThan: "30d" })).toEqual(["old", "cancelled"]);
    expect(await left()).toEqual(["failed", "open"]);
    expect(await app.prune({ olderThan: "30d", status: "failed" })).toEqual(["failed"]);
    expect(await left()).toEqual(["open"]);
  });

  it("takes a limit and a workflow, and comes through more runs than go into a batch", async () => {
    for (let i = 0; i < 250; i++) await start(`r${i}`);
    await clock.advance(day);
    expect(await app.prune({ olderThan: 1_000, workflow: "prune: fails" })).toEqual([]);
    expect(await app.prune({ olderThan: 1_000, limit: 3 })).toEqual(["r0", "r1", "r2"]);
    expect(await app.prune({ olderThan: 1_000 })).toHaveLength(247);
    expect(await left()).toEqual([]);
  });

  it("keeps a child run whose parent may still ask for it, and goes on with the rest", async () => {
    await start("parent", parent);
    await start("other");
    await clock.advance(day);
    expect(await app.prune({ olderThan: 1_000 })).toEqual(["other"]);
    expect(await left()).toEqual(["child", "parent"]);
    await app.resume("parent");
    await app.answer("parent", "go", 1);
    await (await app.resume("parent")).result();
    await clock.advance(day);
    expect((await app.prune({ olderThan: 1_000 })).sort()).toEqual(["child", "parent"]);
  });

  describe("of a run whose id is used again", () => {
    let answer: () => Promise<string>;
    const asked = workflow("prune: asked", async () => answer());
    const asks = workflow("prune: asks", async () => {
      const asking = child(asked).catch((error: Error) => error.message);
      return Promise.race([asking, waitFor<string>("go")]);
    });
    const again = async (): Promise<unknown> => (await app.start(asks, undefined, { id: "nightly" })).result();

    it("I3: leaves child runs that have failed, and the next run of that id does not get their failures", async () => {
      answer = async () => {
        throw new Error("of the first night");
      };
      expect(await again()).toBe("of the first night");
      await clock.advance(day);
      expect(await app.prune({ olderThan: 1_000 })).toEqual(["nightly"]);
      answer = async () => "of the second night";
      const taken = "Another run has the id of a child run: it was begun by a run with the parent's id";
      expect(await again()).toContain(taken);
      await clock.advance(day);
      expect(await app.prune({ olderThan: 1_000, status: ["completed", "failed"] })).toHaveLength(2);
      expect(await again()).toBe("of the second night");
    });

    it("leaves child runs that go on, and the next run of that id neither takes nor cancels them", async () => {
      answer = () => waitFor("ok");
      const run = await app.start(asks, undefined, { id: "nightly" });
      await run.settled();
      await app.answer("nightly", "go", "on");
      expect(await run.result()).toBe("on");
      await clock.advance(day);
      expect(await app.prune({ olderThan: 1_000 })).toEqual(["nightly"]);
      expect(await again()).toContain("Another run has the id of a child run");
      await clock.advance(day);
      expect(await app.prune({ olderThan: 1_000 })).toEqual(["nightly"]);
      await app.start(waits, undefined, { id: "nightly" });
      await app.cancel("nightly");
      await app.shutdown();
      app = new Stepmark({ store, clock, workflows: [asked] });
      const [{ id }] = (await app.list({ status: "waiting" })) as [RunInfo];
      await app.answer(id, "ok", "late");
      expect(await (await app.resume(id)).result()).toBe("late");
    });
  });

  it("archives before it deletes, and deletes nothing that could not be archived", async () => {
    await start("a");
    await start("b");
    const entries = await app.entries("a");
    await clock.advance(day);
    const failing = app.prune({ olderThan: 1_000, archive: () => Promise.reject(new Error("tape is full")) });
    await expect(failing).rejects.toThrow("tape is full");
    expect(await left()).toEqual(["a", "b"]);
    let text = "";
    const seen: string[][] = [];
    await app.prune({
      olderThan: 1_000,
      archive: async (lines, ids) => {
        for await (const line of lines) text += line;
        seen.push([...ids]);
        expect(await left()).toEqual(["a", "b"]);
      },
    });
    expect([seen, await left()]).toEqual([[["a", "b"]], []]);
    expect(await app.import(text)).toEqual(["a", "b"]);
    expect(await app.entries("a")).toEqual(entries);
  });

  it("keeps a run that has gone on since it was looked at", async () => {
    await start("failed", fails);
    await clock.advance(day);
    const pruned = await app.prune({
      olderThan: 1_000,
      status: ["failed"],
      archive: async (lines) => {
        for await (const _ of lines);
        await (await app.resume("failed")).settled();
      },
    });
    expect([pruned, await left()]).toEqual([[], ["failed"]]);
  });

  it("is refused for runs that have not ended, and for what is no time", async () => {
    await expect(app.prune({ olderThan: 1, status: "running" as never })).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(app.prune({ olderThan: "soon" as never })).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});
