/** What the queue needs of the package graphile-worker. */
import type { EventEmitter } from "node:events";
import { StoreError } from "../../errors.js";
import type { PostgresPool } from "../../stores/postgres-driver.js";

/** A job as a task gets it. */
export type Task = (payload: unknown) => Promise<void>;

export interface Runner {
  stop(): Promise<void>;
  promise: Promise<void>;
}

interface RunnerOptions {
  pgPool: PostgresPool;
  schema: string;
  concurrency: number;
  pollInterval: number;
  noHandleSignals: true;
  taskList: Readonly<Record<string, Task>>;
  parsedCronItems: readonly unknown[];
  events: EventEmitter;
  logger: unknown;
  /** Milliseconds for which ended jobs are gathered. Below 0, the default, graphile-worker lets the process die if one cannot be noted. */
  preset: { worker: { completeJobBatchDelay: number; failJobBatchDelay: number } };
}

/** A schedule that starts jobs. */
export interface CronItem {
  task: string;
  match: string;
  identifier: string;
  payload: object;
  options: { backfillPeriod: number };
}

export interface GraphilePackage {
  run(options: RunnerOptions): Promise<Runner>;
  runMigrations(options: Pick<RunnerOptions, "pgPool" | "schema" | "logger">): Promise<void>;
  parseCronItems(items: readonly CronItem[]): unknown[];
  Logger: new (factory: () => (level: string, message: string) => void) => unknown;
}

/**
 * Loads `graphile-worker`, which is not among stepmark's own dependencies.
 *
 * @throws StoreError
 */
export async function loadGraphile(): Promise<GraphilePackage> {
  try {
    const loaded = (await import("graphile-worker")) as unknown as GraphilePackage & { default?: GraphilePackage };
    return loaded.default ?? loaded;
  } catch (cause) {
    throw new StoreError(
      "The package graphile-worker cannot be loaded",
      { cause },
      "Install it: `npm install graphile-worker@0.17`.",
    );
  }
}
