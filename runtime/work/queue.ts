/**
 * The one interface between an app and the queue that hands its runs out to workers. A queue decides which run is driven when,
 * and by which process; it decides nothing about who may write: that is the store's fence.
 */
import type { Owner, Store } from "../stores/store.js";
import type { Limit } from "./limits.js";

/** @typeParam Session what a transaction goes by that its user has begun: the queue's own matter */
export interface Queue<Session = unknown> {
  /** Makes a run, by `create`, and queues it, both in one transaction; a run that is queued already stays as it is. */
  put<T>(id: string, order: Order<Session>, create: (store: Store) => Promise<T>): Promise<T>;
  /** Takes part in the work, until it is stopped. */
  join(member: Member): Promise<Membership>;
  /** Ends the connections that the queue has made. */
  close(): Promise<void>;
}

/** When a run's turn comes. */
export interface Order<Session = unknown> {
  /** Higher goes first. */
  priority: number;
  /** Not before, in milliseconds since the epoch. */
  runAt?: number | undefined;
  /** Whether a run that has failed is to be taken up again. */
  again?: boolean | undefined;
  /** The transaction that this is to be a part of. */
  session?: Session | undefined;
}

/** A process that works. */
export interface Member {
  owner: Owner;
  /** Names of the workflows that it knows. */
  workflows: readonly string[];
  /** How many runs it drives at once. */
  concurrency: number;
  limits: readonly Limit[];
  crons: readonly CronTimes[];
  /** Milliseconds between two looks at what nobody has told it. */
  interval: number;
  /** How long it counts as alive without renewing, on another machine, in milliseconds: as long as an owner of runs. */
  lease: number;
  /**
   * The key that a run's limits go by. Where it cannot be told the run goes with all others that have none: it is empty.
   *
   * @throws StoreError, BlobError if the input cannot be had now
   */
  keyOf(id: string): Promise<string>;
  /** Goes on with a run until it waits or has ended, or cannot go on here. Must not throw. */
  drive(turn: Turn): Promise<Handed>;
  /** The moment `at` (milliseconds since the epoch) of a cron has come. */
  tick(name: string, at: number): Promise<void>;
  /** Whether a process is gone. */
  isDead(owner: Owner, leaseUntil: number): boolean;
  /** Whether a run belongs to nobody who lives. */
  isFree(id: string): Promise<boolean>;
  onError(error: unknown, runId: string | undefined): void;
}

/** When a cron starts runs. */
export interface CronTimes {
  name: string;
  /** Five fields, in UTC. */
  schedule: string;
  /** How far back ticks are made up for that came while no worker ran, in milliseconds. */
  backfill: number;
}

/** A run that is handed out. */
export interface Turn {
  id: string;
  /** How many processes in a row have died with it, without its having got any further. */
  takeovers: number;
}

/** What has become of it: it waits or has ended, as the store knows; or it is to be handed out again, after so many milliseconds. */
export type Handed = "over" | { again: number };

export interface Membership {
  /** Takes nothing more; resolves when what is being driven has come back. */
  stop(): Promise<void>;
}
