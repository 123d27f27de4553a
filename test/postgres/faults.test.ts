/**
 * What becomes of runs when the network to Postgres is cut, or Postgres itself stops. In every case: what was not acknowledged
 * does not count, nothing is written twice, nobody who lost a run writes to it, and nothing that was seen complete runs again.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { Stepmark, type Store, step, workflow } from "stepmark";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { StaleOwnerError, StepmarkError, StoreError } from "../../runtime/errors.js";
import { postgresStore } from "../../runtime/stores/postgres.js";
import { dead, entry, lease, owned, owner } from "../stores/behaviour.js";
import { newSchema, removeSchemas, url } from "./database.js";
import { type Network, startNetwork } from "./network.js";
import { binaries, type Server, startServer } from "./server.js";

/** Rejections that nobody dealt with; there may be none. */
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(() => expect(unhandled.splice(0)).toEqual([]));
afterAll(removeSchemas);

const id = "run";
/** Items whose bodies ran, and items whose outcome the workflow's code saw. */
let ran: string[] = [];
let seen: string[] = [];
/** Bodies that ran although their outcome had been seen. */
let again: string[] = [];
let before: Record<string, () => unknown> = {};
beforeEach(() => {
  [ran, seen, again, before] = [[], [], [], {}];
});

const items = ["a", "b", "c", "d"];
const flow = workflow("flow", async (name: string) => {
  for (const item of items) {
    const label = name + item;
    await step(async () => {
      if (seen.includes(label)) again.push(label);
      ran.push(label);
      await before[label]?.();
    });
    seen.push(label);
  }
  return items.length;
});

const failureOf = async (result: Promise<unknown>): Promise<StepmarkError> => {
  const error = await result.then(
    (value) => expect.fail(`did not fail, but gave ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StepmarkError);
  return error as StepmarkError;
};

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  while (!(await condition())) await delay(5);
};

describe("a network that is cut", () => {
  let network: Network;
  let schema: string;
  let near: Store;
  /** By a way of its own. */
  let far: Store;
  const apps: Stepmark[] = [];
  const appOn = (store: Store): Stepmark => {
    const app = new Stepmark({ store, workflows: [flow] });
    apps.push(app);
    return app;
  };
  beforeEach(async () => {
    network = await startNetwork(url);
    schema = newSchema();
    near = postgresStore(network.url, { schema });
    far = postgresStore(url, { schema });
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.shutdown().catch(() => {})));
    await Promise.all([near.close(), far.close()]);
    await network.close();
  });

  it("I4: in the midst of an append: it rejects, was taken, and is not taken a second time", async () => {
    const fence = await owned(near, "r");
    network.loseAnswers();
    const appended = near.append("r", fence, [entry(1)], { wake: { run: "r", target: "t", at: 1 } });
    await until(async () => (await far.entries("r")).length === 1);
    network.cut();
    const error = await failureOf(appended);
    expect(error).toMatchObject({ code: "STORE", runId: "r", key: "fulfil/step~1" });
    expect(error.message).toMatch(/may have been taken or not: `resume` the run, which looks\. \[STORE\]$/);
    network.heal();
    await expect(near.append("r", fence, [entry(1)], { status: "failed" })).rejects.toBeInstanceOf(StoreError);
    expect(await far.entries("r")).toHaveLength(1);
    expect(await far.inbox("r")).toHaveLength(1);
    expect(await far.read("r")).toMatchObject({ status: "running" });
    await near.append("r", fence, [entry(2)]);
  });

  it("I4: in the midst of an append: the run is left, and goes on from what was taken", async () => {
    const app = appOn(near);
    before = { c: () => network.loseAnswers() };
    const run = await app.start(flow, "", { id });
    const result = failureOf(run.result());
    await until(async () => (await far.entries(id)).length === 3);
    network.cut();
    expect(await result).toMatchObject({ code: "STORE", runId: id, key: "flow/step@2" });
    expect(seen).toEqual(["a", "b"]);
    network.heal();
    expect(await (await app.resume(id)).result()).toBe(4);
    // Its outcome was recorded, though nobody had learnt of that.
    expect(ran).toEqual(["a", "b", "c", "d"]);
    expect(again).toEqual([]);
  });

  it("I4: in the midst of a run's last write: it is left, and has ended all the same", async () => {
    const { append } = near;
    near.append = (run, fence, entries, change) => {
      if (change?.status === "completed") network.loseAnswers();
      return append.call(near, run, fence, entries, change);
    };
    const app = appOn(near);
    const run = await app.start(flow, "", { id });
    const result = failureOf(run.result());
    await until(async () => (await far.read(id))?.status === "completed");
    network.cut();
    expect(await result).toMatchObject({ code: "STORE", runId: id });
    network.heal();
    near.append = append;
    expect(await (await app.resume(id)).result()).toBe(4);
    expect(ran).toEqual(["a", "b", "c", "d"]);
  });

  it("I4: before an append: the run is left, and the body runs again, whose outcome nobody has seen", async () => {
    const app = appOn(near);
    before = { c: () => network.cut() };
    expect(await failureOf((await app.start(flow, "", { id })).result())).toMatchObject({ code: "STORE", runId: id });
    expect(seen).toEqual(["a", "b"]);
    const elsewhere = await failureOf(app.start(flow, "x", { id: "other" }));
    expect(elsewhere.message).toMatch(/Check that the server runs, that this process can reach it/);
    before = {};
    network.heal();
    expect(await (await app.resume(id)).result()).toBe(4);
    expect(ran).toEqual(["a", "b", "c", "c", "d"]);
    expect(again).toEqual([]);
  });

  it("I8: what was on its way when another took the run over arrives, and is refused", async () => {
    const fence = await owned(near, "r");
    await near.append("r", fence, [entry(1)]);
    network.hold();
    const appends = [
      near.append("r", fence, [entry(2, { value: "[stale]" })]),
      near.append("r", fence, [], { status: "completed", output: "[stale]", release: true }),
    ];
    expect(await far.claim("r", owner("b"), dead, lease)).toMatchObject({ claimed: true, run: { fence: fence + 1 } });
    await far.append("r", fence + 1, [entry(2)]);
    network.heal();
    for (const append of appends) await expect(append).rejects.toBeInstanceOf(StaleOwnerError);
    expect(await far.entries("r")).toEqual([entry(1), entry(2)]);
    expect(await far.read("r")).toMatchObject({ status: "running", owner: owner("b") });
  });

  it("I8: a process behind it loses its run to another, and is told when it is back", async () => {
    before = { c: () => network.hold() };
    const lost = await appOn(near).start(flow, "", { id });
    const result = failureOf(lost.result());
    await until(async () => ran.includes("c"));
    before = {};
    // The other takes it for dead, as it does when the lease has run out.
    const { claim, read } = { claim: far.claim.bind(far), read: far.read.bind(far) };
    far.claim = (run, by, _, until) => claim(run, by, dead, until);
    far.read = async (run) => {
      const found = await read(run);
      return found && { ...found, owner: undefined };
    };
    expect(await (await appOn(far).resume(id)).result()).toBe(4);
    network.heal();
    expect(await result).toMatchObject({ code: "STALE_OWNER", runId: id });
    const journal = await far.entries(id);
    expect(journal.map(({ key }) => key)).toEqual(["flow/step", "flow/step@1", "flow/step@2", "flow/step@3"]);
    expect(ran).toEqual(["a", "b", "c", "c", "d"]);
    expect(again).toEqual([]);
  });

  it("I4: that swallows everything: an append counts as lost in time, and is refused when it arrives after all", async () => {
    await owned(near, "r");
    const through = new URL(network.url);
    through.searchParams.set("application_name", schema);
    const patient = postgresStore(through.href, { schema, timeout: 2_000, listen: false });
    // It has a connection that is open.
    await patient.list({});
    network.hold();
    const error = await failureOf(patient.append("r", 1, [entry(1, { value: "[lost]" })]));
    expect(error).toMatchObject({ code: "STORE", runId: "r", key: "fulfil/step~1" });
    expect(error.message).toMatch(/timeout.*may have been taken or not/);
    await far.append("r", 1, [entry(1)]);
    network.heal();
    const client = new Client(url);
    await client.connect();
    // What was on its way has arrived when its sender's connection is at its end.
    const sessions = "SELECT FROM pg_stat_activity WHERE application_name = $1";
    await until(async () => (await client.query(sessions, [schema])).rows.length === 0);
    await client.end();
    expect(await far.entries("r")).toEqual([entry(1)]);
    await patient.close();
  });

  it("in silence, under the connection that listens: it is noticed, and messages are told when it is back", async () => {
    const through = new URL(network.url);
    through.searchParams.set("application_name", schema);
    const listening = postgresStore(through.href, { schema, timeout: 1_000 });
    const fence = await owned(listening, "r");
    const heard = new Promise((resolve) => listening.onPost(resolve));
    const client = new Client(url);
    await client.connect();
    const listeners = async (): Promise<unknown[]> => {
      const sessions = "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND query LIKE '%WHERE used = 0%'";
      return (await client.query(sessions, [schema])).rows;
    };
    await until(async () => (await listeners()).length === 1);
    const [before] = await listeners();
    network.loseAnswers();
    // Told to nobody: the notification is lost on the way.
    await far.post("r", { target: "t", value: "[1]", at: 1 });
    const isGone = "SELECT FROM pg_stat_activity WHERE pid = $1";
    await until(async () => (await client.query(isGone, [(before as { pid: number }).pid])).rows.length === 0);
    network.heal();
    expect(await heard).toBe("r");
    await client.end();
    await listening.append("r", fence, [entry(1)]);
    await listening.close();
  });

  it("messages that were posted meanwhile are told when it is back", async () => {
    await owned(near, "r");
    const heard = new Promise((resolve) => near.onPost(resolve));
    network.cut();
    await far.post("r", { target: "t", value: "[1]", at: 1 });
    network.heal();
    expect(await heard).toBe("r");
  });
});

describe.skipIf(binaries() === undefined)("a server that stops", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.remove());

  it.each(["fast", "immediate"] as const)(
    "I4 (%s) while runs are under way: they are gone on with when it is back, by themselves",
    async (mode) => {
      const names = ["p", "q", "r", "s", "t"];
      const store = postgresStore(server.url, { schema: newSchema() });
      const app = new Stepmark({ store, workflows: [flow] });
      const end = new AbortController();
      const problems: unknown[] = [];
      const loop = app.run({ interval: 20, signal: end.signal, onError: (error) => problems.push(error) });
      // Once all have begun, two are caught with a body under way, the others wherever they are.
      let arrived = 0;
      let goOn!: () => void;
      const all = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      for (const name of names)
        before[`${name}a`] = () => {
          if (++arrived === names.length) goOn();
          return all;
        };
      let stopped: Promise<void> | undefined;
      before.pb = before.qb = async () => {
        stopped ??= server.stop(mode);
        await stopped;
      };
      const results = await Promise.allSettled(
        names.map(async (name) => (await app.start(flow, name, { id: name })).result()),
      );
      for (const [index, result] of results.entries()) {
        if (index < 2) expect(result.status).toBe("rejected");
        if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "STORE" });
      }
      await server.start();
      await until(async () => {
        const all = await store.list({});
        return all.every((each) => each.status === "completed");
      });
      expect(again).toEqual([]);
      for (const name of names)
        for (const item of items) expect(ran.filter((label) => label === name + item).length).toBeLessThanOrEqual(2);
      for (const problem of problems) expect(problem).toMatchObject({ code: "STORE" });
      end.abort();
      await loop;
      await app.shutdown();
      await store.close();
    },
  );

  it("goes on telling messages when it is back", async () => {
    const schema = newSchema();
    const [a, b] = [postgresStore(server.url, { schema }), postgresStore(server.url, { schema })];
    await a.create({ id: "r", workflow: "w", input: "[]", inputPrint: "[]", scheme: 1, createdAt: 1 });
    let hear!: (id: string) => void;
    a.onPost((run) => hear(run));
    for (const mode of ["fast", "immediate"] as const) {
      await server.stop(mode);
      await server.start();
      const heard = new Promise<string>((resolve) => {
        hear = resolve;
      });
      // Its connections are those of the server that was.
      await until(
        async () => (await b.post("r", { target: "t", value: "", at: 1 }).catch(() => undefined)) !== undefined,
      );
      expect(await heard).toBe("r");
    }
    await Promise.all([a.close(), b.close()]);
  });

  it("is waited for by nobody: a call says at once that it is not there", async () => {
    const store = postgresStore(server.url, { schema: newSchema() });
    await server.stop("fast");
    const error = await failureOf(store.list({}));
    expect(error.message).toMatch(/ECONNREFUSED.*Check that the server runs/);
    await server.start();
    expect(await store.list({})).toEqual([]);
    await store.close();
  });
});
