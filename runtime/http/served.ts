/** What the HTTP door needs of the app whose runs it shows: all that this folder knows of it. */
import type { EventOptions, RunEvent } from "../app/events.js";
import type { RunInfo, RunStatus } from "../app/run-info.js";

export interface Served {
  /** The app's public methods. */
  app: ServedApp;
  isDown(): boolean;
  /**
   * Starts a run of the workflow of that name.
   *
   * @param id undefined: a random one
   * @returns whether this call has made the run; if not, it existed, with the same workflow and input
   * @throws UnknownWorkflowError, and what `app.start` throws
   */
  start(workflow: string, input: unknown, id: string | undefined): Promise<{ id: string; created: boolean }>;
  /**
   * How a run stands, and its output or error: without a look at its journal, so without what only that tells.
   *
   * @throws RunNotFoundError
   */
  brief(id: string): Promise<RunInfo>;
}

export interface ServedApp {
  list(options: {
    status?: EndedOrNot[];
    workflow?: string;
    order?: "newest" | "oldest";
    after?: string;
    limit?: number;
  }): Promise<RunInfo[]>;
  get(id: string): Promise<RunInfo>;
  events(id: string, options?: EventOptions): AsyncIterableIterator<RunEvent, undefined>;
  answer(id: string, nameOrKey: string, value: unknown, options: { idempotencyKey?: string }): Promise<void>;
  send(id: string, stream: string, value: unknown, options: { idempotencyKey?: string }): Promise<void>;
  cancel(id: string): Promise<void>;
  resume(id: string, options: { accept?: "edits"; divergence?: "continue"; retry?: "all" }): Promise<unknown>;
}

/** What runs can be listed by: a stalled one is stored as running. */
export type EndedOrNot = Exclude<RunStatus, "stalled">;
