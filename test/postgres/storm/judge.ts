/** What is wrong with what a storm has left. */
import { isDeepStrictEqual } from "node:util";
import { Pool } from "pg";
import { codec } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { type Line, readLedger, type Value } from "./ledger.js";

export interface Judged {
  /** In the journals of all runs. */
  entries: number;
  /** Claims of a run that another process had had. */
  takeovers: number;
  /** Writes that were refused because the run had another owner by then. */
  refused: number;
  /** Bodies that ran again, since their process had died before anybody saw what they came to. */
  twice: number;
  /** Steps that ran again although they had been seen complete. */
  repeated: string[];
  wrong: string[];
}

const { decode } = codec();

/** @param ledger its path */
export async function judge(
  url: string,
  schema: string,
  ledger: string,
  { runs, steps }: { runs: number; steps: number },
): Promise<Judged> {
  const lines = readLedger(ledger);
  const of = <T extends Line["type"]>(type: T) =>
    lines.filter((line): line is Extract<Line, { type: T }> => line.type === type);
  const pool = new Pool({ connectionString: url, max: 1 });
  const store = postgresStore(url, { schema, listen: false });
  const wrong: string[] = of("wrong").map(({ label }) => `${label} got the value of another step`);
  let entries = 0;
  const { seen, repeated, twice } = bodies(lines, wrong);
  for (let index = 0; index < runs; index++) {
    const id = `run-${index}`;
    const run = await store.read(id);
    if (run?.status !== "completed") {
      wrong.push(`${id} is ${run?.status}${run?.error ? `: ${run.error}` : ""}`);
      continue;
    }
    const journal = await store.entries(id);
    entries += journal.length;
    const output = decode(run.output!) as Value[];
    const recorded = new Map<string, Value>();
    for (const { value, state } of journal) {
      if (state !== "done") continue;
      const each = decode(value!) as Value;
      if (recorded.has(each.label)) wrong.push(`${each.label} is recorded twice`);
      recorded.set(each.label, each);
    }
    const expected = Array.from({ length: steps }, (_, step) => recorded.get(`${id}/${step}`));
    if (journal.length !== steps) wrong.push(`${id} has ${journal.length} entries`);
    if (!isDeepStrictEqual(output, expected)) wrong.push(`the output of ${id} is not what its journal holds`);
    for (const { label, draw } of recorded.values())
      if (seen.get(label) !== draw) wrong.push(`${label} is not recorded as it was seen`);
  }
  wrong.push(...(await owners(pool, schema)), ...claimedTwice(of("claim")));
  // A restart, a cut: nothing else may fail.
  for (const { code, text } of of("error"))
    if (code !== "STORE" && code !== "STALE_OWNER") wrong.push(`a process was told of ${code}: ${text}`);
  await store.close();
  await pool.end();
  return {
    entries,
    takeovers: of("claim").filter(({ fence }) => fence > 1).length,
    refused: of("refused").length,
    twice,
    repeated,
    wrong,
  };
}

/** What the ledger says of bodies, in the order in which it was written. */
function bodies(
  lines: readonly Line[],
  wrong: string[],
): { seen: Map<string, string>; repeated: string[]; twice: number } {
  const seen = new Map<string, string>();
  const begun = new Set<string>();
  const repeated: string[] = [];
  let twice = 0;
  for (const line of lines) {
    if (line.type === "begin") {
      if (seen.has(line.label)) repeated.push(line.label);
      else if (begun.has(line.label)) twice++;
      begun.add(line.label);
    } else if (line.type === "seen") {
      const before = seen.get(line.label);
      if (before !== undefined && before !== line.draw) wrong.push(`${line.label} was seen with two values`);
      seen.set(line.label, line.draw);
    }
  }
  return { seen, repeated, twice };
}

/**
 * By the audit: whether each ownership was one machine's, which alone wrote under it, and no entry was written under an earlier one
 * than the entry before.
 */
async function owners(pool: Pool, schema: string): Promise<string[]> {
  const { rows } = await pool.query(`
    SELECT 'run ' || run || ' was written under fence ' || fence || ' by ' || count(DISTINCT machine) || ' processes' AS fault
    FROM ${schema}.audit GROUP BY run, fence HAVING count(DISTINCT machine) <> 1
    UNION ALL
    SELECT 'entry ' || seq || ' of run ' || run || ' was written by ' || writer || ', the run was owned by ' || coalesce(machine, 'nobody')
    FROM ${schema}.audit WHERE machine IS DISTINCT FROM writer
    UNION ALL
    SELECT 'entry ' || seq || ' of run ' || run || ' was written under an earlier fence than the one before'
    FROM (SELECT run, seq, fence, lag(fence) OVER (PARTITION BY run ORDER BY seq) AS before FROM ${schema}.audit) AS each
    WHERE fence < before`);
  return (rows as Array<{ fault: string }>).map(({ fault }) => fault);
}

function claimedTwice(claims: ReadonlyArray<{ run: string; fence: number; machine: string }>): string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const { run, fence, machine } of claims) {
    const ownership = `${run} under fence ${fence}`;
    if (owners.has(ownership)) faults.push(`${ownership} was given to ${owners.get(ownership)} and to ${machine}`);
    owners.set(ownership, machine);
  }
  return faults;
}
