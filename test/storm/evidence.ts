/** What a storm is judged by: gathered from the database and the ledger when it is over. */
import type { Pool } from "pg";
import { codec, type Store } from "stepmark";
import type { Evidence, RunLeft, Written } from "./judge.js";
import { readLedger, type Value } from "./ledger.js";

const { decode } = codec();

/** Has each entry of a journal noted with who wrote it, and who owned the run then. Needs the store's tables. */
export async function auditEntries(pool: Pool, schema: string): Promise<void> {
  await pool.query(`
    CREATE TABLE ${schema}.audit (run bigint, seq integer, fence bigint, owner text, writer text);
    CREATE FUNCTION ${schema}.note_owner() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${schema}.audit SELECT new.run, new.seq, fence, owner::json ->> 'host', current_setting('application_name')
        FROM ${schema}.runs WHERE number = new.run;
      RETURN new;
    END $$;
    CREATE TRIGGER note_owner AFTER INSERT ON ${schema}.entries FOR EACH ROW EXECUTE FUNCTION ${schema}.note_owner();`);
}

/** @param ledger its path */
export async function gather(
  { pool, store, schema }: { pool: Pool; store: Store; schema: string },
  ledger: string,
  { runs, steps }: { runs: number; steps: number },
): Promise<Evidence> {
  const left: RunLeft[] = [];
  for (let index = 0; index < runs; index++) left.push(await runLeft(store, runId(index)));
  const audit = await pool.query<Omit<Written, "fence"> & { fence: string }>(
    `SELECT runs.id AS run, seq, audit.fence, audit.owner, writer
     FROM ${schema}.audit JOIN ${schema}.runs ON number = run ORDER BY number, seq`,
  );
  const hasQueue = await pool.query<{ has: boolean }>("SELECT to_regclass($1) IS NOT NULL AS has", [
    `${schema}.queue_runs`,
  ]);
  const queued = hasQueue.rows[0]!.has ? await pool.query(`SELECT FROM ${schema}.queue_runs`) : undefined;
  return {
    steps,
    runs: left,
    ledger: readLedger(ledger),
    audit: audit.rows.map((row) => ({ ...row, fence: Number(row.fence) })),
    queued: queued?.rowCount ?? 0,
  };
}

export function runId(index: number): string {
  return `run-${index}`;
}

async function runLeft(store: Store, id: string): Promise<RunLeft> {
  const run = await store.read(id);
  const entries = await store.entries(id);
  return {
    id,
    status: run?.status ?? "not there",
    error: run?.error,
    output: run?.output === undefined ? [] : (decode(run.output) as Value[]),
    recorded: entries.filter(({ state }) => state === "done").map(({ value }) => decode(value!) as Value),
  };
}
