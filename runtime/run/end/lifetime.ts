/**
 * A run from its begin to its end in this process: the phases that it goes through, and the ways in which it ends, here and
 * in the store.
 */
import type { Clock } from "../../clock.js";
import { RunCancelledError, ShutdownError, StaleOwnerError } from "../../errors.js";
import type { Codec } from "../../journal/codec.js";
import type { ParentCall, RunChange } from "../../stores/store.js";
import type { JournalWriter } from "../journal-writer.js";
import { cancelled, conclude, type Ending, type Result, wakeOf } from "./ending.js";
import { storeFailure } from "./refusals.js";

/**
 * The workflow's code runs; it has returned, or thrown, and what it has left behind comes to its end; nothing happens any
 * more in this process.
 */
export type Phase = "running" | "returning" | "failing" | "closed";

export interface LifetimeOptions {
  id: string;
  codec: Codec;
  clock: Clock;
  /** The run that waits for this one's end. */
  parent: ParentCall | undefined;
  /** Called when the workflow's code has come to its end. */
  onWindUp(): void;
  /** Called when bodies in flight have been told to stop, since the run fails. */
  onAbort(): void;
  /** Called when nothing more is to happen in this process. */
  onClose(): void;
}

/** What the store is told of a run that has come to its end. */
export interface Report extends Pick<RunChange, "orphans" | "edited"> {
  /** Keys of the calls that a resume is to run again, should the run have failed with `error`. */
  culpritsOf(error: unknown): string[];
}

export class Lifetime {
  /** Only the lifetime itself changes it. A plain field: every call asks for it, several times. */
  phase: Phase = "running";
  /** Settles when the run has ended in this process, and the store says so. */
  readonly ended: Promise<Ending>;
  /** Aborts the bodies in flight when the run fails, is cancelled or shut down. */
  readonly abort = new AbortController();
  /** Whether it is the runtime that ended the run. */
  refused = false;
  private result: Result | undefined;
  private end!: (ending: Ending) => void;

  constructor(
    private readonly options: LifetimeOptions,
    private readonly journal: JournalWriter,
  ) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  get open(): boolean {
    return this.phase !== "closed";
  }

  /** The workflow's function has come to its end. */
  settle(result: Result): void {
    if (this.phase === "running") this.windUp(result);
  }

  /** Ends the run with an error that no code of the workflow can catch. */
  refuse(error: Error): void {
    if (this.phase !== "running" && this.phase !== "returning") return;
    this.refused = true;
    this.windUp({ ok: false, error });
  }

  private windUp(result: Result): void {
    this.result = result;
    this.phase = result.ok ? "returning" : "failing";
    this.options.onWindUp();
    if (result.ok) return;
    this.abort.abort(result.error);
    this.options.onAbort();
  }

  /** Ends the run with what its code came to, once all else is over. */
  async finish({ culpritsOf, ...report }: Report): Promise<void> {
    this.close();
    const { id, codec } = this.options;
    const { change, ending } = conclude(this.result!, codec, { runId: id }, culpritsOf);
    try {
      await this.journal.change({ ...change, ...report, ...this.wakeParent(), release: true });
      this.end(ending);
    } catch (error) {
      this.end({ status: "left", error: storeFailure(id, error) });
    }
  }

  /** Ends the run for good. */
  async cancel(): Promise<void> {
    if (!this.open) return void (await this.ended);
    const { id } = this.options;
    this.abort.abort(new RunCancelledError(id));
    this.close();
    try {
      await this.journal.settled;
      await this.journal.change({ ...cancelled, ...this.wakeParent() });
    } catch (thrown) {
      const error = storeFailure(id, thrown);
      this.end({ status: "left", error });
      throw error;
    }
    this.end({ status: "cancelled" });
  }

  /** Stops driving the run and gives it up; what bodies in flight still do is not recorded. */
  async leave(error: Error = new ShutdownError(this.options.id)): Promise<void> {
    // What ends a run is on its way to the store: until it is there, the run is not given up.
    if (!this.open) return void (await this.ended);
    this.abort.abort(error);
    this.close();
    try {
      await this.journal.settled;
      if (this.journal.owned && !(error instanceof StaleOwnerError)) await this.journal.change({ release: true });
    } catch (thrown) {
      throw storeFailure(this.options.id, thrown);
    } finally {
      this.end({ status: "left", error });
    }
  }

  /** Leaves a run that is idle where it is. Its code is not told: it simply does not go on here. */
  forget(): void {
    this.close();
    this.end({ status: "dormant" });
  }

  /** The store failed or refused: what is not written does not count, and nothing more can be. */
  readonly breakOff = (error: unknown): void => {
    if (!this.open) return;
    this.abort.abort(error);
    this.close();
    this.end({ status: "left", error: storeFailure(this.options.id, error) });
  };

  private close(): void {
    if (!this.open) return;
    this.phase = "closed";
    this.options.onClose();
  }

  private wakeParent(): Pick<RunChange, "wake"> {
    const { parent, clock } = this.options;
    return wakeOf(parent, clock.now());
  }
}
