/** Workers that are killed at random and started anew, while they go through a queue of runs; then the ledger is held against the results. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { codec, Stepmark } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { postgresStore } from "stepmark/postgres";
import { chain } from "./flow.js";
import { read } from "./ledger.js";
import { type Damage, type Death, damageOf } from "./verdict.js";

export interface Storm {
  url: string;
  schema: string;
  /** Path of the built `worker.ts`. */
  worker: string;
  workers: number;
  runs: number;
  steps: number;
  /** Runs that each worker drives at once. */
  concurrency: number;
  /** Milliseconds between two kills (default: none by time). */
  killEvery?: number;
  /** A worker is killed each time that so many more runs have ended (default: none by that). */
  killEachRuns?: number;
  report?: (text: string) => void;
}

export interface Outcome extends Damage {
  kills: number;
  /** From the start of the workers to the last run's end, in milliseconds. */
  milliseconds: number;
  /** How long it took to queue the runs. */
  queueing: number;
}

export async function storm(options: Storm): Promise<Outcome> {
  const { url, schema, runs, steps, killEvery = 0, killEachRuns = Number.POSITIVE_INFINITY, report } = options;
  const ledger = mkdtempSync(join(tmpdir(), "stepmark-workers-"));
  const pool = new Pool({ connectionString: url, max: 10 });
  const app = new Stepmark({
    store: postgresStore(pool, { schema }),
    queue: graphileQueue(pool, { schema }),
    workflows: [chain],
  });
  const names = Array.from({ length: runs }, (_, index) => `run-${index}`);
  const began = performance.now();
  const left = [...names];
  const enqueue = async (): Promise<void> => {
    for (let name = left.pop(); name !== undefined; name = left.pop())
      await app.enqueue(chain, { name, steps }, { id: name });
  };
  await Promise.all(Array.from({ length: 8 }, enqueue));
  const queued = performance.now();
  const crew = new Crew(options, ledger);
  const over = new AbortController();
  const killing = killEvery > 0 ? crew.killEvery(killEvery, over.signal) : undefined;
  const counted = `SELECT count(*)::integer AS count FROM ${schema}.runs WHERE status IN ('completed', 'failed')`;
  for (let [ended, killedAt] = [0, 0]; ended < runs; ) {
    await delay(25);
    ended = (await pool.query<{ count: number }>(counted)).rows[0]!.count;
    if (ended - killedAt >= killEachRuns) {
      killedAt = ended;
      await crew.kill();
    }
    const seconds = (performance.now() - queued) / 1_000;
    report?.(`${ended} of ${runs} runs after ${seconds.toFixed(1)} s, ${crew.deaths.length} kills`);
  }
  const milliseconds = performance.now() - queued;
  over.abort();
  await killing;
  await crew.stop();
  const { decode } = codec();
  const results = new Map<string, unknown>();
  const store = postgresStore(pool, { schema });
  for (const name of names) {
    const run = await store.read(name);
    results.set(name, run?.status === "completed" ? decode(run.output!) : `${run?.status} ${run?.error}`);
  }
  const rest = await pool.query<{ count: number }>(`SELECT count(*)::integer AS count FROM ${schema}.queue_runs`);
  const damage = damageOf(results, steps, read(ledger), crew.deaths, rest.rows[0]!.count);
  await app.shutdown();
  await pool.end();
  rmSync(ledger, { recursive: true, force: true });
  return { ...damage, kills: crew.deaths.length, milliseconds, queueing: queued - began };
}

/** The processes that work. */
class Crew {
  readonly deaths: Death[] = [];
  private readonly members: ChildProcess[];

  constructor(
    private readonly options: Storm,
    private readonly ledger: string,
  ) {
    this.members = Array.from({ length: options.workers }, () => this.start());
  }

  /** Kills one each time. */
  async killEvery(ms: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await delay(ms, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      await this.kill();
    }
  }

  /** Kills one at random, and starts another. */
  async kill(): Promise<void> {
    const index = Math.floor(Math.random() * this.members.length);
    const victim = this.members[index]!;
    const closed = once(victim, "close");
    victim.kill("SIGKILL");
    this.deaths.push({ process: victim.pid!, at: process.hrtime.bigint() });
    await closed;
    this.members[index] = this.start();
  }

  async stop(): Promise<void> {
    for (const each of this.members) each.stdin!.write("stop\n");
    await Promise.all(this.members.map((each) => each.exitCode === null && once(each, "close")));
  }

  private start(): ChildProcess {
    const { worker, schema, concurrency, url } = this.options;
    const env = { ...process.env, DATABASE_URL: url, LEDGER: this.ledger };
    return spawn(process.execPath, [worker, schema, String(concurrency)], {
      stdio: ["pipe", "inherit", "inherit"],
      env,
    });
  }
}
