/**
 * What a step costs on Postgres besides time: statements, write-ahead log, room on the disk. `npm run bench:postgres` prints
 * it. How fast steps are there: `npm run bench -- --only raw-postgres,stepmark-postgres`.
 */
import process from "node:process";
import { Client, Pool } from "pg";
import { Stepmark } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { flows } from "../contenders/stepmark/speed.js";

const url = process.env.DATABASE_URL!;
const schema = `bench ${process.pid}`;
const steps = 1_000;

const client = new Client(url);
await client.connect();
const pool = new Pool({ connectionString: url, max: 1 });
const asked = countQueries(pool);
const app = new Stepmark({ store: postgresStore(pool, { schema, listen: false }), workflows: [flows.chain] });
const run = async (): Promise<unknown> => (await app.start(flows.chain, { count: steps })).result();
await app.list({ limit: 0 });
await client.query("CHECKPOINT").catch(() => {});
// The first write to a page after a checkpoint logs all of the page: those are left behind.
await run();
const before = { statements: asked(), log: await walPosition() };
await run();
const statements = (asked() - before.statements) / steps;
const log = ((await walPosition()) - before.log) / steps;
const { rows } = await client.query(
  `SELECT count(*)::int AS entries, avg(octet_length(entry))::int AS text,
     pg_table_size('"${schema}".entries')::int AS data, pg_indexes_size('"${schema}".entries')::int AS indexes,
     current_setting('server_version') AS version
   FROM "${schema}".entries`,
);
const { entries, text, data, indexes, version } = rows[0] as Record<"entries" | "text" | "data" | "indexes", number> & {
  version: string;
};
await app.shutdown();
await pool.end();
await client.query(`DROP SCHEMA "${schema}" CASCADE`);
await client.end();
console.log(`Node ${process.version}, Postgres ${version}, a run of ${steps} steps`);
console.log(`a step of a run alone: ${statements.toFixed(2)} statements, ${Math.round(log)} bytes of write-ahead log`);
console.log(
  `an entry of ${text} characters: ${Math.round(data / entries)} bytes in the table, ${Math.round(indexes / entries)} in its index`,
);

/** @returns asks how many there were so far */
function countQueries(pool: Pool): () => number {
  const { query } = pool;
  let count = 0;
  pool.query = ((...args: unknown[]) => {
    count++;
    return Reflect.apply(query, pool, args) as unknown;
  }) as typeof pool.query;
  return () => count;
}

/** In bytes. */
async function walPosition(): Promise<number> {
  const { rows } = await client.query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS position");
  return Number((rows[0] as { position: string }).position);
}
