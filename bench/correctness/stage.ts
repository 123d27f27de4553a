/**
 * Where bodies play: each notes its start and its end in a ledger, a file that no library knows of, and does in between
 * what the scenario directs, dying included.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";

export interface Line {
  life: number;
  what: "start" | "end";
  body: string;
}

export interface Scene {
  /** 1: the run's first process. */
  life: number;
  /** So often has this body been started over all lives, this time included. */
  time: number;
  pause(milliseconds: number): Promise<void>;
  /** Once a body has ended in this process. */
  ended(body: string): Promise<void>;
  /** The process is killed, after what was under way had time to be recorded. */
  die(): Promise<never>;
}

/** What a body does while it runs, given its name. */
export type Direct = (body: string, scene: Scene) => Promise<void>;

let ledger = "";
let life = 0;
let direct: Direct = async () => {};
const ends = new Map<string, { promise: Promise<void>; resolve(): void }>();

export function setStage(options: { ledger: string; life: number; direct: Direct }): void {
  ({ ledger, life, direct } = options);
}

/** The body of every step of every scenario. */
export async function body<T>(name: string, make: () => T | Promise<T>): Promise<T> {
  note({ life, what: "start", body: name });
  const time = readLedger(ledger).filter((line) => line.what === "start" && line.body === name).length;
  await direct(name, { life, time, pause, ended: (other) => end(other).promise, die });
  const made = await make();
  note({ life, what: "end", body: name });
  end(name).resolve();
  return made;
}

export function readLedger(path: string): Line[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line);
}

function note(line: Line): void {
  appendFileSync(ledger, `${JSON.stringify(line)}\n`);
}

function end(name: string): { promise: Promise<void>; resolve(): void } {
  let found = ends.get(name);
  if (found === undefined) {
    let resolve!: () => void;
    found = { promise: new Promise<void>((r) => (resolve = r)), resolve: () => resolve() };
    ends.set(name, found);
  }
  return found;
}

async function die(): Promise<never> {
  await pause(500);
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}
