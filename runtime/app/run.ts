/** A run as the application sees it. */
import type { RunEvent } from "./events.js";
import type { RunInfo } from "./run-info.js";

/** Where a `Run` gets its news from: a run driven here, one that has ended, or one that another process drives. */
export interface RunSource {
  result(): Promise<unknown>;
  settled(): Promise<RunInfo>;
  events(): AsyncIterableIterator<RunEvent>;
}

export class Run<Output = unknown> {
  constructor(
    readonly id: string,
    private readonly source: RunSource,
  ) {}

  /**
   * The output. Pending while the run waits.
   *
   * @throws the run's error when it failed; RunCancelledError, StalledError, StoreError, StaleOwnerError, ShutdownError
   */
  result(): Promise<Output> {
    const result = this.source.result() as Promise<Output>;
    result.catch(() => {});
    return result;
  }

  /** Resolves as soon as the run waits, is stalled or has ended. */
  settled(): Promise<RunInfo> {
    return this.source.settled();
  }

  /** The run's events from its beginning, first those recorded, then live ones until it ends. Ordered, none before it is durable. */
  events(): AsyncIterableIterator<RunEvent> {
    return this.source.events();
  }
}
