/** The errors that end a run, put into words. */
import {
  AmbiguousScopeError,
  AmbiguousSiteError,
  type ComparedCall,
  DecodeError,
  DivergenceError,
  DuplicateKeyError,
  ReplayMismatchError,
  RetiredSiteError,
  StalledError,
  type StepmarkError,
  StoreError,
} from "../../errors.js";
import { fieldOf, isA, wordsOf } from "../../journal/careful.js";
import type { SiteRecord } from "../../journal/entry.js";
import { describe, type Verdict } from "../../journal/judge.js";
import { type Call, type CallRequest, placeOf } from "../call.js";
import type { RecordedCall } from "../record/record.js";

export function duplicateKey(runId: string, request: CallRequest): DuplicateKeyError {
  return new DuplicateKeyError(
    "Two calls of one run have the same key",
    "Give each call an explicit `key` of its own (it must be unique within the run or the step body around it).",
    { runId, key: request.key, at: placeOf(request.site) },
  );
}

/**
 * A recorded outcome that may not answer a call.
 *
 * @param followsFailure whether it was recorded after the failure of a step that runs again
 */
export function notAHit(
  runId: string,
  call: Call,
  recorded: RecordedCall,
  verdict: Verdict & { hit: false },
  followsFailure: boolean,
): StepmarkError {
  const place = { runId, key: call.key, at: placeOf(call.site) };
  const compared = { recorded: recordedSide(recorded), asked: askedSide(call) };
  if (verdict.reason === "ambiguous") return new AmbiguousSiteError(verdict.what, place, compared);
  return new ReplayMismatchError(
    verdict.what,
    verdict.codeChanged
      ? 'Give the call the arguments that it was recorded with; if the code was edited on purpose, `resume(id, { accept: "edits" })`.'
      : unchanged(followsFailure),
    place,
    compared,
  );
}

/**
 * Arguments that are equal as far as can be seen, and are not the recorded ones: jobs of a shared queue, say.
 *
 * @param origin where the one comes from that was recorded
 */
export function anotherValue(
  runId: string,
  call: Call,
  recorded: RecordedCall,
  origin: string,
  followsFailure: boolean,
): ReplayMismatchError {
  return new ReplayMismatchError(
    `The recorded outcome is for another function or instance, the one that came from ${origin}`,
    unchanged(followsFailure),
    { runId, key: call.key, at: placeOf(call.site) },
    { recorded: recordedSide(recorded), asked: askedSide(call) },
  );
}

function unchanged(followsFailure: boolean): string {
  return `The code is as it was, so what differs comes from ${followsFailure ? afterFailure : outside}; \`resume(id, { divergence: "continue" })\` does the call anew, as another one.`;
}

const outside =
  "outside the record: take time, randomness, environment and I/O from recorded calls (`await now()`, `await step(...)`)";
const afterFailure =
  "the order of things: this was recorded after the failure of a step that runs again. Give steps that a failure hands to another branch (jobs of a shared queue, say) a `key`";

export function enteredInAnotherOrder(runId: string, call: Call): AmbiguousScopeError {
  const place = { runId, key: call.key, at: placeOf(call.site) };
  if (call.entry?.queued) {
    return new AmbiguousScopeError(
      place,
      "Code that was not transformed calls a function for several calls that wait in one queue, and their order differs from the recorded one",
      "Give it a function made for each call, `() => helper(x)`, name the file in `include`, or give the step a `key`.",
    );
  }
  return new AmbiguousScopeError(
    place,
    "A function that was made once and is called from several places goes by the order of its calls, and that order differs from the recorded one",
    "Make the function in each branch, or at module level, or give the step a `key`.",
  );
}

/** @param step key of the step */
export function enteredByBody(runId: string, call: Call, step: string): AmbiguousScopeError {
  return new AmbiguousScopeError(
    { runId, key: call.key, at: placeOf(call.site) },
    `A function that was made outside of a step is called here, and has been called while the body of that step (${step}) ran: which of the two is recorded cannot be told`,
    "Make the function in the step's body or at module level, use a queue or an emitter either inside of bodies or outside, or give the step here a `key`.",
  );
}

/** @param calls at least one */
export function retiredSites(runId: string, calls: readonly RecordedCall[]): RetiredSiteError {
  const sites = calls.map(({ site, key }) => `${describe(site)} as ${key}`);
  return new RetiredSiteError(
    `${calls.length} recorded call${calls.length > 1 ? "s have" : " has"} no site in this build: ${sites.join(", ")}`,
    { runId, key: calls[0]!.key, at: placeOf(calls[0]!.site) },
    { recorded: recordedSide(calls[0]!) },
  );
}

/** @param calls at least one */
export function uncertainSites(runId: string, calls: readonly RecordedCall[]): AmbiguousSiteError {
  const sites = calls.map(({ site, key }) => `${describe(site)} as ${key}`);
  return new AmbiguousSiteError(
    `The code changed, and where these recorded calls stood there may be others of their names now: ${sites.join(", ")}`,
    { runId, key: calls[0]!.key, at: placeOf(calls[0]!.site) },
  );
}

export function sameWorkElsewhere(runId: string, call: Call, recorded: RecordedCall): AmbiguousSiteError {
  return new AmbiguousSiteError(
    `The code changed and asks for ${describe(call.site)} as ${call.key}, while the record holds the same call as ${recorded.key}, which was not asked for`,
    { runId, key: call.key, at: placeOf(call.site) },
    { recorded: recordedSide(recorded), asked: askedSide(call) },
  );
}

export function shiftedSite(runId: string, call: Call, recorded: RecordedCall): AmbiguousSiteError {
  return new AmbiguousSiteError(
    `The code changed and calls have moved: ${describe(call.site)} stands where ${describe(recorded.site)} stood, whose recorded outcome it would get`,
    { runId, key: call.key, at: placeOf(call.site) },
    { recorded: recordedSide(recorded), asked: askedSide(call) },
  );
}

export function anotherPath(runId: string, missing: RecordedCall, asking: Call): DivergenceError {
  const asked = `${describe(asking.site)} (key ${asking.key})`;
  const { outcome, site } = missing;
  const expected = outcome?.kind === "changed" ? `\`changed(${JSON.stringify(outcome.name)})\`` : describe(site);
  return new DivergenceError(
    `The code is unchanged but took another path: ${expected} is recorded next and was not asked for; ${asked} was`,
    { runId, key: missing.key, at: placeOf(missing.site) },
    { recorded: recordedSide(missing), asked: askedSide(asking) },
  );
}

/**
 * A call that has the key of a recorded one and is another: the code has called another function in that one's place.
 *
 * @param followsFailure whether that was recorded after the failure of a step that runs again
 */
export function anotherWay(
  runId: string,
  call: Call,
  recorded: RecordedCall,
  followsFailure: boolean,
): DivergenceError {
  const there = (site: SiteRecord | undefined): string => `${describe(site)} in \`${site?.container ?? ""}\``;
  const expected = there(recorded.site);
  const asked = there(call.site);
  const since = followsFailure ? ", after the failure of a step that runs again" : "";
  return new DivergenceError(
    expected === asked
      ? `The code is unchanged but took another path: it came to ${asked} through another function than when that was recorded${since}`
      : `The code is unchanged but took another path: ${expected} is recorded here${since && `${since},`} and was not asked for; ${asked} was`,
    { runId, key: call.key, at: placeOf(call.site) },
    { recorded: recordedSide(recorded), asked: askedSide(call) },
  );
}

function recordedSide({ key, outcome, open, site, args }: RecordedCall): ComparedCall {
  return { key, kind: (outcome ?? open)?.kind, name: site?.anchor, at: placeOf(site), args };
}

function askedSide({ key, kind, site, args }: Call): ComparedCall {
  return { key, kind, name: site?.anchor, at: placeOf(site), args };
}

export function unreadable(runId: string, call: Call, error: unknown): DecodeError {
  if (error instanceof DecodeError) return error.placed({ runId, key: call.key, at: placeOf(call.site) });
  return new DecodeError(
    `The recorded outcome cannot be read: ${wordsOf(error)}`,
    "Resume the run with the code and the codec that recorded it.",
    { runId, key: call.key, at: placeOf(call.site), cause: error },
  );
}

export function stalled(runId: string): StalledError {
  return new StalledError(
    "Nothing is under way and nothing is awaited that could go on, but the workflow has not returned",
    { runId },
  );
}

/**
 * Bodies that can never end.
 *
 * @param bodies at least one
 */
export function endlessBodies(runId: string, bodies: readonly Call[]): StalledError {
  const [{ key, site }] = bodies as [Call];
  const sites = [...new Set(bodies.map((body) => describe(body.site)))];
  const more = sites.length > 5 ? ` and ${sites.length - 5} more` : "";
  return new StalledError(
    `Nothing is left to do in this process, and so nothing that could end ${bodies.length === 1 ? "the body" : "the bodies"} of ${sites.slice(0, 5).join(", ")}${more}`,
    { runId, key, at: placeOf(site) },
    "What a body waits for has to come from the body itself: one that waits for the promise of its own step, or of a step that waits for it in turn, never ends, nor does one that waits for a promise which nobody settles.",
  );
}

/** What a store rejected with: an error of ours as it is, anything else as a StoreError. */
export function storeFailure(runId: string, error: unknown): Error {
  if (isOurs(error)) return error;
  return new StoreError(`The store failed: ${wordsOf(error)}`, { runId, cause: error });
}

const misfits = new Set(["REPLAY_MISMATCH", "AMBIGUOUS_SITE", "RETIRED_SITE", "DIVERGENCE"]);

const damages = new Set(["BLOB", "DAMAGED_JOURNAL"]);

/** Whether an error says that something of a run is in the store and cannot be had, until that is mended. */
export function isUnreadable(error: unknown): error is Error {
  return isOurs(error) && damages.has(String(fieldOf(error, "code")));
}

/** Whether an error says that a run's record does not fit the code that was to go on with it, or cannot be read. */
export function isRefusal(error: unknown): error is Error {
  return isUnreadable(error) || (isOurs(error) && misfits.has(String(fieldOf(error, "code"))));
}

/** Whether an error is one of the library's, of whichever copy of it. */
export function isOurs(error: unknown): error is Error {
  return isA(error, Error) && typeof fieldOf(error, "code") === "string" && hasField(error, "runId");
}

function hasField(error: Error, name: string): boolean {
  try {
    return name in error;
  } catch {
    return false;
  }
}
