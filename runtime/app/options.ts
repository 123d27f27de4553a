/** What a `Stepmark` and its methods can be given. */
import type { BlobOptions } from "../blobs/blob-place.js";
import type { Duration } from "../calls/duration.js";
import type { AnyWorkflow } from "../calls/workflow.js";
import type { Clock } from "../clock.js";
import type { Executor } from "../executor/executor.js";
import type { HttpOptions } from "../http/options.js";
import type { Codec } from "../journal/codec.js";
import type { ListOrder, Store } from "../stores/store.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { OrderOptions } from "../work/order.js";
import type { Queue } from "../work/queue.js";
import type { RunStatus } from "./run-info.js";

/** @typeParam Session what the queue takes for a transaction of yours: see `enqueue` */
export interface StepmarkOptions<Session = unknown> {
  /** Where runs are kept; default: a SQLite file at `./.stepmark/runs.db`. */
  store?: Store;
  /** Where bodies run that it takes, see `docs/executors.md`: `restateExecutor()` of `stepmark/restate`. */
  executor?: Executor;
  /** Hands runs out to workers, see `docs/workers.md`: `graphileQueue()` of `stepmark/graphile`. */
  queue?: Queue<Session>;
  /** The workflows that this app can start and resume. */
  workflows?: readonly AnyWorkflow[];
  clock?: Clock;
  codec?: Codec;
  /** Where values go that are too large for the store, for instance `{ place: blobDirectory() }`; by default nowhere. */
  blobs?: BlobOptions;
  /**
   * How long a replay of unchanged code may take to ask for what the record holds, before that counts as a
   * divergence (default 1 s). Raise it for workflows that wait for raw I/O outside steps.
   */
  grace?: Duration;
  /** After how long with nothing to wait for a run is reported as stalled (default 3 s). */
  stallAfter?: Duration;
  /** How long step bodies in flight may go on after their run has failed (default 10 s). */
  drain?: Duration;
  /**
   * After how long a run that waits leaves memory (default 5 min). An answer or a timer brings it back, by a replay; `result()`
   * and listeners notice nothing.
   */
  idle?: Duration;
  /**
   * How long the runs of a process on another machine are left to it when nothing is heard of it (default 30 s); it tells of itself
   * three times as often. The same for all processes of a store.
   */
  lease?: Duration;
  /** Who is told of runs, steps and attempts: `openTelemetry()` of `stepmark/telemetry`, see `docs/telemetry.md`. */
  telemetry?: Telemetry;
  /** Who may do what through `app.fetch`; without `http.authorize`, nobody may do anything. */
  http?: HttpOptions;
}

export interface StartOptions {
  /** Default: a random UUID. */
  id?: string;
}

export interface EnqueueOptions<Session = unknown> extends StartOptions, OrderOptions<Session> {}

export interface ResumeOptions {
  /**
   * `"edits"`: recorded calls whose arguments or place the code has changed are used, or left, as they are. Holds for this
   * build of the code, over crashes too, as soon as the run has come to where the record ends.
   */
  accept?: "edits";
  /** `"continue"`: go on although unchanged code took another path than the recorded one. Holds as `accept` does. */
  divergence?: "continue";
  /** `"all"`: run every failed step again, not only those that failed the run. Holds, over crashes too, until they have. */
  retry?: "all";
}

/** Of `app.answer` and `app.send`. */
export interface SendOptions {
  /**
   * The sender's own name for this message, such as the id of a webhook's event, of up to 255 characters: a second one to the same run
   * under that name does nothing, also after the run has ended. Kept as long as the run.
   */
  idempotencyKey?: string;
}

export interface ListOptions {
  status?: Exclude<RunStatus, "stalled"> | Array<Exclude<RunStatus, "stalled">>;
  workflow?: string;
  /** Which come first (default: the newest). */
  order?: ListOrder;
  /**
   * The id of a run: only those that come after it, whatever its status is by now, so the last one of a page leads to the next. What
   * is begun or ends in the meantime moves none from one page to another.
   */
  after?: string;
  /** At most this many, the first ones (default 100). */
  limit?: number;
}

export interface RecoverOptions {
  /**
   * Processes in a row that may end while they drive a run that gets no further; with as many it fails (`RUN_POISONED`), so that it
   * does not end the next one too. The default of 100 lets runs outlive a process that does not get up for reasons of its own.
   */
  maxTakeovers?: number;
}

export interface RunOptions extends RecoverOptions {
  /** Between two looks at the store (default 1 s). */
  interval?: Duration;
  /** Ends the loop. */
  signal?: AbortSignal;
  /** Told of runs that could not be taken up, once each, and of a store that fails; by default a process warning. */
  onError?(error: unknown, runId: string | undefined): void;
}
