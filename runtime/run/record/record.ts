/** What a run's journal says when a replay begins, arranged for answering calls. */
import { type Entry, isOutcome, type SiteRecord } from "../../journal/entry.js";
import { moduleId } from "../../scope/module-table.js";
import { originsIn } from "../../scope/origins.js";
import type { RunRecord } from "../../stores/store.js";
import { Shared } from "./shared.js";
import type { Standing } from "./shifts.js";

/** All that is recorded of one call. */
export interface RecordedCall {
  key: string;
  /** The outcome to answer with; absent if none was recorded, or if a failure is to be run again. */
  outcome: Entry | undefined;
  /** Whether a failure was recorded that is not answered with: the call is to be made again. */
  again: boolean;
  /** The announcement of an open wait or a timer that was set. */
  open: Entry | undefined;
  /** Attempts that were announced and have no outcome. */
  attempts: number;
  /** By when these are to be over, if the first of them has announced it, in milliseconds since the epoch. */
  due: number | undefined;
  /** Key of the step whose body made the call. */
  within: string | undefined;
  /** Where the call stood, for messages and for finding it in another build. */
  site: SiteRecord | undefined;
  /** Text fingerprints of the modules that contributed to the run when this was recorded, by their ids. */
  build: ReadonlyMap<string, string>;
  /** Whether it came of this process, and so of the code that is here: then `build` says nothing. */
  here: boolean;
  /** The way to it; see `scope/chain.ts`. */
  chain: string;
  /** Fingerprint of the arguments. */
  args: string;
  /** Position in the order of delivery. */
  seq: number;
  /** Whether the replay has to see this call before anything new may start. */
  required: boolean;
  /** Whether an edit has left it behind: it need not be asked for any more. */
  excused: boolean;
  /** Whether the code has asked for it. */
  asked: boolean;
}

export interface RunRecordView {
  calls: Map<string, RecordedCall>;
  /** The required calls in order of delivery. */
  timeline: RecordedCall[];
  detours: Detour[];
  lastSeq: number;
  /** Text fingerprint of each module that contributed, by its id, as last recorded. */
  modules: Map<string, string>;
  /** The sites of each of them, by text fingerprint, in all builds. */
  sites: Map<string, readonly Standing[]>;
  /** Where the functions and instances come from that calls were given; see `scope/origins.ts`. */
  origins: ReadonlySet<string>;
  /** The workflow function that recorded the run. */
  root: string | undefined;
  /** Name of the process that wrote the last entry. */
  process: string | undefined;
  accepted: AcceptedRecord;
}

/** What resumes of the run have accepted, of the calls that were recorded before an entry of that number. */
export interface AcceptedRecord {
  /** With one build. */
  edits: { before: number; build: ReadonlyMap<string, string> } | undefined;
  divergence: number;
}

const noModules: NonNullable<Entry["modules"]> = [];

/**
 * @param rerun keys of failed calls whose failure must not be used again
 */
export function arrange(entries: readonly Entry[], rerun: ReadonlySet<string>): RunRecordView {
  const calls = new Map<string, RecordedCall>();
  let modules = new Map<string, string>();
  const sites = new Map<string, readonly Standing[]>();
  let root: string | undefined;
  let process: string | undefined;
  const accepted: AcceptedRecord = { edits: undefined, divergence: 0 };
  const origins = new Set<string>();
  const shared = new Shared();
  for (const entry of entries) {
    shared.share(entry);
    if (entry.origins !== undefined) for (const origin of originsIn(entry.origins)) origins.add(origin);
    root ??= entry.root;
    process = entry.process ?? process;
    for (const [path, text, standing, tree] of entry.modules ?? noModules) {
      if (standing !== undefined) sites.set(text, standing);
      const id = moduleId({ path, tree });
      // Another text: from here on an edited build recorded the run. Or the first one that says which tree the path is in.
      if ((modules.get(id) ?? text) !== text || (tree !== undefined && modules.has(path))) modules = new Map(modules);
      if (tree !== undefined) modules.delete(path);
      modules.set(id, text);
    }
    if (entry.accepted !== undefined) accept(accepted, entry);
    if (entry.kind === "accept") continue;
    let call = calls.get(entry.key);
    if (call === undefined) {
      call = newRecordedCall(entry, modules);
      calls.set(entry.key, call);
    }
    // The way to it is that of the build that recorded it last.
    call.build = modules;
    call.chain = entry.chain ?? call.chain;
    if (call.site !== undefined) call.site = entry.site ?? call.site;
    take(call, entry);
  }
  const detours = findDetours(entries);
  for (const key of rerun) {
    const call = calls.get(key);
    if (call?.outcome?.state !== "failed") continue;
    if (call.within === undefined) detours.push({ key, from: call.seq, to: Number.POSITIVE_INFINITY });
    call.outcome = undefined;
    call.again = true;
  }
  const timeline: RecordedCall[] = [];
  for (const call of calls.values()) {
    // What a step's body asked for need not be asked for again if the step is answered.
    call.required =
      call.within === undefined &&
      !rerun.has(call.key) &&
      !call.outcome?.late &&
      (detours.length === 0 || !detours.some((detour) => isOn(detour, call)));
    if (call.required) timeline.push(call);
  }
  timeline.sort((a, b) => a.seq - b.seq);
  return {
    calls,
    timeline,
    detours,
    lastSeq: entries.at(-1)?.seq ?? 0,
    modules,
    sites,
    origins,
    root,
    process,
    accepted,
  };
}

/**
 * A stretch of the journal from a failure to the outcome of running that step again. What was recorded there may have
 * followed from the failure (a compensation, say), so the code may never ask for it again.
 */
export interface Detour {
  /** The step. */
  key: string;
  /** Numbers of the two entries. */
  from: number;
  to: number;
}

export function isOn({ from, to }: Detour, { seq }: RecordedCall): boolean {
  return from < seq && seq < to;
}

function findDetours(entries: readonly Entry[]): Detour[] {
  const detours: Detour[] = [];
  const failed = new Map<string, number>();
  for (const { key, state, seq, within } of entries) {
    if (within !== undefined || !isOutcome(state)) continue;
    const from = failed.get(key);
    if (from !== undefined) detours.push({ key, from, to: seq });
    if (state === "failed") failed.set(key, seq);
  }
  return detours;
}

/**
 * Keys of the failed calls that a run which is taken up has to run again: those that failed it, and those whose failures
 * they hold. Of a run that has been resumed since it failed: what is left of them, after a crash.
 *
 * @param all whether all failed calls are asked for
 */
export function toRunAgain(
  { status, culprits = [] }: Pick<RunRecord, "status" | "culprits">,
  entries: readonly Entry[],
  all: boolean,
): Set<string> {
  if (culprits.length === 0 && !all) return new Set();
  const failures = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.state === "failed") failures.set(entry.key, entry);
    else if (entry.state === "done") failures.delete(entry.key);
  }
  if (all) return new Set(failures.keys());
  const found = new Set<string>();
  const pending = [...culprits];
  for (let key = pending.pop(); key !== undefined; key = pending.pop()) {
    const failure = failures.get(key);
    if (failure === undefined || found.has(key)) continue;
    found.add(key);
    if (status !== "failed") continue;
    for (const cause of failure.causes ?? []) pending.push(cause);
  }
  return found;
}

export function newRecordedCall(entry: Entry, build: RecordedCall["build"]): RecordedCall {
  const { key, kind, within, chain = "", args = "", seq } = entry;
  // To ask whether the code has changed is no work: a build that no longer asks has lost nothing.
  const site = kind === "changed" ? undefined : entry.site;
  return {
    key,
    within,
    site,
    chain,
    args,
    seq,
    build,
    here: false,
    outcome: undefined,
    again: false,
    open: undefined,
    attempts: 0,
    due: undefined,
    required: false,
    excused: false,
    asked: false,
  };
}

/** A call that was recorded by this process. */
export function recordedHere(entry: Entry): RecordedCall {
  return { ...newRecordedCall(entry, noBuild), here: true };
}

const noBuild: RecordedCall["build"] = new Map();

function accept(all: AcceptedRecord, { seq, accepted }: Entry): void {
  if (accepted?.edits !== undefined) all.edits = { before: seq, build: new Map(accepted.edits) };
  if (accepted?.divergence) all.divergence = seq;
}

function take(call: RecordedCall, entry: Entry): void {
  switch (entry.state) {
    case "attempt":
      call.attempts++;
      call.due ??= entry.due;
      break;
    case "open":
      call.open = entry;
      break;
    case "refused":
      break;
    default:
      call.outcome = entry;
      call.attempts = 0;
      call.due = undefined;
      call.seq = entry.seq;
  }
}
