/** Runs that are queued, and the ways in which they come to be driven. */
import process from "node:process";
import { type RunPoisonedError, Stepmark, type WorkOptions } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeSchemas } from "../postgres/database.js";
import { ask, family, held, nap, pair, poison, stuck } from "./flow.js";
import { Setting } from "./setting.js";

let setting: Setting;
let app: Stepmark;

beforeEach(async () => {
  setting = await Setting.make();
  app = setting.app();
});

afterEach(() => setting.end());
afterAll(removeSchemas);

const quick: WorkOptions = { interval: 50 };
const day = 86_400_000;

describe("a queued run", () => {
  it("is driven by a worker, once, however often it is queued", async () => {
    await app.enqueue(pair, "a", { id: "a" });
    await app.work(quick);
    const run = await app.enqueue(pair, "a", { id: "a" });
    expect(await run.result()).toEqual(["a 1", "a 2"]);
    const again = await app.enqueue(pair, "a", { id: "a" });
    expect(await again.result()).toEqual(["a 1", "a 2"]);
    expect(await setting.world.notes()).toEqual(["a 1", "a 2"]);
    await expect(app.enqueue(pair, "b", { id: "a" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
  });

  it("leaves nothing in the queue when it has ended", async () => {
    const worker = await app.work(quick);
    await (await app.enqueue(pair, "a")).result();
    await worker.stop();
    expect(await setting.query("SELECT run FROM s.queue_runs")).toEqual([]);
    expect(await setting.query("SELECT id FROM jobs.jobs")).toEqual([]);
    expect(await setting.query("SELECT id FROM s.queue_workers")).toEqual([]);
  });

  it("is driven although another queue is made in the same database, whose tables stop graphile-worker everywhere", async () => {
    const worker = await app.work(quick);
    const other = await Setting.make();
    await other.app().enqueue(pair, "other");
    await setting.query("SELECT pg_notify('worker:migrate', '{\"breaking\":true}')");
    for (const name of ["a", "b", "c"]) expect(await (await app.enqueue(pair, name)).result()).toHaveLength(2);
    expect(process.exitCode).toBeUndefined();
    await worker.stop();
    await other.end();
  });

  it("is there when the user's own transaction is committed, and not before, nor when it is rolled back", async () => {
    await app.work(quick);
    const session = await setting.pool.connect();
    await session.query("BEGIN");
    await app.enqueue(pair, "undone", { id: "undone", session });
    await session.query("ROLLBACK");
    await session.query("BEGIN");
    await app.enqueue(pair, "done", { id: "done", session });
    await expect(app.get("done")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await session.query("COMMIT");
    session.release();
    await setting.noted("done 2");
    expect((await app.list()).map(({ id }) => id)).toEqual(["done"]);
  });

  it("is not driven before `runAt`", async () => {
    await app.work({ ...quick, concurrency: 1 });
    const later = await app.enqueue(pair, "later", { runAt: "1h" });
    await (await app.enqueue(pair, "now")).result();
    expect((await app.get(later.id)).status).toBe("running");
    expect(await setting.world.notes()).toEqual(["now 1", "now 2"]);
    const [job] = await setting.query<{ id: string; run_at: Date }>("SELECT id, run_at FROM jobs.jobs");
    expect(Math.abs(job!.run_at.getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000);
    // The hour has passed.
    await setting.query("SELECT jobs.reschedule_jobs(ARRAY[$1::bigint], run_at := now())", [job!.id]);
    expect(await later.result()).toEqual(["later 1", "later 2"]);
  });

  it("of higher priority goes first", async () => {
    await app.enqueue(held, "blocker");
    await app.work({ ...quick, concurrency: 1 });
    await setting.noted("blocker begins");
    const runs = await Promise.all([
      app.enqueue(pair, "low", { priority: -1 }),
      app.enqueue(pair, "middle"),
      app.enqueue(pair, "high", { priority: 5 }),
    ]);
    await setting.world.open("blocker");
    await Promise.all(runs.map((run) => run.result()));
    const firsts = (await setting.world.notes()).filter((text) => text.endsWith(" 1"));
    expect(firsts).toEqual(["high 1", "middle 1", "low 1"]);
  });

  it("does not wait for a workflow that has queued many before it", async () => {
    await app.enqueue(held, "blocker");
    await app.work({ ...quick, concurrency: 1 });
    await setting.noted("blocker begins");
    for (const name of ["a", "b", "c", "d"]) await app.enqueue(pair, name);
    const asked = await Promise.all(["e", "f"].map((name) => app.enqueue(ask, name)));
    for (const { id } of asked) await app.answer(id, "ok", "yes");
    await setting.world.open("blocker");
    await setting.noted("d 2", "e yes", "f yes");
    const order = (await setting.world.notes()).filter((text) => /^[a-f] (1|yes)$/.test(text));
    expect(order).toEqual(
      ["a 1", "e yes", "b 1", "f yes", "c 1", "d 1"].sort((a, b) => order.indexOf(a) - order.indexOf(b)),
    );
    expect(order.indexOf("f yes")).toBeLessThan(order.indexOf("d 1"));
    expect(order.indexOf("e yes")).toBeLessThan(order.indexOf("c 1"));
  });
});

describe("a queued run that waits", () => {
  it("leaves its worker, and an answer from a process without a queue brings it back", async () => {
    await setting.process();
    const run = await app.enqueue(ask, "a", { id: "a" });
    expect((await run.settled()).status).toBe("waiting");
    const plain = new Stepmark({ store: postgresStore(setting.pool, { schema: setting.schema }) });
    await plain.answer("a", "ok", "yes");
    expect(await run.result()).toBe("a yes");
    await plain.shutdown();
  });

  it("goes on, when its timer is due, on whatever worker there is", async () => {
    const worker = await app.work(quick);
    const run = await app.enqueue(nap, "a");
    expect((await run.settled()).status).toBe("waiting");
    await worker.stop();
    const [job] = await setting.query<{ id: string; run_at: Date }>("SELECT id, run_at FROM jobs.jobs");
    expect(Math.abs(job!.run_at.getTime() - Date.now() - day)).toBeLessThan(60_000);
    // The day has passed, for the clock of the next worker and for the database.
    const after = (ms: number, callback: () => void): (() => void) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    };
    const tomorrow = setting.app({ clock: { now: () => Date.now() + day + 1_000, after } });
    await tomorrow.work(quick);
    await setting.query("SELECT jobs.reschedule_jobs(ARRAY[$1::bigint], run_at := now())", [job!.id]);
    expect(await run.result()).toBe("a after");
    expect(await setting.world.notes()).toEqual(["a before", "a after"]);
  });

  it("with a message that nothing waits for is not driven again and again", async () => {
    await app.work(quick);
    const run = await app.enqueue(ask, "a", { id: "a" });
    await run.settled();
    await app.send("a", "nobody asks", 1);
    const turns = async (): Promise<number> =>
      Number((await setting.query<{ turn: string }>("SELECT turn FROM s.queue_runs"))[0]?.turn);
    await expect.poll(turns).toBe(2);
    await expect.poll(async () => (await app.get("a")).status).toBe("waiting");
    // Other work comes and goes, and it stays where it is.
    for (const name of ["b", "c", "d"]) await (await app.enqueue(pair, name)).result();
    expect(await turns()).toBe(2);
    await app.answer("a", "ok", "yes");
    expect(await run.result()).toBe("a yes");
  });

  it("for child runs has them queued, each a turn of its own, on one hand only", async () => {
    await app.work({ ...quick, concurrency: 1 });
    const run = await app.enqueue(family, "f", { priority: 3 });
    expect(await run.result()).toEqual([
      ["f a 1", "f a 2"],
      ["f b 1", "f b 2"],
    ]);
    expect((await setting.world.notes()).sort()).toEqual(["f a 1", "f a 2", "f b 1", "f b 2"]);
  });
});

describe("a worker that ends", () => {
  it("by being killed, is followed by another, and no finished step runs again", async () => {
    const first = await setting.process();
    const run = await app.enqueue(held, "a");
    await setting.noted("a begins");
    await first.kill();
    await setting.process();
    await expect.poll(async () => (await setting.world.notes()).filter((text) => text === "a begins").length).toBe(2);
    await setting.world.open("a");
    expect(await run.result()).toBe("a");
    expect(await setting.world.notes()).toEqual(["a first", "a begins", "a begins", "a ends"]);
  });

  it("by being stopped, hands back what it drives, and that is no takeover", async () => {
    const other = setting.app();
    const worker = await app.work({ ...quick, stopWithin: 0 });
    const run = await app.enqueue(held, "a");
    await setting.noted("a begins");
    await worker.stop();
    const state = "SELECT state, holder, takeovers FROM s.queue_runs";
    expect(await setting.query(state)).toEqual([{ state: "ready", holder: null, takeovers: 0 }]);
    await other.work(quick);
    await setting.world.open("a");
    expect(await run.result()).toBe("a");
  });

  it("lets what it drives come to its end, if there is time", async () => {
    const worker = await app.work(quick);
    const run = await app.enqueue(held, "a");
    await setting.noted("a begins");
    const stopped = worker.stop();
    await setting.world.open("a");
    await stopped;
    expect(await run.result()).toBe("a");
    expect(await setting.world.notes()).toEqual(["a first", "a begins", "a ends"]);
  });

  it("leaves a stray that nobody had queued to the workers", async () => {
    const store = postgresStore(setting.pool, { schema: setting.schema });
    const dead = new Stepmark({ store, workflows: [held] });
    await dead.start(held, "a", { id: "a" });
    await setting.noted("a begins");
    await dead.shutdown();
    await setting.query("SELECT 1");
    const worker = await app.work(quick);
    // Half a minute later.
    await setting.query("UPDATE s.runs SET updated_at = updated_at - 60000");
    await setting.world.open("a");
    await expect.poll(async () => (await app.get("a")).status).toBe("completed");
    await worker.stop();
  });
});

describe("a worker that was out of reach of the database", () => {
  /** A run that its worker does not drive, though it has been handed out. */
  async function handedOut(change: string): Promise<void> {
    await app.enqueue(pair, "a", { id: "a", runAt: "1d" });
    await app.work(quick);
    await setting.query(`UPDATE s.queue_runs SET state = 'given', turn = 1, ${change}`);
  }

  it("goes on with a run that it was given without being told", async () => {
    await handedOut("given_at = now(), holder = (SELECT id FROM s.queue_workers)");
    await expect.poll(async () => (await app.get("a")).status).toBe("completed");
  });

  it("goes on with a run whose job it has locked without being told", async () => {
    await handedOut("given_at = now()");
    // It is due tomorrow, so that nobody takes it before it is locked.
    await setting.query(`
      SELECT jobs.add_job('stepmark:run:pair', json_build_object('run', run, 'turn', turn), run_at := now() + interval '1 day',
        job_key := 'stepmark:run:' || run) FROM s.queue_runs`);
    await setting.query(`
      UPDATE jobs._private_jobs SET locked_at = now() - interval '1 minute', locked_by = (SELECT locks[1] FROM s.queue_workers)
      WHERE key LIKE 'stepmark:run:%'`);
    await setting.query("UPDATE s.queue_runs SET given_at = now() - interval '1 minute'");
    await expect.poll(async () => (await app.get("a")).status).toBe("completed");
  });
});

it("a run that a worker in another process drives is cancelled by whoever wants it to be", async () => {
  await setting.process();
  const run = await app.enqueue(held, "a");
  await setting.noted("a begins");
  await app.cancel(run.id);
  expect((await app.get(run.id)).status).toBe("cancelled");
  expect(await setting.query("SELECT run FROM s.queue_runs")).toEqual([]);
  expect((await app.entries(run.id)).map(({ state }) => state)).toEqual(["done"]);
  // The worker's hand is free.
  expect(await (await app.enqueue(pair, "b")).result()).toEqual(["b 1", "b 2"]);
});

describe("a run that ends its process", () => {
  it("fails with its own error after so many processes, and the others' work is done", async () => {
    const run = await app.enqueue(poison, undefined, { id: "poison" });
    const options = { maxTakeovers: 2, concurrency: 1 };
    for (let life = 0; life < 2; life++) {
      const { child } = await setting.process(options);
      await new Promise((resolve) => child.once("close", resolve));
    }
    await setting.process(options);
    const error = (await run.result().catch((error: unknown) => error)) as RunPoisonedError;
    expect(error.code).toBe("RUN_POISONED");
    expect((await app.get("poison")).status).toBe("failed");
    expect(await setting.world.notes()).toEqual(["poison first", "dies", "dies"]);
    const after = await app.enqueue(pair, "a");
    expect(await after.result()).toEqual(["a 1", "a 2"]);
  });

  it("and one that stalls fails instead of taking up a hand for ever", async () => {
    const stalling = setting.app({ stallAfter: 50 });
    await stalling.work({ ...quick, concurrency: 1 });
    const run = await app.enqueue(stuck, undefined);
    await expect(run.result()).rejects.toMatchObject({ code: "STALLED" });
    expect(await (await app.enqueue(pair, "a")).result()).toEqual(["a 1", "a 2"]);
  });
});

it("an app with a queue does not take up runs past it", async () => {
  await expect(app.run()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(app.recover()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(new Stepmark({ workflows: [pair] }).enqueue(pair, "a")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
