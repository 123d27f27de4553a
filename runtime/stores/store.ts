/**
 * The one interface between a run and the place where its journal lives. A store keeps plain data and decides
 * nothing about replay. Every method either resolves after the effect is durable or rejects without an effect.
 */
import type { Entry } from "../journal/entry.js";

/** Life of a run as the store records it. `stalled` is a report of a living process, never stored. */
export type StoredStatus = "running" | "waiting" | "completed" | "failed" | "cancelled";

/** The process that extends a run. */
export interface Owner {
  /** Unique for each `Stepmark` instance. */
  token: string;
  host: string;
  pid: number;
  /** When the process started, in the platform's own unit; together with `pid` it tells a reused pid apart. */
  processStart: string;
  /** Number of the worker thread; absent for the process' main thread. */
  thread?: number;
  /** Of an owner that took the run over from a process that had ended. */
  takeovers?: Takeovers;
}

/** Processes in a row that have ended while they drove a run, without its getting any further. */
export interface Takeovers {
  count: number;
  /** Number of the run's last entry when the last of them had ended. */
  reached: number;
}

export interface RunRecord {
  id: string;
  workflow: string;
  status: StoredStatus;
  /** Encoded input. */
  input: string;
  /** Fingerprint of the input, to compare a second `start` with the first. */
  inputPrint: string;
  /** Encoded output of a completed run. */
  output?: string;
  /** Encoded error of a failed run. */
  error?: string;
  /** Keys of the failed calls that failed the run; the next resume runs them again. While it goes on: those that are left. */
  culprits?: string[];
  /** Keys of recorded calls that nobody had asked for when the run last ended. */
  orphans?: string[];
  /** Keys of calls that were answered from the record although their text had changed. */
  edited?: string[];
  /** When the run goes on by itself, in milliseconds since the epoch: of a waiting run with timers. */
  due?: number;
  /** The run that began this one, and the call that waits for it there. */
  parent?: ParentCall;
  /** Key scheme that minted the run's keys. */
  scheme: number;
  /** Number of the current or last ownership; each append carries it. 0: never owned. */
  fence: number;
  owner?: Owner;
  /** Milliseconds since the epoch until which the owner of another machine counts as alive. */
  leaseUntil?: number;
  createdAt: number;
  updatedAt: number;
}

/** What is to be known of a run before it is taken up: of many at once, so without their values. */
export type RunStanding = Pick<RunRecord, "id" | "workflow" | "status" | "fence" | "owner" | "leaseUntil" | "due">;

/** A call of `child`. */
export interface ParentCall {
  /** Id of the run. */
  id: string;
  /** Replay key of the call. */
  key: string;
  /** When that run was created: its id may be another run's once it is deleted. */
  createdAt?: number;
}

export type NewRun = Pick<RunRecord, "id" | "workflow" | "input" | "inputPrint" | "scheme" | "createdAt" | "parent">;

/** All that a store keeps of a run, whoever owns it. */
export interface WholeRun {
  run: Omit<RunRecord, "owner" | "leaseUntil">;
  /** From the first on. */
  entries: readonly Entry[];
  /** Unused messages in order of arrival. */
  inbox: readonly Message[];
}

/** What an append may change in the run's record, in the same transaction as its entries. */
export interface RunChange {
  status?: StoredStatus;
  /** `null` clears the field. */
  output?: string | null;
  error?: string | null;
  culprits?: string[] | null;
  orphans?: string[] | null;
  edited?: string[] | null;
  due?: number | null;
  /** While the run waits: the app that wakes it, as an owner's `token`; `null`: none does by itself. */
  keeper?: string | null;
  /** Puts a message without a value, at that time, into the inbox of another run, if that exists. */
  wake?: { run: string; target: string; at: number };
  /** Inbox numbers that these entries use up. */
  consume?: number[];
  /** Inbox numbers that these entries turn away: used up, but not answers. */
  refuse?: number[];
  /** Give up ownership with this append. */
  release?: boolean;
}

/** A message to a run that no entry has used yet: an answer given from any process. */
export interface Message {
  /** Order of arrival within the run, from 1. */
  number: number;
  /** The wait's name or replay key, as the sender gave it. */
  target: string;
  /** Encoded value. */
  value: string;
  at: number;
}

/** What a sender calls a message, and a digest of what is sent: so one that is sent twice is known again. */
export interface SenderKey {
  key: string;
  print: string;
}

export type ListOrder = "newest" | "oldest";

export interface ListFilter {
  status?: StoredStatus | StoredStatus[];
  workflow?: string;
  /** Only runs that have not changed since that time, in milliseconds since the epoch. */
  unchangedSince?: number;
  /** Which come first (default: the newest). Of runs of one time, those that were put in later are newer. */
  order?: ListOrder;
  /** Only the runs that come after that one, whether or not it is itself among those that are wanted. */
  after?: string;
  /** Leaves out so many of the first. */
  skip?: number;
  /** At most this many, the first ones. */
  limit?: number;
}

/** A run that waits, as the app sees it that wakes it. */
export interface KeptRun {
  id: string;
  /** As in its record. */
  due?: number;
}

/** One that goes on by itself. */
export type Timer = Required<KeptRun>;

export type Claim = { claimed: true; run: RunRecord } | { claimed: false; owner: Owner };

export interface Store {
  /** Creates the run unless the id exists; returns the run as it then is. */
  create(run: NewRun): Promise<{ created: boolean; run: RunRecord }>;
  /**
   * Puts runs in as a store has kept them, in one transaction. Nobody owns them; their fences and the numbers of their messages
   * go on from there. Rejects with StoreError if entries are missing.
   *
   * @returns the ids that exist already: if there are any, nothing was put in
   */
  restore(runs: readonly WholeRun[]): Promise<string[]>;
  read(id: string): Promise<RunRecord | undefined>;
  /** Rejects with RunNotFoundError if there is no run `after`. */
  list(filter: ListFilter): Promise<RunRecord[]>;
  /**
   * Runs that are running and that nobody owns, or somebody who is dead as `isDead` says, which is asked once for each owner: with
   * the end of the lease of its that ends first, and the number of its running runs. Oldest first.
   */
  left(isDead: (owner: Owner, leaseUntil: number, runs: number) => boolean): Promise<RunStanding[]>;
  /** Waiting runs that can go on: with a message that is not used yet, or due by `until`. Oldest first. */
  ready(until: number): Promise<RunStanding[]>;
  /** Of these runs, those that wait, that nobody owns, and that `keeper` wakes. */
  kept(keeper: string, ids: readonly string[]): Promise<KeptRun[]>;
  /** Of all that `keeper` wakes, those with a timer, the earliest first: at most `limit`, the first ones that come after `after`. */
  timers(keeper: string, limit: number, after?: Timer): Promise<Timer[]>;
  /** Entries in order of `seq`: those after `after` (default 0: all), of these at most `limit`, the first ones. */
  entries(id: string, after?: number, limit?: number): Promise<Entry[]>;
  /**
   * Makes `owner` the run's owner under a new fence, if nobody owns it, or its owner is dead as `isDead` says.
   * Rejects with RunNotFoundError for an unknown id.
   */
  claim(id: string, owner: Owner, isDead: (owner: Owner, leaseUntil: number) => boolean, lease: Lease): Promise<Claim>;
  /** Prolongs the leases that `fences` (run id to fence) still hold; returns the ids that no longer do. */
  renew(fences: ReadonlyMap<string, number>, lease: Lease): Promise<string[]>;
  /**
   * Appends entries and changes the run's record in one transaction. Rejects with StaleOwnerError, and without
   * effect, if `fence` is not the run's current one or the run has no owner. Appends made in one tick may be
   * committed together; those to one run take effect in call order.
   */
  append(id: string, fence: number, entries: readonly Entry[], change?: RunChange): Promise<void>;
  /**
   * Puts a message into the run's inbox; with `once`, in one step with the look at it, only if none was put there for that
   * target before, used or not, but for those that were turned away; with `sender`, only if none was put there under that key.
   * Rejects with RunNotFoundError for an unknown id.
   *
   * @returns undefined if there was one
   */
  post(id: string, message: Omit<Message, "number">, options?: PostOptions): Promise<Message | undefined>;
  /** The digest of the message that was put into the run's inbox under that key of its sender's, used or not; kept as long as the run. */
  sent(id: string, key: string): Promise<string | undefined>;
  /** Unused messages in order of arrival: those whose number is higher than `after` (default 0: all). */
  inbox(id: string, after?: number): Promise<Message[]>;
  /** Of these runs, those with messages that are not used. */
  messaged(ids: readonly string[]): Promise<string[]>;
  /** Calls `listener` with a run's id after a message was put into its inbox through this very store object; returns the way to stop. */
  onPost(listener: (id: string) => void): () => void;
  /**
   * Removes the run with its journal and inbox.
   *
   * @param updatedAt only if the run was last changed at that time, and nobody owns it
   * @returns whether it was there, and removed
   */
  delete(id: string, updatedAt?: number): Promise<boolean>;
  close(): Promise<void>;
}

export interface PostOptions {
  once?: boolean;
  sender?: SenderKey;
}

/** A lease's clock readings, in milliseconds since the epoch. */
export interface Lease {
  now: number;
  until: number;
}
