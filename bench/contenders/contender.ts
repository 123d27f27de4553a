/** One interface for all that are measured and tried: the store's place goes in, runs come out. */
import type { FlowName, Most } from "../speed/workloads.js";

/**
 * What an acknowledged step survives: `power` a loss of power (SQLite `synchronous=FULL`, Postgres
 * `synchronous_commit=on`), `process` the death of its process (`NORMAL`, `off`).
 */
export type Durability = "power" | "process";

/** Where a contender keeps its runs: new for each measurement, the same for all lives of one. */
export interface Place {
  /** A folder of its own. */
  folder: string;
  /** A Postgres database of its own, whose `synchronous_commit` is that of the durability. */
  database: string | undefined;
  /** Where the contender's own server is, in its own words. */
  address?: string;
  durability: Durability;
}

/** An opened contender. It is never closed: its process ends. */
export interface Engine {
  /** Runs a flow from start to end. @returns its output; rejects when the run has failed */
  run(flow: string, input: unknown, id: string): Promise<unknown>;
  /** Goes on with a run that another process left behind, or that failed there. @returns as `run` */
  resume(flow: string, id: string): Promise<unknown>;
  /** Starts a run of the flow `waiting`; resolves once it waits. */
  park?(id: string): Promise<void>;
}

export interface Contender {
  /** As it is called on the command line. */
  name: string;
  title: string;
  /** npm packages whose versions are told. */
  packages: readonly string[];
  store: "SQLite" | "Postgres" | "files" | "its own server";
  /** Major version of Node that it needs, where that is not the one that everything runs on. */
  node?: 22 | 24;
  /** How each durability is set; null: it cannot be. */
  durability: Record<Durability, string | null>;
  /** Workloads that it cannot do, and why. */
  cannot: Partial<Record<FlowName | "memory" | "crash", string>>;
  /** Whether callers learn of a run's end by asking now and then: it is then measured from the flow's first line to its last. */
  polls?: true;
  /** No more than so many steps in a run, and waiting runs at once, and why. */
  most?: Most & { because: string };
  /** So long a run waits that its process has left, in milliseconds, where it waits longer than the rest of the work takes. */
  lease?: number;
  /** What a reader has to know to read its numbers. */
  notes?: readonly string[];
  /** How it knows a step again. */
  identity: string;
  /** Why it cannot be run on this machine; undefined if it can. */
  missing?(): string | undefined;
  /** Is called once, before anything is measured: for those whose flows need a build of their own. */
  prepare?(): Promise<void>;
  /** Starts its own server, which outlives the processes of a measurement. */
  startServer?(folder: string, durability: Durability): Promise<{ address: string; stop(): Promise<void> }>;
  /** Opens it with the flows that are measured. */
  speed?(): Promise<(place: Place) => Promise<Engine>>;
  /** Opens it with the flows of the scenarios; `edited`: as they are after the edit. */
  correctness?(): Promise<(place: Place, edited: boolean) => Promise<Engine>>;
}

/** It keeps the run for a worker with the code that began it, by design. */
export class HeldError extends Error {}
