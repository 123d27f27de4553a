/**
 * Steps a second on Postgres, beside the raw limit: single-row commits on one connection of the same server, in the same
 * process, in turn. `npm run bench:postgres` prints medians; `-- --rounds N` sets how often each is measured.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { Client, Pool } from "pg";
import { postgresStore } from "stepmark/postgres";
import { concurrent, resume, sequential, together } from "./workloads.js";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
const rounds = Math.max(1, Number.parseInt(values.rounds, 10));
const url = process.env.DATABASE_URL!;
const steps = 1_000;

const client = new Client(url);
await client.connect();
const times = new Map<string, number[]>();
const note = (workload: string, ms: number): void => {
  times.set(workload, [...(times.get(workload) ?? []), ms]);
};
let costs = "";
for (let round = 0; round < rounds; round++) {
  const schema = `bench ${process.pid} ${round}`;
  const open = () => postgresStore(url, { schema });
  // Made beforehand: what is measured is runs.
  const store = open();
  await store.list({ limit: 0 });
  await store.close();
  note("raw single-row commits", await rawCommits(schema));
  note("sequential: 1,000 steps", await sequential(open, steps));
  note("concurrent: 200 x 5 steps", await concurrent(open, 200, 5));
  note("100 runs at once, 10 steps each", await together(open, 100, 10));
  note("resume of 1,000 recorded steps", await resume(open, steps));
  if (round === rounds - 1) costs = await costsIn(`${schema} costs`);
  await client.query(`DROP SCHEMA "${schema}" CASCADE`);
}
const { server_version } = (await client.query("SHOW server_version")).rows[0] as { server_version: string };
await client.end();

console.log(`Node ${process.version}, Postgres ${server_version}, ${rounds} rounds: median (least-greatest)`);
const raw = median(times.get("raw single-row commits")!);
for (const [workload, all] of times) {
  const middle = median(all);
  const [least, greatest] = [Math.min(...all), Math.max(...all)].map((ms) => ms.toFixed(1));
  const share = workload.startsWith("resume") ? "" : `${(raw / middle).toFixed(2)} of raw`;
  console.log(
    [
      workload.padEnd(32),
      `${middle.toFixed(1)} ms (${least}-${greatest})`.padEnd(28),
      `${Math.round((steps / middle) * 1000).toLocaleString("en")}/s`.padStart(12),
      share.padStart(13),
    ].join(" "),
  );
}
console.log(costs);

/** What a step costs besides time, in words: of one run of steps that come to a number. */
async function costsIn(schema: string): Promise<string> {
  const pool = new Pool({ connectionString: url, max: 1 });
  const { query } = pool;
  let statements = 0;
  pool.query = ((...args: unknown[]) => {
    statements++;
    return Reflect.apply(query, pool, args) as unknown;
  }) as typeof pool.query;
  const open = () => postgresStore(pool, { schema, listen: false });
  await open().list({ limit: 0 });
  await client.query("CHECKPOINT").catch(() => {});
  // The first write to a page after a checkpoint logs all of the page: those are left behind.
  await sequential(open, steps);
  statements = 0;
  const before = await walPosition();
  await sequential(open, steps);
  const [asked, logged] = [statements / steps, ((await walPosition()) - before) / steps];
  const { rows } = await client.query(
    `SELECT count(*)::int AS entries, avg(octet_length(entry))::int AS text,
       pg_table_size('"${schema}".entries')::int AS data, pg_indexes_size('"${schema}".entries')::int AS indexes
     FROM "${schema}".entries`,
  );
  const { entries, text, data, indexes } = rows[0] as Record<"entries" | "text" | "data" | "indexes", number>;
  await pool.end();
  await client.query(`DROP SCHEMA "${schema}" CASCADE`);
  return (
    `a step of a run alone: ${asked.toFixed(2)} statements, ${Math.round(logged)} bytes of write-ahead log; an entry of ${text} characters: ` +
    `${Math.round(data / entries)} bytes in the table, ${Math.round(indexes / entries)} in its index`
  );
}

/** In bytes. */
async function walPosition(): Promise<number> {
  const { rows } = await client.query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS position");
  return Number((rows[0] as { position: string }).position);
}

/** @returns milliseconds */
async function rawCommits(schema: string): Promise<number> {
  await client.query(`CREATE TABLE "${schema}".raw (run bigint, seq integer, entry text, PRIMARY KEY (run, seq))`);
  const entry = JSON.stringify({
    key: "bench/work@500",
    kind: "step",
    state: "done",
    value: "[1]",
    pad: "x".repeat(250),
  });
  const start = performance.now();
  for (let i = 0; i < steps; i++)
    await client.query({ name: schema, text: `INSERT INTO "${schema}".raw VALUES (1, $1, $2)`, values: [i, entry] });
  return performance.now() - start;
}

function median(all: number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
