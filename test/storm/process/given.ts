/** What a process of the storm is given, in its environment. */
import process from "node:process";
import { note } from "../ledger.js";

export interface Given {
  /** The database's address, by way of whatever lies between. */
  STORM_URL: string;
  STORM_SCHEMA: string;
  /** The name of its machine: no other process has it. */
  STORM_MACHINE: string;
  /** Path of the ledger. */
  STORM_LEDGER: string;
  /** How many runs a worker drives at once. */
  STORM_CONCURRENCY: string;
}

const { STORM_URL, STORM_SCHEMA, STORM_MACHINE, STORM_CONCURRENCY } = process.env as unknown as Given;

export const url = STORM_URL;
export const schema = STORM_SCHEMA;
export const machine = STORM_MACHINE;
export const concurrency = Number(STORM_CONCURRENCY);

/** Shorter than a network is cut for, so that others have the runs by the time that it is back. */
export const lease = "2s";

/** Longer than a network is cut for: what was on its way arrives when others have the run. */
export const timeout = 5_000;

/** Milliseconds between two looks at what nobody tells. */
export const interval = 100;

export function onError(error: unknown): void {
  const { code = "", message } = error as Error & { code?: string };
  note({ type: "error", code, text: message });
}
