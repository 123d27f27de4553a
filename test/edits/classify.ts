/** What became of recorded calls when edited code resumed their run. */
import type { Entry } from "stepmark";
import type { Recording } from "./run.js";
import type { Truth } from "./truth.js";
import type { Ask } from "./world.js";

export const fates = {
  /** Its own record answered it, or that of the step around it did. */
  kept: "kept",
  /** The run was refused before any body ran. */
  refused: "refused",
  /** The run was refused after bodies of calls that are new had run. */
  late: "refused late",
  /** It is gone, and the run says so. */
  orphan: "orphan",
  /** It is gone, and nobody says so. */
  unreported: "unreported",
  /** It is there, and the run did not come to it. */
  unasked: "unasked",
  /** Its body ran again. */
  redone: "redone",
  /** Another call got what it had come to. */
  taken: "taken",
} as const;
export type Fate = keyof typeof fates;

/** Errors that say that an edit is in the way. */
const refusals = new Set(["RETIRED_SITE", "AMBIGUOUS_SITE", "REPLAY_MISMATCH"]);

export function isRefusal(error: string | undefined): boolean {
  return refusals.has(error ?? "");
}

export interface Judged {
  /** By recorded call: what became of it, and whether the edited code still has it. */
  readonly calls: ReadonlyMap<Ask, { readonly fate: Fate; readonly same: boolean }>;
  /** The error that the run ended with, and whether it is one that an edit may lead to. */
  readonly error: string | undefined;
  readonly expected: boolean;
}

/**
 * @param before the pass that was recorded
 * @param kept so many entries of it were left
 * @param after the pass of the edited code on these entries
 * @param fresh a pass of the edited code that has no record
 */
export function judge(before: Recording, kept: number, after: Recording, fresh: Recording, truth: Truth): Judged {
  const namesBefore = truth(before.asks);
  const namesAfter = truth(after.asks);
  const there = new Set(truth(fresh.asks).values());
  const recorded = recordedCalls(before.asks, before.entries.slice(0, kept));
  const owners = new Map(before.asks.flatMap((ask) => (ask.given === undefined ? [] : [[ask.given, ask] as const])));
  const answered = new Map<Ask, Ask>();
  for (const ask of after.asks) {
    const owner = ask.kind === "sleep" ? timerOf(ask, recorded, after, kept) : owners.get(ask.given ?? "");
    if (owner !== undefined) answered.set(ask, owner);
  }
  const bodiesRan = after.asks.some(({ executions }) => executions > 0);
  const { error } = after;
  const isRefused = isRefusal(error);
  const fateOf = (call: Ask): Fate => {
    const name = namesBefore.get(call);
    const same = after.asks.filter((ask) => name !== undefined && namesAfter.get(ask) === name);
    const takers = after.asks.filter((ask) => answered.get(ask) === call && !same.includes(ask));
    if (takers.length > 0) return "taken";
    if (same.some((ask) => isDone(ask) && answered.get(ask) !== call)) return "redone";
    if (isRefused) return bodiesRan ? "late" : "refused";
    if (same.some((ask) => answered.get(ask) === call) || isCovered(call, before, recorded)) return "kept";
    if (after.orphans.includes(call.key)) return "orphan";
    return name !== undefined && there.has(name) ? "unasked" : "unreported";
  };
  return {
    calls: new Map(
      [...recorded].map((call) => {
        const name = namesBefore.get(call);
        return [call, { fate: fateOf(call), same: name !== undefined && there.has(name) }];
      }),
    ),
    error,
    expected: error === fresh.error || isRefused,
  };
}

/** Whether a call has been made, not answered by a record. */
function isDone({ executions, kind, given }: Ask): boolean {
  return executions > 0 || (kind !== "step" && given !== undefined);
}

/** The calls that entries hold an outcome of. */
function recordedCalls(asks: readonly Ask[], entries: readonly Entry[]): Set<Ask> {
  const keys = new Set(entries.filter(({ state }) => state === "done" || state === "failed").map(({ key }) => key));
  return new Set(asks.filter(({ key }) => keys.has(key)));
}

/** A timer comes to nothing that could tell whose it was. */
function timerOf(ask: Ask, recorded: ReadonlySet<Ask>, after: Recording, kept: number): Ask | undefined {
  if (ask.given === undefined) return undefined;
  const fired = after.entries.find(({ key, state }) => key === ask.key && state === "done");
  if (fired === undefined || fired.seq > kept) return undefined;
  return [...recorded].find(({ key }) => key === ask.key);
}

/** Whether it was made by the body of a step that has its record. */
function isCovered({ key }: Ask, { entries }: Recording, recorded: ReadonlySet<Ask>): boolean {
  const within = entries.find((entry) => entry.key === key)?.within;
  if (within === undefined) return false;
  for (const outer of recorded) if (outer.key === within) return true;
  return false;
}
