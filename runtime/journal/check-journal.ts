/**
 * Whether a journal is one that this version can replay, before anything of it is used: complete, in order, of kinds
 * and of a format that are known here.
 */
import { DamagedJournalError, NewerVersionError } from "../errors.js";
import type { Entry, EntryKind, EntryState } from "./entry.js";

/** Version of entries and of the values in them; an entry without one is of version 1. */
export const JOURNAL_FORMAT = 1;

const states: Readonly<Record<EntryKind, readonly EntryState[]>> = {
  step: ["done", "failed", "attempt"],
  wait: ["done", "open", "refused"],
  timer: ["done", "open"],
  value: ["done"],
  publish: ["done"],
  child: ["open", "done", "failed"],
  changed: ["done"],
  accept: ["done"],
};

/**
 * @param entries all entries of the run, as the store gave them
 * @throws NewerVersionError, DamagedJournalError
 */
export function checkJournal(runId: string, entries: readonly Entry[]): void {
  let seq = 0;
  for (const entry of entries) {
    const { key, format = JOURNAL_FORMAT } = entry;
    const place = { runId, key };
    if (format > JOURNAL_FORMAT) {
      throw new NewerVersionError(
        `Entry ${entry.seq} of the journal has format ${format}, and this version of stepmark knows ${JOURNAL_FORMAT}`,
        "Resume the run with the version that wrote it; nothing was changed.",
        place,
      );
    }
    seq++;
    if (entry.seq !== seq) {
      throw new DamagedJournalError(`The journal has entry ${entry.seq} where entry ${seq} should be`, place);
    }
    const wrong = faultOf(entry);
    if (wrong !== undefined) throw new DamagedJournalError(`Entry ${seq} of the journal ${wrong}`, place);
  }
}

function faultOf({ key, kind, state, value, name, due, child }: Entry): string | undefined {
  if (typeof key !== "string" || key === "") return "has no key";
  if (!Object.hasOwn(states, kind)) return `is of an unknown kind, ${JSON.stringify(kind)}`;
  if (!states[kind].includes(state)) return `is a ${kind} in the state ${JSON.stringify(state)}, which no ${kind} has`;
  if ((state === "done" || state === "failed") && typeof value !== "string") return "has no outcome";
  if (kind === "wait" && typeof name !== "string") return "is a wait without a name";
  if (kind === "publish" && typeof name !== "string") return "is published without a name";
  if (kind === "changed" && typeof name !== "string") return "is of a change without an id";
  if (kind === "child" && typeof child !== "string") return "is of a child run without an id";
  if (kind === "timer" && typeof due !== "number") return "is a timer without a time";
  return undefined;
}
