/**
 * Several processes execute the runs of one database, while they are killed at random, the database is restarted, and the network
 * of one of them is cut. What became of the runs is held against the journals, against the ledger, and against an audit that a
 * trigger has written.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { codec } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { fingerprint } from "../../../runtime/journal/fingerprint.js";
import { KEY_SCHEME } from "../../../runtime/scope/key.js";
import { seeded } from "../../support/schedule.js";
import { startNetwork } from "../network.js";
import { type Server, startServer } from "../server.js";
import type { Input } from "./flow.js";
import { type Judged, judge } from "./judge.js";
import { place } from "./ledger.js";

export interface StormOptions {
  /** Path of a built program that executes runs until it is killed: see `executor.ts`. */
  executor: string;
  processes: number;
  runs: number;
  /** Of each run. */
  steps: number;
  seed: number;
  /** Milliseconds after which the storm is over, whatever has not ended. */
  patience?: number;
  report?: (text: string) => void;
}

export interface Damage extends Judged {
  runs: number;
  kills: number;
  restarts: { fast: number; immediate: number };
  /** How often the network of the first process was cut, or swallowed everything. */
  cuts: number;
  milliseconds: number;
}

/** At most so many runs are open at once. */
const atOnce = 100;

/** Milliseconds: from one kill to the next, from one restart to the next, from one cut to the next; and how long a cut lasts. */
const every = { kill: 1_000, restart: 7_000, cut: 4_000 };
const cutFor = 4_000;

const schema = "storm";

export async function storm(options: StormOptions): Promise<Damage> {
  const { executor, processes, runs, steps, seed, patience = Number.POSITIVE_INFINITY, report } = options;
  const begun = performance.now();
  const random = seeded(seed);
  const server = await startServer();
  const network = await startNetwork(server.url);
  const folder = await mkdtemp(join(tmpdir(), "stepmark-storm-"));
  const ledger = join(folder, "ledger");
  await writeFile(ledger, "");
  await prepare(server);
  const over = new AbortController();
  let kills = 0;
  const unexpected: string[] = [];
  const fleet = Array.from({ length: processes }, (_, index) => {
    const name = `machine ${index}`;
    // By this name the audit knows who writes.
    const url = new URL(index === 0 ? network.url : server.url);
    url.searchParams.set("application_name", name);
    const env = { STORM_URL: url.href, STORM_SCHEMA: schema, [place]: ledger };
    return new Machine(executor, name, env, unexpected);
  });
  let isCut = false;
  const killing = again(every.kill, over.signal, async () => {
    // The one that is cut off lives to write when it is back.
    const up = fleet.filter(({ ready }, index) => ready && !(isCut && index === 0));
    if (up.length === 0) return;
    up[Math.floor(random() * up.length)]!.kill();
    kills++;
  });
  const restarts = { fast: 0, immediate: 0 };
  const restarting = again(every.restart, over.signal, async () => {
    const mode = restarts.fast > restarts.immediate ? "immediate" : "fast";
    await server.stop(mode);
    await delay(random() * 500);
    await server.start();
    restarts[mode]++;
  });
  let cuts = 0;
  const cutting = again(every.cut, over.signal, async () => {
    cuts++;
    isCut = true;
    if (cuts % 2 === 0) network.cut();
    else network.hold();
    await delay(cutFor, undefined, { signal: over.signal }).catch(() => {});
    network.heal();
    await delay(1_000, undefined, { signal: over.signal }).catch(() => {});
    isCut = false;
  });
  const ended = await seeThrough(server, { runs, steps, until: begun + patience, report });
  over.abort();
  await Promise.all([killing, restarting, cutting]);
  await Promise.all(fleet.map((machine) => machine.stop()));
  try {
    const judged = await judge(server.url, schema, ledger, { runs, steps });
    judged.wrong.push(...unexpected);
    if (ended < runs) judged.wrong.push(`${runs - ended} runs have not ended`);
    return { ...judged, runs: ended, kills, restarts, cuts, milliseconds: performance.now() - begun };
  } finally {
    await network.close();
    await server.remove();
    await rm(folder, { recursive: true, force: true });
  }
}

export function summary(damage: Damage): string {
  const { runs, kills, restarts, cuts, entries, takeovers, refused, twice, wrong, repeated, milliseconds } = damage;
  return [
    `${runs} runs with ${entries} entries in ${(milliseconds / 1000).toFixed(0)} s`,
    `${kills} processes killed, Postgres restarted ${restarts.fast} times in order and ${restarts.immediate} times as in a crash`,
    `network of one process cut ${cuts} times`,
    `${takeovers} runs taken over, ${refused} writes of owners that were not any more refused`,
    `${twice} bodies begun again whose outcome nobody had seen`,
    `finished steps repeated: ${repeated.length}; wrong: ${wrong.length}`,
  ].join("; ");
}

/** One process at a time that executes runs; another one takes the place of one that was killed. */
class Machine {
  ready = false;
  private child: ChildProcess | undefined;
  private stopped = false;
  private ended: Promise<void>;

  constructor(
    private readonly executor: string,
    private readonly name: string,
    private readonly env: Record<string, string>,
    private readonly unexpected: string[],
  ) {
    this.ended = this.live();
  }

  kill(): void {
    this.ready = false;
    this.child?.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.kill();
    await this.ended;
  }

  private async live(): Promise<void> {
    while (!this.stopped) {
      const env = { ...process.env, ...this.env, STORM_MACHINE: this.name };
      const child = spawn(process.execPath, ["--enable-source-maps", this.executor], {
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      this.child = child;
      let errors = "";
      child.stderr.on("data", (part: Buffer) => {
        errors += part.toString();
      });
      createInterface({ input: child.stdout }).once("line", () => {
        this.ready = true;
      });
      const signal = await new Promise<NodeJS.Signals | null>((resolve) => child.once("close", (_, by) => resolve(by)));
      this.ready = false;
      if (signal !== "SIGKILL") this.unexpected.push(`a process ended by itself: ${errors}`);
    }
  }
}

/** The tables, and an audit of who wrote each entry, and who owned the run then. */
async function prepare({ url }: Server): Promise<void> {
  const store = postgresStore(url, { schema });
  await store.list({ limit: 0 });
  await store.close();
  const pool = new Pool({ connectionString: url, max: 1 });
  await pool.query(`
    CREATE TABLE ${schema}.audit (run bigint, seq integer, fence bigint, machine text, writer text);
    CREATE FUNCTION ${schema}.note_owner() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${schema}.audit SELECT new.run, new.seq, fence, owner::json ->> 'host', current_setting('application_name')
        FROM ${schema}.runs WHERE number = new.run;
      RETURN new;
    END $$;
    CREATE TRIGGER note_owner AFTER INSERT ON ${schema}.entries FOR EACH ROW EXECUTE FUNCTION ${schema}.note_owner();`);
  await pool.end();
}

/** Makes the runs, a few at a time, and waits for their ends. @returns how many have ended */
async function seeThrough(
  { url }: Server,
  { runs, steps, until, report }: Pick<StormOptions, "runs" | "steps" | "report"> & { until: number },
): Promise<number> {
  const store = postgresStore(url, { schema, listen: false, timeout: 5_000 });
  const { encode } = codec();
  let [made, ended, told] = [0, 0, 0];
  while (ended < runs && performance.now() < until) {
    try {
      for (; made < runs && made - ended < atOnce; made++) {
        const input: Input = { run: `run-${made}`, steps };
        const prints = { input: encode(input), inputPrint: fingerprint([input]) };
        await store.create({ id: input.run, workflow: "storm", ...prints, scheme: KEY_SCHEME, createdAt: Date.now() });
      }
      ended = (await store.list({ status: ["completed", "failed", "cancelled"] })).length;
    } catch {
      // The server is being restarted.
    }
    if (ended - told >= 100) {
      told = ended;
      report?.(`${ended} of ${runs} runs have ended`);
    }
    await delay(200);
  }
  await store.close();
  return ended;
}

/** Does something once an interval, until it is over. */
async function again(interval: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  for (;;) {
    await delay(interval, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    await work();
  }
}
