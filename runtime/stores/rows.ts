/**
 * How the stores in databases keep a run: rows of plain columns, whose texts end in a seal over the text and its place.
 * What reads a row checks the seals.
 */
import { DamagedJournalError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { seal, unseal } from "./seal.js";
import type {
  KeptRun,
  Message,
  NewRun,
  Owner,
  ParentCall,
  RunRecord,
  RunStanding,
  StoredStatus,
  WholeRun,
} from "./store.js";

/** A column's value. */
export type Cell = string | number | null;

/** Numbers may come as text: Postgres gives those of 64 bits so. */
export type Row = Readonly<Record<string, Cell>>;

type Posted = Omit<Message, "number">;

export function sealedEntry(id: string, entry: Entry): string {
  return seal(JSON.stringify(entry), "entry", id, entry.seq);
}

/** @throws DamagedJournalError */
export function entryOf(id: string, seq: number, entry: unknown): Entry {
  return JSON.parse(intact(unseal(entry, "entry", id, seq), id, `Entry ${seq} of the journal`)) as Entry;
}

export function sealedInput(run: NewRun): string {
  return seal(run.input, ...inputPlace(run));
}

export function sealedOutput(id: string, output: string): string {
  return seal(output, "output", id);
}

export function sealedError(id: string, error: string): string {
  return seal(error, "error", id);
}

export function sealedAnswer(id: string, { target, value, at }: Posted): string {
  return seal(value, ...answerPlace(id, target, at));
}

/** @throws DamagedJournalError */
export function messageOf(id: string, { number, target, value, at }: Message): Message {
  const what = `The answer to ${JSON.stringify(target)}`;
  return { number, target, value: intact(unseal(value, ...answerPlace(id, target, at)), id, what), at };
}

/** The columns of a run that is restored, in order. */
export const restoredColumns =
  "id, workflow, status, scheme, fence, created_at, updated_at, culprits, orphans, edited, due, parent, input_print, error, output, input";

/** In the order of `restoredColumns`. */
export function restoredCells(run: WholeRun["run"]): Cell[] {
  const { id, workflow, status, scheme, fence, createdAt, updatedAt, due, inputPrint, error, output } = run;
  const list = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
  return [
    ...[id, workflow, status, scheme, fence, createdAt, updatedAt],
    ...[list(run.culprits), list(run.orphans), list(run.edited), due ?? null, list(run.parent)],
    ...[inputPrint, error === undefined ? null : sealedError(id, error)],
    ...[output === undefined ? null : sealedOutput(id, output), sealedInput(run)],
  ];
}

export function runOf(row: Row): RunRecord {
  const optional = <T>(column: string, read: (text: string) => T): T | undefined => {
    const value = row[column];
    return value === null || value === undefined ? undefined : read(String(value));
  };
  const id = row.id as string;
  const [workflow, inputPrint, scheme] = [row.workflow as string, row.input_print as string, Number(row.scheme)];
  const place = inputPlace({ id, workflow, inputPrint, scheme, createdAt: 0 });
  return {
    id,
    workflow,
    status: row.status as StoredStatus,
    inputPrint,
    // Looked into when they are asked for: a damaged run must not keep others out of a list.
    get input() {
      return intact(unseal(row.input, ...place), id, "The run's input");
    },
    get output() {
      return optional("output", (text) => intact(unseal(text, "output", id), id, "The run's output"));
    },
    get error() {
      return optional("error", (text) => intact(unseal(text, "error", id), id, "The run's error"));
    },
    culprits: optional("culprits", (text) => JSON.parse(text) as string[]),
    orphans: optional("orphans", (text) => JSON.parse(text) as string[]),
    edited: optional("edited", (text) => JSON.parse(text) as string[]),
    scheme,
    fence: Number(row.fence),
    owner: optional("owner", ownerOf),
    due: optional("due", Number),
    parent: optional("parent", (text) => JSON.parse(text) as ParentCall),
    leaseUntil: optional("lease_until", Number),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}

/** The columns of a run's standing. */
export const standingColumns = "id, workflow, status, fence, owner, lease_until, due";

export function standingOf(row: Row): RunStanding {
  const { id, workflow, status, owner, due, lease_until: leaseUntil } = row;
  return {
    ...{ id: id as string, workflow: workflow as string, status: status as StoredStatus, fence: Number(row.fence) },
    owner: owner === null ? undefined : ownerOf(owner!),
    leaseUntil: leaseUntil === null ? undefined : Number(leaseUntil),
    due: due === null ? undefined : Number(due),
  };
}

export function ownerOf(owner: Cell): Owner {
  return JSON.parse(String(owner)) as Owner;
}

export function keptRunOf({ id, due }: Row): KeptRun {
  return due === null ? { id: id as string } : { id: id as string, due: Number(due) };
}

function inputPlace({ id, workflow, inputPrint, scheme }: Omit<NewRun, "input">): Array<string | number> {
  return ["input", id, workflow, inputPrint, scheme];
}

function answerPlace(id: string, target: string, at: number): Array<string | number> {
  return ["answer", id, target, at];
}

function intact(text: string | undefined, runId: string, what: string): string {
  if (text !== undefined) return text;
  throw new DamagedJournalError(`${what} is not what was written: it is damaged, or was edited`, { runId });
}
