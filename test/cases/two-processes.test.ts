/** Cases of two processes that have one run: two apps, each with a store of its own on one SQLite file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Stepmark, type Store, sleep, step, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";

const id = "run";
let folder: string;
let apps: Stepmark[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stepmark-two-"));
  apps = [];
});
afterEach(async () => {
  await Promise.all(apps.map((app) => app.shutdown()));
  rmSync(folder, { recursive: true, force: true });
});

function process(options: { takesTheLivingForDead?: boolean } = {}): { app: Stepmark; store: Store } {
  const store = sqliteStore(join(folder, "runs.db"));
  if (options.takesTheLivingForDead) {
    const { claim, read } = { claim: store.claim.bind(store), read: store.read.bind(store) };
    store.claim = (run, owner, _isDead, lease) => claim(run, owner, () => true, lease);
    store.read = async (run) => {
      const found = await read(run);
      return found && { ...found, owner: undefined };
    };
  }
  const app = new Stepmark({ store, workflows: [tickets, branches] });
  apps.push(app);
  return { app, store };
}

let ticket = 0;
const tickets = workflow("b78", async () => {
  const v = await step(async () => ++ticket);
  await sleep(20);
  return v;
});

/** Bodies that have started, and those that wait to be let go, by process. */
let starts: string[] = [];
let held: Array<() => void> = [];
let holding: string | undefined;
const body = async (name: string): Promise<string> => {
  starts.push(name);
  if (holding === name) await new Promise<void>((resolve) => held.push(resolve));
  return name.toUpperCase();
};
const branches = workflow("b79", async () =>
  Promise.all([
    (async () => {
      await step("a1", body, "a1");
      return step("a2", body, "a2");
    })(),
    (async () => {
      await step("b1", body, "b1");
      return step("b2", body, "b2");
    })(),
  ]),
);

describe("two processes", () => {
  it("B78, C6: recover one run at once: one owner, and both tell the one result that is stored", async () => {
    for (let round = 0; round < 5; round++) {
      const run = `${id}-${round}`;
      const first = process();
      await first.app.start(tickets, undefined, { id: run });
      await first.app.shutdown();
      const [x, y] = [process(), process()];
      const settled = await Promise.allSettled([x.app.resume(run), y.app.resume(run)]);
      const owners = settled.filter((each) => each.status === "fulfilled");
      expect(owners).toHaveLength(1);
      expect(settled.find((each) => each.status === "rejected")!.reason).toMatchObject({
        code: "RUN_OWNED",
        runId: run,
      });
      const followers = await Promise.all([x, y].map(({ app }) => app.start(tickets, undefined, { id: run })));
      const results = await Promise.all([owners[0]!.value, ...followers].map((each) => each.result()));
      expect(new Set(results).size).toBe(1);
      expect((await x.app.get(run)).output).toBe(results[0]);
      const stored = (await y.store.entries(run)).filter(({ key }) => key === "b78/step");
      expect(stored.map(({ state }) => state)).toEqual(["done"]);
    }
  });

  it("B79, I8: a process that lost the run writes nothing more; a2 and b2 have keys of their own", async () => {
    starts = [];
    held = [];
    holding = "b1";
    const x = process();
    const lost = await x.app.start(branches, undefined, { id });
    await rest();
    expect((await x.store.entries(id)).map(({ key }) => key)).toEqual(["b79/fn()/a1", "b79/fn()/a2"]);
    holding = "b2";
    const y = process({ takesTheLivingForDead: true });
    const kept = await y.app.resume(id);
    await rest();
    // Both go on: the first with b1, the second with b2.
    for (const letGo of held) letGo();
    await expect(lost.result()).rejects.toMatchObject({ code: "STALE_OWNER", runId: id });
    expect(await kept.result()).toEqual(["A2", "B2"]);
    expect(starts).toEqual(["a1", "b1", "a2", "b1", "b2"]);
    const journal = (await y.store.entries(id)).map(({ key, state }) => `${key} ${state}`);
    expect(journal).toEqual(["b79/fn()/a1 done", "b79/fn()/a2 done", "b79/fn~1()/b1 done", "b79/fn~1()/b2 done"]);
    // A third, clean pass over the journal.
    starts = [];
    holding = undefined;
    const { app } = process();
    expect(await (await app.resume(id)).result()).toEqual(["A2", "B2"]);
    expect(starts).toEqual([]);
  });
});
