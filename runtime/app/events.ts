/** A run's events: what its journal holds, entry by entry, and how the run stands. */
import type { Codec } from "../journal/codec.js";
import type { Entry, EntryKind, EntryState } from "../journal/entry.js";
import type { RunRecord } from "../stores/store.js";
import { decoded } from "./decoded.js";

/** What every event of a journal entry tells. */
interface OfEntry {
  /** Position in the journal, from 1, without gaps. */
  seq: number;
  /** Replay key. */
  key: string;
  /** `file:line` of the call; undefined for a call that is known by an explicit key alone. */
  at: string | undefined;
  /** 1 for the first. */
  attempt: number;
  /** Milliseconds since the epoch: when the body started, or the wait or timer was opened. */
  startedAt: number;
}

/** A recorded value, decoded anew each time it is read, and not enumerable: `JSON.stringify` leaves it out. */
interface WithValue {
  /** @throws DecodeError */
  readonly value: unknown;
}

/** A recorded error, like `value`. */
interface WithError {
  /** @throws DecodeError */
  readonly error: unknown;
}

interface WithDue {
  /** Milliseconds since the epoch. */
  due: number;
}

/** What each type of event tells besides `type`, `runId` and `time`. */
export interface RunEventFields {
  /** A body is about to run; only of steps with `retries` or a `deadline`, which is `due`. */
  "step.attempted": OfEntry & Partial<WithDue>;
  "step.completed": OfEntry & WithValue;
  /** A step has failed for good. */
  "step.failed": OfEntry & WithError;
  /** `value` is the payload. */
  "wait.opened": OfEntry & WithValue & { name: string };
  "wait.answered": OfEntry & WithValue & { name: string };
  /** An answer that the wait's schema did not take; `value` lists what was wrong. The wait is still open. */
  "wait.refused": OfEntry & WithValue & { name: string };
  /** Nobody answered in time. */
  "wait.timedOut": OfEntry & { name: string };
  "timer.set": OfEntry & WithDue;
  "timer.fired": OfEntry & WithDue;
  /** `now`, `random`, `uuid`. */
  "value.recorded": OfEntry & WithValue;
  /** `publish`. */
  published: OfEntry & WithValue & { name: string };
  /** `changed(name)` was asked for the first time; `value` is its answer. */
  "changed.decided": OfEntry & WithValue & { name: string };
  /** A resume accepted what the record and the code differ in; `value` tells what: `{ accept?, divergence? }`, as it was given. */
  "run.accepted": OfEntry & WithValue;
  "child.started": OfEntry & { child: string };
  "child.completed": OfEntry & WithValue & { child: string };
  "child.failed": OfEntry & WithError & { child: string };
  "run.started": { workflow: string };
  /** The run goes on when an answer or a timer comes. */
  "run.waiting": object;
  "run.stalled": WithError;
  /** `value` is the output. */
  "run.completed": WithValue;
  "run.failed": WithError;
  "run.cancelled": object;
  /** This process has stopped driving, or following, a run that has not ended: `error` tells why. */
  "run.left": WithError;
}

export type RunEventType = keyof RunEventFields;

/** The fields that some events have, so that they can be read of any event: undefined where they do not apply. */
interface Absent {
  seq?: undefined;
  key?: undefined;
  at?: undefined;
  attempt?: undefined;
  startedAt?: undefined;
  name?: undefined;
  due?: undefined;
  child?: undefined;
  workflow?: undefined;
  value?: undefined;
  error?: undefined;
}

/** An event of one type. */
export type RunEventOf<Type extends RunEventType> = {
  type: Type;
  runId: string;
  /** Milliseconds since the epoch: when it happened. */
  time: number;
} & RunEventFields[Type] &
  Omit<Absent, keyof RunEventFields[Type]>;

/** An event, to be told apart by `type`. */
export type RunEvent = { [Type in RunEventType]: RunEventOf<Type> }[RunEventType];

export interface EventOptions {
  /** Go on after the event with this `seq`. Default 0: from the start. */
  after?: number;
}

const types: Record<EntryKind, Partial<Record<EntryState, RunEventType>>> = {
  step: { attempt: "step.attempted", done: "step.completed", failed: "step.failed" },
  wait: { open: "wait.opened", done: "wait.answered", refused: "wait.refused" },
  timer: { open: "timer.set", done: "timer.fired" },
  value: { done: "value.recorded" },
  publish: { done: "published" },
  child: { open: "child.started", done: "child.completed", failed: "child.failed" },
  changed: { done: "changed.decided" },
  accept: { done: "run.accepted" },
};

export function entryEvent(runId: string, entry: Entry, codec: Codec): RunEvent {
  const { kind, state, key, seq, site, attempt, startedAt, endedAt, name, due, child, value, timedOut } = entry;
  const at = site && `${site.module}:${site.line}`;
  const type: RunEventType = timedOut ? "wait.timedOut" : types[kind][state]!;
  const event = { type, runId, time: endedAt, seq, key, at, attempt, startedAt } as RunEvent;
  if (name !== undefined) Object.assign(event, { name });
  if (due !== undefined) Object.assign(event, { due });
  if (child !== undefined) Object.assign(event, { child });
  if (value !== undefined && kind !== "timer" && !timedOut)
    onAccess(event, state === "failed" ? "error" : "value", () => decoded(codec, value, { runId, key, at }));
  return event;
}

export function startEvent({ id, workflow, createdAt }: RunRecord): RunEvent {
  return { type: "run.started", runId: id, time: createdAt, workflow };
}

export function waitingEvent(runId: string, time: number): RunEvent {
  return { type: "run.waiting", runId, time };
}

/** How a run has ended according to its record; undefined while it has not. */
export function endEvent({ id, status, output, error, updatedAt }: RunRecord, codec: Codec): RunEvent | undefined {
  if (status === "running" || status === "waiting") return undefined;
  const event = { type: `run.${status}`, runId: id, time: updatedAt } as RunEvent;
  if (output !== undefined) onAccess(event, "value", () => decoded(codec, output, { runId: id }));
  if (error !== undefined) onAccess(event, "error", () => decoded(codec, error, { runId: id }));
  return event;
}

/** The end of what this process can tell of a run that goes on elsewhere, or later. */
export function brokenOff(
  type: "run.stalled" | "run.left" | "run.failed",
  runId: string,
  time: number,
  error: unknown,
): RunEvent {
  const event = { type, runId, time } as RunEvent;
  onAccess(event, "error", () => error);
  return event;
}

function onAccess(event: RunEvent, field: "value" | "error", get: () => unknown): void {
  Object.defineProperty(event, field, { get, enumerable: false });
}
