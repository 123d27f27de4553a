/** Runs that end one process after the other, whichever store they are in: they fail instead of ending the next one too. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore, Stepmark, type Store, step, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { describe, expect, it, vi } from "vitest";

const id = "run";
const gone = 2 ** 31 - 1;
let begun = 0;
let isDeadly = true;
const first = async (): Promise<number> => 1;
const deadly = (): Promise<string> => {
  begun++;
  return isDeadly ? new Promise(() => {}) : Promise.resolve("lived");
};
const flow = workflow("flow", async () => [await step(first), await step(deadly)]);

/** Has the process that drives the run end, as far as any other can tell. */
async function die(store: Store): Promise<void> {
  const { owner } = (await store.read(id))!;
  await store.claim(id, { ...owner!, token: `${owner!.token}-`, pid: gone }, () => true, { now: 0, until: 0 });
}

async function untilBegun(count: number): Promise<void> {
  while (begun < count) await new Promise((resolve) => setImmediate(resolve));
}

describe.each<[string, (folder: string) => Store]>([
  ["memory", () => memoryStore()],
  ["SQLite", (folder) => sqliteStore(join(folder, "runs.db"))],
])("%s: a run that ends its process", (_, open) => {
  const each = async (test: (store: Store, next: () => Stepmark) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), "stepmark-"));
    const store = open(folder);
    const apps: Stepmark[] = [];
    begun = 0;
    isDeadly = true;
    try {
      await test(store, () => {
        const app = new Stepmark({ store, workflows: [flow], drain: 0 });
        apps.push(app);
        return app;
      });
    } finally {
      // Those that have "died" find that they have lost the run.
      await Promise.allSettled(apps.map((app) => app.shutdown()));
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  };

  it("fails with its own error after so many, and can be resumed when that is mended", async () => {
    await each(async (store, next) => {
      await next().start(flow, undefined, { id });
      for (let lives = 1; lives < 3; lives++) {
        await untilBegun(lives);
        await die(store);
        expect(await next().recover({ maxTakeovers: 3 })).toHaveLength(1);
      }
      await untilBegun(3);
      await die(store);
      const last = next();
      const [run] = await last.recover({ maxTakeovers: 3 });
      await expect(run!.result()).rejects.toMatchObject({ code: "RUN_POISONED", runId: id });
      expect([begun, (await last.get(id)).status]).toEqual([3, "failed"]);
      isDeadly = false;
      expect(await (await last.resume(id)).result()).toEqual([1, "lived"]);
    });
  });

  it("counts from anew when the run has got any further, and when it was given up in order", async () => {
    await each(async (store, next) => {
      await next().start(flow, undefined, { id });
      await untilBegun(1);
      await die(store);
      await next().recover();
      await untilBegun(2);
      await die(store);
      const third = next();
      await third.recover();
      await untilBegun(3);
      expect((await store.read(id))?.owner?.takeovers).toEqual({ count: 2, reached: 1 });
      await third.shutdown();
      await next().resume(id);
      await untilBegun(4);
      expect((await store.read(id))?.owner?.takeovers).toBeUndefined();
      const { fence } = (await store.read(id))!;
      const [step] = await store.entries(id);
      await store.append(id, fence, [{ ...step!, seq: 2, key: "flow/other", process: undefined }]);
      await die(store);
      await next().resume(id, { divergence: "continue" });
      expect((await store.read(id))?.owner?.takeovers).toEqual({ count: 1, reached: 2 });
    });
  });

  it("fails in the loop that wakes runs, too", async () => {
    await each(async (store, next) => {
      await next().start(flow, undefined, { id });
      await untilBegun(1);
      await die(store);
      const app = next();
      void app.run({ interval: 1, maxTakeovers: 1 });
      await vi.waitFor(async () => expect((await app.get(id)).status).toBe("failed"));
      expect(begun).toBe(1);
    });
  });
});
