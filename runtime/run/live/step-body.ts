/** Runs the body of a step live: its attempts, its context, its outcome. */
import { types } from "node:util";
import { AttemptsUsedUpError, NonRetryableError, SerialisationError, StepTimeoutError } from "../../errors.js";
import type { Executor, StepCall } from "../../executor/executor.js";
import { isA } from "../../journal/careful.js";
import { encoded } from "../../journal/encoded.js";
import { baseAnchor } from "../../scope/module-table.js";
import { outsideRuns } from "../../scope/outside.js";
import { inMark, type Site, StepBody } from "../../scope/place.js";
import type { StepTrace } from "../../telemetry/telemetry.js";
import { type Call, placeOf } from "../call.js";
import type { Execution } from "../execution.js";
import { encodeError, type Outcome } from "./outcome.js";
import { RunningStep, type StepContext } from "./running-step.js";

/** How a step is to be tried again. */
export interface RetryPolicy {
  /** Attempts after the first. */
  retries: number;
  /** Milliseconds before the attempt after attempt `attempt`, which threw `error`. */
  delay(attempt: number, error: unknown): number;
}

/** What is asked of an `AsyncResource`: Node's own types are no part of the public ones, so that projects without them compile. */
export interface AsyncContext {
  runInAsyncScope<T>(work: () => T): T;
}

export interface BodyRequest {
  fn: (...args: unknown[]) => unknown;
  args: unknown[];
  /** The async context of the call; not needed if that is answered by the record. */
  context: AsyncContext | undefined;
  /** Where the step's call stands. */
  site: Site | null;
  retry: RetryPolicy | undefined;
  /** Limit of one attempt in milliseconds. */
  timeout: number | undefined;
  /** Asked before that of the app. */
  executor: Executor | undefined;
}

/** A step whose body runs now. */
interface Live extends BodyRequest {
  trace?: StepTrace;
}

export function startBody(execution: Execution, call: Call, request: BodyRequest): void {
  execution.started(call);
  const trace = execution.trace?.step({
    key: call.key,
    name: call.site && baseAnchor(call.site.anchor),
    at: placeOf(call.site),
    around: (call.within as RunningStep | null)?.trace,
    retries: request.retry !== undefined,
  });
  const begun = call.recorded?.attempts ?? 0;
  const executor = executorOf(execution, request);
  const live: Live = trace === undefined && executor === request.executor ? request : { ...request, trace, executor };
  // Whoever ran the last attempt for a process that has died since may have its outcome, or still be at it.
  if (live.executor !== undefined && begun > 0) run(execution, call, live, begun);
  else attempt(execution, call, live, begun + 1);
}

function executorOf(execution: Execution, { executor = execution.executor, fn }: BodyRequest): Executor | undefined {
  return executor?.takes(fn) ? executor : undefined;
}

function attempt(execution: Execution, call: Call, request: Live, number: number): void {
  const { retry } = request;
  if (number > 1) execution.beginAgain(call.key);
  if (retry === undefined) return run(execution, call, request, number);
  // Announced before the body starts, so that limits hold across crashes.
  if (number > retry.retries + 1) {
    const place = { runId: execution.id, key: call.key, at: placeOf(call.site) };
    const error = new AttemptsUsedUpError(retry.retries + 1, place);
    request.trace?.end("failed", number - 1, error);
    return execution.finished(
      call,
      { state: "failed", value: encodeError(execution.codec, error) },
      { attempt: number - 1 },
    );
  }
  execution.announce(call, "attempt", { attempt: number }, () => run(execution, call, request, number));
}

function run(execution: Execution, call: Call, request: Live, number: number): void {
  const trace = request.trace?.attempt(number);
  const startedAt = execution.clock.now();
  const extent = new RunningStep(execution, call, number, trace);
  const body = new StepBody(execution, extent, call.chain, request.site);

  let over = false;
  const end = (outcome: Outcome, error?: unknown): void => {
    if (over) return;
    over = true;
    stopTimer?.();
    trace?.end(outcome.state, error);
    const details = { attempt: number, startedAt, endedAt: execution.clock.now() };
    if (outcome.state === "failed" && mayRetry(request, number, error)) {
      extent.over = true;
      // The next process begins the next attempt: this run is at its end, and the step has not failed yet.
      if (execution.lifetime.abort.signal.aborted) return execution.abandoned(call);
      let pause: number;
      try {
        pause = outsideRuns(() => request.retry!.delay(number, error));
      } catch (fault) {
        // The user's own function may throw, or return what is no duration.
        request.trace?.end("failed", number, fault);
        return execution.finished(call, { state: "failed", value: encodeError(execution.codec, fault) }, details);
      }
      return pauseBefore(execution, call, pause, () => attempt(execution, call, request, number + 1));
    }
    extent.over = outcome.state === "failed";
    request.trace?.end(outcome.state, number, error);
    const causes = error === undefined ? [] : execution.failures.heldBy(error);
    execution.finished(call, outcome, causes.length > 0 ? { ...details, causes } : details);
  };
  const succeed = (value: unknown): void => {
    let text: string;
    try {
      text = encoded(execution.codec, value, { runId: execution.id, key: call.key, at: placeOf(call.site) });
    } catch (error) {
      return fail(error);
    }
    end({ state: "done", value: text });
  };
  const fail = (error: unknown): void => {
    if (over) return;
    end({ state: "failed", value: encodeError(execution.codec, error) }, error);
  };

  const stopTimer =
    request.timeout === undefined
      ? undefined
      : execution.clock.after(request.timeout, () => {
          const error = new StepTimeoutError(request.timeout!, {
            runId: execution.id,
            key: call.key,
            at: placeOf(call.site),
          });
          extent.timeOut(error);
          fail(error);
        });
  let result: unknown;
  try {
    // In the user's own async context, that of the call: bodies start in the runtime's turn, not in the caller's.
    const { executor, fn, args } = request;
    const begin = (): unknown =>
      executor === undefined
        ? inMark(body, () => fn(...args))
        : outsideRuns(() => executor.run(stepCall(execution, call, request, extent.context)));
    result = request.context!.runInAsyncScope(trace === undefined ? begin : () => trace.within(begin));
    // A promise-like object of somebody else may do as it likes when it is asked.
    if (!types.isPromise(result) && isThenable(result)) result = Promise.resolve(result);
    // The value is encoded as the body's promise settles, before other code can change it. A promise may have a `then`
    // of its own, which may fail as well.
    if (types.isPromise(result)) return void result.then(succeed, fail);
  } catch (error) {
    return fail(error);
  }
  succeed(result);
}

function stepCall(execution: Execution, call: Call, { fn, args }: Live, context: StepContext): StepCall {
  const { runId, key, attempt, idempotencyKey, signal } = context;
  // A failure that is run again is another execution than the one that failed.
  const since = call.recorded?.again ? call.recorded.seq : 0;
  const executionKey = since === 0 && attempt === 1 ? idempotencyKey : `${idempotencyKey}-${since}-${attempt}`;
  return { fn, args, runId, key, attempt, idempotencyKey, executionKey, signal, codec: execution.codec };
}

/** Waits for `ms` before `next`, unless the run comes to its end before. */
function pauseBefore(execution: Execution, call: Call, ms: number, next: () => void): void {
  const { signal } = execution.lifetime.abort;
  const giveUp = (): void => {
    stop();
    execution.abandoned(call);
  };
  const stop = execution.clock.after(ms, () => {
    signal.removeEventListener("abort", giveUp);
    next();
  });
  signal.addEventListener("abort", giveUp, { once: true });
}

function mayRetry({ retry }: BodyRequest, number: number, error: unknown): boolean {
  if (retry === undefined || number > retry.retries) return false;
  return !(isA(error, NonRetryableError) || isA(error, SerialisationError));
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
