/**
 * Several processes drive the runs of one database, while they are killed at random, the database is restarted, and the network
 * of one of them is cut. What became of the runs is then judged by their journals, by the ledger, and by an audit that a trigger
 * has written.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { postgresStore } from "stepmark/postgres";
import { startNetwork } from "../postgres/network.js";
import { startServer } from "../postgres/server.js";
import { seeded } from "../support/schedule.js";
import { auditEntries, gather, runId } from "./evidence.js";
import { Berth } from "./fleet.js";
import { judge, type Verdict } from "./judge.js";
import { type Kind, type KindName, kinds } from "./kinds.js";
import { again, type Pace, Progress, pause } from "./pace.js";

export interface StormOptions {
  by: KindName;
  processes: number;
  runs: number;
  /** Of each run. */
  steps: number;
  /** How many runs a process drives at once, more or less. */
  concurrency: number;
  seed: number;
  /** What happens, and how often; what is left out never does. */
  kills?: Pace | undefined;
  /** In order and as in a crash, in turn. */
  restarts?: Pace | undefined;
  /** Of the network of one process: it swallows everything and is cut off, in turn. */
  cuts?: Pace | undefined;
  /** Told how far it has come. */
  report?(text: string): void;
}

export interface Damage {
  verdict: Verdict;
  kills: number;
  restarts: { fast: number; immediate: number };
  cuts: number;
  /** From the start of the processes to the last run's end. */
  milliseconds: number;
}

/** Milliseconds: how long a network is cut, and how long its process is left alone after that, to write what it still has. */
const [cutFor, quietFor] = [4_000, 1_000];

/** Milliseconds between two looks at how many runs have ended. */
const interval = 100;

const schema = "storm";

export async function storm(options: StormOptions): Promise<Damage> {
  const { by, processes, concurrency, seed } = options;
  const random = seeded(seed);
  const folder = await mkdtemp(join(tmpdir(), "stepmark-storm-"));
  const ledger = join(folder, "ledger");
  await writeFile(ledger, "");
  const kind = kinds[by];
  const program = await kind.build();
  const server = await startServer({ durable: true });
  const network = await startNetwork(server.url);
  const pool = new Pool({ connectionString: server.url, max: 4 });
  pool.on("error", () => {});
  const store = postgresStore(pool, { schema, listen: false });
  const over = new AbortController();
  try {
    await store.list({ limit: 0 });
    await auditEntries(pool, schema);
    const unexpected: string[] = [];
    const begun = performance.now();
    const fleet = Array.from({ length: processes }, (_, index) => {
      const STORM_URL = index === 0 ? network.url : server.url;
      const given = { STORM_URL, STORM_SCHEMA: schema, STORM_LEDGER: ledger, STORM_CONCURRENCY: String(concurrency) };
      return new Berth(program, `machine ${index}`, given, unexpected);
    });
    const progress = new Progress(over.signal);
    const counts = { kills: 0, restarts: { fast: 0, immediate: 0 }, cuts: 0 };
    let isCut = false;
    const kill = async (): Promise<void> => {
      // The one that is cut off lives to write when it is back.
      const up = fleet.filter(({ ready }, index) => ready && !(isCut && index === 0));
      if (up.length === 0) return;
      up[Math.floor(random() * up.length)]!.kill();
      counts.kills++;
    };
    const restart = async (): Promise<void> => {
      const { restarts } = counts;
      const mode = restarts.fast > restarts.immediate ? "immediate" : "fast";
      await server.stop(mode);
      await delay(random() * 500);
      await server.start();
      restarts[mode]++;
    };
    const cut = async (): Promise<void> => {
      isCut = true;
      if (counts.cuts++ % 2 === 0) network.hold();
      else network.cut();
      await pause(cutFor, over.signal);
      network.heal();
      await pause(quietFor, over.signal);
      isCut = false;
    };
    const disturbances = [
      again(options.kills, progress, kill),
      again(options.restarts, progress, restart),
      again(options.cuts, progress, cut),
    ];
    await seeThrough(kind.make({ store, pool, schema }), kind, { pool, progress, options });
    const milliseconds = performance.now() - begun;
    over.abort();
    await Promise.all(disturbances);
    await Promise.all(fleet.map((berth) => berth.stop()));
    const verdict = judge(await gather({ pool, store, schema }, ledger, options));
    verdict.unexplained.push(...unexpected);
    return { verdict, ...counts, milliseconds };
  } finally {
    over.abort();
    await store.close();
    await pool.end();
    await network.close();
    await server.remove();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes the runs, so many at a time, and waits for their ends. */
async function seeThrough(
  make: ReturnType<Kind["make"]>,
  { atOnce }: Kind,
  { pool, progress, options }: { pool: Pool; progress: Progress; options: StormOptions },
): Promise<void> {
  const { runs, steps, report } = options;
  const open = atOnce(options);
  for (let made = 0; progress.count < runs; ) {
    try {
      for (; made < runs && made - progress.count < open; made++) await make({ run: runId(made), steps });
      const { rows } = await pool.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM ${schema}.runs WHERE status IN ('completed', 'failed', 'cancelled')`,
      );
      progress.set(rows[0]!.count);
      report?.(`${progress.count} of ${runs} runs have ended`);
    } catch {
      // The server is being restarted.
    }
    await delay(interval);
  }
}

export function summary({ verdict, kills, restarts, cuts, milliseconds }: Damage): string {
  const { unfinished, wrong, repeated, ownedTwice, unexplained, entries, takeovers, refused, again } = verdict;
  const seconds = milliseconds / 1_000;
  return [
    `${entries} steps in ${seconds.toFixed(1)} s (${(entries / seconds).toFixed(0)}/s)`,
    `${kills} processes killed, Postgres restarted ${restarts.fast} times in order and ${restarts.immediate} times as in a crash`,
    `network of one process cut ${cuts} times`,
    `${takeovers} takeovers, ${refused} writes of owners that were not any more refused`,
    `${again} executions cut off and begun again`,
    `unfinished: ${unfinished.length}; wrong values: ${wrong.length}; finished steps repeated: ${repeated.length}; owned twice: ${ownedTwice.length}; unexplained: ${unexplained.length}`,
  ].join("; ");
}
