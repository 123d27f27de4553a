/**
 * Every error of the library. Each class has a stable `code`, tells the run, the replay key and the place in the
 * source where it knows them, and ends with the cure. `docs/errors.md` has a section for each code.
 */

import type { Duration } from "./duration.js";

/** Where an error happened, as far as it is known. */
export interface ErrorPlace {
  runId?: string;
  key?: string;
  /** `file:line` of the call. */
  at?: string;
  cause?: unknown;
}

/** Base of all errors of the library. */
export class StepmarkError extends Error {
  readonly code: string;
  readonly runId: string | undefined;
  readonly key: string | undefined;
  readonly at: string | undefined;

  constructor(code: string, what: string, cure: string, place: ErrorPlace = {}) {
    const where = [
      place.runId === undefined ? "" : `run ${JSON.stringify(place.runId)}`,
      place.key === undefined ? "" : `key ${place.key}`,
      place.at === undefined ? "" : `at ${place.at}`,
    ].filter(Boolean);
    super(
      `${what}${where.length ? ` (${where.join(", ")})` : ""}. ${cure} [${code}]`,
      "cause" in place ? { cause: place.cause } : undefined,
    );
    this.name = nameOf(code);
    this.code = code;
    this.runId = place.runId;
    this.key = place.key;
    this.at = place.at;
  }
}

/** A call as the record has it, or as the code asks for it. */
export interface ComparedCall {
  /** Replay key. */
  key: string;
  /** What sort of call it is: `step`, `wait`, ... */
  kind: string | undefined;
  /** What it is named after, with its ordinal: `charge~1`; undefined for a call that is known by an explicit key alone. */
  name: string | undefined;
  /** `file:line` of the call. */
  at: string | undefined;
  /** Fingerprint of the arguments; empty if nothing of them is compared. */
  args: string;
}

/** The two sides of a record that does not fit the code. */
export interface Compared {
  recorded?: ComparedCall;
  asked?: ComparedCall;
}

/** A record that does not fit the code: base of the errors that tell what was recorded and what was asked for. */
abstract class MisfitError extends StepmarkError {
  /** Undefined if it is none in particular, or if the run was refused by a version that did not tell. */
  readonly recorded: ComparedCall | undefined;
  /** Undefined if the code does not ask for any such call, else like `recorded`. */
  readonly asked: ComparedCall | undefined;

  constructor(code: string, what: string, cure: string, place: ErrorPlace, { recorded, asked }: Compared = {}) {
    super(code, what, cure, place);
    this.recorded = recorded;
    this.asked = asked;
  }
}

/** `RUN_EXISTS` is `RunExistsError`: not read from the class, whose name a minifier changes. */
function nameOf(code: string): string {
  const words = code.split("_").map((word) => word[0] + word.slice(1).toLowerCase());
  return `${words.join("")}Error`;
}

/** Two calls of one run have the same replay key (rule I1). */
export class DuplicateKeyError extends StepmarkError {
  constructor(what: string, cure: string, place: ErrorPlace) {
    super("DUPLICATE_KEY", what, cure, place);
  }
}

/** An explicit key that cannot be one: empty, or not a string. */
export class InvalidKeyError extends StepmarkError {
  constructor(
    what: string,
    place: ErrorPlace,
    cure = "Give a non-empty string that is unique within the run or the step body.",
  ) {
    super("INVALID_KEY", what, cure, place);
  }
}

/** Options or arguments that make no sense. */
export class InvalidArgumentError extends StepmarkError {
  readonly #what: string;
  readonly #cure: string;

  constructor(what: string, cure: string, place: ErrorPlace = {}) {
    super("INVALID_ARGUMENT", what, cure, place);
    this.#what = what;
    this.#cure = cure;
  }

  /** The same error, telling where it happened. */
  placed(place: ErrorPlace): InvalidArgumentError {
    return new InvalidArgumentError(this.#what, this.#cure, "cause" in this ? { ...place, cause: this.cause } : place);
  }
}

/** Code that the library does not see called a function in an order that nothing fixes (design rule 3 of scopes). */
export class AmbiguousScopeError extends StepmarkError {
  constructor(
    place: ErrorPlace,
    what = "Code that is not transformed called a module-level function a second time from one place, where only timing would tell the calls apart",
    cure = "Add that code's file to the transformer's \"include\" option, or pass a function made in the workflow instead, or give the step a `key`.",
  ) {
    super("AMBIGUOUS_SCOPE", what, cure, place);
  }
}

/** A sited call that reached the runtime without its place in the code (rule I11). */
export class NotTransformedError extends StepmarkError {
  constructor(name: string, place: ErrorPlace = {}) {
    super(
      "NOT_TRANSFORMED",
      `This \`${name}\` call has no identity: it was compiled without the stepmark transformer, or in a form that hides it, such as \`${name}.call(...)\` or a variable that may change`,
      `Add { "transform": "stepmark/transformer" } to compilerOptions.plugins in tsconfig.json and build with \`tspc\`, or add the plugin of your bundler or \`node --import stepmark/register\` (docs/hosts.md); call \`${name}\` by its imported name; or give a step an explicit \`key\`.`,
      place,
    );
  }
}

/** A sited call outside any run. */
export class OutsideRunError extends StepmarkError {
  constructor(
    name: string,
    place: ErrorPlace = {},
    what = "outside any run, so nothing could record it",
    cure = "Call it from a workflow that `app.start` runs; in a unit test wrap the code in `withoutRun(() => ...)`.",
  ) {
    super("OUTSIDE_RUN", `\`${name}\` was called ${what}`, cure, place);
  }
}

/** Two incompatible copies of the library in one process. */
export class VersionConflictError extends StepmarkError {
  constructor(what: string) {
    super("VERSION_CONFLICT", what, "Install one version of stepmark: see `npm ls stepmark`.");
  }
}

/** A recorded outcome was asked for with other arguments than it was recorded for (rule I3). */
export class ReplayMismatchError extends MisfitError {
  constructor(what: string, cure: string, place: ErrorPlace, compared?: Compared) {
    super("REPLAY_MISMATCH", what, cure, place, compared);
  }
}

/** The code changed so that a recorded outcome may belong to another call than the one that asks for it. */
export class AmbiguousSiteError extends MisfitError {
  constructor(what: string, place: ErrorPlace, compared?: Compared) {
    super(
      "AMBIGUOUS_SITE",
      what,
      'Undo the edit, give the calls different names (`step("name", ...)`), or resume the run with the code that recorded it.',
      place,
      compared,
    );
  }
}

/** A recorded call has no site in this build any more. */
export class RetiredSiteError extends MisfitError {
  constructor(what: string, place: ErrorPlace, compared?: Compared) {
    super(
      "RETIRED_SITE",
      what,
      'Bring the call back, resume with the code that recorded it, or accept that its record is not used: `resume(id, { accept: "edits" })`.',
      place,
      compared,
    );
  }
}

/** Unchanged code took another path than the one recorded (rule I6). */
export class DivergenceError extends MisfitError {
  constructor(what: string, place: ErrorPlace, compared?: Compared) {
    super(
      "DIVERGENCE",
      what,
      'Take time, randomness, environment and I/O from steps (a wait for something raw, such as a timer or a request outside a step, is a likely cause); `resume(id, { divergence: "continue" })` goes on regardless.',
      place,
      compared,
    );
  }
}

/** A run's keys were minted under another scheme than this version's. */
export class KeySchemeError extends StepmarkError {
  constructor(what: string, place: ErrorPlace) {
    super("KEY_SCHEME", what, "Finish the run with the version of stepmark that recorded it.", place);
  }
}

/** `start` with the id of a run of another workflow or another input. */
export class RunExistsError extends StepmarkError {
  constructor(what: string, place: ErrorPlace) {
    super("RUN_EXISTS", what, "Choose another id, or `resume` the run that exists.", place);
  }
}

export class RunNotFoundError extends StepmarkError {
  constructor(runId: string) {
    super("RUN_NOT_FOUND", "No such run", "Check the id and the store; `app.list()` shows what there is.", { runId });
  }
}

/** The run is owned by a process that is alive (rule I8). */
export class RunOwnedError extends StepmarkError {
  constructor(what: string, place: ErrorPlace) {
    super(
      "RUN_OWNED",
      what,
      "Wait until it has finished, or shut it down; `resume` takes over from the dead only. `app.events(id)` follows the run meanwhile.",
      place,
    );
  }
}

/** One process after the other has died while it drove the run. */
export class RunPoisonedError extends StepmarkError {
  constructor(takeovers: number, place: ErrorPlace) {
    super(
      "RUN_POISONED",
      `${takeovers} processes in a row have ended while they drove the run, and it got no further, so no other takes it up`,
      "Find out what in it ends the process (memory, `process.exit`, a native fault); then `resume` the run.",
      place,
    );
  }
}

/** This process no longer owns the run: its write was refused (rule I8). */
export class StaleOwnerError extends StepmarkError {
  constructor(runId: string) {
    super(
      "STALE_OWNER",
      "Another process has taken the run over, so this one no longer drives it",
      "Nothing was lost: `app.get(id)` and `app.events(id)` tell how the run goes on.",
      {
        runId,
      },
    );
  }
}

/** `start` or `resume` of a workflow that this `Stepmark` was not given. */
export class UnknownWorkflowError extends StepmarkError {
  constructor(
    name: string,
    known: readonly string[],
    place: ErrorPlace = {},
    cure = "Pass it in `new Stepmark({ workflows: [...] })`.",
  ) {
    super(
      "UNKNOWN_WORKFLOW",
      `No workflow named ${JSON.stringify(name)} is registered (known: ${known.map((k) => JSON.stringify(k)).join(", ") || "none"})`,
      cure,
      place,
    );
  }
}

/** Two workflows of one name. */
export class DuplicateWorkflowError extends StepmarkError {
  constructor(name: string) {
    super(
      "DUPLICATE_WORKFLOW",
      `Two workflows are named ${JSON.stringify(name)}`,
      "Give each workflow a name of its own.",
    );
  }
}

/** A value that the codec cannot keep; tells the path within the value. */
export class SerialisationError extends StepmarkError {
  /** Where in the value, for instance `$.items[3].socket`. */
  readonly path: string;
  readonly #what: string;
  readonly #cure: string;

  constructor(what: string, path: string, place: ErrorPlace = {}, cure = "Record plain data in its place.") {
    super("SERIALISATION", `${what} at ${path}`, cure, place);
    this.path = path;
    this.#what = what;
    this.#cure = cure;
  }

  /** The same error, telling where it happened. */
  placed(place: ErrorPlace): SerialisationError {
    return new SerialisationError(this.#what, this.path, { ...place, cause: this.cause }, this.#cure);
  }
}

/** A recorded value that cannot be read back. */
export class DecodeError extends StepmarkError {
  readonly #what: string;
  readonly #cure: string;

  constructor(what: string, cure: string, place: ErrorPlace = {}) {
    super("DECODE", what, cure, place);
    this.#what = what;
    this.#cure = cure;
  }

  /** The same error, telling where it happened. */
  placed(place: ErrorPlace): DecodeError {
    return new DecodeError(this.#what, this.#cure, { ...place, cause: this.cause });
  }
}

/** What the store holds of a run is not what was written: damaged, or edited by hand. */
export class DamagedJournalError extends StepmarkError {
  constructor(what: string, place: ErrorPlace) {
    super(
      "DAMAGED_JOURNAL",
      what,
      'Nothing was changed: restore the store from a backup. A journal is not to be edited; to run failed steps again there is `resume(id, { retry: "all" })`.',
      place,
    );
  }
}

/** What the store holds was written by a newer version of the library. */
export class NewerVersionError extends StepmarkError {
  constructor(what: string, cure: string, place: ErrorPlace = {}) {
    super("NEWER_VERSION", what, cure, place);
  }
}

/** A file of exported runs is none, is not whole, or was edited. */
export class ExportFileError extends StepmarkError {
  constructor(
    what: string,
    place: ErrorPlace = {},
    cure = "Export the runs again, or copy the file again. Nothing was imported.",
  ) {
    super("EXPORT_FILE", what, cure, place);
  }
}

/** Runs that were exported without their values cannot be used as runs. */
export class ValuesLeftOutError extends StepmarkError {
  constructor(what: string, place: ErrorPlace) {
    super(
      "VALUES_LEFT_OUT",
      `The run was exported without its values, so it ${what}`,
      "Export it with them: leave `values: false`, or `--no-values`, away.",
      place,
    );
  }
}

/** A history of another key scheme that is not imported, since its entries may belong to other calls than they seem to. */
export class FlatHistoryError extends StepmarkError {
  constructor(what: string, place: ErrorPlace) {
    super(
      "FLAT_HISTORY",
      what,
      "Finish the run with the program that recorded it, or start it anew. Nothing was imported, and no body ran.",
      place,
    );
  }
}

/** The store failed: what was being written does not count as done. */
export class StoreError extends StepmarkError {
  constructor(
    what: string,
    place: ErrorPlace,
    cure = "What was being written does not count as done; mend the store and `resume` the run.",
  ) {
    super("STORE", what, cure, place);
  }
}

/** A large value is not to be had from where it was put, or is not what was put there. */
export class BlobError extends StepmarkError {
  constructor(
    what: string,
    place: ErrorPlace,
    cure = "Nothing was changed: put the blob back from a backup of its place, then `resume` the run.",
  ) {
    super("BLOB", what, cure, place);
  }
}

/** The run waits for something that can no longer happen. */
export class StalledError extends StepmarkError {
  constructor(
    what: string,
    place: ErrorPlace,
    cure = "The workflow waits for a promise outside any step: it was settled only in the process that died, or never. Put such waiting into `step` or `waitFor`.",
  ) {
    super("STALLED", what, cure, place);
  }
}

export class RunCancelledError extends StepmarkError {
  constructor(runId: string) {
    super("RUN_CANCELLED", "The run was cancelled", "A cancelled run is final: start a new one.", { runId });
  }
}

/** The app was shut down while the run was under way; the run stays resumable. */
export class ShutdownError extends StepmarkError {
  constructor(runId: string) {
    super("SHUTDOWN", "The app was shut down before the run ended", "`resume` the run in any process.", { runId });
  }
}

/** An answer that no open wait can take. */
export class AnswerError extends StepmarkError {
  /** @param issues what the wait's schema says of the answer, if that is the reason */
  constructor(
    what: string,
    cure: string,
    place: ErrorPlace,
    readonly issues: readonly string[] = [],
  ) {
    super("ANSWER", what, cure, place);
  }
}

/** An attempt of a step took longer than its `timeout`. */
export class StepTimeoutError extends StepmarkError {
  constructor(ms: number, place: ErrorPlace) {
    super(
      "STEP_TIMEOUT",
      `The step took longer than ${ms} ms`,
      "Raise its `timeout`, or let the body heed `stepContext().signal`.",
      place,
    );
  }
}

/** A step was not done by its `deadline`. */
export class StepDeadlineError extends StepmarkError {
  /** @param due milliseconds since the epoch */
  constructor(due: number, begun: boolean, place: ErrorPlace) {
    super(
      "STEP_DEADLINE",
      `The step was not done by its deadline, ${new Date(due).toISOString()}${begun ? "" : ", before which no attempt was begun"}`,
      "Raise its `deadline`, or let the body heed `stepContext().signal`; `resume` runs the step again, and a deadline that is a duration is counted anew then.",
      place,
    );
  }
}

/** A step with `retries` has no attempt left: the process ended during each of them, or during the last one. */
export class AttemptsUsedUpError extends StepmarkError {
  constructor(attempts: number, place: ErrorPlace) {
    super(
      "ATTEMPTS_USED_UP",
      attempts === 1
        ? "The step's only attempt was begun, and the process ended during it"
        : `All ${attempts} attempts of the step were begun, and the process ended during the last one`,
      'Find out whether the body ends the process; then raise `retries`, or `resume(id, { retry: "all" })` to try again from the first.',
      place,
    );
  }
}

/** What runs a step's body for this process cannot be reached, or does not know the body's function. */
export class ExecutorError extends StepmarkError {
  constructor(what: string, cure: string, place: ErrorPlace) {
    super("EXECUTOR", what, cure, place);
  }
}

/** Thrown by a step's body to say that another attempt cannot help. */
export class NonRetryableError extends Error {
  readonly code = "NON_RETRYABLE";

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "NonRetryableError";
  }
}

/** Thrown by a step's body to say when another attempt is worth while. */
export class RetryableError extends Error {
  readonly code = "RETRYABLE";
  /** How long the step is to wait before it is tried again, or until when; undefined leaves it to its `backoff`. */
  readonly retryAfter: Duration | Date | undefined;

  constructor(message?: string, { retryAfter, ...options }: ErrorOptions & { retryAfter?: Duration | Date } = {}) {
    super(message, options);
    this.name = "RetryableError";
    this.retryAfter = retryAfter;
  }
}
