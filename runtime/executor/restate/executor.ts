/**
 * Step bodies on Restate: each attempt is one call of its ingress, under a key by which Restate knows it again. A body that has
 * finished there does not run again, whether or not the driver has heard of it.
 */
import { type Duration, milliseconds } from "../../calls/duration.js";
import { type Clock, systemClock } from "../../clock.js";
import {
  ExecutorError,
  InvalidArgumentError,
  RunCancelledError,
  ShutdownError,
  StaleOwnerError,
  StepTimeoutError,
  StoreError,
} from "../../errors.js";
import { isA, wordsOf } from "../../journal/careful.js";
import { encoded } from "../../journal/encoded.js";
import type { Executor, StepCall } from "../executor.js";
import { defaultService, type Functions, isTold, type Task, type Told } from "./wire.js";

export interface RestateExecutorOptions {
  /** Address of Restate's ingress, for instance `http://localhost:8080`. */
  ingress: string;
  /** The functions whose bodies run there, by name: those that `restateService` was given. */
  functions: Functions;
  /** Name of the service there (default `stepmark`). */
  service?: string;
  /** Address of Restate's admin API: with it, a body is cancelled there when its attempt runs out of time or its run is cancelled. */
  admin?: string;
  /** Sent with each request: for whatever stands before Restate. */
  headers?: Readonly<Record<string, string>>;
  /** How long Restate may be out of reach before the step fails with ExecutorError (default 1 min). */
  patience?: Duration;
  /** By default that of the platform. */
  fetch?: typeof fetch;
  clock?: Clock;
}

/** @throws InvalidArgumentError */
export function restateExecutor(options: RestateExecutorOptions): Executor {
  return new RestateExecutor(options);
}

/** Milliseconds before a request is made again: twice as long each time. */
const [shortest, longest] = [100, 5_000];

/** A connection that has been open for so many milliseconds was made, and cut while the body ran. */
const longConnection = 60_000;

class RestateExecutor implements Executor {
  private readonly names = new Map<unknown, string>();
  private readonly ingress: string;
  /** In milliseconds. */
  private readonly patience: number;
  private readonly clock: Clock;
  private readonly fetch: typeof fetch;

  constructor(private readonly options: RestateExecutorOptions) {
    const { ingress, functions, service = defaultService, patience = 60_000 } = options;
    if (!URL.canParse(ingress)) {
      throw new InvalidArgumentError(
        "`ingress` is no address",
        'Give that of Restate\'s ingress: "http://localhost:8080".',
      );
    }
    for (const [name, fn] of Object.entries(functions)) {
      if (this.names.has(fn))
        throw new InvalidArgumentError(`\`functions.${name}\` is there twice`, "Give it one name.");
      this.names.set(fn, name);
    }
    this.ingress = `${ingress.replace(/\/$/, "")}/${encodeURIComponent(service)}`;
    this.patience = milliseconds(patience, "`patience`");
    this.clock = options.clock ?? systemClock;
    this.fetch = options.fetch ?? fetch;
  }

  takes(fn: (...args: never[]) => unknown): boolean {
    return this.names.has(fn);
  }

  async run(call: StepCall): Promise<unknown> {
    const { runId, key, attempt, idempotencyKey, codec, signal } = call;
    const args = encoded(codec, call.args, { runId, key });
    const task: Task = { runId, key, attempt, idempotencyKey, args };
    const given = new AbortController();
    const heed = (): void => {
      const { reason } = signal;
      const isOver = isA(reason, StepTimeoutError) || isA(reason, RunCancelledError);
      // Of a run that fails, what comes in time is still recorded. A run that is left goes on elsewhere, and asks again.
      if (!isOver && !isA(reason, ShutdownError) && !isA(reason, StaleOwnerError) && !isA(reason, StoreError)) return;
      given.abort(reason);
      if (isOver) void this.cancel(call, task);
    };
    if (signal.aborted) heed();
    signal.addEventListener("abort", heed);
    try {
      const told = await this.insist(call, task, given.signal);
      const value = codec.decode(told.value);
      if (told.state === "failed") throw value;
      return value;
    } finally {
      signal.removeEventListener("abort", heed);
    }
  }

  /** Asks until there is an outcome. To ask twice does no harm: Restate knows the key. */
  private async insist(call: StepCall, task: Task, signal: AbortSignal): Promise<Told> {
    const place = { runId: call.runId, key: call.key };
    let pause = shortest;
    let since: number | undefined;
    for (;;) {
      signal.throwIfAborted();
      const began = this.clock.now();
      let fault: unknown;
      try {
        const response = await this.post(call, task, "", signal);
        if (response.ok) {
          const told: unknown = await response.json();
          if (isTold(told)) return told;
          throw new ExecutorError("What answered is no `restateService`", "Correct `ingress` and `service`.", place);
        }
        const text = await response.text();
        if (isFinal(response.status)) throw refusal(response.status, text, this.names.get(call.fn)!, place);
        fault = new Error(`${response.status} ${text}`);
      } catch (error) {
        if (signal.aborted || isA(error, ExecutorError)) throw error;
        fault = error;
      }
      const now = this.clock.now();
      if (since === undefined || now - began > longConnection) [since, pause] = [now, shortest];
      if (now - since >= this.patience) {
        const cure = "See whether Restate runs and is reachable; what the body has done there is not lost.";
        throw new ExecutorError(`Restate did not answer: ${wordsOf(fault)}`, cure, { ...place, cause: fault });
      }
      await this.wait(pause, signal);
      pause = Math.min(longest, pause * 2);
    }
  }

  /** Ends the body there, as well as that goes: nobody waits for it any more. */
  private async cancel(call: StepCall, task: Task): Promise<void> {
    const { admin } = this.options;
    if (admin === undefined) return;
    try {
      const response = await this.post(call, task, "/send", AbortSignal.timeout(this.patience));
      const { invocationId } = (await response.json()) as { invocationId: string };
      const address = `${admin.replace(/\/$/, "")}/invocations/${invocationId}/cancel`;
      await this.fetch(address, { method: "PATCH", headers: this.options.headers });
    } catch {
      // It goes on to its end there.
    }
  }

  private post(call: StepCall, task: Task, way: "" | "/send", signal: AbortSignal): Promise<Response> {
    const headers = {
      ...this.options.headers,
      "content-type": "application/json",
      "idempotency-key": call.executionKey,
    };
    const address = `${this.ingress}/${encodeURIComponent(this.names.get(call.fn)!)}${way}`;
    return this.fetch(address, { method: "POST", headers, body: JSON.stringify(task), signal });
  }

  private wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const over = (): void => {
        stop();
        signal.removeEventListener("abort", over);
        resolve();
      };
      const stop = this.clock.after(ms, over);
      signal.addEventListener("abort", over, { once: true });
    });
  }
}

/** Whether to ask again would get the same answer. */
function isFinal(status: number): boolean {
  return status < 500 && status !== 408 && status !== 425 && status !== 429;
}

function refusal(status: number, text: string, name: string, place: { runId: string; key: string }): ExecutorError {
  if (status === 404) {
    return new ExecutorError(
      `Restate knows no function ${JSON.stringify(name)} of this service`,
      "Give it to `restateService`, serve that, and register its address with Restate.",
      place,
    );
  }
  return new ExecutorError(`Restate refused to run the body: ${status} ${text}`, "What it says.", place);
}
