/** A run as the application sees it. */
import { noteAwaited } from "./awaited.js";
import type { EventOptions, RunEvent } from "./events.js";
import type { RunInfo } from "./run-info.js";

/** Where a `Run` gets its news from: a run driven here, one that has ended, or one that another process drives. */
export interface RunSource {
  result(): Promise<unknown>;
  settled(): Promise<RunInfo>;
  events(options?: EventOptions): AsyncIterableIterator<RunEvent, undefined>;
}

export class Run<Output = unknown> {
  constructor(
    readonly id: string,
    private readonly source: RunSource,
  ) {}

  /**
   * The output. Pending while the run waits, which does not keep the process alive: what else does, a server or `app.run()`,
   * is the application's.
   *
   * @throws the run's error when it failed; RunCancelledError, StalledError, StoreError, StaleOwnerError, ShutdownError
   */
  result(): Promise<Output> {
    const result = this.source.result() as Promise<Output>;
    noteAwaited(this.id, result);
    return result;
  }

  /** Resolves as soon as the run waits, is stalled or has ended. */
  settled(): Promise<RunInfo> {
    return this.source.settled();
  }

  /**
   * The run's events, those recorded first, then live ones until this process has no more to tell: the run has ended, is
   * stalled, or is no longer driven here. In order, none before it is durable. Each listener may take its time, and may
   * be forgotten: it holds up nobody.
   *
   * @throws InvalidArgumentError for an `after` that is no position; from `next`: StoreError, RunNotFoundError
   */
  events(options?: EventOptions): AsyncIterableIterator<RunEvent, undefined> {
    return this.source.events(options);
  }
}
