/** From a sited call to the run that it belongs to and its replay key. */
import {
  AmbiguousScopeError,
  InvalidArgumentError,
  InvalidKeyError,
  NotTransformedError,
  OutsideRunError,
} from "../errors.js";
import { shown } from "../journal/careful.js";
import type { SiteRecord } from "../journal/entry.js";
import type { Execution } from "../run/execution.js";
import { keyOf } from "../scope/birth.js";
import { bound, escapePart } from "../scope/key.js";
import { baseAnchor, type ModuleTable, type Place } from "../scope/module-table.js";
import { currentScope, type Frame, type OutsideFrame, type Scope, type Site, type StepExtent } from "../scope/place.js";
import { state } from "../scope/process-state.js";
import type { Captures, LoopPath } from "../scope/site-table.js";
import type { FrameEntry } from "../scope/turn.js";

/** Where a call stands, as generated code passes it. */
export interface CallSite {
  frame: Frame | OutsideFrame;
  index: number;
  path: LoopPath;
}

/** A function of the library whose calls have an identity. */
export interface Sited<Result = Promise<unknown>> {
  /** @internal What transformed code calls. */
  at(frame: Frame | OutsideFrame, index: number, path: LoopPath, captures: Captures, ...args: unknown[]): Result;
}

/** A call with its identity. */
export interface Identity {
  execution: Execution;
  key: string;
  chain: string;
  within: StepExtent | null;
  /** How the function around was entered, if its key goes by the order of entries. */
  entry: FrameEntry | undefined;
  record: SiteRecord | undefined;
  /** The place of the call, for scopes below it. */
  site: Site | null;
}

/**
 * The identity of a call, or undefined under `withoutRun`.
 *
 * @param at absent for a call that was not transformed
 * @param explicitKey the user's own key, which replaces the loop path and counts from the nearest step body or run
 */
export function identify(name: string, at: CallSite | undefined, explicitKey: unknown): Identity | undefined {
  if (at === undefined) return identifyByKey(name, explicitKey);
  const place = at.frame.module.places[at.index]!;
  const frame = frameFor(at, place);
  if (frame === undefined) {
    if (state.passThrough.getStore()) return undefined;
    throw new OutsideRunError(name, { at: place.at });
  }
  if (frame.timed && explicitKey === undefined) {
    const error = new AmbiguousScopeError({ runId: (frame.run as Execution).id, key: frame.key, at: place.at });
    frame.run.fatal(error);
    throw error;
  }
  const execution = frame.run as Execution;
  const { key, chain } =
    explicitKey === undefined
      ? execution.nameOf({ key: bound(keyOf(frame, place, at.path)), chain: frame.chainOf(place) }, frame.otherName)
      : { key: keyed(frame, escapePart(baseAnchor(place.anchor)), explicitKey, place.at), chain: "" };
  return {
    execution,
    key,
    chain,
    within: frame.within,
    entry: explicitKey === undefined ? frame.entry : undefined,
    record: siteRecord(frame.module, place),
    site: { frame, loops: place.loops, path: at.path, keyed: explicitKey !== undefined },
  };
}

function identifyByKey(name: string, explicitKey: unknown): Identity | undefined {
  if (state.passThrough.getStore()) return undefined;
  const scope = currentScope();
  if (explicitKey === undefined) throw new NotTransformedError(name, { runId: runIdOf(scope) });
  if (!scope?.run.open) throw new OutsideRunError(name);
  return {
    execution: scope.run as Execution,
    key: keyed(scope, "", explicitKey, undefined),
    chain: "",
    within: scope.within,
    entry: undefined,
    record: undefined,
    site: scope.site,
  };
}

/** The frame of the code that makes the call; code that was entered outside any run may be running inside one now. */
function frameFor(at: CallSite, place: Place): Frame | undefined {
  if (at.frame.run !== null) return at.frame as Frame;
  const scope = currentScope();
  if (!scope?.run.open) return undefined;
  return scope === state.mark ? state.mark.openChild(at.frame.module, place) : scope.openStrand(at.frame.module);
}

function keyed(scope: Scope, anchor: string, key: unknown, at: string | undefined): string {
  if (typeof key !== "string" || key === "") {
    throw new InvalidKeyError(`A step's \`key\` must be a non-empty string, not ${shown(key)}`, {
      runId: runIdOf(scope),
      at,
    });
  }
  const from = scope.within?.key ?? (scope.run as Execution).rootKey;
  return bound(`${from}/${anchor}#${escapePart(key)}`);
}

function runIdOf(scope: Scope | undefined): string | undefined {
  return (scope?.run as Execution | undefined)?.id;
}

/** What entries say of places. */
const records = new WeakMap<Place, SiteRecord>();

function siteRecord(module: ModuleTable, place: Place): SiteRecord {
  let record = records.get(place);
  if (record === undefined) {
    record = newSiteRecord(module, place);
    records.set(place, record);
  }
  return record;
}

function newSiteRecord(module: ModuleTable, place: Place): SiteRecord {
  return {
    module: module.path,
    moduleText: module.text,
    container: place.container,
    anchor: place.anchor,
    line: place.line,
    text: place.text,
    ...(place.own !== undefined && { own: place.own }),
    ...(place.tag !== undefined && { tag: place.tag }),
  };
}

/**
 * Turns what `make(at, a, b)` throws into a rejection, as an async function would, without putting a promise in between.
 *
 * @param at the call, for errors that cannot know it
 */
export function rejecting<A, B>(
  make: (at: CallSite | undefined, a: A, b: B) => Promise<unknown>,
  at?: CallSite,
  a?: A,
  b?: B,
): Promise<unknown> {
  try {
    return make(at, a as A, b as B);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError) || at === undefined || error.at !== undefined)
      return Promise.reject(error);
    const { module, run } = at.frame;
    const runId = (run as Execution | null)?.id ?? runIdOf(currentScope());
    return Promise.reject(error.placed({ runId, at: module.places[at.index]!.at }));
  }
}
