/**
 * Where a step's body runs, if not in the process that drives the run. Identity, order and checks stay with the journal: an
 * executor gets a function, its arguments and a key, and gives the outcome.
 */
import type { Codec } from "../journal/codec.js";

export interface Executor {
  /**
   * Whether the bodies of this function are run here: the other side has to know it by a name. Every other body runs in the
   * process that drives the run, and so does a thunk, which nobody else can know.
   */
  takes(fn: (...args: never[]) => unknown): boolean;
  /**
   * Runs a body. It may be asked again with the same `executionKey`, by the same process or by another one after a crash, and
   * then gives the outcome of the first time, or waits for it.
   *
   * @throws what the body throws
   */
  run(call: StepCall): Promise<unknown>;
}

/** One attempt of one step. */
export interface StepCall {
  fn: (...args: never[]) => unknown;
  args: readonly unknown[];
  runId: string;
  /** Replay key of the step. */
  key: string;
  /** 1 for the first attempt. */
  attempt: number;
  /** The same for every attempt of this call in this run: see `stepContext()`. */
  idempotencyKey: string;
  /** The same for this attempt in whatever process, and different for each other one. */
  executionKey: string;
  /**
   * Aborted with its reason when nobody waits for the outcome any more (the attempt has run out of time, the run was cancelled,
   * the app is shut down), and when the run fails: then the outcome is still recorded, if it comes in time.
   */
  signal: AbortSignal;
  /** Of values and errors, on both sides. */
  codec: Codec;
}
