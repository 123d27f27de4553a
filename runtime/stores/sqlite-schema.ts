/** The SQLite store's tables: how a database file is made ready, and the statements that read and write it. */
import { NewerVersionError, StoreError } from "../errors.js";
import { restoredColumns, standingColumns } from "./rows.js";
import { sealLength } from "./seal.js";
import type { Connection, Statement } from "./sqlite-driver.js";

/** Kept in the file as `user_version`; goes up with each change to the tables. */
export const schemaVersion = 5;

/** Files from this version on are brought up to date. */
export const oldestVersion = 2;

const byCreation = "CREATE INDEX runs_by_creation ON runs (created_at);";

const bySender = "CREATE UNIQUE INDEX inbox_by_sender ON inbox (run, sender_key) WHERE sender_key IS NOT NULL;";

const indexes = `
  CREATE INDEX runs_by_due ON runs (due) WHERE status = 'waiting' AND due IS NOT NULL;
  CREATE INDEX runs_by_keeper ON runs (keeper, due) WHERE status = 'waiting' AND due IS NOT NULL;
  CREATE INDEX runs_by_owner ON runs (owner, lease_until) WHERE status = 'running';`;

/** What leads from a version to the next, by the older one's number. */
const migrations: Readonly<Record<number, string>> = {
  2: `ALTER TABLE runs ADD COLUMN keeper TEXT; DROP INDEX runs_by_due; ${indexes}`,
  3: byCreation,
  4: `ALTER TABLE inbox ADD COLUMN sender_key TEXT; ALTER TABLE inbox ADD COLUMN sender_print TEXT; ${bySender}`,
};

// An entry stands under one number, its run's in the upper half and its own in the lower: so there is one tree for an
// append to write, not a table and an index, and a run's entries lie together. The view shows what that hides, for people
// who look into the file; unlike columns made from an entry it costs an append nothing. Entries, inputs, outputs, errors and
// answers end in a seal.
const schema = `
  CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    workflow TEXT NOT NULL,
    status TEXT NOT NULL,
    scheme INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    owner TEXT,
    lease_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    culprits TEXT,
    orphans TEXT,
    edited TEXT,
    due INTEGER,
    keeper TEXT,
    parent TEXT,
    input_print TEXT NOT NULL,
    error TEXT,
    output TEXT,
    input TEXT NOT NULL
  );
  CREATE INDEX runs_by_status ON runs (status, created_at);
  ${byCreation}
  ${indexes}
  CREATE TABLE entries (
    place INTEGER PRIMARY KEY,
    entry TEXT NOT NULL
  );
  CREATE VIEW journal AS
    SELECT run, seq, json_extract(entry, '$.key') AS key, json_extract(entry, '$.kind') AS kind,
      json_extract(entry, '$.state') AS state, entry
    FROM (SELECT runs.id AS run, place & 0xFFFFFFFF AS seq, substr(entry, 1, length(entry) - ${sealLength}) AS entry
      FROM entries JOIN runs ON runs.number = place >> 32);
  CREATE TABLE inbox (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    target TEXT NOT NULL,
    value TEXT NOT NULL,
    at INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0, -- 1: used up, 2: turned away
    sender_key TEXT,
    sender_print TEXT,
    PRIMARY KEY (run, number)
  );
  CREATE INDEX inbox_unused ON inbox (run) WHERE used = 0;
  ${bySender}
  PRAGMA user_version = ${schemaVersion};
`;

export interface Settings {
  synchronous: "FULL" | "NORMAL";
  /** Milliseconds to wait for another process's transaction. */
  busyTimeout: number;
  /** Whether a file of an older version is brought up to date; if not, it can be read. */
  migrate: boolean;
}

/** What has been done to a file's tables, if anything; `left`: they are those of an older version still. */
export type Tables = { version: number; are: "current" | "migrated" | "left" };

/**
 * Makes a connection ready: its settings, and the tables if the file is new.
 *
 * @returns the version of the tables as they were found
 * @throws NewerVersionError; StoreError for the file of an older version and for another program's database
 */
export function prepareDatabase(connection: Connection, path: string, settings: Settings): Tables {
  connection.exec(`PRAGMA busy_timeout = ${settings.busyTimeout}`);
  const version = versionOf(connection);
  if (version > schemaVersion) {
    throw new NewerVersionError(
      `The database ${path} was written by a newer version of stepmark (its tables have version ${version}, this one knows ${schemaVersion})`,
      "Install that version, or give this one another file.",
    );
  }
  if (version !== 0 && version < oldestVersion) {
    throw new StoreError(
      `The database ${path} was written by an older version of stepmark (its tables have version ${version}, this one knows ${schemaVersion})`,
      {},
      "Finish its runs with that version, and give this one another file.",
    );
  }
  connection.exec("PRAGMA foreign_keys = ON");
  const isOlder = version !== 0 && version < schemaVersion;
  if (version === 0) checkNew(connection, path);
  // Before there are tables: what is written to a log reaches the disk with the first commit that has to.
  enterWal(connection, settings.busyTimeout);
  connection.exec("PRAGMA synchronous = NORMAL");
  if (version === 0 || (isOlder && settings.migrate)) transaction(connection, () => bringUpToDate(connection, path));
  connection.exec(`PRAGMA synchronous = ${settings.synchronous}`);
  return { version, are: isOlder ? (settings.migrate ? "migrated" : "left") : "current" };
}

/** Prepares statements when they are used: of an older version's tables only those that it has a need for are there. */
export function preparedLater(connection: Connection): Pick<Connection, "prepare"> {
  return {
    prepare(sql) {
      let prepared: Statement | undefined;
      const statement = (): Statement => {
        prepared ??= connection.prepare(sql);
        return prepared;
      };
      return {
        run: (...values) => statement().run(...values),
        get: (...values) => statement().get(...values),
        all: (...values) => statement().all(...values),
      };
    },
  };
}

/**
 * Switches the file to a write-ahead log. Of two processes that do so at once SQLite refuses one without letting it
 * wait, because each could be waiting for the other; by the next attempt the file is switched.
 */
function enterWal(connection: Connection, patience: number): void {
  const until = performance.now() + patience;
  for (;;) {
    try {
      const { journal_mode } = connection.prepare("PRAGMA journal_mode").get() as { journal_mode: string };
      if (journal_mode !== "wal") connection.prepare("PRAGMA journal_mode = WAL").get();
      return;
    } catch (error) {
      if (!/locked/.test(String(error)) || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** @throws StoreError for another program's database, of those that have no version of ours */
function checkNew(connection: Connection, path: string): void {
  const isEmpty = connection.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  // In this order: another process makes tables and version at once, and may do so in between.
  if (!isEmpty && versionOf(connection) === 0) {
    throw new StoreError(`${path} is the database of another program`, {}, "Give stepmark a file of its own.");
  }
}

function bringUpToDate(connection: Connection, path: string): void {
  // Another process may have been first, before this transaction began.
  let version = versionOf(connection);
  if (version === 0) {
    checkNew(connection, path);
    connection.exec(schema);
    return;
  }
  for (; version < schemaVersion; version++) connection.exec(migrations[version]!);
  connection.exec(`PRAGMA user_version = ${schemaVersion}`);
}

function versionOf(connection: Connection): number {
  return (connection.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** Runs `work` as one transaction that holds the write lock from the start: all of it is done, or nothing. */
export function transaction<T>(connection: Connection, work: () => T): T {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      connection.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
    throw error;
  }
}

const ofRun = "place BETWEEN (number << 32) AND (number << 32) + 0xFFFFFFFF";
const current = "id = ? AND fence = ? AND owner IS NOT NULL";

const atRest = "status = 'waiting' AND owner IS NULL AND keeper = ?";

/** Each statement, prepared once. */
export function prepareStatements(connection: Pick<Connection, "prepare">) {
  return {
    create: connection.prepare(
      `INSERT INTO runs (id, workflow, status, scheme, fence, created_at, updated_at, input_print, input, parent)
       VALUES (?, ?, 'running', ?, 0, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    ),
    restore: connection.prepare(
      `INSERT INTO runs (${restoredColumns})
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`,
    ),
    restoreEntry: connection.prepare("INSERT INTO entries (place, entry) VALUES ((? << 32) + ?, ?)"),
    restoreMessage: connection.prepare("INSERT INTO inbox (run, number, target, value, at) VALUES (?, ?, ?, ?, ?)"),
    read: connection.prepare("SELECT * FROM runs WHERE id = ?"),
    number: connection.prepare("SELECT number FROM runs WHERE id = ?"),
    position: connection.prepare("SELECT created_at AS createdAt, number FROM runs WHERE id = ?"),
    holds: connection.prepare(`SELECT 1 FROM runs WHERE ${current}`),
    claim: connection.prepare(
      "UPDATE runs SET fence = fence + 1, owner = ?, lease_until = ?, updated_at = ? WHERE id = ?",
    ),
    renew: connection.prepare(`UPDATE runs SET lease_until = ? WHERE ${current}`),
    // One statement checks the fence and the sequence, and writes.
    append: connection.prepare(
      `INSERT INTO entries (place, entry) SELECT (number << 32) + ?, ? FROM runs
       WHERE ${current} AND (SELECT coalesce(max(place), number << 32) FROM entries WHERE ${ofRun}) = (number << 32) + ?`,
    ),
    change: connection.prepare(
      `UPDATE runs SET
         status = coalesce(?, status), updated_at = ?,
         output = CASE ? WHEN 1 THEN ? ELSE output END,
         error = CASE ? WHEN 1 THEN ? ELSE error END,
         culprits = CASE ? WHEN 1 THEN ? ELSE culprits END,
         orphans = CASE ? WHEN 1 THEN ? ELSE orphans END,
         edited = CASE ? WHEN 1 THEN ? ELSE edited END,
         due = CASE ? WHEN 1 THEN ? ELSE due END,
         keeper = CASE ? WHEN 1 THEN ? ELSE keeper END
       WHERE ${current}`,
    ),
    release: connection.prepare("UPDATE runs SET owner = NULL, lease_until = NULL WHERE id = ?"),
    consume: connection.prepare(
      "UPDATE inbox SET used = 1 WHERE run = (SELECT number FROM runs WHERE id = ?) AND number = ?",
    ),
    entries: connection.prepare(
      `SELECT place & 0xFFFFFFFF AS seq, entry FROM runs JOIN entries ON ${ofRun} WHERE id = ? AND place > (number << 32) + ? ORDER BY place LIMIT ?`,
    ),
    post: connection.prepare(
      `INSERT INTO inbox (run, number, target, value, at)
       SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ? FROM inbox WHERE run = ? RETURNING number`,
    ),
    // Without being told so, SQLite would go through all that have the status.
    owners: connection.prepare(
      `SELECT owner, min(lease_until) AS lease_until, count(*) AS runs FROM runs INDEXED BY runs_by_owner
       WHERE status = 'running' GROUP BY owner`,
    ),
    runningOf: connection.prepare(
      `SELECT ${standingColumns} FROM runs INDEXED BY runs_by_owner WHERE status = 'running' AND owner IS ? ORDER BY created_at, number`,
    ),
    ready: connection.prepare(
      `SELECT ${standingColumns} FROM runs WHERE +status = 'waiting' AND number IN
         (SELECT number FROM runs INDEXED BY runs_by_due WHERE status = 'waiting' AND due <= ?
          UNION SELECT run FROM inbox WHERE used = 0)
       ORDER BY number`,
    ),
    // By the id first, for the same reason.
    kept: connection.prepare(
      `SELECT runs.id, due FROM json_each(?) AS asked CROSS JOIN runs ON runs.id = asked.value WHERE ${atRest}`,
    ),
    timers: connection.prepare(
      `SELECT id, due FROM runs INDEXED BY runs_by_keeper
       WHERE ${atRest} AND due IS NOT NULL AND (due, number) > (?, coalesce((SELECT number FROM runs WHERE id = ?), 0))
       ORDER BY due, number LIMIT ?`,
    ),
    refuse: connection.prepare(
      "UPDATE inbox SET used = 2 WHERE run = (SELECT number FROM runs WHERE id = ?) AND number = ?",
    ),
    sign: connection.prepare("UPDATE inbox SET sender_key = ?, sender_print = ? WHERE run = ? AND number = ?"),
    sent: connection.prepare(
      "SELECT sender_print AS print FROM inbox WHERE run = (SELECT number FROM runs WHERE id = ?) AND sender_key = ?",
    ),
    posted: connection.prepare("SELECT 1 FROM inbox WHERE run = ? AND target = ? AND used < 2 LIMIT 1"),
    inbox: connection.prepare(
      `SELECT inbox.number, target, value, at FROM inbox JOIN runs ON runs.number = inbox.run
       WHERE id = ? AND used = 0 ORDER BY inbox.number`,
    ),
    // What is new is found by its number, and all that is unused by that: unary plus keeps either from the other's index.
    inboxAfter: connection.prepare(
      `SELECT inbox.number, target, value, at FROM inbox JOIN runs ON runs.number = inbox.run
       WHERE id = ? AND +used = 0 AND inbox.number > ? ORDER BY inbox.number`,
    ),
    messaged: connection.prepare(
      `SELECT id FROM runs WHERE id IN (SELECT value FROM json_each(?)) AND number IN (SELECT run FROM inbox WHERE used = 0)`,
    ),
    deletable: connection.prepare(
      "SELECT number FROM runs WHERE id = ? AND (? IS NULL OR (updated_at = ? AND owner IS NULL))",
    ),
    deleteEntries: connection.prepare("DELETE FROM entries WHERE place BETWEEN (? << 32) AND (? << 32) + 0xFFFFFFFF"),
    delete: connection.prepare("DELETE FROM runs WHERE number = ?"),
  } satisfies Record<string, Statement>;
}
