/** Runs the body of a step live: its attempts, its context, its outcome. */
import { types } from "node:util";
import { at } from "../../clock.js";
import {
  AttemptsUsedUpError,
  type ErrorPlace,
  InvalidArgumentError,
  StepDeadlineError,
  StepTimeoutError,
} from "../../errors.js";
import type { Executor, StepCall } from "../../executor/executor.js";
import { isA } from "../../journal/careful.js";
import { encoded } from "../../journal/encoded.js";
import type { Entry } from "../../journal/entry.js";
import { baseAnchor } from "../../scope/module-table.js";
import { outsideRuns } from "../../scope/outside.js";
import { inMark, type Site, StepBody } from "../../scope/place.js";
import type { StepTrace } from "../../telemetry/telemetry.js";
import { type Call, placeOf } from "../call.js";
import type { Execution } from "../execution.js";
import { encodeError, type Outcome } from "./outcome.js";
import { mayRetry, type RetryPolicy } from "./retry.js";
import { RunningStep, type StepContext } from "./running-step.js";

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
  /** By when all attempts are to be over, in milliseconds since the epoch. */
  due: number | undefined;
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
  // What the first attempt has announced holds, whatever the code works out by now.
  const due = request.due === undefined ? undefined : (call.recorded?.due ?? request.due);
  const isAsGiven = trace === undefined && executor === request.executor && due === request.due;
  const live: Live = isAsGiven ? request : { ...request, trace, executor, due };
  // Whoever ran the last attempt for a process that has died since may have its outcome, or still be at it.
  if (live.executor !== undefined && begun > 0) run(execution, call, live, begun);
  else attempt(execution, call, live, begun + 1);
}

function executorOf(execution: Execution, { executor = execution.executor, fn }: BodyRequest): Executor | undefined {
  return executor?.takes(fn) ? executor : undefined;
}

/** What an attempt has failed with. */
interface Failure {
  error: unknown;
  /** Encoded. */
  value: string;
}

/** @param last of the attempt before, if that was in this process */
function attempt(execution: Execution, call: Call, request: Live, number: number, last?: Failure): void {
  const { retry, due } = request;
  if (number > 1) execution.beginAgain(call.key);
  if (retry === undefined && due === undefined) return run(execution, call, request, number);
  if (isTooLate(request, execution.clock.now())) {
    const failure = last ?? failureOf(execution, new StepDeadlineError(due!, number > 1, placeIn(execution, call)));
    return fail(execution, call, request, failure, { attempt: Math.max(1, number - 1) });
  }
  if (retry !== undefined && number > retry.retries + 1) {
    const failure = failureOf(execution, new AttemptsUsedUpError(retry.retries + 1, placeIn(execution, call)));
    return fail(execution, call, request, failure, { attempt: number - 1 });
  }
  // Announced before the body starts, so that limits hold across crashes.
  const details = due === undefined ? { attempt: number } : { attempt: number, due };
  execution.announce(call, "attempt", details, () => run(execution, call, request, number, last));
}

function run(execution: Execution, call: Call, request: Live, number: number, last?: Failure): void {
  const trace = request.trace?.attempt(number);
  const startedAt = execution.clock.now();
  const extent = new RunningStep(execution, call, number, trace);
  const body = new StepBody(execution, extent, call.chain, request.site);

  let over = false;
  const end = (state: Outcome["state"], error?: unknown): Details => {
    over = true;
    stopLimits?.();
    trace?.end(state, error);
    return { attempt: number, startedAt, endedAt: execution.clock.now() };
  };
  const succeed = (value: unknown): void => {
    if (over) return;
    let text: string;
    try {
      text = encoded(execution.codec, value, placeIn(execution, call));
    } catch (error) {
      return giveUp(error);
    }
    const details = end("done");
    request.trace?.end("done", number, undefined);
    execution.finished(call, { state: "done", value: text }, details);
  };
  const giveUp = (error: unknown): void => {
    if (over) return;
    const failure = failureOf(execution, error);
    const details = end("failed", error);
    extent.over = true;
    failed(execution, call, request, failure, details);
  };
  const stopLimits = setLimits(execution, call, request, last, (error: Error) => {
    extent.timeOut(error);
    giveUp(error);
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
    if (types.isPromise(result)) return void result.then(succeed, giveUp);
  } catch (error) {
    return giveUp(error);
  }
  succeed(result);
}

/**
 * What ends an attempt that takes too long: the time that it has itself, and that of all of them.
 *
 * @returns the way to take that back
 */
function setLimits(
  execution: Execution,
  call: Call,
  { timeout, due }: Live,
  last: Failure | undefined,
  cut: (error: Error) => void,
): (() => void) | undefined {
  if (timeout === undefined && due === undefined) return undefined;
  const { clock, waits } = execution;
  const stopTimer =
    timeout === undefined
      ? undefined
      : execution.alarms.after(timeout, () => cut(new StepTimeoutError(timeout, placeIn(execution, call))));
  if (due !== undefined) {
    const cause = last === undefined ? {} : { cause: last.error };
    const fire = (): void => cut(new StepDeadlineError(due, true, { ...placeIn(execution, call), ...cause }));
    // Among the timers that a run which waits inside the body is woken for.
    waits.addTimer(call.key, due, fire, (alarm) => at(clock, due, alarm));
  }
  return () => {
    stopTimer?.();
    if (due !== undefined) waits.close(call.key);
  };
}

/** What an entry says of an attempt. */
type Details = Partial<Entry> & Pick<Entry, "attempt">;

/** An attempt has failed: there is another one, or the step has failed. */
function failed(execution: Execution, call: Call, request: Live, failure: Failure, details: Details): void {
  const { attempt: number } = details;
  const { clock } = execution;
  const { retry } = request;
  const { error } = failure;
  if (mayRetry(retry, error, number) && !isTooLate(request, clock.now())) {
    const isEnding = execution.lifetime.abort.signal.aborted;
    let pause: number | undefined;
    try {
      const goesOn = !execution.open || outsideRuns(() => retry.isWorthwhile(error, number));
      // The next process begins the next attempt: this run is at its end, and the step has not failed yet.
      if (goesOn && isEnding) return execution.abandoned(call);
      if (goesOn) pause = outsideRuns(() => retry.pause(error, number, clock.now()));
    } catch (fault) {
      const told = isA(fault, InvalidArgumentError) ? fault.placed(placeIn(execution, call)) : fault;
      return fail(execution, call, request, failureOf(execution, told), details, error);
    }
    if (pause !== undefined && !isTooLate(request, clock.now() + pause))
      return pauseBefore(execution, call, pause, () => attempt(execution, call, request, number + 1, failure));
  }
  fail(execution, call, request, failure, details);
}

/**
 * The step has failed for good.
 *
 * @param origin what the body has failed with, if the step fails with something else
 */
function fail(
  execution: Execution,
  call: Call,
  request: Live,
  { error, value }: Failure,
  details: Details,
  origin = error,
): void {
  request.trace?.end("failed", details.attempt, error);
  const held = origin === error ? [] : execution.failures.heldBy(origin, call.key);
  const causes = [...new Set([...execution.failures.heldBy(error, call.key), ...held])];
  execution.finished(call, { state: "failed", value }, causes.length > 0 ? { ...details, causes } : details);
}

function failureOf({ codec }: Execution, error: unknown): Failure {
  return { error, value: encodeError(codec, error) };
}

function placeIn({ id }: Execution, call: Call): ErrorPlace & { runId: string } {
  return { runId: id, key: call.key, at: placeOf(call.site) };
}

function isTooLate({ due }: Live, time: number): boolean {
  return due !== undefined && time >= due;
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
  const stop = execution.alarms.after(ms, () => {
    signal.removeEventListener("abort", giveUp);
    next();
  });
  signal.addEventListener("abort", giveUp, { once: true });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
