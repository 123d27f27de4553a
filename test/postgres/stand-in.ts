/**
 * What tests of the library get for `memoryStore` and `sqliteStore` when they are run on Postgres: each store in memory is a
 * schema of its own, and so is each file.
 */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { Pool } from "pg";
import type { MemoryStore } from "../../runtime/stores/memory.js";
import { postgresStore } from "../../runtime/stores/postgres.js";
import { schemaOf } from "../../runtime/stores/postgres-schema.js";
import type { RunChange, Store } from "../../runtime/stores/store.js";
import { underWay } from "../support/under-way.js";
import { newSchema, url } from "./database.js";

export type { MemoryStore };

/** One for all stores in memory: a test may make hundreds. */
const pool = new Pool({ connectionString: url, max: 8, allowExitOnIdle: true }).setMaxListeners(0);

export function memoryStore(): MemoryStore {
  return inMemory(newSchema(), Promise.resolve(), new Map());
}

export function sqliteStore(path: string): Store {
  const digest = createHash("sha256").update(resolve(path)).digest("hex").slice(0, 16);
  const schema = path === ":memory:" ? newSchema() : `${newSchema.prefix}file_${digest}`;
  return noted(postgresStore(url, { schema, connections: 4 }));
}

/** How the entries of each run came: so many of them in one append, with the message numbers that it used up. */
type Appends = Map<string, Array<{ entries: number; consume: readonly number[] }>>;

/** Nothing here speaks through `this`, so that a test may spread the store and put a method of its own in. */
function inMemory(schema: string, made: Promise<unknown>, appends: Appends): MemoryStore {
  const store = noted(postgresStore(pool, { schema, listen: false }), () => made);
  return {
    ...store,
    async append(id, fence, entries, change?: RunChange) {
      const append = { entries: entries.length, consume: [...(change?.consume ?? [])] };
      await store.append(id, fence, entries, change);
      appends.set(id, [...(appends.get(id) ?? []), append]);
    },
    // The runs stay, for whoever holds this store.
    async close() {},
    fork(runId, entries) {
      const copy = newSchema();
      const kept = structuredClone(appends);
      const copied = made.then(() => fork(schema, copy, runId, entries, kept));
      // What is done to this store from now on does not come into the copy.
      made = copied.catch(() => {});
      return inMemory(copy, copied, kept);
    },
  };
}

/** The store, each of its calls noted as long as it is under way, and made after `first`. */
function noted(store: Store, first = async (): Promise<unknown> => undefined): Store {
  const call =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const answer = Promise.resolve(first()).then(() => method.apply(store, args));
      const over = underWay.begin();
      try {
        return await answer;
      } finally {
        over();
      }
    };
  const { create, restore, read, list, ready, entries, claim, renew, post, sent, inbox, messaged, left, kept, timers } =
    store;
  return {
    create: call(create),
    restore: call(restore),
    read: call(read),
    list: call(list),
    ready: call(ready),
    entries: call(entries),
    claim: call(claim),
    renew: call(renew),
    append: call(store.append),
    post: call(post),
    sent: call(sent),
    inbox: call(inbox),
    messaged: call(messaged),
    left: call(left),
    kept: call(kept),
    timers: call(timers),
    onPost: (listener) => store.onPost(listener),
    delete: call(store.delete),
    close: () => store.close(),
  };
}

/** Copies a store, as a crash would have left it: see `MemoryStore.fork`. */
async function fork(from: string, to: string, runId: string | undefined, length: number | undefined, appends: Appends) {
  await postgresStore(pool, { schema: from, listen: false }).list({ limit: 0 });
  await postgresStore(pool, { schema: to, listen: false }).list({ limit: 0 });
  const [a, b] = [schemaOf(from).quoted, schemaOf(to).quoted];
  await pool.query(`
    INSERT INTO ${b}.runs OVERRIDING SYSTEM VALUE SELECT * FROM ${a}.runs ORDER BY number;
    INSERT INTO ${b}.entries SELECT * FROM ${a}.entries;
    INSERT INTO ${b}.inbox SELECT * FROM ${a}.inbox;
    UPDATE ${b}.runs SET owner = NULL, lease_until = NULL;
    SELECT setval(pg_get_serial_sequence('${b}.runs', 'number'), coalesce(max(number), 0) + 1, false) FROM ${b}.runs`);
  if (length === undefined) return;
  const used: number[] = [];
  const kept: Array<{ entries: number; consume: readonly number[] }> = [];
  let left = length;
  for (const append of appends.get(runId!) ?? []) {
    if (append.entries > left) break;
    left -= append.entries;
    kept.push(append);
    used.push(...append.consume);
  }
  appends.set(runId!, kept);
  const run = `(SELECT number FROM ${b}.runs WHERE id = $1)`;
  await pool.query(`DELETE FROM ${b}.entries WHERE run = ${run} AND seq > $2::float8`, [runId, length]);
  await pool.query(`UPDATE ${b}.inbox SET used = CASE WHEN number = ANY ($2) THEN 1 ELSE 0 END WHERE run = ${run}`, [
    runId,
    used,
  ]);
  await pool.query(
    `UPDATE ${b}.runs SET status = 'running', output = NULL, error = NULL, culprits = NULL, orphans = NULL, edited = NULL, due = NULL
     WHERE id = $1`,
    [runId],
  );
}
