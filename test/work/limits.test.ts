/** Limits, crons and ownership over several workers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobError, blobDirectory, type Stepmark, type WorkOptions } from "stepmark";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeSchemas } from "../postgres/database.js";
import { ask, fulfil, held, type Order, pair } from "./flow.js";
import { Setting } from "./setting.js";

let setting: Setting;
let app: Stepmark;

beforeEach(async () => {
  setting = await Setting.make();
  app = setting.app();
});

afterEach(() => setting.end());

/** For blobs. */
const folder = mkdtempSync(join(tmpdir(), "stepmark-blobs-"));

afterAll(() => rmSync(folder, { recursive: true }));
afterAll(removeSchemas);

const quick: WorkOptions = { interval: 50 };
const customer = ({ customer }: Order): string => customer;

/** How many were under way at once, at most, of those that `which` picks. */
async function most(which: (name: string) => boolean): Promise<number> {
  let [now, greatest] = [0, 0];
  for (const note of await setting.world.notes()) {
    const [name, what] = note.split(" ");
    if (!which(name!)) continue;
    if (what === "begins") greatest = Math.max(greatest, ++now);
    if (what === "ends") now--;
  }
  return greatest;
}

async function begun(): Promise<string[]> {
  return (await setting.world.notes()).filter((note) => note.endsWith(" begins")).map((note) => note.split(" ")[0]!);
}

describe("concurrency", () => {
  it("holds over three processes together, and for each key, however the runs are made", async () => {
    // Evaluated by the processes: the key of an order is its customer there.
    const limits = { fulfil: { concurrency: 3, perKey: { key: customer, concurrency: 1 } } };
    await Promise.all([1, 2, 3].map(() => setting.process({ concurrency: 4, limits })));
    const names = ["a1", "a2", "a3", "b1", "b2", "c1", "d1", "e1"];
    const runs = [];
    for (const name of names) runs.push(await app.enqueue(fulfil, { customer: name[0]!, name }));
    const expected = [["a1", "b1", "c1"], ["d1"], ["a2"], ["e1"], ["b2"], ["a3"]];
    const order = ["a1", "b1", "c1", "d1", "a2", "e1", "b2", "a3"];
    await expect.poll(begun).toHaveLength(3);
    expect((await begun()).sort()).toEqual(expected[0]);
    for (const [index, name] of order.entries()) {
      // There are hands for other work, and yet no more of this one begins.
      await (await app.enqueue(pair, `other ${index}`)).result();
      expect(await begun()).toHaveLength(Math.min(3 + index, names.length));
      await setting.world.open(name);
      await setting.noted(`${name} ends`);
      await expect.poll(begun).toHaveLength(Math.min(4 + index, names.length));
    }
    await Promise.all(runs.map((run) => run.result()));
    expect(await most(() => true)).toBe(3);
    for (const key of "abcde") expect(await most((name) => name.startsWith(key)), key).toBe(1);
  });

  it("for each key holds for runs whose inputs are kept outside the database", async () => {
    const blobs = { place: blobDirectory(folder), above: 0 };
    const keeping = setting.app({ blobs });
    const limits = { fulfil: { perKey: { key: customer, concurrency: 1 } } };
    const orders = ["a1", "b1", "a2", "b2"].map((name) => ({ customer: name[0]!, name }));
    for (const order of orders) await keeping.enqueue(fulfil, order, { id: order.name });
    expect(await setting.query("SELECT id FROM s.runs WHERE input LIKE '%customer%'")).toEqual([]);
    await keeping.work({ ...quick, limits });
    await expect.poll(begun).toHaveLength(2);
    await (await keeping.enqueue(pair, "other")).result();
    expect((await begun()).sort()).toEqual(["a1", "b1"]);
    await setting.world.open("a1", "b1", "a2", "b2");
    await setting.noted("a2 ends", "b2 ends");
    for (const key of "ab") expect(await most((name) => name.startsWith(key)), key).toBe(1);
  });

  it("for each key holds back a run whose input cannot be had, and says so once", async () => {
    const blobs = { place: blobDirectory(folder), above: 0 };
    const keeping = setting.app({ blobs });
    const limits = { fulfil: { perKey: { key: customer, concurrency: 1 } } };
    await keeping.enqueue(fulfil, { customer: "a", name: "a1" }, { id: "a1" });
    const told: unknown[] = [];
    const onError = (error: unknown, id: string | undefined) => void told.push([(error as BlobError).code, id]);
    const worker = await app.work({ ...quick, limits, onError });
    for (const name of ["one", "two"]) await (await app.enqueue(pair, name)).result();
    expect([told, await begun()]).toEqual([[["BLOB", "a1"]], []]);
    await worker.stop();
    await keeping.work({ ...quick, limits });
    await setting.noted("a1 begins");
    await setting.world.open("a1");
  });

  it("of a run that waits is free for others, and it gets it back before those that have not begun", async () => {
    await app.work({ ...quick, limits: { ask: { concurrency: 1 } } });
    const first = await app.enqueue(ask, "first", { id: "first" });
    await first.settled();
    const second = await app.enqueue(ask, "second", { id: "second" });
    expect((await second.settled()).status).toBe("waiting");
    await app.answer("first", "ok", "yes");
    expect(await first.result()).toBe("first yes");
  });

  it("is the process's own too: no more runs at once than its `concurrency`", async () => {
    await app.work({ ...quick, concurrency: 2 });
    for (const name of ["a", "b", "c", "d"]) await app.enqueue(held, name);
    await expect.poll(begun).toHaveLength(2);
    await setting.world.open("a", "b", "c", "d");
    await setting.noted("a ends", "b ends", "c ends", "d ends");
    expect(await most(() => true)).toBe(2);
  });

  it.each([
    [{ limits: { nobody: { concurrency: 1 } } }],
    [{ limits: { pair: { concurrency: 0 } } }],
    [{ limits: { pair: { rate: { limit: 1.5, per: "1m" } } } }],
    [{ limits: { pair: { perKey: {} } } }],
    [{ concurrency: 0 }],
    [{ maxTakeovers: -1 }],
    [{ interval: "soon" }],
    [{ crons: [{ schedule: "every day", workflow: pair }] }],
    [{ crons: [1, 2].map(() => ({ schedule: "* * * * *", workflow: pair })) }],
  ])("that makes no sense is refused: %j", async (options) => {
    await expect(app.work(options as WorkOptions)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("a rate", () => {
  it("holds over two workers, for a workflow and for a key of it, and does not hold back what has begun", async () => {
    const options: WorkOptions = {
      ...quick,
      limits: { fulfil: { rate: { limit: 3, per: "1h" }, perKey: { key: customer, rate: { limit: 2, per: "1h" } } } },
    };
    await app.work(options);
    await setting.app().work(options);
    const names = ["a1", "a2", "a3", "b1", "b2"];
    await setting.world.open(...names);
    for (const name of names) await app.enqueue(fulfil, { customer: name[0]!, name });
    await setting.noted("a1 ends", "a2 ends", "b1 ends");
    await (await app.enqueue(pair, "other")).result();
    expect((await begun()).sort()).toEqual(["a1", "a2", "b1"]);
    // An hour later.
    await setting.query("UPDATE s.queue_starts SET at = at - interval '1 hour'");
    await setting.noted("a3 ends", "b2 ends");
    expect((await begun()).sort()).toEqual(names);
  });

  it("counts a start once, not the times that a run goes on", async () => {
    await app.work({ ...quick, limits: { ask: { rate: { limit: 1, per: "1h" } } } });
    const run = await app.enqueue(ask, "a", { id: "a" });
    await run.settled();
    await app.answer("a", "ok", "yes");
    expect(await run.result()).toBe("a yes");
    const held = await app.enqueue(ask, "b", { id: "b" });
    await (await app.enqueue(pair, "other")).result();
    expect((await app.entries(held.id)).length).toBe(0);
  });
});

describe("a cron", () => {
  it("starts one run for each tick, over all workers, and makes up for those that it missed", async () => {
    const options: WorkOptions = {
      ...quick,
      crons: [
        { schedule: "* * * * *", workflow: pair, input: (at) => at.toISOString(), name: "report", backfill: "1h" },
      ],
    };
    // The cron is known from before: three ticks have passed since its last.
    const first = await app.work(options);
    await first.stop();
    const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000);
    const ago = (minutes: number): Date => new Date(minute.getTime() - minutes * 60_000);
    await setting.query("DELETE FROM s.runs");
    await setting.query("UPDATE jobs._private_known_crontabs SET known_since = $1, last_execution = $2", [
      ago(9),
      ago(3),
    ]);
    await app.work(options);
    await setting.app().work(options);
    const ids = [2, 1, 0].map((minutes) => `cron/report/${ago(minutes).toISOString().slice(0, 16)}Z`);
    // Of the minute that may begin while this runs, nothing is said.
    const missed = async (): Promise<string[]> =>
      (await app.list({ status: "completed" })).map(({ id }) => id).filter((id) => ids.includes(id));
    await expect.poll(async () => (await missed()).sort()).toEqual(ids);
    const notes = (await setting.world.notes()).filter((note) => note.startsWith(ago(1).toISOString()));
    expect(notes).toEqual([`${ago(1).toISOString()} 1`, `${ago(1).toISOString()} 2`]);
  });

  it("whose tick comes twice starts one run", async () => {
    const crons = [{ schedule: "0 0 1 1 *", workflow: pair, input: "new year" }];
    await app.work({ ...quick, crons });
    await setting.app().work({ ...quick, crons });
    for (const key of ["one", "two"]) {
      const payload = { cron: "pair", _cron: { ts: "2027-01-01T00:00:00Z" } };
      await setting.query("SELECT jobs.add_job('stepmark:cron', $1, job_key := $2)", [JSON.stringify(payload), key]);
    }
    const id = "cron/pair/2027-01-01T00:00Z";
    await expect.poll(async () => (await app.list({ status: "completed" })).map((run) => run.id)).toEqual([id]);
    await expect.poll(() => setting.query("SELECT id FROM jobs.jobs")).toEqual([]);
    expect(await setting.world.notes()).toEqual(["new year 1", "new year 2"]);
  });
});

it("I8: a worker that was taken for dead and comes back writes nothing more", async () => {
  const asleep = await setting.process();
  const run = await app.enqueue(held, "a");
  await setting.noted("a begins");
  asleep.child.kill("SIGSTOP");
  // As if on another machine: only its lease tells of it, and that runs out.
  const elsewhere = 'owner = replace(owner, \'"host":"\', \'"host":"far\')';
  await setting.query(`UPDATE s.queue_workers SET ${elsewhere}, lease_until = now() - interval '1 second'`);
  await setting.query(`UPDATE s.runs SET ${elsewhere}, lease_until = 0, lease_by_database = false`);
  await app.work(quick);
  await expect.poll(begun).toEqual(["a", "a"]);
  await setting.world.open("a");
  expect(await run.result()).toBe("a");
  const journal = await app.entries(run.id);
  asleep.child.kill("SIGCONT");
  await expect.poll(async () => (await setting.world.notes()).filter((note) => note === "a ends").length).toBe(2);
  // It goes on with other work as if nothing had happened.
  expect(await (await app.enqueue(pair, "b")).result()).toEqual(["b 1", "b 2"]);
  expect(await app.entries(run.id)).toEqual(journal);
});
