/** The long-lived loop of `app.run()`: looks, once an interval, for runs that can go on. */
import { setTimeout } from "node:timers/promises";
import { RunOwnedError, StaleOwnerError, StoreError } from "../errors.js";
import { isA } from "../journal/careful.js";
import type { Message, Owner, RunStanding, Store } from "../stores/store.js";
import { inTurns } from "./in-turns.js";

export interface WakeOptions {
  store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds between two looks. */
  interval: number;
  signal: AbortSignal;
  /** Whether nobody who lives drives a run of such an owner, or it may be so: see `Store.left`. */
  isLeft(owner: Owner, leaseUntil: number, runs: number): boolean;
  /** Whether the app drives a run. */
  drives(id: string): boolean;
  /** Whether the app knows the run's workflow, and nobody who lives has the run. */
  canTake(run: RunStanding): boolean;
  /** Takes the run up, or lets the process that has it in memory look into its inbox. */
  wake(run: RunStanding): Promise<unknown>;
  /** Lets the runs that the app drives look into their inboxes. */
  attend(): Promise<void>;
  /** How often a failing store has interrupted a run that was taken up. */
  interruptions(): number;
  onError(error: unknown, runId: string | undefined): void;
}

/** How many runs are taken up at once: a store writes what comes together with one wait for the disk. */
export const takenAtOnce = 64;

/** Wakes runs until `signal` is aborted. What cannot be taken up is reported once and left until something changes. */
export async function wakeRuns(options: WakeOptions): Promise<void> {
  const { interval, signal, interruptions, onError } = options;
  const known = new Map<string, string>();
  let seen = interruptions();
  while (!signal.aborted) {
    // When the store is back, nothing of an interrupted run need have changed.
    if (seen !== interruptions()) known.clear();
    seen = interruptions();
    try {
      await look(options, known);
    } catch (error) {
      onError(error, undefined);
    }
    await setTimeout(interval, undefined, { signal }).catch(() => {});
  }
}

async function look(options: WakeOptions, known: Map<string, string>): Promise<void> {
  const { store, now, isLeft, canTake, drives, wake, attend, signal, onError } = options;
  await attend();
  const left = (await store.left(isLeft)).filter(canTake);
  const ready = (await store.ready(now())).filter(canTake);
  /** What the store fails with ends the look: it is told once, not for each run. */
  let fault: { error: unknown } | undefined;
  const inboxOf = async ({ id, status }: RunStanding): Promise<Message[] | undefined> =>
    status !== "waiting"
      ? []
      : store.inbox(id).catch((error) => {
          fault ??= { error };
          return undefined;
        });
  const found = [...left, ...ready];
  forgetAllBut(known, found, drives);
  await inTurns(found, takenAtOnce, async (run) => {
    if (signal.aborted || fault !== undefined) return;
    const inbox = await inboxOf(run);
    if (inbox === undefined) return;
    const state = stateOf(run, inbox);
    if (known.get(run.id) === state) return;
    known.set(run.id, state);
    try {
      await wake(run);
      // A timer that is due has it go on for certain: if it has not by the next look, somebody was kept from it.
      if (run.due !== undefined && run.due <= now()) known.delete(run.id);
    } catch (error) {
      // When the store is back, or whoever was faster has died with the run, nothing of it need have changed.
      const isElsewhere = isA(error, RunOwnedError) || isA(error, StaleOwnerError);
      if (isElsewhere || isA(error, StoreError)) known.delete(run.id);
      if (!isElsewhere) onError(error, run.id);
    }
  });
  if (fault !== undefined) throw fault.error;
}

/** Of runs that are gone from the list nothing is kept, or that would be all that there ever were. Those that this app drives may be back. */
function forgetAllBut(
  known: Map<string, string>,
  found: readonly RunStanding[],
  drives: (id: string) => boolean,
): void {
  const ids = new Set(found.map(({ id }) => id));
  for (const id of known.keys()) if (!ids.has(id) && !drives(id)) known.delete(id);
}

/** What has to change before a run that did not get on is looked at again. */
function stateOf({ fence, status, due }: RunStanding, inbox: readonly Message[]): string {
  return JSON.stringify([status === "running" && fence, due, inbox.at(-1)?.number]);
}
