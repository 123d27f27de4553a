/** The SQLite store: the suite with each driver, and what is the file's own. */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StaleOwnerError, StoreError } from "../../runtime/errors.js";
import { listQuery } from "../../runtime/stores/list-query.js";
import { isDead } from "../../runtime/stores/owner.js";
import { type SqliteOptions, sqliteStore } from "../../runtime/stores/sqlite.js";
import { type Connection, type DriverName, openDatabase } from "../../runtime/stores/sqlite-driver.js";
import { schemaVersion } from "../../runtime/stores/sqlite-schema.js";
import type { Claim, ListFilter, Store } from "../../runtime/stores/store.js";
import { alive, dead, describeStore, entry, lease, newRun, owned, owner } from "./behaviour.js";
import { type Stage, stage } from "./child.js";

const folder = mkdtempSync(join(tmpdir(), "stepmark-sqlite-"));
let files = 0;
const newFile = (): string => join(folder, `runs${files++}.db`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Whether a driver loads here: Node may have no SQLite, and better-sqlite3 may be built for another Node. */
const loads = (driver: DriverName): boolean => {
  try {
    openDatabase(":memory:", driver).close();
    return true;
  } catch {
    return false;
  }
};
const builtin = loads("node:sqlite");
const drivers = (["node:sqlite", "better-sqlite3"] as const).filter(loads);
it("there is a driver to test", () => expect(drivers).not.toEqual([]));

for (const driver of drivers) {
  describeStore(`sqliteStore (${driver})`, async () => sqliteStore(newFile(), { driver }));
}
describeStore("sqliteStore in memory", async () => sqliteStore(":memory:"));

/** What undoes each migration, by the version that it leads from. */
const undo: Readonly<Record<number, string>> = {
  2: "DROP INDEX runs_by_keeper; DROP INDEX runs_by_owner; ALTER TABLE runs DROP COLUMN keeper;",
  3: "DROP INDEX runs_by_creation;",
  4: "DROP INDEX inbox_by_sender; ALTER TABLE inbox DROP COLUMN sender_key; ALTER TABLE inbox DROP COLUMN sender_print;",
};
const olderVersions = Object.keys(undo).map(Number);

/** Makes a file's tables those of an older version. */
const undone = (version: number): string => {
  const steps = Object.entries(undo).filter(([from]) => Number(from) >= version);
  return `${steps.map(([, step]) => step).join(" ")} PRAGMA user_version = ${version}`;
};

/** A driver that notes what is executed, and may be told to fail. */
function watched(prepare: (connection: Connection) => void = () => {}) {
  const watch = { executed: [] as string[], fail: undefined as ((sql: string) => void) | undefined };
  const driver: SqliteOptions["driver"] = (path) => {
    const connection = openDatabase(path);
    prepare(connection);
    return {
      prepare: (sql) => connection.prepare(sql),
      close: () => connection.close(),
      exec(sql) {
        watch.executed.push(sql);
        watch.fail?.(sql);
        connection.exec(sql);
      },
    };
  };
  return { watch, driver };
}

const failure = async (of: Promise<unknown>): Promise<StoreError> => {
  const error = await of.then(
    () => expect.fail("did not fail"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
};

describe.each(drivers)("the file (%s)", (driver) => {
  it("is made with its folder on first use, and keeps runs over processes", async () => {
    const path = join(folder, `deep/${driver.replace(":", "-")}/er/runs.db`);
    const store = sqliteStore(path, { driver });
    expect(existsSync(path)).toBe(false);
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1), entry(2)], { status: "waiting", culprits: ["k"] });
    await store.post("r", { target: "t", value: "[1]", at: 1 });
    const before = await store.read("r");
    await store.close();
    const again = sqliteStore(path, { driver });
    expect(await again.read("r")).toEqual(before);
    expect(await again.entries("r")).toEqual([entry(1), entry(2)]);
    expect(await again.inbox("r")).toEqual([{ number: 1, target: "t", value: "[1]", at: 1 }]);
    await again.append("r", fence, [entry(3)]);
    await again.close();
  });

  it("may be reached by symbolic links, and not by a second name of its own: each would have a log of its own", async () => {
    const path = newFile();
    const first = sqliteStore(path, { driver });
    await first.create(newRun("r"));
    symlinkSync(path, `${path}.symbolic`);
    const second = sqliteStore(`${path}.symbolic`, { driver });
    await second.create(newRun("s"));
    expect((await first.list({})).map(({ id }) => id)).toEqual(["s", "r"]);
    await Promise.all([first.close(), second.close()]);
    linkSync(path, `${path}.hard`);
    for (const name of [path, `${path}.hard`]) {
      const error = await failure(sqliteStore(name, { driver }).list({}));
      expect(error.message).toMatch(/is one file with 2 names \(hard links\)/);
    }
    rmSync(`${path}.hard`);
    const third = sqliteStore(path, { driver });
    expect(await third.list({})).toHaveLength(2);
    await third.close();
  });

  it("says that it is no database", async () => {
    const path = newFile();
    writeFileSync(path, "this is a text, and a long one at that. ".repeat(50));
    const store = sqliteStore(path, { driver });
    const error = await failure(store.create(newRun("r")));
    expect(error.message).toContain(path);
    expect(error.message).toMatch(/not a database/);
    expect(error.cause).toBeInstanceOf(Error);
    await failure(store.read("r"));
    expect(readFileSync(path, "utf8")).toMatch(/^this is a text/);
    await failure(sqliteStore(join(path, "runs.db"), { driver }).list({}));
    await failure(sqliteStore(folder, { driver }).list({}));
  });

  it("says that it is of a newer version, or another program's", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    await store.create(newRun("r"));
    await store.close();
    const newer = openDatabase(path, driver);
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    await expect(sqliteStore(path, { driver }).read("r")).rejects.toThrow(
      /newer version.*99.*Install.*\[NEWER_VERSION\]/,
    );
    const older = openDatabase(path, driver);
    older.exec("PRAGMA user_version = 1");
    older.close();
    expect((await failure(sqliteStore(path, { driver }).read("r"))).message).toMatch(/older version.*Finish its runs/);

    const foreign = newFile();
    const connection = openDatabase(foreign, driver);
    connection.exec("CREATE TABLE runs (a)");
    connection.close();
    expect((await failure(sqliteStore(foreign, { driver }).read("r"))).message).toMatch(/another program/);
  });

  it.each(olderVersions)(
    "of version %d is brought up to date, by one of many, with all that is in it",
    async (version) => {
      const path = newFile();
      const store = sqliteStore(path, { driver });
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)], { status: "waiting", due: 5 });
      const before = await store.read("r");
      await store.close();
      const file = openDatabase(path, driver);
      file.exec(undone(version));
      file.close();
      const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
      const [first, second] = [sqliteStore(path, { driver }), sqliteStore(path, { driver })];
      expect([await first.read("r"), await second.read("r")]).toEqual([before, before]);
      expect((await warned).message).toContain(
        `brought up to date, from version ${version} to ${schemaVersion}: processes with an older stepmark refuse`,
      );
      await first.append("r", fence, [], { keeper: "a", release: true });
      expect(await second.timers("a", 1)).toEqual([{ id: "r", due: 5 }]);
      expect(await second.entries("r")).toEqual([entry(1)]);
      for (const each of [first, second]) await each.close();
    },
  );

  it.each(olderVersions)(
    "of version %d is left as it is by who only looks, and cannot be written by that",
    async (version) => {
      const path = newFile();
      const store = sqliteStore(path, { driver });
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)]);
      await store.post("r", { target: "ok", value: "[1]", at: 1 });
      const before = await store.read("r");
      await store.close();
      const file = openDatabase(path, driver);
      file.exec(undone(version));
      const looking = sqliteStore(path, { driver, migrate: false });
      expect([await looking.read("r"), await looking.list({})]).toEqual([before, [before]]);
      expect([await looking.entries("r"), await looking.inbox("r")]).toMatchObject([[entry(1)], [{ target: "ok" }]]);
      for (const write of [
        () => looking.create(newRun("s")),
        () => looking.post("r", { target: "ok", value: "[2]", at: 2 }),
        () => looking.delete("r"),
        () => looking.append("r", fence, [entry(2)]),
      ])
        await expect(write()).rejects.toThrow(
          new RegExp(
            `older version.*version ${version}, this one writes ${schemaVersion}.*Use the command of the version`,
          ),
        );
      expect(file.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
      file.close();
      await looking.close();
      // A new file is made all the same.
      const made = sqliteStore(newFile(), { driver, migrate: false });
      expect((await made.create(newRun("s"))).created).toBe(true);
      await made.close();
    },
  );

  it.each<[ListFilter, RegExp]>([
    [{}, /^SCAN runs USING INDEX runs_by_creation$/],
    [{ workflow: "fulfil" }, /^SCAN runs USING INDEX runs_by_creation$/],
    [{ after: "r" }, /^SEARCH runs USING INDEX runs_by_creation \(/],
    [{ status: "failed" }, /^SEARCH runs USING INDEX runs_by_status \(status=\?\)$/],
    [{ status: ["failed", "failed"], after: "r" }, /^SEARCH runs USING INDEX runs_by_status \(status=\? AND/],
    [
      { status: ["failed", "running", "waiting"], after: "r" },
      /^(MERGE|LEFT|RIGHT|SEARCH runs USING INDEX runs_by_status \(st)/,
    ],
    [
      { status: ["completed", "cancelled"], unchangedSince: 5 },
      /^(MERGE|LEFT|RIGHT|SEARCH runs USING INDEX runs_by_status \(st)/,
    ],
  ])("a page of a list is a part of an index: %j", async (filter, plan) => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    await store.create(newRun("r"));
    await store.close();
    const connection = openDatabase(path, driver);
    for (const order of ["newest", "oldest"] as const) {
      const dialect = { table: "runs", columns: "*", parameter: () => "?", all: "-1", merges: true };
      const after = filter.after === undefined ? undefined : { createdAt: 1, number: 1 };
      const { text, values } = listQuery(dialect, { ...filter, order, limit: 10 }, after);
      const steps = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as Array<{ detail: string }>;
      for (const { detail } of steps) expect(detail).toMatch(plan);
    }
    connection.close();
  });

  it("may be made by two at once", async () => {
    const path = newFile();
    const other = sqliteStore(path, { driver });
    let created: Promise<unknown> | undefined;
    const late = sqliteStore(path, {
      driver: (file) => {
        const connection = openDatabase(file, driver);
        return {
          prepare: (sql) => connection.prepare(sql),
          close: () => connection.close(),
          exec(sql) {
            if (sql === "BEGIN IMMEDIATE") created ??= other.create(newRun("first"));
            connection.exec(sql);
          },
        };
      },
    });
    await late.create(newRun("second"));
    await created;
    expect((await late.list({})).map(({ id }) => id).sort()).toEqual(["first", "second"]);
    await late.close();
    await other.close();
  });

  it("is tried again when another process is switching it to a write-ahead log", async () => {
    let refused = 0;
    const store = sqliteStore(newFile(), {
      driver: (file) => {
        const connection = openDatabase(file, driver);
        return {
          close: () => connection.close(),
          exec: (sql) => connection.exec(sql),
          prepare(sql) {
            if (sql === "PRAGMA journal_mode = WAL" && refused++ < 2) throw new Error("database is locked");
            return connection.prepare(sql);
          },
        };
      },
    });
    expect((await store.create(newRun("r"))).created).toBe(true);
    expect(refused).toBe(3);
    await store.close();
  });

  it("I8: two handles on it are two owners, and the fence tells them apart", async () => {
    const path = newFile();
    const [a, b] = [sqliteStore(path, { driver }), sqliteStore(path, { driver })];
    const fence = await owned(a, "r");
    await a.append("r", fence, [entry(1)]);
    expect(await b.claim("r", owner("b"), alive, lease)).toEqual({ claimed: false, owner: owner("a") });
    expect(await b.entries("r")).toEqual([entry(1)]);
    expect(await b.claim("r", owner("b"), dead, lease)).toMatchObject({ claimed: true });
    const [stale, current] = await Promise.allSettled([
      a.append("r", fence, [entry(2)]),
      b.append("r", fence + 1, [entry(2)]),
    ]);
    expect(stale).toMatchObject({ status: "rejected", reason: expect.any(StaleOwnerError) });
    expect(current.status).toBe("fulfilled");
    expect(await a.entries("r")).toHaveLength(2);
    await b.post("r", { target: "t", value: "[1]", at: 1 });
    expect(await a.inbox("r")).toHaveLength(1);
    await a.close();
    await b.close();
  });

  it("has a view for people who look into it", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    await store.append("r", await owned(store, "r"), [entry(1)]);
    const connection = openDatabase(path, driver);
    expect(connection.prepare("SELECT run, key, kind, state FROM journal").get()).toMatchObject({
      run: "r",
      key: "fulfil/step~1",
      kind: "step",
      state: "done",
    });
    connection.close();
    await store.close();
  });

  it("refuses everything after close, which takes what was appended before", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    const fence = await owned(store, "r");
    const last = store.append("r", fence, [entry(1)]);
    await store.close();
    await last;
    // The log goes when the last connection does: none was opened again for the append.
    expect(existsSync(`${path}-wal`)).toBe(false);
    await store.close();
    const calls = [
      store.create(newRun("s")),
      store.read("r"),
      store.list({}),
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
    const again = sqliteStore(path, { driver });
    expect(await again.entries("r")).toEqual([entry(1)]);
    await again.close();
    await sqliteStore(newFile(), { driver }).close();
  });
});

describe("group commit", () => {
  // No room is made in the log then, which would be a transaction more.
  const synchronous = "NORMAL";
  const commits = (executed: readonly string[]): number => executed.filter((sql) => sql === "COMMIT").length;

  it("is one transaction a tick, over all runs", async () => {
    const { watch, driver } = watched();
    const store = sqliteStore(newFile(), { driver, synchronous });
    const fences = [];
    for (let run = 0; run < 10; run++) fences.push(await owned(store, `r${run}`));
    for (let tick = 0; tick < 3; tick++) {
      watch.executed = [];
      await Promise.all(fences.map((fence, run) => store.append(`r${run}`, fence, [entry(tick + 1)])));
      expect(watch.executed).toEqual(["BEGIN IMMEDIATE", "COMMIT"]);
    }
    await store.close();
  });

  it("acknowledges after the commit, and only then", async () => {
    const { watch, driver } = watched();
    const store = sqliteStore(newFile(), { driver, synchronous });
    const fence = await owned(store, "r");
    watch.executed = [];
    let seen = -1;
    const appended = [1, 2].map((seq) =>
      store.append("r", fence, [entry(seq)]).then(() => {
        seen = commits(watch.executed);
      }),
    );
    await Promise.resolve();
    expect(seen).toBe(-1);
    await Promise.all(appended);
    expect(seen).toBe(1);
    await store.close();
  });

  it("keeps the order of a tick, with a claim in the midst", async () => {
    const { watch, driver } = watched();
    const store = sqliteStore(newFile(), { driver, synchronous });
    const fence = await owned(store, "r");
    watch.executed = [];
    await Promise.all([
      store.append("r", fence, [entry(1)], {}),
      store.claim("r", owner("b"), dead, lease),
      store.append("r", fence + 1, [entry(2)], {}),
    ]);
    expect(commits(watch.executed)).toBe(1);
    expect(await store.entries("r")).toHaveLength(2);
    await store.close();
  });

  it("begins and takes up many runs with one transaction each, and refuses one alone", async () => {
    const { watch, driver } = watched();
    const store = sqliteStore(newFile(), { driver, synchronous });
    await store.read("r");
    const ids = ["r1", "r2", "r3"];
    watch.executed = [];
    expect(await Promise.all(ids.map((id) => store.create(newRun(id))))).toMatchObject(
      ids.map((id) => ({ run: { id } })),
    );
    expect(commits(watch.executed)).toBe(1);
    const claim = (id: string): Promise<Claim> => store.claim(id, owner("a"), dead, lease);
    const [first, none, last] = await Promise.allSettled([claim("r1"), claim("r0"), claim("r3")]);
    expect(commits(watch.executed)).toBe(2);
    expect(first).toMatchObject({ value: { claimed: true, run: { id: "r1" } } });
    expect(none).toMatchObject({ reason: { code: "RUN_NOT_FOUND" } });
    expect(last).toMatchObject({ value: { claimed: true, run: { id: "r3" } } });
    await store.close();
  });
});

describe("the log's space", () => {
  const path = (): { file: string; logSize: () => number } => {
    const file = newFile();
    return { file, logSize: () => statSync(`${file}-wal`).size };
  };
  const all = (count: number) => Array.from({ length: count }, (_, i) => entry(i + 1));

  it("is there before commits need it, once there are enough to make it worth while", async () => {
    const { file, logSize } = path();
    const store = sqliteStore(file);
    const fence = await owned(store, "r");
    const sizes: number[] = [];
    for (const each of all(200)) {
      await store.append("r", fence, [each]);
      sizes.push(logSize());
    }
    expect(sizes[20]).toBeLessThan(400_000);
    expect(new Set(sizes.slice(60))).toEqual(new Set([4_120_000]));
    expect(await store.entries("r")).toEqual(all(200));
    await store.close();
  });

  it("is not made where no commit waits for the disk", async () => {
    const { file, logSize } = path();
    const store = sqliteStore(file, { synchronous: "NORMAL" });
    const fence = await owned(store, "r");
    const before = logSize();
    await store.append("r", fence, [entry(1)]);
    expect(logSize() - before).toBeLessThan(20_000);
    await store.close();
  });

  it("ends what is read of the log after a crash, with nothing lost", async () => {
    const { file } = path();
    const store = sqliteStore(file);
    const fence = await owned(store, "r");
    for (const each of all(200)) await store.append("r", fence, [each]);
    const left = newFile();
    for (const suffix of ["", "-wal"]) copyFileSync(file + suffix, left + suffix);
    await store.close();
    const next = sqliteStore(left);
    expect(await next.entries("r")).toEqual(all(200));
    await next.append("r", fence, [entry(201)]);
    await next.close();
  });

  it("is made beside others that write to the file", async () => {
    const { file } = path();
    const stores = ["a", "b", "c"].map((id) => ({ id, store: sqliteStore(file) }));
    const fences = new Map<string, number>();
    for (const { id, store } of stores) fences.set(id, await owned(store, id));
    for (const each of all(200)) {
      for (const { id, store } of stores) await store.append(id, fences.get(id)!, [each]);
    }
    for (const { id, store } of stores) expect(await store.entries(id)).toEqual(all(200));
    for (const { store } of stores) await store.close();
    const after = sqliteStore(file);
    for (const { id } of stores) expect(await after.entries(id)).toEqual(all(200));
    await after.close();
  });

  it("is done without, if it cannot be made", async () => {
    const { watch, driver } = watched();
    const store = sqliteStore(newFile(), { driver });
    const fence = await owned(store, "r");
    watch.fail = (sql) => {
      if (sql.startsWith("BEGIN")) throw new Error("disk I/O error");
    };
    for (const each of all(60)) await store.append("r", fence, [each]);
    expect(watch.executed.filter((sql) => sql.startsWith("BEGIN"))).not.toEqual([]);
    watch.fail = undefined;
    expect(await store.entries("r")).toEqual(all(60));
    await store.close();
  });
});

describe("a store that fails", () => {
  const both = (store: Store, a: number, b: number) =>
    Promise.allSettled([
      store.append("a", a, [entry(1)]),
      store.append("b", b, [entry(1)], { status: "completed", consume: [1], release: true }),
    ]);

  it.each([
    ["at BEGIN IMMEDIATE", /^BEGIN/],
    ["at COMMIT", /^COMMIT/],
  ])("%s refuses what it cannot commit, and writes nothing of it", async (_, at) => {
    const { watch, driver } = watched();
    const store = sqliteStore(newFile(), { driver });
    const [a, b] = [await owned(store, "a"), await owned(store, "b")];
    await store.post("b", { target: "t", value: "[1]", at: 1 });
    const cause = new Error("disk I/O error");
    watch.fail = (sql) => {
      if (at.test(sql)) throw cause;
    };
    const [single, changing] = await both(store, a, b);
    // A single statement is a transaction of its own, and is taken although the batch was not.
    expect(single.status).toBe("fulfilled");
    expect(changing).toMatchObject({ status: "rejected", reason: { code: "STORE", key: "fulfil/step~1", cause } });
    await failure(store.claim("a", owner("b"), dead, lease));
    watch.fail = undefined;
    expect([await store.entries("a"), await store.entries("b")]).toEqual([[entry(1)], []]);
    expect(await store.read("b")).toMatchObject({ status: "running", fence: b, owner: owner("a") });
    expect(await store.inbox("b")).toHaveLength(1);
    await store.append("b", b, [entry(1)], { status: "completed", consume: [1], release: true });
    expect(await store.read("b")).toMatchObject({ status: "completed" });
    await store.close();
  });

  it("because another process holds the lock says so, and works once it is free", async () => {
    const path = newFile();
    const { watch, driver } = watched();
    const store = sqliteStore(path, { driver });
    const fence = await owned(store, "r");
    let connection: Connection | undefined = openDatabase(path);
    const impatient = sqliteStore(path, {
      driver: (file) => {
        const opened = openDatabase(file);
        return {
          prepare: (sql) => opened.prepare(sql),
          close: () => opened.close(),
          exec: (sql) => opened.exec(sql.replace(/busy_timeout = \d+/, "busy_timeout = 0")),
        };
      },
    });
    expect(watch.executed.join()).toContain("busy_timeout = 15000");
    connection.exec("BEGIN IMMEDIATE");
    expect((await failure(impatient.append("r", fence, [entry(1)]))).message).toMatch(/locked/);
    expect(await impatient.entries("r")).toEqual([]);
    connection.exec("ROLLBACK");
    connection.close();
    connection = undefined;
    await impatient.append("r", fence, [entry(1)]);
    await impatient.close();
    await store.close();
  });
});

it.each([{}, { workflow: "fulfil" }, { unchangedSince: 5 }, { status: ["failed" as const, "cancelled" as const] }])(
  "lists runs by an index, and does not go through all there are for the newest: %o",
  async (filter) => {
    const lists: string[] = [];
    const path = newFile();
    const connection = openDatabase(path);
    const store = sqliteStore(path, {
      driver: () => ({
        prepare(sql) {
          if (sql.includes("OFFSET")) lists.push(sql);
          return connection.prepare(sql);
        },
        close: () => connection.close(),
        exec: (sql) => connection.exec(sql),
      }),
    });
    await store.list({ ...filter, limit: 5 });
    const [sql = ""] = lists;
    const plan = connection
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array<string>(sql.split("?").length - 1).fill(""));
    const steps = (plan as Array<{ detail: string }>).map(({ detail }) => detail);
    const through = steps.filter((step) => /^(SCAN|SEARCH) runs/.test(step));
    // In the index's own order, so that it ends with the page.
    expect(through).toEqual(through.filter((step) => / USING INDEX runs_by_(creation|status)/.test(step)));
    expect(through).not.toEqual([]);
    await store.close();
  },
);

describe("over processes", () => {
  let children: Stage;
  beforeAll(() => {
    children = stage();
  });
  afterAll(() => children.remove());

  const claimAndAppend = `
    const store = sqliteStore(args[0]);
    const { run } = await store.claim("r", thisProcess("child"), () => true, { now: Date.now(), until: Date.now() + 1e9 });
    const entry = (seq) => ({ seq, key: "k" + seq, kind: "step", state: "done", attempt: 1, startedAt: 1, endedAt: 2 });
    for (let seq = 1; ; seq++) {
      await store.append("r", run.fence, [entry(seq)]);
      console.log(seq);
    }`;

  it("I4, I8: a killed owner is dead at once, and what it saw acknowledged is there", async () => {
    const path = newFile();
    const store = sqliteStore(path);
    await store.create(newRun("r"));
    const child = children.start(claimAndAppend, path);
    let acknowledged = 0;
    while (acknowledged < 20) acknowledged = Number(await child.line());
    const now = Date.now();
    const look = (owner: Parameters<typeof isDead>[0], until: number): boolean => isDead(owner, until, now);
    expect(await store.claim("r", owner("b"), look, lease)).toMatchObject({
      claimed: false,
      owner: { token: "child", pid: child.process.pid },
    });
    child.process.kill("SIGKILL");
    await child.ended();
    for (let line = await child.line(); line !== undefined; line = await child.line()) acknowledged = Number(line);
    expect(await store.claim("r", owner("b"), look, lease)).toMatchObject({ claimed: true, run: { fence: 2 } });
    const seqs = (await store.entries("r")).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(seqs.length).toBeGreaterThanOrEqual(acknowledged);
    await store.close();
  });

  it("I8: many that open a new file at once share it, and one of them gets the run", async () => {
    const path = newFile();
    const script = `
      const start = new Promise((resolve) => process.stdin.once("data", resolve));
      console.log("ready");
      await start;
      process.stdin.destroy();
      const store = sqliteStore(args[0]);
      await store.create({ id: "r", workflow: "w", input: "[]", inputPrint: "[]", scheme: 1, createdAt: 1 });
      const claim = await store.claim("r", thisProcess("t"), () => false, { now: 1, until: 2 });
      for (let i = 0; i < 20; i++) await store.post("r", { target: "t", value: "[]", at: i });
      console.log(claim.claimed);
      await store.close();`;
    const started = Array.from({ length: 6 }, () => children.start(script, path));
    for (const child of started) expect(await child.line()).toBe("ready");
    for (const child of started) child.process.stdin!.write("go");
    const claimed = [];
    for (const child of started) {
      claimed.push(await child.line());
      expect(await child.ended()).toEqual({ code: 0, errors: "" });
    }
    expect(claimed.filter((each) => each === "true")).toHaveLength(1);
    const store = sqliteStore(path);
    expect((await store.inbox("r")).map(({ number }) => number)).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
    await store.close();
  });

  it("loads a driver when a store is used, without a warning, and other warnings stay", async () => {
    const child = children.start(
      `import { createRequire } from "node:module";
       const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes("better-sqlite3"));
       const store = sqliteStore(args[0]);
       console.log(loaded());
       await store.list({});
       console.log(loaded());
       await store.close();
       process.emitWarning("another", "ExperimentalWarning");`,
      newFile(),
    );
    expect(await child.line()).toBe("false");
    expect(await child.line()).toBe(String(!builtin));
    const { code, errors } = await child.ended();
    expect(code).toBe(0);
    expect(errors).toMatch(/ExperimentalWarning: another/);
    expect(errors).not.toMatch(/sqlite/i);
  });
});
