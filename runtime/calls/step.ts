/** `step`: a call whose outcome is recorded. */

import { AsyncResource } from "node:async_hooks";
import { InvalidArgumentError } from "../errors.js";
import type { Executor } from "../executor/executor.js";
import { isA, shown } from "../journal/careful.js";
import { fingerprint } from "../journal/fingerprint.js";
import type { Call } from "../run/call.js";
import { type RetryPolicy, startBody } from "../run/live/step-body.js";
import { Frame } from "../scope/place.js";
import type { Captures } from "../scope/site-table.js";
import { type Duration, milliseconds } from "./duration.js";
import { type CallSite, identify, rejecting, type Sited } from "./identity.js";

export interface StepOptions {
  /** Name of the call site, as a literal text: it is read when the code is compiled, and any other is not used. */
  name?: string;
  /** Replaces the place in the loops around the call; unique within the step body or run around it. */
  key?: string;
  /** How often the body may be tried again after a failure. Attempts are recorded before they start. */
  retries?: number;
  /**
   * Pause before attempt 2, 3, ...: fixed, by exponential growth (default 100 ms, doubling, at most 30 s), or as a function tells of
   * the attempt that has failed, and of what it threw.
   */
  backoff?:
    | Duration
    | { initial?: Duration; factor?: number; max?: Duration }
    | ((attempt: number, error: unknown) => Duration);
  /** Limit of one attempt. */
  timeout?: Duration;
  /** Where the body runs (default: that of the app, if it takes the function); has to take the function. */
  executor?: Executor;
}

export interface Step extends Sited {
  /** Runs `fn` as a step; what it closes over is checked on replay. */
  <R>(fn: () => R): Promise<Awaited<R>>;
  /** Runs `fn(...args)` as a step; the arguments are checked on replay. */
  <A extends unknown[], R>(fn: (...args: A) => R, ...args: A): Promise<Awaited<R>>;
  /** The same, with a name for the call site. */
  <A extends unknown[], R>(name: string, fn: (...args: A) => R, ...args: A): Promise<Awaited<R>>;
  <A extends unknown[], R>(options: StepOptions, fn: (...args: A) => R, ...args: A): Promise<Awaited<R>>;
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
  if (options.executor?.takes(fn) === false) {
    throw new InvalidArgumentError(
      "The step's `executor` does not take its function",
      "Register the function with it by a name; a thunk can only run in this process: give the function and its arguments.",
    );
  }
  const retry = retryPolicy(options);
  const timeout = limit(options);
  const print = printOf(args, capturedValues(captures, execution));
  const key = execution.keyOf(identity, print);
  let start = never;
  if (!execution.answers(key)) {
    const context = new AsyncResource("StepmarkStep");
    const request = { fn, args, context, site, retry, timeout, executor: options.executor };
    start = (call) => startBody(execution, call, request);
  }
  return execution.ask({ kind: "step", key, args: print, chain, site: record, within, entry, start });
}

/** A call that the record answers has no body. */
const never = (_call: Call): void => {};

/** Fingerprint of what a body works on. */
function printOf(args: unknown[], captured: unknown[]): string {
  if (args.length + captured.length === 0) return "";
  return fingerprint(captured.length === 0 ? args : [...args, ...captured]);
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

function retryPolicy({ retries, backoff }: StepOptions): RetryPolicy | undefined {
  if (retries === undefined) return undefined;
  if (!Number.isInteger(retries) || retries < 0) {
    throw new InvalidArgumentError(
      `\`retries\` must be a whole number from 0, not ${shown(retries)}`,
      "Count the attempts after the first.",
    );
  }
  return { retries, delay: (attempt, error) => delay(backoff, attempt, error) };
}

function delay(backoff: StepOptions["backoff"], attempt: number, error: unknown): number {
  if (typeof backoff === "function") return milliseconds(backoff(attempt, error), "`backoff`");
  if (typeof backoff === "number" || typeof backoff === "string") return milliseconds(backoff, "`backoff`");
  const { initial = 100, factor = 2, max = 30_000 } = backoff ?? {};
  return Math.min(
    milliseconds(initial, "`backoff.initial`") * factor ** (attempt - 1),
    milliseconds(max, "`backoff.max`"),
  );
}

function limit({ timeout }: StepOptions): number | undefined {
  return timeout === undefined ? undefined : milliseconds(timeout, "`timeout`");
}
