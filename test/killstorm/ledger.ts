/**
 * The books of somebody outside: one line for each idempotency key, however often it is sent. A second file has a line for
 * each time that a body began.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stepContext } from "stepmark";

export interface LedgerLine {
  what: string;
  idempotencyKey: string;
  /** Replay key of the step. */
  key: string;
}

const [ledger, begun] = ["ledger.log", "begun.log"];

/** Takes a moment before and after, so that a kill may come at either side of it. */
export async function enter(what: string): Promise<void> {
  const { idempotencyKey, key } = stepContext();
  appendFileSync(begun, line({ what, idempotencyKey, key }));
  await delay(Math.random() * 6);
  const isKnown = readLedger().some((each) => each.idempotencyKey === idempotencyKey);
  if (!isKnown) appendFileSync(ledger, line({ what, idempotencyKey, key }));
  await delay(Math.random() * 6);
}

export function readLedger(directory = "."): LedgerLine[] {
  return read(join(directory, ledger));
}

/** The bodies that have begun, oldest first. */
export function readBegun(directory: string): LedgerLine[] {
  return read(join(directory, begun));
}

function line(entry: LedgerLine): string {
  return `${JSON.stringify(entry)}\n`;
}

function read(path: string): LedgerLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((text) => JSON.parse(text) as LedgerLine);
}
