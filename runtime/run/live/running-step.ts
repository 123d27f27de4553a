/** The extent of a step's body while it runs, and what the body may ask about itself. */
import { createHash } from "node:crypto";
import type { AttemptTrace } from "../../telemetry/telemetry.js";
import type { Call } from "../call.js";
import type { Execution } from "../execution.js";

/** What a step's body may ask about itself. */
export interface StepContext {
  runId: string;
  /** Replay key of the step. */
  key: string;
  /** 1 for the first attempt. */
  attempt: number;
  /** The same for every attempt of this call in this run, in any process: for the outside world to deduplicate by. */
  idempotencyKey: string;
  /** Aborted when the attempt runs out of time, and when the run fails, is cancelled or shut down. */
  signal: AbortSignal;
}

/** One attempt of a step's body. */
export class RunningStep {
  readonly key: string;
  /** The attempt has failed: what is left of its body gets nothing done any more. */
  over = false;
  private timedOut: AbortController | undefined;
  private known: StepContext | undefined;
  private counts: Map<string, number> | undefined;

  constructor(
    private readonly execution: Execution,
    call: Call,
    readonly attempt: number,
    readonly trace: AttemptTrace | undefined,
  ) {
    this.key = call.key;
  }

  /** Made when it is asked for: few bodies ask, and it takes longer than the rest of a small step. */
  get context(): StepContext {
    this.known ??= this.newContext();
    return this.known;
  }

  get visits(): Map<string, number> {
    this.counts ??= new Map();
    return this.counts;
  }

  timeOut(error: Error): void {
    this.limit.abort(error);
  }

  private get limit(): AbortController {
    this.timedOut ??= new AbortController();
    return this.timedOut;
  }

  private newContext(): StepContext {
    const { id, lifetime } = this.execution;
    const ownSignal = (): AbortSignal => AbortSignal.any([lifetime.abort.signal, this.limit.signal]);
    let signal: AbortSignal | undefined;
    return {
      runId: id,
      key: this.key,
      attempt: this.attempt,
      idempotencyKey: idempotencyKey(id, this.key),
      // Signals cost more than all else here, and few bodies look at theirs.
      get signal() {
        signal ??= ownSignal();
        return signal;
      },
    };
  }
}

function idempotencyKey(runId: string, key: string): string {
  return createHash("sha256")
    .update(JSON.stringify([runId, key]))
    .digest("hex")
    .slice(0, 40);
}
