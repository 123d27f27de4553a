/** The Postgres store: the suite, under whatever a database may be set to, and what is Postgres's own. */
import { setImmediate } from "node:timers/promises";
import { Client, Pool } from "pg";
import { Stepmark, step, waitFor, workflow } from "stepmark";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { DamagedJournalError, StaleOwnerError, StoreError } from "../../runtime/errors.js";
import { listQuery } from "../../runtime/stores/list-query.js";
import {
  type PostgresOptions,
  type PostgresPool,
  postgresMigrations,
  postgresStore,
} from "../../runtime/stores/postgres.js";
import { schemaOf, schemaVersion, statementsOf } from "../../runtime/stores/postgres-schema.js";
import type { ListFilter, Store } from "../../runtime/stores/store.js";
import { alive, dead, describeStore, entry, lease, newRun, owned, owner } from "../stores/behaviour.js";
import { newSchema, removeSchemas, url } from "./database.js";
import { type Pooler, pooler, startPooler } from "./pooler.js";

const open: Store[] = [];
const storeIn = (schema: string, where: string | PostgresPool = url, options: PostgresOptions = {}): Store => {
  const store = postgresStore(where, { schema, ...options });
  open.push(store);
  return store;
};
const newStore = (where?: string | PostgresPool, options?: PostgresOptions): Store =>
  storeIn(newSchema(), where, options);
afterEach(async () => {
  await Promise.all(open.splice(0).map((store) => store.close()));
});

/** Somebody who looks into the database. */
const client = new Client(url);
beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await removeSchemas();
});
const query = async (text: string, values: unknown[] = []): Promise<Array<Record<string, unknown>>> =>
  (await client.query(text, values)).rows;

/** The same database, with settings for each session. */
const set = (settings: Record<string, string>): string => {
  const address = new URL(url);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`);
  address.searchParams.set("options", options.join(" "));
  return address.href;
};

const failure = async (of: Promise<unknown>): Promise<StoreError> => {
  const error = await of.then(
    () => expect.fail("did not fail"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
};

/** Takes a run that is there. */
const claimed = async (store: Store, id: string): Promise<number> => {
  const claim = await store.claim(id, owner("a"), dead, lease);
  if (!claim.claimed) throw new Error(`${id} is owned`);
  return claim.run.fence;
};

const earlierVersions = Array.from({ length: schemaVersion - 1 }, (_, i) => i + 1);

const suite = (name: string, make: () => Store): void => describeStore(`postgresStore ${name}`, async () => make());

suite("in a schema of its own", () => newStore());
let odd = 0;
suite("in a schema with an odd name", () => storeIn(`${newSchema.prefix}a"b'c\\d $$ %s ü${odd++}`));
for (const level of ["serializable", "repeatable read"])
  suite(`where transactions are ${level}`, () => newStore(set({ default_transaction_isolation: level })));
suite("where backslashes escape", () => newStore(set({ standard_conforming_strings: "off" })));
suite("on a pool of one connection", () => {
  const pool = new Pool({ connectionString: url, max: 1 });
  const store = newStore(pool);
  const { close } = store;
  store.close = async () => {
    await close.call(store);
    if (!pool.ending) await pool.end();
  };
  return store;
});

const bouncer = pooler();
describe.skipIf(bouncer === undefined)("through a pooler of transactions", () => {
  let running: Pooler;
  beforeAll(async () => {
    running = await startPooler(bouncer!, url);
  });
  afterAll(() => running.remove());

  suite("through PgBouncer", () => newStore(running.url, { listen: url }));

  it("tells of messages, by an address that leads to the server", async () => {
    const schema = newSchema();
    const [a, b] = [storeIn(schema, running.url, { listen: url }), storeIn(schema, running.url, { listen: false })];
    await a.create(newRun("r"));
    const heard = new Promise((resolve) => a.onPost(resolve));
    await b.post("r", { target: "t", value: "[1]", at: 1 });
    expect(await heard).toBe("r");
  });
});

describe("a page of a list", () => {
  it("is a part of an index, of however many runs and statuses", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    const statuses = ["running", "waiting", "completed", "failed"] as const;
    const runs = Array.from({ length: 5_000 }, (_, n) => ({
      run: { ...newRun(`r${n}`, { createdAt: n }), status: statuses[n % 4]!, fence: 0, updatedAt: n },
      ...{ entries: [], inbox: [] },
    }));
    expect(await store.restore(runs)).toEqual([]);
    await query(`ANALYZE ${schema}.runs`);
    const { list } = statementsOf(schemaOf(schema), "FULL");
    const filters: ListFilter[] = [
      {},
      { status: "failed" },
      { status: ["failed", "running", "waiting"] },
      { status: ["completed", "failed"], unchangedSince: 4_000 },
    ];
    for (const filter of filters) {
      for (const order of ["newest", "oldest"] as const) {
        const { text, values } = listQuery(list, { ...filter, order, limit: 10 }, { createdAt: 2_000, number: 2_001 });
        const plan = JSON.stringify(await query(`EXPLAIN ${text}`, values));
        expect(plan, text).toMatch(/Index Scan/);
        expect(plan, text).not.toMatch(/Sort {2}|Seq Scan|Bitmap/);
      }
    }
  });
});

describe("the schema", () => {
  it("is made when the store is first used, and keeps runs over processes", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    store.onPost(() => {});
    const there = "SELECT to_regnamespace($1) AS it";
    expect(await query(there, [schema])).toEqual([{ it: null }]);
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1), entry(2)], { status: "waiting", culprits: ["k"] });
    await store.post("r", { target: "t", value: "[1]", at: 1 });
    const before = await store.read("r");
    await store.close();
    const again = storeIn(schema);
    expect(await again.read("r")).toEqual(before);
    expect(await again.entries("r")).toEqual([entry(1), entry(2)]);
    expect(await again.inbox("r")).toEqual([{ number: 1, target: "t", value: "[1]", at: 1 }]);
    await again.append("r", fence, [entry(3)]);
  });

  it("may be made by many at once", async () => {
    const schema = newSchema();
    const stores = Array.from({ length: 8 }, () => storeIn(schema));
    const made = await Promise.all(stores.map((store) => store.create(newRun("r"))));
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(await query(`SELECT version FROM ${schema}.stepmark_version`)).toEqual([{ version: schemaVersion }]);
  });

  it.each(earlierVersions)("of version %i is brought to this one with what is in it", async (version) => {
    const schema = newSchema();
    const toThisOne = postgresMigrations(schema, version).split("\n").slice(2, -3).join("\n");
    const toThat = postgresMigrations(schema).replace(toThisOne, "");
    expect(toThat).not.toBe(postgresMigrations(schema));
    await query(toThat.replace(/version = \d+;\nCOMMIT/, `version = ${version};\nCOMMIT`));
    await query(`
      INSERT INTO ${schema}.runs (id, workflow, status, scheme, fence, created_at, updated_at, input_print, input)
      SELECT 'r', 'fulfil', 'running', 1, 0, 1, 1, 'p', 'i';
      INSERT INTO ${schema}.inbox SELECT number, 1, 't', 'v', 1 FROM ${schema}.runs`);
    const store = storeIn(schema);
    await store.append("r", await claimed(store, "r"), [entry(1)]);
    await store.append("r", 1, [entry(2)], { status: "waiting" });
    expect(await store.entries("r")).toEqual([entry(1), entry(2)]);
    expect(
      await query(`SELECT version, (SELECT count(*)::int FROM ${schema}.inbox) FROM ${schema}.stepmark_version`),
    ).toEqual([{ version: schemaVersion, count: 1 }]);
  });

  it("of a newer version, or of another program, is refused and left as it is", async () => {
    const schema = newSchema();
    await storeIn(schema).create(newRun("r"));
    await query(`UPDATE ${schema}.stepmark_version SET version = 99`);
    await expect(storeIn(schema).read("r")).rejects.toThrow(/newer version.*99.*Install.*\[NEWER_VERSION\]/);
    const foreign = newSchema();
    await query(`CREATE SCHEMA ${foreign}`);
    await query(`CREATE TABLE ${foreign}.inbox (a integer)`);
    expect((await failure(storeIn(foreign).read("r"))).message).toMatch(/inbox of another program.*schema of its own/);
    expect(await query("SELECT count(*)::int FROM pg_class WHERE relnamespace = $1::regnamespace", [foreign])).toEqual([
      { count: 1 },
    ]);
  });

  it("asks for no more than its docs list: a role that makes it in a schema it is given, and one that only uses it", async () => {
    const schema = newSchema();
    const [maker, user] = [`${schema}_maker`, `${schema}_user`];
    const as = (role: string): string => set({ role });
    await query(`CREATE ROLE ${maker}; CREATE ROLE ${user}; CREATE SCHEMA ${schema} AUTHORIZATION ${maker}`);
    try {
      expect((await failure(newStore(as(user)).read("r"))).message).toMatch(/permission denied.*Grant the role/);
      await storeIn(schema, as(maker)).create(newRun("r"));
      await query(`
        GRANT USAGE ON SCHEMA ${schema} TO ${user};
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${user}`);
      const store = storeIn(schema, as(user));
      await store.append("r", await owned(store, "r"), [entry(1)], { wake: { run: "r", target: "t", at: 1 } });
      await store.restore([{ run: { ...(await store.read("r"))!, id: "s" }, entries: [entry(1)], inbox: [] }]);
      await store.delete("r");
      expect((await store.list({})).map(({ id }) => id)).toEqual(["s"]);
    } finally {
      await query(`DROP SCHEMA ${schema} CASCADE; DROP ROLE ${maker}; DROP ROLE ${user}`);
    }
  });

  it("may be made by hand, and is then only used: a role that owns no more than its schema, and one that may make nothing", async () => {
    const schema = `${newSchema()} "by hand"`;
    const { quoted } = schemaOf(schema);
    const role = newSchema();
    const owner = new Client(set({ role: `${role}_owner` }));
    await query(`
      CREATE ROLE ${role}_owner; CREATE ROLE ${role}_app; CREATE SCHEMA ${quoted} AUTHORIZATION ${role}_owner`);
    try {
      await owner.connect();
      // Who may make no schemas skips that line.
      await owner.query(postgresMigrations(schema).replace(/CREATE SCHEMA .*;/, ""));
      await owner.query(`
        GRANT USAGE ON SCHEMA ${quoted} TO ${role}_app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted} TO ${role}_app`);
      const asApp = storeIn(schema, set({ role: `${role}_app` }));
      await asApp.append("r", await owned(asApp, "r"), [entry(1)], { wake: { run: "r", target: "t", at: 1 } });
      const itself = newSchema();
      await storeIn(itself).list({});
      const objects = `
        SELECT relname AS name, relkind::text AS kind FROM pg_class JOIN pg_namespace AS s ON s.oid = relnamespace WHERE nspname = $1
        UNION ALL SELECT proname, prosrc FROM pg_proc JOIN pg_namespace AS s ON s.oid = pronamespace WHERE nspname = $1`;
      const [byHand, byStore] = await Promise.all(
        [schema, itself].map((name) => query(`${objects} ORDER BY 1, 2`, [name])),
      );
      expect(byHand!.map(({ name }) => name)).toEqual(byStore!.map(({ name }) => name));
      expect(() => postgresMigrations("pg_x")).toThrow(/cannot be named/);
    } finally {
      await owner.end();
      await query(`DROP SCHEMA ${quoted} CASCADE; DROP ROLE ${role}_owner; DROP ROLE ${role}_app`);
    }
  });

  /** What undoes each migration, by the version that it leads from. */
  const undo: Readonly<Record<number, (schema: string) => string>> = {
    3: (schema) => `
      ALTER TABLE ${schema}.runs DROP COLUMN keeper;
      CREATE OR REPLACE FUNCTION ${schema}.change(this bigint, change jsonb) RETURNS void LANGUAGE sql AS '';`,
    4: (schema) => `
      DROP INDEX ${schema}.runs_by_creation; DROP INDEX ${schema}.runs_by_status;
      CREATE INDEX runs_by_status ON ${schema}.runs (status, created_at);`,
    5: (schema) => `
      ALTER TABLE ${schema}.inbox DROP COLUMN sender_key, DROP COLUMN sender_print;
      DROP FUNCTION ${schema}.post(text, text, text, double precision, boolean, text, text, text);
      CREATE FUNCTION ${schema}.post(text, text, text, double precision, boolean, text) RETURNS integer LANGUAGE sql AS 'SELECT 0';`,
  };

  it.each(Object.keys(undo).map(Number))(
    "of version %d is brought up to date, by one of many, with all that is in it",
    async (version) => {
      const schema = newSchema();
      const store = storeIn(schema);
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)], { status: "waiting", due: 5 });
      const before = await store.read("r");
      const steps = Object.entries(undo).filter(([from]) => Number(from) >= version);
      await query(`
      ${steps.map(([, step]) => step(schema)).join("")}
      UPDATE ${schema}.stepmark_version SET version = ${version}`);
      const stores = Array.from({ length: 4 }, () => storeIn(schema));
      expect(await Promise.all(stores.map((each) => each.read("r")))).toEqual(stores.map(() => before));
      await stores[0]!.append("r", fence, [], { keeper: "a", release: true });
      expect(await stores[1]!.timers("a", 1)).toEqual([{ id: "r", due: 5 }]);
      expect(await stores[1]!.entries("r")).toEqual([entry(1)]);
    },
  );

  it("may have its entries in partitions, by ranges of runs", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    await store.list({});
    // As docs/postgres.md has it.
    await query(`
      DROP VIEW ${schema}.journal;
      DROP TABLE ${schema}.entries;
      CREATE TABLE ${schema}.entries (
        run bigint NOT NULL REFERENCES ${schema}.runs (number) ON DELETE CASCADE,
        seq integer NOT NULL,
        entry text NOT NULL,
        PRIMARY KEY (run, seq)
      ) PARTITION BY RANGE (run);
      CREATE TABLE ${schema}.entries_1 PARTITION OF ${schema}.entries FOR VALUES FROM (0) TO (3);
      CREATE TABLE ${schema}.entries_2 PARTITION OF ${schema}.entries FOR VALUES FROM (3) TO (6)`);
    const runs = ["a", "b", "c", "d"];
    const fences: number[] = [];
    for (const run of runs) fences.push(await owned(store, run));
    await Promise.all(runs.map((run, i) => store.append(run, fences[i]!, [entry(1), entry(2)])));
    await expect(store.append("c", fences[2]!, [entry(2)])).rejects.toBeInstanceOf(StoreError);
    for (const run of runs) expect(await store.entries(run)).toEqual([entry(1), entry(2)]);
    expect(await query(`SELECT count(*)::int FROM ${schema}.entries_1`)).toEqual([{ count: 4 }]);
    await store.delete("a");
    expect(await query(`SELECT count(*)::int FROM ${schema}.entries`)).toEqual([{ count: 6 }]);
  });

  it("has a view for people who look into it, and deleting a run there deletes all of it", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    await store.append("r", await owned(store, "r"), [entry(1)]);
    await store.post("r", { target: "t", value: "[1]", at: 1 });
    expect(await query(`SELECT run, seq, key, kind, state FROM ${schema}.journal`)).toEqual([
      { run: "r", seq: 1, key: "fulfil/step~1", kind: "step", state: "done" },
    ]);
    await query(`DELETE FROM ${schema}.runs WHERE id = 'r'`);
    expect(await store.read("r")).toBeUndefined();
    expect(await query(`SELECT FROM ${schema}.entries UNION ALL SELECT FROM ${schema}.inbox`)).toEqual([]);
  });

  it("tells an entry that was edited", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    await store.append("r", await owned(store, "r"), [entry(1), entry(2)], { output: "[o]" });
    await query(`UPDATE ${schema}.entries SET entry = replace(entry, '[2]', '[3]')`);
    await expect(store.entries("r")).rejects.toBeInstanceOf(DamagedJournalError);
    await query(`UPDATE ${schema}.runs SET output = replace(output, 'o', 'u')`);
    await expect(store.list({}).then(([run]) => run!.output)).rejects.toBeInstanceOf(DamagedJournalError);
  });
});

describe("statements that the server keeps", () => {
  it("are read once for each connection", async () => {
    const pool = new Pool({ connectionString: url, max: 1, allowExitOnIdle: true });
    const store = newStore(pool);
    const fence = await owned(store, "r");
    for (let seq = 1; seq <= 5; seq++) await store.append("r", fence, [entry(seq)]);
    const { rows } = await pool.query(
      "SELECT statement, generic_plans + custom_plans AS calls FROM pg_prepared_statements",
    );
    expect(rows).toEqual([{ statement: expect.stringMatching(/append_entry/), calls: "5" }]);
  });

  it("are not missed where somebody makes the session forget them", async () => {
    const pool = new Pool({ connectionString: url, max: 1, allowExitOnIdle: true });
    const store = newStore(pool);
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1)]);
    await pool.query("DEALLOCATE ALL");
    await store.append("r", fence, [entry(2)]);
    await store.append("r", fence, [entry(3)], { status: "waiting" });
    expect(await store.entries("r")).toEqual([entry(1), entry(2), entry(3)]);
  });
});

describe("texts", () => {
  it("come back as they were: NUL characters, halves of surrogate pairs, and what stands for them", async () => {
    const text = "a\0b\ud800c\udfffd\u0001e\u00010000🎉\ud83c\\\"'";
    const store = newStore();
    const run = newRun(`r${text}`, { workflow: text, input: text, inputPrint: text, parent: { id: text, key: text } });
    await store.create(run);
    const claim = await store.claim(run.id, { ...owner(text), host: text }, dead, lease);
    expect(claim).toMatchObject({ claimed: true, run });
    const change = { output: text, error: text, culprits: [text], wake: { run: run.id, target: text, at: 1 } };
    await store.append(run.id, 1, [entry(1, { key: text, value: text })], change);
    await store.post(run.id, { target: text, value: text, at: 2 });
    expect(await store.read(run.id)).toMatchObject({ ...run, output: text, error: text, culprits: [text] });
    expect(await store.entries(run.id)).toEqual([entry(1, { key: text, value: text })]);
    expect((await store.inbox(run.id)).map(({ target, value }) => [target, value])).toEqual([
      [text, ""],
      [text, text],
    ]);
    expect(await store.post(run.id, { target: text, value: "", at: 2 }, { once: true })).toBeUndefined();
    expect((await store.list({ workflow: text })).map(({ id }) => id)).toEqual([run.id]);
    const copy = newStore();
    const whole = {
      run: (await store.read(run.id))!,
      entries: await store.entries(run.id),
      inbox: await store.inbox(run.id),
    };
    expect(await copy.restore([whole])).toEqual([]);
    expect(await copy.restore([whole])).toEqual([run.id]);
    expect(await copy.inbox(run.id)).toEqual(whole.inbox);
  });

  it("may be long: an id that no index of a tree takes, and values of megabytes", async () => {
    const store = newStore();
    const id = Array.from({ length: 20_000 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000))).join("");
    const value = "x".repeat(20_000_000);
    const fence = await owned(store, id);
    await store.append(id, fence, [entry(1, { value })], { output: value });
    expect((await store.entries(id))[0]!.value).toBe(value);
    expect((await store.create(newRun(id))).created).toBe(false);
    expect((await store.read(id))!.output).toBe(value);
  });

  it("never reach the database as statements", async () => {
    const store = newStore();
    for (const text of ["'; DROP SCHEMA public CASCADE; --", '{"a', "$1", "\\", '"},{"', "NULL"]) {
      const fence = await owned(store, text);
      await store.append(text, fence, [entry(1, { key: text }), entry(2)], { output: text, culprits: [text] });
      await store.append(text, fence, [], { wake: { run: text, target: text, at: 1 } });
      expect(await store.read(text)).toMatchObject({ id: text, output: text, culprits: [text] });
      expect((await store.inbox(text)).map(({ target }) => target)).toEqual([text]);
      expect(await store.renew(new Map([[text, fence]]), lease)).toEqual([]);
      await store.delete(text);
    }
  });

  it("keeps times that are no whole numbers", async () => {
    const store = newStore();
    await store.create(newRun("r", { createdAt: 0.1 }));
    const fence = (
      (await store.claim("r", owner("a"), dead, { now: 0.2, until: 1e9 + 0.3 })) as { run: { fence: number } }
    ).run.fence;
    await store.append("r", fence, [], { due: 0 });
    expect(await store.read("r")).toMatchObject({ createdAt: 0.1, leaseUntil: 1e9 + 0.3, due: 0 });
    await store.append("r", fence, [], { due: 2e9 + 0.5, status: "waiting" });
    expect((await store.ready(Number.POSITIVE_INFINITY)).map(({ due }) => due)).toEqual([2e9 + 0.5]);
  });
});

/** A pool that notes what it is asked. */
function watched(): { pool: Pool; asked: string[] } {
  const pool = new Pool({ connectionString: url, max: 4, allowExitOnIdle: true });
  const asked: string[] = [];
  const { query: ask } = pool;
  // biome-ignore lint/suspicious/noExplicitAny: passed on as it is
  pool.query = ((...args: any[]) => {
    asked.push((args[0] as { text: string }).text);
    return Reflect.apply(ask, pool, args);
  }) as typeof pool.query;
  return { pool, asked };
}

describe("group commit", () => {
  it("is one statement a tick, over all runs, and one for all that comes while it is under way", async () => {
    const { pool, asked } = watched();
    const store = newStore(pool);
    const fences: number[] = [];
    for (let run = 0; run < 10; run++) fences.push(await owned(store, `r${run}`));
    const all = (seq: number) => fences.map((fence, run) => store.append(`r${run}`, fence, [entry(seq)]));
    asked.length = 0;
    const first = all(1);
    await setImmediate();
    const rest = [...all(2), ...all(3)];
    await Promise.all([...first, ...rest]);
    expect(asked).toHaveLength(2);
    expect(asked.join()).toMatch(/append/);
    await pool.end();
  });

  it("refuses what the server refuses, and takes the others", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    const [a, b, c] = [await owned(store, "a"), await owned(store, "b"), await owned(store, "c")];
    await query(`
      CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON ${schema}.entries
        FOR EACH ROW WHEN (new.entry LIKE '%too large%') EXECUTE FUNCTION ${schema}.refuse()`);
    const results = await Promise.allSettled([
      store.append("a", a, [entry(1)]),
      store.append("b", b, [entry(1), entry(2, { value: "too large" })], { status: "failed" }),
      store.append("c", c + 1, [entry(1)]),
      store.append("a", a, [entry(2)]),
      store.append("c", c, [entry(1)]),
    ]);
    expect(results.map(({ status }) => status[0]).join("")).toBe("frrff");
    expect(results[1]).toMatchObject({ reason: { code: "STORE", runId: "b", key: "fulfil/step~1" } });
    expect((results[1] as PromiseRejectedResult).reason.message).toMatch(
      /no space left.*Free space on the server's disk/,
    );
    expect((results[2] as PromiseRejectedResult).reason).toBeInstanceOf(StaleOwnerError);
    expect(await store.entries("b")).toEqual([]);
    expect(await store.read("b")).toMatchObject({ status: "running" });
  });

  it("is on the disk before it is acknowledged, also where the database does not insist on that", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    const fence = await owned(store, "r");
    const lazy = new Client(set({ synchronous_commit: "off" }));
    await lazy.connect();
    const commits: Array<[text: string, cells: unknown[]]> = [
      [`SELECT ${schema}.append($1, $2, $3, $4, $5, $6, $7)`, [["r"], [fence], [1], [1], ["text"], [null], "sender12"]],
      [`SELECT ${schema}.append_entry($1, $2, $3, $4)`, ["r", fence, 2, "text"]],
    ];
    for (const [text, cells] of commits) {
      await lazy.query("BEGIN");
      await lazy.query(text, cells);
      expect((await lazy.query("SHOW synchronous_commit")).rows).toEqual([{ synchronous_commit: "on" }]);
      await lazy.query("COMMIT");
      expect((await lazy.query("SHOW synchronous_commit")).rows).toEqual([{ synchronous_commit: "off" }]);
    }
    expect(await query(`SELECT count(*)::int FROM ${schema}.entries`)).toEqual([{ count: 2 }]);
    await lazy.end();
  });

  it("need not wait for the disk with NORMAL: its entries, and nothing else", async () => {
    const schema = newSchema();
    const store = storeIn(schema, url, { synchronous: "NORMAL" });
    const fence = await owned(store, "r");
    await query(`CREATE TABLE ${schema}.waited (what text, how text);
      CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ${schema}.waited VALUES (TG_TABLE_NAME, current_setting('synchronous_commit'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER note AFTER INSERT ON ${schema}.entries EXECUTE FUNCTION ${schema}.note();
      CREATE TRIGGER note AFTER INSERT ON ${schema}.inbox EXECUTE FUNCTION ${schema}.note();`);
    await store.append("r", fence, [entry(1)]);
    await store.post("r", { target: "t", value: "[1]", at: 1 });
    await store.append("r", fence, [entry(2)]);
    const full = storeIn(schema);
    await full.append("r", fence, [entry(3)]);
    expect(await query(`SELECT * FROM ${schema}.waited`)).toEqual([
      { what: "entries", how: "off" },
      { what: "inbox", how: "on" },
      { what: "entries", how: "off" },
      { what: "entries", how: "on" },
    ]);
    expect(await store.entries("r")).toEqual([entry(1), entry(2), entry(3)]);
  });

  it("of many stores that write the same runs in different orders never ends in a deadlock", async () => {
    const schema = newSchema();
    const stores = Array.from({ length: 4 }, () => storeIn(schema));
    const runs = Array.from({ length: 8 }, (_, i) => `r${i}`);
    const fences = new Map<string, number>();
    for (const run of runs) fences.set(run, await owned(stores[0]!, run));
    await Promise.all(
      stores.map(async (store, turn) => {
        const order = turn % 2 === 0 ? runs : [...runs].reverse();
        for (let round = 0; round < 20; round++) {
          const appends = order.map((run, i) => {
            const wake = { run: order[(i + 3) % order.length]!, target: "t", at: 1 };
            return store.append(run, fences.get(run)!, [], { wake });
          });
          await Promise.all([...appends, store.renew(new Map([...fences].reverse()), lease)]);
        }
      }),
    );
    for (const run of runs) {
      const numbers = (await stores[0]!.inbox(run)).map(({ number }) => number);
      expect(numbers).toEqual(Array.from({ length: 80 }, (_, i) => i + 1));
    }
  });
});

describe("I8: owners", () => {
  it("two stores are two owners, and the fence tells them apart", async () => {
    const schema = newSchema();
    const [a, b] = [storeIn(schema), storeIn(schema)];
    const fence = await owned(a, "r");
    await a.append("r", fence, [entry(1)]);
    expect(await b.claim("r", owner("b"), alive, lease)).toEqual({ claimed: false, owner: owner("a") });
    expect(await b.claim("r", owner("b"), dead, lease)).toMatchObject({ claimed: true });
    const [stale, current] = await Promise.allSettled([
      a.append("r", fence, [entry(2)]),
      b.append("r", fence + 1, [entry(2)]),
    ]);
    expect(stale).toMatchObject({ status: "rejected", reason: expect.any(StaleOwnerError) });
    expect(current.status).toBe("fulfilled");
    expect(await a.entries("r")).toHaveLength(2);
  });

  it("many that claim a dead owner's run at once: one gets it", async () => {
    const schema = newSchema();
    const stores = Array.from({ length: 8 }, () => storeIn(schema));
    await owned(stores[0]!, "r");
    const isDead = ({ token }: { token: string }): boolean => token === "a";
    const claims = await Promise.all(stores.map((store, i) => store.claim("r", owner(`b${i}`), isDead, lease)));
    expect(claims.filter(({ claimed }) => claimed)).toMatchObject([{ run: { fence: 2 } }]);
  });

  it("who renews the lease while it is decided that it is dead, keeps the run", async () => {
    const schema = newSchema();
    const a = storeIn(schema);
    const fence = await owned(a, "r");
    // Dead by what was read; before that is acted on, the lease is renewed.
    const asked: number[] = [];
    const pool = new Pool({ connectionString: url, max: 2 });
    const { query: ask } = pool;
    // biome-ignore lint/suspicious/noExplicitAny: passed on as it is
    pool.query = (async (...args: any[]) => {
      if (asked.length === 1) await a.renew(new Map([["r", fence]]), { now: 5_000, until: 6_000 });
      return Reflect.apply(ask, pool, args);
    }) as typeof pool.query;
    const c = storeIn(schema, pool);
    const claim = await c.claim(
      "r",
      owner("c"),
      (_, until) => {
        asked.push(until);
        return until < 5_500;
      },
      { now: 5_500, until: 9_000 },
    );
    expect(claim).toEqual({ claimed: false, owner: owner("a") });
    expect(asked).toEqual([2_000, 6_000]);
    await c.close();
    await pool.end();
  });

  it("go by the database's clock where an app goes by its machine's, however that is set", async () => {
    const schema = newSchema();
    // A server whose clock is an hour ahead of this machine's.
    await storeIn(schema).create(newRun("r"));
    for (const name of ["clock_timestamp", "statement_timestamp"])
      await query(
        `CREATE FUNCTION ${schema}.${name}() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.${name}() + interval '1 hour' $$`,
      );
    const store = storeIn(schema, set({ search_path: `${schema},pg_catalog` }));
    const now = Date.now();
    const claim = await store.claim("r", owner("a"), dead, { now, until: now + 30_000 });
    const [row] = await query(`SELECT lease_until - 3600000 AS here, lease_by_database AS by FROM ${schema}.runs`);
    expect(row!.by).toBe(true);
    expect(Math.abs((row!.here as number) - (now + 30_000))).toBeLessThan(10_000);
    const about = (until: number | undefined): void => expect(Math.abs(until! - (now + 30_000))).toBeLessThan(10_000);
    about(claim.claimed ? claim.run.leaseUntil : 0);
    about((await store.read("r"))!.leaseUntil);
    about((await store.list({}))[0]!.leaseUntil);
    let asked: number | undefined;
    const note = (_: unknown, until: number): boolean => {
      asked = until;
      return false;
    };
    await store.claim("r", owner("b"), note, { now, until: now + 30_000 });
    about(asked);
    await store.renew(new Map([["r", 1]]), { now: Date.now(), until: Date.now() + 60_000 });
    expect((await store.read("r"))!.leaseUntil! - now).toBeGreaterThan(50_000);
    expect((await store.read("r"))!.leaseUntil! - now).toBeLessThan(120_000);
  });
});

describe("messages of other processes", () => {
  const posted = { target: "t", value: "[1]", at: 1 };

  /** The connections on which a schema's messages are listened for, and nothing is missed any more. */
  const listening = async (schema: string): Promise<unknown[]> =>
    (
      await query("SELECT pid FROM pg_stat_activity WHERE starts_with(query, $1) AND state = 'idle'", [
        `SELECT id FROM ${schemaOf(schema).quoted}.runs WHERE number IN`,
      ])
    ).map(({ pid }) => pid);

  it("are told, also those for runs with ids that no notification holds, and each once", async () => {
    const schema = newSchema();
    const [a, b] = [storeIn(schema), storeIn(schema)];
    const long = "ü".repeat(5_000);
    await a.create(newRun("r"));
    await a.create(newRun(long));
    const heard: string[] = [];
    let more!: () => void;
    const stop = a.onPost((id) => {
      heard.push(id);
      more();
    });
    const hearing = (): Promise<void> => new Promise((resolve) => (more = resolve));
    while ((await listening(schema)).length === 0);
    let next = hearing();
    await b.post(long, posted);
    await next;
    const fence = await owned(b, "child");
    next = hearing();
    await b.append("child", fence, [], { wake: { run: "r", target: "r/child", at: 1 } });
    await next;
    next = hearing();
    await a.post("r", posted);
    await next;
    // Its own comes by itself, and not again through the server: what b sends then is what is heard next.
    next = hearing();
    await b.post("r", posted);
    await next;
    expect(heard).toEqual([long, "r", "r", "r"]);
    stop();
  });

  it("are told after the connection was lost, those that were posted meanwhile too", async () => {
    const schema = newSchema();
    const [a, b] = [storeIn(schema), storeIn(schema)];
    await a.create(newRun("r"));
    let hear!: (id: string) => void;
    a.onPost((id) => hear(id));
    for (let round = 0; round < 2; round++) {
      let pid: unknown;
      while (pid === undefined) [pid] = await listening(schema);
      const heard = new Promise<string>((resolve) => (hear = resolve));
      await query("SELECT pg_terminate_backend($1)", [pid]);
      await b.post("r", posted);
      expect(await heard).toBe("r");
    }
  });

  it("are listened for only while somebody listens, and not if that is not wanted", async () => {
    const schema = newSchema();
    const connections = async (): Promise<number> => (await listening(schema)).length;
    const [store, deaf] = [storeIn(schema), storeIn(schema, url, { listen: false })];
    deaf.onPost(() => {});
    await store.create(newRun("r"));
    await deaf.read("r");
    expect(await connections()).toBe(0);
    const stop = store.onPost(() => {});
    while ((await connections()) === 0);
    stop();
    while ((await connections()) > 0);
    store.onPost(() => {});
    while ((await connections()) === 0);
    await store.close();
    expect(await connections()).toBe(0);
  });

  it("go on with a run that waits in this process, with nothing that looks for them", async () => {
    const schema = newSchema();
    const flow = workflow("asks", async () => [await step("first", async () => 1), await waitFor<string>("ok?")]);
    const [one, other] = [0, 1].map(() => new Stepmark({ store: storeIn(schema), workflows: [flow] }));
    const run = await one!.start(flow, undefined, { id: "r" });
    await run.settled();
    await other!.answer("r", "ok?", "yes");
    expect(await run.result()).toEqual([1, "yes"]);
    await Promise.all([one!.shutdown(), other!.shutdown()]);
  });
});

describe("connections", () => {
  it("that are lost while nobody uses them end no process, and are made anew", async () => {
    const name = newSchema();
    const named = new URL(url);
    named.searchParams.set("application_name", name);
    const own = newStore(named.href);
    const pool = new Pool({ connectionString: named.href });
    const given = newStore(pool);
    for (const store of [own, given]) {
      store.onPost(() => {});
      await Promise.all([store.create(newRun("r")), store.list({}), store.list({})]);
    }
    await query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [name]);
    for (const store of [own, given]) {
      // A statement that meets the end of its connection fails; the next one has a new one.
      for (let tries = 0; ; tries++) {
        const found = await store.read("r").catch((error: unknown) => error);
        if (!(found instanceof StoreError)) break;
        expect(tries).toBeLessThan(10);
      }
      expect(await store.read("r")).toMatchObject({ id: "r" });
    }
    await given.close();
    // The caller's pool is the caller's.
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    expect(pool.listenerCount("error")).toBe(0);
    await pool.end();
    expect((await failure(given.read("r"))).message).toContain("closed");
  });

  it("are closed with the store, which takes what was appended before and refuses everything after", async () => {
    const schema = newSchema();
    const store = storeIn(schema);
    const fence = await owned(store, "r");
    const last = store.append("r", fence, [entry(1)]);
    await store.close();
    await last;
    await store.close();
    const calls = [
      store.create(newRun("s")),
      store.restore([]),
      store.read("r"),
      store.list({}),
      store.ready(0),
      store.entries("r"),
      store.claim("r", owner("b"), dead, lease),
      store.renew(new Map([["r", fence]]), lease),
      store.renew(new Map(), lease),
      store.append("r", fence, [entry(2)]),
      store.post("r", { target: "t", value: "", at: 1 }),
      store.inbox("r"),
      store.delete("r"),
    ];
    for (const call of calls) expect((await failure(call)).message).toContain("closed");
    expect(await storeIn(schema).entries("r")).toEqual([entry(1)]);
    await newStore().close();
  });

  it("of an address without a password or a database say what is wrong", async () => {
    const nowhere = new URL(url);
    nowhere.pathname = "/nowhere";
    const error = await failure(newStore(nowhere.href).create(newRun("r")));
    expect(error.message).toMatch(/database "nowhere" does not exist \(run "r"\)\. Make the database/);
    expect(error.cause).toBeInstanceOf(Error);
  });
});
