/** Kills processes at random moments, again and again, and holds what was seen of them against the journal. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { codec, type Entry } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { readLedger, type Value } from "../storm/ledger.js";
import type { Result } from "./flow.js";

export interface Storm {
  kills: number;
  /** Path of the built `child.ts`. */
  child: string;
  report?: (text: string) => void;
}

export interface Damage {
  kills: number;
  /** Runs that came to their end. */
  runs: number;
  /** Events that were seen before a kill and held against the journal. */
  events: number;
  ranAgain: string[];
  wrong: string[];
  unopened: string[];
  milliseconds: number;
}

/** A line that a process prints. */
interface Seen {
  type: string;
  seq?: number;
  key?: string;
  value?: unknown;
}

/** A process is killed at most so long after it has the run, in milliseconds. */
const longestLife = 120;

/** One kill in so many comes while the process is still starting. */
const early = 8;

const { decode } = codec();

export async function storm({ kills, child, report }: Storm): Promise<Damage> {
  const damage: Damage = { kills: 0, runs: 0, events: 0, ranAgain: [], wrong: [], unopened: [], milliseconds: 0 };
  const begin = performance.now();
  while (damage.kills < kills) {
    await oneRun(child, kills, damage);
    damage.runs++;
    report?.(summary({ ...damage, milliseconds: performance.now() - begin }));
  }
  return { ...damage, milliseconds: performance.now() - begin };
}

export function summary({ kills, runs, events, ranAgain, wrong, unopened, milliseconds }: Damage): string {
  return (
    `${kills} kills in ${runs} runs, ${events} events held against the journal, ${(milliseconds / 1000).toFixed(1)} s; ` +
    `steps that ran again: ${ranAgain.length}; wrong values: ${wrong.length}; journals that did not open: ${unopened.length}`
  );
}

/** One run to its end, over as many processes as it takes; the kills stop when there were enough. */
async function oneRun(child: string, kills: number, damage: Damage): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "stepmark-storm-"));
  const complete = new Set<string>();
  const values = new Map<number, Seen>();
  try {
    for (;;) {
      const before = bodies(folder).length;
      const life = await live(child, folder, damage.kills < kills);
      for (const label of bodies(folder).slice(before)) if (complete.has(label)) damage.ranAgain.push(label);
      const journal = await read(folder, damage);
      if (journal === undefined) return;
      damage.events += life.seen.length;
      for (const event of life.seen) {
        const earlier = values.get(event.seq!);
        if (earlier !== undefined && !isDeepStrictEqual(earlier, event))
          damage.wrong.push(`event ${event.seq} has changed`);
        values.set(event.seq!, event);
      }
      for (const event of values.values())
        if (!isRecorded(event, journal)) damage.wrong.push(`event ${event.seq} is not in the journal`);
      for (const { kind, state, value } of journal) {
        if (kind !== "step" || state !== "done") continue;
        const given = decode(value!) as Partial<Value>;
        if (given.label !== undefined) complete.add(given.label);
      }
      if (life.killed) damage.kills++;
      else {
        damage.wrong.push(...faultsOf(life, journal));
        return;
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Life {
  killed: boolean;
  /** Events of entries. */
  seen: Seen[];
  result: unknown;
  errors: string;
}

async function live(child: string, folder: string, kill: boolean): Promise<Life> {
  const started = spawn(process.execPath, [child], {
    cwd: folder,
    env: { ...process.env, STORM_LEDGER: ledgerIn(folder) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const seen: Seen[] = [];
  let result: unknown;
  let errors = "";
  started.stderr.on("data", (part: Buffer) => {
    errors += part.toString();
  });
  const closed = once(started, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  if (kill && Math.random() < 1 / early) void killLater(started, Math.random() * 250);
  for await (const line of createInterface({ input: started.stdout })) {
    const event = parse(line);
    if (event?.type === "ready" && kill) void killLater(started, Math.random() * longestLife);
    else if (event?.type === "result") result = event.value;
    else if (event?.seq !== undefined) seen.push(event);
  }
  const [, signal] = await closed;
  return { killed: signal === "SIGKILL", seen, result, errors };
}

async function killLater(victim: ChildProcess, milliseconds: number): Promise<void> {
  await delay(milliseconds);
  victim.kill("SIGKILL");
}

/** A line that a kill has cut off says nothing. */
function parse(line: string): Seen | undefined {
  try {
    return JSON.parse(line) as Seen;
  } catch {
    return undefined;
  }
}

async function read(folder: string, damage: Damage): Promise<Entry[] | undefined> {
  try {
    const store = sqliteStore(join(folder, ".stepmark/runs.db"));
    const entries = await store.entries("run");
    await store.close();
    return entries;
  } catch (error) {
    damage.unopened.push(String(error));
    return undefined;
  }
}

function ledgerIn(folder: string): string {
  return join(folder, "ledger");
}

/** The labels of the bodies that have begun, oldest first. */
function bodies(folder: string): string[] {
  const path = ledgerIn(folder);
  return existsSync(path) ? readLedger(path).flatMap((line) => (line.type === "begin" ? [line.label] : [])) : [];
}

function isRecorded({ seq, key, value }: Seen, journal: readonly Entry[]): boolean {
  const entry = journal[seq! - 1];
  if (entry?.seq !== seq || entry?.key !== key) return false;
  if (value === undefined) return true;
  return isDeepStrictEqual(JSON.parse(JSON.stringify(decode(entry!.value!))), value);
}

/** Of a run that has ended: whether it has the values that the journal has, all of them, each under its own label. */
function faultsOf({ result, errors }: Life, journal: readonly Entry[]): string[] {
  if (result === undefined || typeof result !== "object" || result === null || "error" in result)
    return [`the run ended with ${JSON.stringify(result)} ${errors}`];
  const { winner, ...given } = result as Result;
  const recorded: Result = {};
  const labelled = journal
    .filter(({ kind, state }) => kind === "step" && state === "done")
    .map(({ value }) => decode(value!) as Value | Value[])
    .filter((value) => !Array.isArray(value)) as Value[];
  for (const value of labelled) recorded[value.label] = value;
  const faults: string[] = [];
  if (!isDeepStrictEqual(sorted(given), sorted(recorded))) faults.push("the result is not what the journal holds");
  if (Object.keys(given).length !== steps) faults.push(`${Object.keys(given).length} steps instead of ${steps}`);
  const first = labelled.find(({ label }) => /^r\d$/.test(label));
  if (winner?.draw !== first?.draw) faults.push("the race has another winner than the journal");
  return faults;
}

/** Steps with a label in the workflow. */
const steps = 2 * 3 * 4 + 5 + 1 + 3 + 1 + 7;

function sorted(values: Result): Array<[string, Value]> {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
}
