/** What whoever traces runs is told. Nothing here says how that is done: `open-telemetry.ts` is one way. */

/** An app's telemetry. Its methods must not throw. */
export interface Telemetry {
  /** Where the code that is running now stands in a trace: the parent of a run that it starts or resumes. */
  here(): unknown;
  /** This process begins to drive a run; undefined if nobody wants to hear of it. */
  begin(run: RunToTrace): RunTrace | undefined;
}

export interface RunToTrace {
  id: string;
  workflow: string;
  /** How many entries its journal has. */
  recorded: number;
  /** The `id` of the trace under which entries were last written, in this process or another. */
  before: string | undefined;
  /** What `here` said where the run was started or resumed; undefined if it goes on by itself. */
  caller: unknown;
  /** Id of the run that waits for this one. */
  parent: string | undefined;
}

/** One process's part in a run. */
export interface RunTrace {
  /** What is recorded with the first entry of this part; text without control characters. */
  readonly id: string;
  /** Does the work as a part of this trace. */
  within<T>(work: () => T): T;
  /** A step's body is about to run for the first time in this process. */
  step(step: StepToTrace): StepTrace;
  /** The part is over: the run has ended, has left memory, or is left to others. */
  end(status: "completed" | "failed" | "cancelled" | "dormant" | "left", error: unknown): void;
}

export interface StepToTrace {
  /** Replay key. */
  key: string;
  /** What the call is named after; undefined for one that is known by an explicit key alone. */
  name: string | undefined;
  /** `file:line` of the call. */
  at: string | undefined;
  /** The attempt of the step around, if the call is made by a step's body. */
  around: AttemptTrace | undefined;
  /** Whether there may be several attempts. */
  retries: boolean;
}

export interface StepTrace {
  /** @param number 1 for the first */
  attempt(number: number): AttemptTrace;
  /** The step has its outcome. */
  end(status: "done" | "failed", attempts: number, error: unknown): void;
}

/** A body that runs. */
export interface AttemptTrace {
  within<T>(work: () => T): T;
  end(status: "done" | "failed", error: unknown): void;
}
