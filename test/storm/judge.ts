/** What is wrong with what a storm has left: plain data in, plain data out. */
import { isDeepStrictEqual } from "node:util";
import { type Line, labelOf, type Value } from "./ledger.js";

/** What is there to judge by. */
export interface Evidence {
  /** Of each run. */
  steps: number;
  runs: readonly RunLeft[];
  ledger: readonly Line[];
  /** By a trigger, in the order of each run's journal. */
  audit: readonly Written[];
  /** How many runs the queue still holds. */
  queued: number;
}

/** A run as the store has it in the end. */
export interface RunLeft {
  id: string;
  status: string;
  error?: string | undefined;
  output: readonly Value[];
  /** The values in its journal. */
  recorded: readonly Value[];
}

/** An entry of a journal, and whose the run was when it was written. */
export interface Written {
  run: string;
  seq: number;
  fence: number;
  owner: string | null;
  writer: string;
}

export interface Verdict {
  /** Runs that did not complete, or are still in the queue. */
  unfinished: string[];
  /** Values that are not those of their own call, or not the recorded ones. */
  wrong: string[];
  /** Steps whose body began again after the execution that was recorded. */
  repeated: string[];
  ownedTwice: string[];
  /** Errors that processes were told of and that no disturbance explains. */
  unexplained: string[];
  entries: number;
  /** Claims of a run that another process had had. */
  takeovers: number;
  /** Writes that were refused because the run had another owner by then. */
  refused: number;
  /** Executions that were cut off before they were recorded: their steps have run again. */
  again: number;
}

export function judge({ steps, runs, ledger, audit, queued }: Evidence): Verdict {
  const of = <T extends Line["type"]>(type: T) =>
    ledger.filter((line): line is Extract<Line, { type: T }> => line.type === type);
  const wrong = of("wrong").map(({ label }) => `${label} got the value of another step`);
  const seen = new Map<string, string>();
  for (const { label, draw } of of("seen")) {
    const before = seen.get(label);
    if (before !== undefined && before !== draw) wrong.push(`${label} was seen with two values`);
    seen.set(label, draw);
  }
  /** The last execution of each step. */
  const last = new Map(of("begin").map(({ label, draw }) => [label, draw]));
  const unfinished = queued > 0 ? [`${queued} runs are still in the queue`] : [];
  const repeated: string[] = [];
  for (const run of runs) {
    if (run.status !== "completed") unfinished.push(`${run.id} is ${run.status}${run.error ? `: ${run.error}` : ""}`);
    else wrong.push(...wrongIn(run, steps, seen));
    for (const { label, draw } of run.recorded) if (last.get(label) !== draw) repeated.push(label);
  }
  return {
    unfinished,
    wrong,
    repeated,
    ownedTwice: [...writtenByTwo(audit), ...claimedTwice(of("claim"))],
    unexplained: of("error")
      .filter(({ code }) => code !== "STORE" && code !== "STALE_OWNER")
      .map(({ code, text }) => `a process was told of ${code}: ${text}`),
    entries: runs.reduce((sum, { recorded }) => sum + recorded.length, 0),
    takeovers: of("claim").filter(({ fence }) => fence > 1).length,
    refused: of("refused").length,
    again: of("begin").length - last.size,
  };
}

/** Everything that may be wrong, by what it is called. */
export function faultsOf({ unfinished, wrong, repeated, ownedTwice, unexplained }: Verdict) {
  return { unfinished, wrong, repeated, ownedTwice, unexplained };
}

function wrongIn({ id, output, recorded }: RunLeft, steps: number, seen: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const byLabel = new Map(recorded.map((value) => [value.label, value]));
  if (byLabel.size !== recorded.length) faults.push(`${id} has a step recorded twice`);
  if (recorded.length !== steps) faults.push(`${id} has ${recorded.length} entries`);
  const expected = Array.from({ length: steps }, (_, index) => byLabel.get(labelOf(id, index)));
  if (!isDeepStrictEqual(output, expected)) faults.push(`the output of ${id} is not what its journal holds`);
  for (const { label, draw } of recorded)
    if (seen.get(label) !== draw) faults.push(`${label} is not recorded as it was seen`);
  return faults;
}

/** Whether each ownership was one process's, which alone wrote under it, and no entry was written under an earlier one than the one before. */
function writtenByTwo(audit: readonly Written[]): string[] {
  const owners = new Map<string, string | null>();
  const fences = new Map<string, number>();
  const faults: string[] = [];
  for (const { run, seq, fence, owner, writer } of audit) {
    const ownership = `${run} under fence ${fence}`;
    const known = owners.get(ownership);
    if (owner !== writer) faults.push(`entry ${seq} of ${ownership} was written by ${writer}, the owner was ${owner}`);
    if (known !== undefined && known !== owner) faults.push(`${ownership} was owned by ${known} and by ${owner}`);
    if (fence < (fences.get(run) ?? 0)) faults.push(`entry ${seq} of ${ownership} follows one under a later fence`);
    owners.set(ownership, owner);
    fences.set(run, fence);
  }
  return faults;
}

function claimedTwice(claims: ReadonlyArray<{ run: string; fence: number; machine: string }>): string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const { run, fence, machine } of claims) {
    const ownership = `${run} under fence ${fence}`;
    if (owners.has(ownership)) faults.push(`${ownership} was given to ${owners.get(ownership)} and to ${machine}`);
    owners.set(ownership, machine);
  }
  return faults;
}
