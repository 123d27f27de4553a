/** The Postgres store's tables and functions: how a schema is made ready, and the statements that read and write it. */
import { createHash } from "node:crypto";
import { InvalidArgumentError, NewerVersionError, StoreError } from "../errors.js";
import type { Dialect } from "./list-query.js";
import { ask, type PostgresPool, type PostgresSession, quotedName, quotedText } from "./postgres-driver.js";
import { restoredColumns, standingColumns } from "./rows.js";
import { sealLength } from "./seal.js";

/** Kept in the schema; goes up with each migration. */
export const schemaVersion = 6;

/** A schema's name, and what goes by it. */
export interface Schema {
  name: string;
  /** In statements. */
  quoted: string;
  /** The channel on which its messages are told. */
  channel: string;
}

/** @throws InvalidArgumentError for what Postgres does not take as the name of a schema */
export function schemaOf(name: string): Schema {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > 63 || unnameable.test(name) || name.startsWith("pg_")) {
    throw new InvalidArgumentError(
      `A schema of Postgres cannot be named ${JSON.stringify(name)}`,
      'Give a name of 1 to 63 bytes without control characters that does not begin with "pg_".',
    );
  }
  // A channel's name is as short as any other name, and may be put in front of a schema's.
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 24);
  return { name, quoted: quotedName(name), channel: `stepmark_${digest}` };
}

/** Control characters, NUL among them, and halves of surrogate pairs. */
const unnameable = /[\p{Cc}\p{Cs}]/u;

/**
 * What changes a run's record.
 *
 * @param more assigns columns that came later
 */
const changeFunction = (s: string, more = ""): string => `
  CREATE OR REPLACE FUNCTION ${s}.change(this bigint, change jsonb) RETURNS void LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      UPDATE ${s}.runs SET
        status = coalesce(change ->> 'status', status),
        updated_at = (change ->> 'at')::double precision,
        output = CASE WHEN change ? 'output' THEN change ->> 'output' ELSE output END,
        error = CASE WHEN change ? 'error' THEN change ->> 'error' ELSE error END,
        culprits = CASE WHEN change ? 'culprits' THEN change ->> 'culprits' ELSE culprits END,
        orphans = CASE WHEN change ? 'orphans' THEN change ->> 'orphans' ELSE orphans END,
        edited = CASE WHEN change ? 'edited' THEN change ->> 'edited' ELSE edited END,
        due = CASE WHEN change ? 'due' THEN (change ->> 'due')::double precision ELSE due END,
        ${more}
        owner = CASE WHEN change ? 'release' THEN NULL ELSE owner END,
        lease_until = CASE WHEN change ? 'release' THEN NULL ELSE lease_until END
      WHERE number = this;
      IF change ? 'consume' THEN
        UPDATE ${s}.inbox SET used = 1
          WHERE run = this AND number IN (SELECT jsonb_array_elements_text(change -> 'consume')::integer);
      END IF;
      IF change ? 'refuse' THEN
        UPDATE ${s}.inbox SET used = 2
          WHERE run = this AND number IN (SELECT jsonb_array_elements_text(change -> 'refuse')::integer);
      END IF;
    END`)};
`;

// Times are in milliseconds since the epoch, and any number that a clock gives. `id` is unique by a hash index, which, unlike a
// tree, takes texts of any length. Entries, inputs, outputs, errors and answers end in a seal; the view shows what is in an
// entry, for people who look into the database.
const version1 = ({ quoted: s, channel }: Schema): string => `
  CREATE TABLE ${s}.stepmark_version (version integer NOT NULL);
  CREATE TABLE ${s}.runs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    workflow text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    scheme integer NOT NULL,
    fence bigint NOT NULL,
    owner text,
    lease_until double precision,
    lease_by_database boolean NOT NULL DEFAULT false, -- whether lease_until is a time of this server's clock
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    culprits text,
    orphans text,
    edited text,
    due double precision,
    parent text,
    input_print text NOT NULL,
    error text,
    output text,
    input text NOT NULL,
    CONSTRAINT runs_id EXCLUDE USING hash (id WITH =)
  ) WITH (fillfactor = 80);
  CREATE INDEX runs_by_status ON ${s}.runs (status, created_at);
  CREATE INDEX runs_by_due ON ${s}.runs (due) WHERE due IS NOT NULL;
  CREATE TABLE ${s}.entries (
    run bigint NOT NULL REFERENCES ${s}.runs (number) ON DELETE CASCADE,
    seq integer NOT NULL,
    entry text NOT NULL,
    PRIMARY KEY (run, seq)
  );
  CREATE VIEW ${s}.journal AS
    SELECT id AS run, seq, json ->> 'key' AS key, json ->> 'kind' AS kind, json ->> 'state' AS state, json AS entry
    FROM ${s}.entries JOIN ${s}.runs ON number = run, LATERAL (SELECT left(entry, -${sealLength})::json) AS bare (json);
  CREATE TABLE ${s}.inbox (
    run bigint NOT NULL REFERENCES ${s}.runs (number) ON DELETE CASCADE,
    number integer NOT NULL,
    target text COLLATE "C" NOT NULL,
    value text NOT NULL,
    at double precision NOT NULL,
    used smallint NOT NULL DEFAULT 0, -- 1: used up, 2: turned away
    PRIMARY KEY (run, number)
  );
  CREATE INDEX inbox_unused ON ${s}.inbox (run) WHERE used = 0;

  -- What is acknowledged survives a loss of power, also where the database does not insist on it for others.
  CREATE FUNCTION ${s}.on_disk() RETURNS boolean LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      RETURN true;
    END`)};

  -- Told when the transaction is committed. The lock on the run's row is held by the caller.
  CREATE FUNCTION ${s}.put_message(to_run bigint, run_id text, to_target text, sealed text, sent_at double precision, sender text)
  RETURNS integer LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      taken integer;
    BEGIN
      INSERT INTO ${s}.inbox (run, number, target, value, at)
        SELECT to_run, coalesce(max(number), 0) + 1, to_target, sealed, sent_at FROM ${s}.inbox WHERE run = to_run
        RETURNING number INTO taken;
      PERFORM pg_notify(${quotedText(channel)},
        sender || CASE WHEN octet_length(run_id) < 7000 THEN '=' || run_id ELSE '#' || to_run END);
      RETURN taken;
    END`)};

  -- The message's number; null if there is no such run, 0 if there is a message and may be only one.
  CREATE FUNCTION ${s}.post(run_id text, to_target text, sealed text, sent_at double precision, once boolean, sender text)
  RETURNS integer LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      this bigint;
    BEGIN
      PERFORM ${s}.on_disk();
      SELECT number INTO this FROM ${s}.runs WHERE id = run_id FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN NULL;
      END IF;
      IF once AND EXISTS (SELECT FROM ${s}.inbox WHERE run = this AND target = to_target AND used < 2) THEN
        RETURN 0;
      END IF;
      RETURN ${s}.put_message(this, run_id, to_target, sealed, sent_at, sender);
    END`)};

  -- Appends, one after the other, each of which is taken or refused by itself: of the n-th, counts[n] texts, the first of
  -- which is entry firsts[n]. Gives a letter for each: taken, stale, or one that leaves a gap or writes a number twice. A
  -- connection keeps its plans, which may have been made when the tables were empty and reading all of them was fast.
  CREATE FUNCTION ${s}.append(
    ids text[], fences bigint[], firsts integer[], counts integer[], texts text[], changes jsonb[], sender text
  ) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off AS ${quotedText(`
    DECLARE
      verdicts text := '';
      passed integer := 0;
      given record;
      this bigint;
      woken bigint;
    BEGIN
      PERFORM ${s}.on_disk();
      IF cardinality(ids) > 1 OR changes[1] ? 'wake' THEN
        -- All rows that are to be locked, in one order: or two of these could wait for each other.
        PERFORM FROM ${s}.runs
          WHERE id IN (SELECT unnest(ids) UNION SELECT change #>> '{wake,run}' FROM unnest(changes) AS change)
          ORDER BY number FOR NO KEY UPDATE;
      END IF;
      FOR given IN SELECT * FROM unnest(ids, fences, firsts, counts, changes) AS item (id, fence, first, count, change) LOOP
        SELECT number INTO this FROM ${s}.runs
          WHERE id = given.id AND fence = given.fence AND owner IS NOT NULL FOR NO KEY UPDATE;
        IF NOT FOUND THEN
          verdicts := verdicts || 's';
          passed := passed + given.count;
          CONTINUE;
        END IF;
        IF given.count > 0 THEN
          INSERT INTO ${s}.entries (run, seq, entry)
            SELECT this, given.first + place - 1, entry
            FROM unnest(texts[passed + 1 : passed + given.count]) WITH ORDINALITY AS item (entry, place)
            WHERE NOT EXISTS (SELECT FROM ${s}.entries WHERE run = this AND seq = given.first)
              AND (given.first = 1 OR EXISTS (SELECT FROM ${s}.entries WHERE run = this AND seq = given.first - 1));
          passed := passed + given.count;
          IF NOT FOUND THEN
            verdicts := verdicts || 'g';
            CONTINUE;
          END IF;
        END IF;
        verdicts := verdicts || 't';
        CONTINUE WHEN given.change IS NULL;
        PERFORM ${s}.change(this, given.change);
        CONTINUE WHEN NOT given.change ? 'wake';
        SELECT number INTO woken FROM ${s}.runs WHERE id = given.change #>> '{wake,run}';
        CONTINUE WHEN NOT FOUND;
        PERFORM ${s}.put_message(woken, given.change #>> '{wake,run}', given.change #>> '{wake,target}',
          given.change #>> '{wake,value}', (given.change #>> '{wake,at}')::double precision, sender);
      END LOOP;
      RETURN verdicts;
    END`)};

  ${changeFunction(s)}

  INSERT INTO ${s}.stepmark_version VALUES (1);
`;

/** Entries that need not wait for the disk, where a store says so. */
const version2 = ({ quoted: s }: Schema): string => `
  CREATE OR REPLACE FUNCTION ${s}.on_disk() RETURNS boolean LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      IF current_setting('stepmark.synchronous', true) = 'NORMAL' THEN
        PERFORM set_config('synchronous_commit', 'off', true);
      ELSIF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      RETURN true;
    END`)};
`;

/** A way of its own for what a step of a run alone writes. */
const version3 = ({ quoted: s }: Schema): string => `
  -- As \`append\` with one entry and no change.
  CREATE FUNCTION ${s}.append_entry(run_id text, under bigint, place integer, text text) RETURNS text
  LANGUAGE plpgsql SET enable_seqscan = off AS ${quotedText(`
    BEGIN
      PERFORM ${s}.on_disk();
      INSERT INTO ${s}.entries (run, seq, entry)
        SELECT number, place, text FROM ${s}.runs
        WHERE id = run_id AND fence = under AND owner IS NOT NULL
          AND place = 1 + coalesce((SELECT max(seq) FROM ${s}.entries WHERE run = number), 0)
        FOR NO KEY UPDATE;
      IF FOUND THEN
        RETURN 't';
      END IF;
      PERFORM FROM ${s}.runs WHERE id = run_id AND fence = under AND owner IS NOT NULL;
      RETURN CASE WHEN FOUND THEN 'g' ELSE 's' END;
    END`)};
`;

/** Which app wakes a run that waits. */
const version4 = ({ quoted: s }: Schema): string => `
  ALTER TABLE ${s}.runs ADD COLUMN keeper text COLLATE "C";
  DROP INDEX ${s}.runs_by_due;
  CREATE INDEX runs_by_due ON ${s}.runs (due) WHERE status = 'waiting' AND due IS NOT NULL;
  CREATE INDEX runs_by_keeper ON ${s}.runs (keeper, due, number) WHERE status = 'waiting' AND due IS NOT NULL;
  ${changeFunction(s, "keeper = CASE WHEN change ? 'keeper' THEN change ->> 'keeper' ELSE keeper END,")}
`;

/** Runs in the order in which they are listed, whatever their status. */
const version5 = ({ quoted: s }: Schema): string => `
  DROP INDEX ${s}.runs_by_status;
  CREATE INDEX runs_by_status ON ${s}.runs (status, created_at, number);
  CREATE INDEX runs_by_creation ON ${s}.runs (created_at, number);
`;

/** What a sender calls its messages, so that none is put in twice. */
const version6 = ({ quoted: s }: Schema): string => `
  ALTER TABLE ${s}.inbox ADD COLUMN sender_key text COLLATE "C", ADD COLUMN sender_print text;
  CREATE UNIQUE INDEX inbox_by_sender ON ${s}.inbox (run, sender_key) WHERE sender_key IS NOT NULL;
  DROP FUNCTION ${s}.post(text, text, text, double precision, boolean, text);

  -- The message's number; null if there is no such run, 0 if there is a message and may be only one.
  CREATE FUNCTION ${s}.post(
    run_id text, to_target text, sealed text, sent_at double precision, once boolean, sender text, own_key text, own_print text
  ) RETURNS integer LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      this bigint;
      given integer;
    BEGIN
      PERFORM ${s}.on_disk();
      SELECT number INTO this FROM ${s}.runs WHERE id = run_id FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN NULL;
      END IF;
      IF own_key IS NOT NULL AND EXISTS (SELECT FROM ${s}.inbox WHERE run = this AND sender_key = own_key) THEN
        RETURN 0;
      END IF;
      IF once AND EXISTS (SELECT FROM ${s}.inbox WHERE run = this AND target = to_target AND used < 2) THEN
        RETURN 0;
      END IF;
      given := ${s}.put_message(this, run_id, to_target, sealed, sent_at, sender);
      IF own_key IS NOT NULL THEN
        UPDATE ${s}.inbox SET sender_key = own_key, sender_print = own_print WHERE run = this AND number = given;
      END IF;
      RETURN given;
    END`)};
`;

/** What leads from each version to the next, from none at all on. */
const migrations: ReadonlyArray<(schema: Schema) => string> = [
  ...[version1, version2, version3, version4, version5, version6],
];

/** See `postgresMigrations`. */
export function migrationsFrom(version: number, schema: Schema): string {
  const statements = migrations.slice(version).map((migrate) => migrate(schema));
  return [
    "BEGIN;",
    `CREATE SCHEMA IF NOT EXISTS ${schema.quoted};`,
    ...statements,
    `UPDATE ${schema.quoted}.stepmark_version SET version = ${schemaVersion};`,
    "COMMIT;\n",
  ].join("\n");
}

/**
 * Makes a schema ready: nothing is written if it is. Many processes may do so at once.
 *
 * @param migrate whether tables of an older version are brought up to date
 * @throws NewerVersionError; StoreError for another program's schema, and for one that is not to be changed; whatever `pg` throws
 */
export async function prepareSchema(pool: PostgresPool, schema: Schema, migrate = true): Promise<void> {
  const version = await versionOf(pool, schema);
  if (version === schemaVersion) return;
  if (version !== 0 && !migrate) {
    throw new StoreError(
      `The schema ${JSON.stringify(schema.name)} was written by an older version of stepmark (its tables have version ${version}, this one knows ${schemaVersion}), and only an app brings it up to date`,
      {},
      "Use the command of the version that the app has, or start the app with this version.",
    );
  }
  await transaction(pool, async (session) => {
    // Held until the transaction's end, so it is safe where each transaction has another connection.
    await ask(session, "SELECT pg_advisory_xact_lock($1::bigint)", [lockOf(schema)]);
    const found = await versionOf(session, schema);
    if (found === schemaVersion) return;
    if (found === 0) await makeRoom(session, schema);
    for (const step of migrations.slice(found)) await ask(session, step(schema));
    await ask(session, `UPDATE ${schema.quoted}.stepmark_version SET version = ${schemaVersion}`);
  });
}

/** @returns 0 if there are no tables of ours */
async function versionOf(session: PostgresSession, schema: Schema): Promise<number> {
  const tables = await tablesIn(session, schema);
  if (!tables.has("stepmark_version")) return 0;
  const [row] = await ask(session, `SELECT version FROM ${schema.quoted}.stepmark_version`);
  const version = Number(row?.version ?? 0);
  if (version <= schemaVersion) return version;
  throw new NewerVersionError(
    `The schema ${JSON.stringify(schema.name)} was written by a newer version of stepmark (its tables have version ${version}, this one knows ${schemaVersion})`,
    "Install that version, or give this one another schema.",
  );
}

/**
 * Of the tables that we make, those that are there. Read from the catalog's own tables: what is looked up by name may be
 * answered from what the session knew before it waited for another's transaction.
 */
async function tablesIn(session: PostgresSession, { name }: Schema): Promise<Set<unknown>> {
  const found = await ask(
    session,
    `SELECT relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS schema ON schema.oid = relnamespace
     WHERE nspname = $1 AND relname IN ('stepmark_version', 'runs', 'entries', 'inbox')`,
    [name],
  );
  return new Set(found.map(({ relname }) => relname));
}

async function makeRoom(session: PostgresSession, schema: Schema): Promise<void> {
  const [foreign] = await tablesIn(session, schema);
  if (foreign !== undefined) {
    throw new StoreError(
      `The schema ${JSON.stringify(schema.name)} has a table ${foreign} of another program`,
      {},
      "Give stepmark a schema of its own: `postgresStore(url, { schema })`.",
    );
  }
  const [database] = await ask(
    session,
    `SELECT pg_encoding_to_char(encoding) AS encoding,
       EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1) AS has_schema
     FROM pg_catalog.pg_database WHERE datname = current_database()`,
    [schema.name],
  );
  const { encoding, has_schema: hasSchema } = database!;
  if (encoding !== "UTF8" && encoding !== "SQL_ASCII") {
    throw new StoreError(
      `The database has the encoding ${encoding}, which cannot keep every text`,
      {},
      "Give stepmark a database that was made with ENCODING 'UTF8'.",
    );
  }
  // Who may not make schemas may still be given one.
  if (hasSchema === "f") await ask(session, `CREATE SCHEMA ${schema.quoted}`);
}

/** A number of this schema's own among the database's advisory locks. */
function lockOf({ name }: Schema): string {
  return createHash("sha256").update(`stepmark ${name}`).digest().readBigInt64BE().toString();
}

/** Runs `work` as one transaction on one connection: all of it is done, or nothing. */
export async function transaction<T>(pool: PostgresPool, work: (session: PostgresSession) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // An error that comes while no statement is under way would otherwise end the process.
  let broken: Error | undefined;
  const note = (error: Error): void => {
    broken = error;
  };
  client.on("error", note);
  try {
    await ask(client, "BEGIN ISOLATION LEVEL READ COMMITTED");
    const result = await work(client);
    await ask(client, "COMMIT");
    return result;
  } catch (error) {
    await ask(client, "ROLLBACK").catch(note);
    throw error;
  } finally {
    client.removeListener("error", note);
    client.release(broken);
  }
}

/** The server's time in milliseconds since the epoch. */
const timeOf = (clock: "clock" | "statement"): string =>
  `floor(extract(epoch FROM ${clock}_timestamp()) * 1000)::double precision`;

/** What an append survives; see `PostgresOptions`. */
export type Synchronous = "FULL" | "NORMAL";

/** Each statement's text. Those of one connection pool have no names: another connection may take the next. */
export function statementsOf({ quoted: s }: Schema, synchronous: Synchronous) {
  const run = `*, ${timeOf("statement")} AS now`;
  const standing = `${standingColumns}, lease_by_database, ${timeOf("statement")} AS now`;
  // Said in the statement: another one may come by another connection.
  const mode = synchronous === "NORMAL" ? "set_config('stepmark.synchronous', 'NORMAL', true), " : "";
  // By the server's clock, the lease's end is so much later than now; by another clock it is given.
  const lease = (byDatabase: string, until: string): string =>
    `lease_by_database = ${byDatabase}::boolean,
     lease_until = ${until}::double precision + CASE WHEN ${byDatabase}::boolean THEN ${timeOf("clock")} ELSE 0 END`;
  const atRest = "status = 'waiting' AND owner IS NULL AND keeper = $1";
  const types = { text: "text", time: "double precision", number: "bigint" };
  const list: Dialect = {
    ...{ table: `${s}.runs`, columns: run, all: "ALL", merges: false },
    parameter: (n, type) => `$${n}::${types[type]}`,
  };
  return {
    create: `
      WITH made AS (
        INSERT INTO ${s}.runs (id, workflow, status, scheme, fence, created_at, updated_at, input_print, input, parent)
        SELECT $1, $2, 'running', $3::integer, 0, $4::double precision, $4::double precision, $5, $6, $7 FROM ${s}.on_disk()
        ON CONFLICT DO NOTHING RETURNING *
      )
      SELECT true AS created, ${run} FROM made
      UNION ALL SELECT false, ${run} FROM ${s}.runs WHERE id = $1 AND NOT EXISTS (SELECT FROM made)`,
    taken: `SELECT id FROM ${s}.runs WHERE id = ANY ($1::text[])`,
    restore: `
      INSERT INTO ${s}.runs (${restoredColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
      ON CONFLICT DO NOTHING RETURNING number`,
    restoreEntries: `
      INSERT INTO ${s}.entries (run, seq, entry) SELECT $1::bigint, * FROM unnest($2::integer[], $3::text[])`,
    restoreMessages: `
      INSERT INTO ${s}.inbox (run, number, target, value, at)
      SELECT $1::bigint, * FROM unnest($2::integer[], $3::text[], $4::text[], $5::double precision[])`,
    read: `SELECT ${run} FROM ${s}.runs WHERE id = $1`,
    idOf: `SELECT id FROM ${s}.runs WHERE number = $1::bigint`,
    position: `SELECT created_at, number FROM ${s}.runs WHERE id = $1`,
    list,
    owners: `
      SELECT owner, lease_by_database, min(lease_until) AS lease_until, count(*) AS runs, ${timeOf("statement")} AS now
      FROM ${s}.runs WHERE status = 'running' GROUP BY owner, lease_by_database`,
    runningOf: `
      SELECT ${standing} FROM ${s}.runs WHERE status = 'running' AND (owner = ANY ($1::text[]) OR ($2::boolean AND owner IS NULL))
      ORDER BY created_at, number`,
    ready: `
      SELECT ${standing} FROM ${s}.runs WHERE status = 'waiting' AND number IN
        (SELECT number FROM ${s}.runs WHERE status = 'waiting' AND due <= $1::double precision UNION SELECT run FROM ${s}.inbox WHERE used = 0)
      ORDER BY number`,
    entries: `
      SELECT seq, entry FROM ${s}.entries
      WHERE run = (SELECT number FROM ${s}.runs WHERE id = $1) AND seq > $2::bigint ORDER BY seq LIMIT $3::bigint`,
    // What was seen of a dead owner must still be so: it may have renewed its lease since.
    claim: `
      WITH taken AS (
        UPDATE ${s}.runs SET fence = fence + 1, owner = $2, ${lease("$3", "$4")}, updated_at = $5::double precision
        WHERE id = $1 AND (owner IS NULL
          OR number = $6::bigint AND fence = $7::bigint AND lease_until IS NOT DISTINCT FROM $8::double precision)
        RETURNING *
      )
      SELECT true AS taken, ${run} FROM taken
      UNION ALL SELECT false, ${run} FROM ${s}.runs WHERE id = $1 AND NOT EXISTS (SELECT FROM taken)`,
    renew: `
      WITH held AS (
        SELECT number FROM ${s}.runs JOIN unnest($1::text[], $2::bigint[]) AS own (id, fence) USING (id, fence)
        WHERE owner IS NOT NULL ORDER BY number FOR NO KEY UPDATE OF runs
      )
      UPDATE ${s}.runs SET ${lease("$3", "$4")} FROM held WHERE runs.number = held.number RETURNING id`,
    append: `SELECT ${mode}${s}.append($1, $2, $3, $4, $5, $6, $7) AS verdicts`,
    appendEntry: `SELECT ${mode}${s}.append_entry($1, $2, $3, $4) AS verdict`,
    post: `SELECT ${s}.post($1, $2, $3, $4, $5, $6, $7, $8) AS number`,
    sent: `
      SELECT sender_print AS print FROM ${s}.inbox
      WHERE run = (SELECT number FROM ${s}.runs WHERE id = $1) AND sender_key = $2`,
    inbox: `
      SELECT number, target, value, at FROM ${s}.inbox
      WHERE run = (SELECT number FROM ${s}.runs WHERE id = $1) AND used = 0 AND number > $2::integer ORDER BY number`,
    kept: `SELECT id, due FROM ${s}.runs WHERE id = ANY ($2::text[]) AND ${atRest}`,
    timers: `
      SELECT id, due FROM ${s}.runs
      WHERE ${atRest} AND due IS NOT NULL
        AND (due, number) > ($2::double precision, coalesce((SELECT number FROM ${s}.runs WHERE id = $3), 0))
      ORDER BY due, number LIMIT $4::bigint`,
    messaged: `
      SELECT id FROM ${s}.runs
      WHERE id = ANY ($1::text[]) AND EXISTS (SELECT FROM ${s}.inbox WHERE run = runs.number AND used = 0)`,
    withMessages: `SELECT id FROM ${s}.runs WHERE number IN (SELECT run FROM ${s}.inbox WHERE used = 0) ORDER BY number`,
    delete: `
      DELETE FROM ${s}.runs
      WHERE id = $1 AND ($2::double precision IS NULL OR (updated_at = $2::double precision AND owner IS NULL))
      RETURNING id`,
  };
}

/** Those of `statementsOf` that append. */
export type AppendStatements = Pick<ReturnType<typeof statementsOf>, "append" | "appendEntry">;
