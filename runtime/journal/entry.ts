/** The journal's vocabulary: what a run's append-only record consists of. Plain, JSON-representable data. */

/** What sort of call an entry belongs to. */
export type EntryKind = "step" | "wait" | "timer" | "value" | "publish" | "child" | "changed" | "accept";

/** Whether what an entry tells of takes no time. */
export function takesNoTime(kind: EntryKind): boolean {
  return kind === "value" || kind === "publish" || kind === "changed" || kind === "accept";
}

/**
 * What an entry says of its call.
 *
 * `done` and `failed` are outcomes. `attempt` announces a body that is about to run (only with a retry policy or a deadline),
 * `open` a wait that was asked, a timer that was set or a child run that was begun, `refused` an answer that its wait's
 * schema did not take.
 */
export type EntryState = "done" | "failed" | "attempt" | "open" | "refused";

export function isOutcome(state: EntryState): state is "done" | "failed" {
  return state === "done" || state === "failed";
}

/** Where an entry's call stood in the source when it was recorded. */
export interface SiteRecord {
  /** Module path relative to the project root, with forward slashes. */
  module: string;
  /** Fingerprint of that module's text when the entry was written. */
  moduleText: string;
  /** The functions around the call, outermost first, joined by `>`; empty at module level. */
  container: string;
  /** Anchor with its ordinal, for instance `charge~1`. */
  anchor: string;
  /** 1-based source line, for messages only. */
  line: number;
  /** Fingerprint of the call's text. */
  text: string;
  /** What tells it apart from calls of the same text in its function, if there were some. */
  own?: string;
  /** The call's name in the lock file. */
  tag?: string;
}

/** Whether a lock file says that two sites are one call. */
export function isTheSame(then: SiteRecord | undefined, now: SiteRecord | undefined): boolean {
  return then?.tag !== undefined && then.tag === now?.tag;
}

/** Whether a lock file says that two sites are two calls. */
export function isAnother(then: SiteRecord | undefined, now: SiteRecord | undefined): boolean {
  return then?.tag !== undefined && now?.tag !== undefined && then.tag !== now.tag;
}

/** One entry of a run's journal. */
export interface Entry {
  /** Position in the run, from 1, without gaps: the order of delivery. */
  seq: number;
  /** Replay key. */
  key: string;
  kind: EntryKind;
  state: EntryState;
  /** Encoded outcome: the value of `done`, the error of `failed`; the payload of an open wait; what is wrong with an answer. */
  value?: string;
  /** Fingerprint of the arguments (or captured bindings). */
  args?: string;
  site?: SiteRecord;
  /** What tells the call apart from its namesakes, level by level; see `scope/chain.ts`. */
  chain?: string;
  /** Key of the step whose body made the call. */
  within?: string;
  /** Digest of how the function around the call was entered, if its key goes by the order of entries. */
  caller?: string;
  /** Digests of where the functions and instances come from that the call was given; see `scope/origins.ts`. */
  origins?: string;
  /** Keys of recorded failures that this failure holds (as itself, in `cause` or in `errors`). */
  causes?: string[];
  /** Name of a wait or of what is published, id of a change. */
  name?: string;
  /** When a timer is due, a wait times out, or the attempts of a step are to be over, in milliseconds since the epoch. */
  due?: number;
  /** Whether it was the time that ended a wait. */
  timedOut?: true;
  /** Id of a child run. */
  child?: string;
  /**
   * Of `changed`: it was asked in the midst of a replay. The entry stands behind what it came before, so it has no turn in the
   * order of delivery: whoever asks has the answer at once.
   */
  late?: true;
  /** 1 for the first attempt. */
  attempt: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  /** Modules that contributed to the run for the first time with this entry, each with its sites, and the tree that its path is in. */
  modules?: Array<
    [
      path: string,
      text: string,
      sites?: ReadonlyArray<readonly [container: string, anchor: string, text: string]>,
      tree?: string,
    ]
  >;
  /**
   * On the first entry after a resume that accepted what the record and the code differ in. One of kind `accept` is of no call:
   * it is written where the run would otherwise get further, or come to rest, with nothing to tell.
   */
  accepted?: Accepted;
  /** On the first entry of each process that traces the run: what the next one's trace refers to; see `telemetry/telemetry.ts`. */
  trace?: string;
  /** Name of the process that wrote this entry and those that follow, on each that another process wrote than the one before. */
  process?: string;
  /** Version of the entry and its value, if it is not 1; see `check-journal.ts`. */
  format?: number;
  /** On a run's first entry: the workflow function's module and container, joined by `#`. */
  root?: string;
}

/** What a resume has accepted of all that was recorded before. */
export interface Accepted {
  /** What edits had done: with this build, given as the text fingerprints of the modules that have a part in the run. */
  edits?: Array<[path: string, text: string]>;
  /** That unchanged code took another path. */
  divergence?: true;
}
