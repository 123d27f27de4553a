/**
 * The books that all processes keep in one file, beside Postgres and independent of it: what began, what was seen complete, and what
 * a store did. Lines are in the order in which things happened, and what a process has written is there although it is killed.
 */
import { randomUUID } from "node:crypto";
import { openSync, readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

export interface Value {
  /** Of the call that it belongs to. */
  label: string;
  /** Another one each time that the body runs. */
  draw: string;
}

export type Line =
  /** A body begins. */
  | { type: "begin"; label: string; draw: string }
  /** The workflow's code has the value of a step. */
  | { type: "seen"; label: string; draw: string }
  /** The workflow's code has the value of another step. */
  | { type: "wrong"; label: string; draw: string }
  /** A process has taken a run. */
  | { type: "claim"; run: string; fence: number; machine: string }
  /** The store has refused a write, since the run has another owner. */
  | { type: "refused"; run: string; fence: number; machine: string }
  /** A process was told of an error. */
  | { type: "error"; code: string; text: string };

let file: number | undefined;

export function note(line: Line): void {
  file ??= openSync(process.env.STORM_LEDGER!, "a");
  writeSync(file, `${JSON.stringify(line)}\n`);
}

export function readLedger(path: string): Line[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** Of the step `index` of a run. */
export function labelOf(run: string, index: number): string {
  return `${run}/${index}`;
}

/** Stands for the real work. */
export async function work(label: string): Promise<Value> {
  const value = { label, draw: randomUUID() };
  note({ type: "begin", ...value });
  await delay(Math.random() * 10);
  return value;
}
