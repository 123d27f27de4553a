/** `step`: a call whose outcome is recorded. */

import { AsyncResource } from "node:async_hooks";
import { InvalidArgumentError, RetryableError } from "../errors.js";
import type { Executor } from "../executor/executor.js";
import { isA, shown, wordsOf } from "../journal/careful.js";
import { fingerprint } from "../journal/fingerprint.js";
import type { Call } from "../run/call.js";
import type { RetryPolicy } from "../run/live/retry.js";
import { startBody } from "../run/live/step-body.js";
import { Frame } from "../scope/place.js";
import type { Captures } from "../scope/site-table.js";
import { type Duration, dueTime, milliseconds } from "./duration.js";
import { checkMethods } from "./given.js";
import { type CallSite, identify, rejecting, type Sited } from "./identity.js";

export interface StepOptions {
  /** Name of the call site, as a literal text: it is read when the code is compiled, and any other is not used. */
  name?: string;
  /** Replaces the place in the loops around the call; unique within the step body or run around it. */
  key?: string;
  /** How often the body may be tried again after a failure; `Infinity` leaves it to the `deadline`. Attempts are recorded before they start. */
  retries?: number;
  /**
   * Pause before attempt 2, 3, ...: fixed, or by exponential growth (default 100 ms, doubling, at most 30 s), or as a function says that
   * is told which attempt has failed, and with what. A RetryableError says it itself.
   */
  backoff?:
    | Duration
    | { initial?: Duration; factor?: number; max?: Duration }
    | ((attempt: number, error: unknown) => Duration);
  /**
   * Whether what the body has thrown is worth another attempt, of those that `retries` leaves: answers at once, by true or false.
   * Not asked about a NonRetryableError, nor on replay.
   */
  retryIf?: (error: unknown, attempt: number) => boolean;
  /** Limit of one attempt. */
  timeout?: Duration;
  /**
   * By when the step has to be done, all attempts and the pauses between them together: from its first attempt on, in whatever
   * process, or a point in time. It is recorded with the first attempt. What fails too late for another attempt fails the step; an
   * attempt that is under way is given up with StepDeadlineError.
   */
  deadline?: Duration | Date;
  /** Where the body runs (default: that of the app, if it takes the function); has to take the function. */
  executor?: Executor;
}

export interface Step extends Sited {
  /** Runs `fn` as a step; what it closes over is checked on replay. */
  <R>(fn: (this: void) => R): Promise<Awaited<R>>;
  /** Runs `fn(...args)` as a step; the arguments are checked on replay. */
  <A extends unknown[], R>(fn: (this: void, ...args: A) => R, ...args: A): Promise<Awaited<R>>;
  /** The same, with a name for the call site. */
  <A extends unknown[], R>(name: string, fn: (this: void, ...args: A) => R, ...args: A): Promise<Awaited<R>>;
  <A extends unknown[], R>(options: StepOptions, fn: (this: void, ...args: A) => R, ...args: A): Promise<Awaited<R>>;
}

type Body = (...args: unknown[]) => unknown;

const none: StepOptions = {};
const nothing: unknown[] = [];

/**
 * Records the outcome of a call: on the first pass the body runs, later passes of the run are answered from the
 * journal.
 *
 * @throws OutsideRunError, NotTransformedError, InvalidKeyError, InvalidArgumentError (as rejections)
 */
export const step = ((...args: unknown[]) => rejecting(() => call(undefined, 0, args))) as Step;

step.at = (frame, index, path, captures, ...args) => rejecting(call, { frame, index, path }, captures, args);

function call(at: CallSite | undefined, captures: Captures, given: unknown[]): Promise<unknown> {
  const { options, fn, args } = read(given);
  const identity = identify("step", at, options.key);
  if (identity === undefined) return new Promise((resolve) => resolve(fn(...args)));
  const { execution, chain, within, entry, record, site } = identity;
  const { executor } = options;
  if (executor !== undefined && !takes(executor, fn)) {
    throw new InvalidArgumentError(
      "The step's `executor` does not take its function",
      "Register the function with it by a name; a thunk can only run in this process: give the function and its arguments.",
    );
  }
  const retry = retryPolicy(options);
  const timeout = limit(options);
  const { deadline } = options;
  const due = deadline === undefined ? undefined : dueTime(deadline, execution.clock.now(), "`deadline`");
  const opaque: unknown[] = [fn];
  const print = printOf(args, capturedValues(captures, execution), opaque);
  const origins = execution.origins.of(opaque);
  const key = execution.keyOf(identity, print, origins);
  let start = never;
  if (!execution.answers(key)) {
    const context = new AsyncResource("StepmarkStep");
    const request = { fn, args, context, site, retry, timeout, due, executor };
    start = (call) => startBody(execution, call, request);
  }
  return execution.ask({ kind: "step", key, args: print, origins, chain, site: record, within, entry, start });
}

function takes(executor: Executor, fn: Body): boolean {
  checkMethods(
    "The step's `executor`",
    executor,
    ["takes", "run"],
    "Give `restateExecutor(...)` of `stepmark/restate`.",
  );
  return executor.takes(fn);
}

/** A call that the record answers has no body. */
const never = (_call: Call): void => {};

/** Fingerprint of what a body works on; `opaque` gets what that does not look into. */
function printOf(args: unknown[], captured: unknown[], opaque: unknown[]): string {
  if (args.length + captured.length === 0) return "";
  return fingerprint(captured.length === 0 ? args : [...args, ...captured], opaque);
}

function read(given: unknown[]): { options: StepOptions; fn: Body; args: unknown[] } {
  const { 0: first, 1: second } = given;
  if (typeof first === "function") return { options: none, fn: first as Body, args: given.slice(1) };
  const options = typeof first === "string" ? { name: first } : first;
  if (typeof options === "object" && options !== null && typeof second === "function") {
    return { options, fn: second as Body, args: given.slice(2) };
  }
  const body = typeof options === "object" && options !== null && !isA(options, Promise) ? second : first;
  throw new InvalidArgumentError(
    isA(body, Promise)
      ? "`step` was given a promise instead of a function: what it waits for has begun, outside of any step"
      : "`step` was called without a function",
    'Call `step(fn, ...args)`, `step(() => ...)`, `step("name", fn, ...args)` or `step({ ... }, fn, ...args)`.',
  );
}

/** What the inline body closes over, of variables that live inside this run: others are no input of the run. */
function capturedValues(captures: Captures, run: unknown): unknown[] {
  if (captures === 0) return nothing;
  try {
    return captures().flatMap(([frame, ...values]) => (frame instanceof Frame && frame.run === run ? values : []));
  } catch {
    // A variable that is declared further down and not initialised yet.
    return ["(not initialised)"];
  }
}

function retryPolicy({ retries, backoff, retryIf }: StepOptions): RetryPolicy | undefined {
  if (retryIf !== undefined && (typeof retryIf !== "function" || retries === undefined)) {
    throw new InvalidArgumentError(
      typeof retryIf !== "function"
        ? `\`retryIf\` must be a function, not ${shown(retryIf)}`
        : "`retryIf` was given without `retries`, so it would never be asked",
      "Call `step({ retries: 3, retryIf: (error) => ... }, ...)`.",
    );
  }
  if (retries === undefined) return undefined;
  if ((!Number.isInteger(retries) && retries !== Number.POSITIVE_INFINITY) || retries < 0) {
    throw new InvalidArgumentError(
      `\`retries\` must be a whole number from 0, or Infinity, not ${shown(retries)}`,
      "Count the attempts after the first.",
    );
  }
  if (backoff !== undefined) checkBackoff(backoff);
  return {
    retries,
    isWorthwhile: (error, attempt) => retryIf === undefined || answerOf(retryIf, error, attempt),
    pause(error, attempt, now) {
      if (!isA(error, RetryableError) || error.retryAfter === undefined) return delay(backoff, attempt, error);
      return Math.max(0, dueTime(error.retryAfter, now, "`retryAfter`") - now);
    },
  };
}

/** Before the body runs, whose failure would else be lost over it. */
function checkBackoff(backoff: NonNullable<StepOptions["backoff"]>): void {
  if (typeof backoff === "function") return;
  delay(backoff, 1, undefined);
  const { factor = 2 } = typeof backoff === "object" ? backoff : {};
  if (typeof factor === "number" && factor >= 0) return;
  throw new InvalidArgumentError(
    `\`backoff.factor\` must be a number from 0, not ${shown(factor)}`,
    "Leave it out for a pause that doubles.",
  );
}

function answerOf(retryIf: NonNullable<StepOptions["retryIf"]>, error: unknown, attempt: number): boolean {
  const answer: unknown = asked("retryIf", error, () => retryIf(error, attempt));
  if (typeof answer === "boolean") return answer;
  // Of a promise that nobody awaits, a failure would end the process.
  if (isA(answer, Promise)) answer.catch(() => {});
  throw new InvalidArgumentError(
    `\`retryIf\` must answer true or false, not ${shown(answer)}; the body had failed with: ${wordsOf(error)}`,
    "Let it decide by what it is given; what takes time belongs into the body, which can throw a NonRetryableError.",
  );
}

function delay(backoff: StepOptions["backoff"], attempt: number, error: unknown): number {
  if (typeof backoff === "function") {
    return milliseconds(
      asked("backoff", error, () => backoff(attempt, error)),
      "`backoff`",
    );
  }
  if (typeof backoff === "number" || typeof backoff === "string") return milliseconds(backoff, "`backoff`");
  const { initial = 100, factor = 2, max = 30_000 } = backoff ?? {};
  return Math.min(
    milliseconds(initial, "`backoff.initial`") * factor ** (attempt - 1),
    milliseconds(max, "`backoff.max`"),
  );
}

/** Asks a function of the step's options about a failure. */
function asked<T>(option: string, error: unknown, ask: () => T): T {
  try {
    return ask();
  } catch (fault) {
    throw new InvalidArgumentError(
      `\`${option}\` has thrown: ${wordsOf(fault)}; the body had failed with: ${wordsOf(error)}`,
      "Let it have an answer for whatever the body throws.",
      { cause: fault },
    );
  }
}

function limit({ timeout }: StepOptions): number | undefined {
  return timeout === undefined ? undefined : milliseconds(timeout, "`timeout`");
}
