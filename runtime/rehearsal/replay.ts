/** Recorded runs replayed against the code that is loaded: what would happen if they were resumed, without doing it. */
import { type Duration, milliseconds } from "../calls/duration.js";
import type { AnyWorkflow } from "../calls/workflow.js";
import { DuplicateWorkflowError, KeySchemeError, UnknownWorkflowError, ValuesLeftOutError } from "../errors.js";
import { wordsOf } from "../journal/careful.js";
import { checkJournal } from "../journal/check-journal.js";
import { type Codec, codec as makeCodec } from "../journal/codec.js";
import type { EntryKind } from "../journal/entry.js";
import { fingerprint } from "../journal/fingerprint.js";
import { type Call, placeOf } from "../run/call.js";
import type { RecordedCall } from "../run/record/record.js";
import { KEY_SCHEME } from "../scope/key.js";
import { baseAnchor } from "../scope/module-table.js";
import { isolated } from "../scope/outside.js";
import type { ExportedRun } from "../transfer/read-export.js";
import { type Rehearsed, rehearse } from "./rehearse.js";

export interface ReplayOptions {
  /** The workflows of this build. */
  workflows: Iterable<AnyWorkflow>;
  /** The codec of the app that recorded the runs. */
  codec?: Codec;
  /** How long the code may wait for something outside any call, such as a request or an import (default 1 s). */
  grace?: Duration;
  /** As of `app.resume`. */
  accept?: "edits";
  /** As of `app.resume`. */
  divergence?: "continue";
}

/** A call that the code makes and that the record has no outcome for. */
export interface NextCall {
  /** Replay key. */
  key: string;
  kind: EntryKind;
  /** What the call is named after, without its ordinal; undefined for one that is known by an explicit key alone. */
  name: string | undefined;
  /** `file:line`. */
  at: string | undefined;
  /** Whether the record does not know the call. It knows open waits, timers, child runs, and steps that are to be tried again. */
  isNew: boolean;
}

export interface ReplayReport {
  runId: string;
  workflow: string;
  /** Whether this build can go on with the run. */
  ok: boolean;
  /**
   * Where the code came to: it `returned`, or `threw`; it `asks` for what the record has no outcome for, which would start now; it
   * waits `outside` any call; or it was `refused`, or could not even begin, for `error`.
   */
  end: "returned" | "threw" | "asks" | "outside" | "refused";
  /** How many recorded calls the code has asked for. */
  hits: number;
  /** Keys of calls that were answered although their text has changed. */
  edited: string[];
  /** Keys of recorded calls that the code never asks for. */
  orphans: string[];
  /** Keys of recorded calls that the code has not come to, since it does something new before. */
  unreached: string[];
  /** What would start now. */
  next: NextCall[];
  /** What `changed` tells the run, by id. */
  changed: Record<string, boolean>;
  /** For a run that has completed: whether this code returns the same. */
  sameOutput?: boolean;
  /** Why it was refused, or what the code threw. */
  error?: unknown;
}

/**
 * Replays a recorded run against this process's code. No step's body, timer, wait or child run starts, and nothing is written;
 * code between the calls runs, as it does in every replay.
 *
 * @throws DuplicateWorkflowError, InvalidArgumentError; what is wrong with the run is told in the report
 */
export async function replayRun(exported: ExportedRun, options: ReplayOptions): Promise<ReplayReport> {
  const workflows = byName(options.workflows);
  const grace = milliseconds(options.grace ?? 1_000, "`grace`");
  const codec = isolated(options.codec ?? makeCodec());
  const { run, entries } = exported;
  const next: Call[] = [];
  try {
    const workflow = check(exported, workflows);
    const rehearsed = await rehearse({
      workflow,
      input: codec.decode(run.input),
      whole: { run, entries, inbox: [] },
      codec,
      grace,
      acceptEdits: options.accept === "edits",
      continueDivergence: options.divergence === "continue",
      live(_, calls) {
        for (const call of calls) {
          if (call.kind === "changed") call.start(call);
          else next.push(call);
        }
      },
      // Once it asks for something there is nothing more to wait for.
      patience: () => (next.length > 0 ? 0 : grace),
    });
    return report(exported, rehearsed, next, codec);
  } catch (error) {
    return { ...blank(exported), error };
  }
}

function check({ run, entries, values }: ExportedRun, workflows: ReadonlyMap<string, AnyWorkflow>): AnyWorkflow {
  const place = { runId: run.id };
  if (!values) throw new ValuesLeftOutError("can be looked at and cannot be replayed", place);
  const workflow = workflows.get(run.workflow);
  if (workflow === undefined) {
    const cure = "Export it from the module of workflows, or pass it in `workflows`.";
    throw new UnknownWorkflowError(run.workflow, [...workflows.keys()], place, cure);
  }
  if (run.scheme !== KEY_SCHEME) {
    throw new KeySchemeError(
      `The run's keys were minted under key scheme ${run.scheme}; this version replays scheme ${KEY_SCHEME}`,
      place,
    );
  }
  checkJournal(run.id, entries);
  return workflow;
}

function byName(workflows: Iterable<AnyWorkflow>): ReadonlyMap<string, AnyWorkflow> {
  const found = new Map<string, AnyWorkflow>();
  for (const workflow of workflows) {
    const { workflowName: name } = workflow;
    if ((found.get(name) ?? workflow) !== workflow) throw new DuplicateWorkflowError(name);
    found.set(name, workflow);
  }
  return found;
}

function blank({ run }: ExportedRun): ReplayReport {
  const none = { hits: 0, edited: [], orphans: [], unreached: [], next: [], changed: {} };
  return { runId: run.id, workflow: run.workflow, ok: false, end: "refused", ...none };
}

function report(exported: ExportedRun, rehearsed: Rehearsed, next: Call[], codec: Codec): ReplayReport {
  const { execution, record, ending } = rehearsed;
  const { run } = exported;
  const calls = [...record.calls.values()];
  const asked = calls.filter((call) => call.asked && call.outcome !== undefined);
  const left = calls.filter((call) => !call.asked && call.within === undefined && !isChange(call));
  const told = {
    ...blank(exported),
    hits: asked.length,
    edited: execution.checks.edited,
    next: next.map((call) => nextCall(call, calls)),
    changed: changes(rehearsed, codec),
  };
  const keys = left.map(({ key }) => key);
  if (ending?.status === "completed") {
    const sameOutput = run.output === undefined ? undefined : isSame(codec, ending.output, run.output);
    return { ...told, ok: true, end: "returned", orphans: keys, ...(sameOutput !== undefined && { sameOutput }) };
  }
  if (ending?.status === "failed") {
    if (execution.lifetime.refused) return { ...told, unreached: keys, error: ending.error };
    // A run that has failed before fails again, unless one of its steps is to be tried again.
    return { ...told, ok: run.status === "failed", end: "threw", orphans: keys, error: ending.error };
  }
  if (ending !== undefined) return { ...told, error: ending.status === "left" ? ending.error : undefined };
  if (next.length > 0) return { ...told, ok: true, end: "asks", unreached: keys };
  if (!left.some(({ required }) => required)) return { ...told, ok: true, end: "outside", unreached: keys };
  return { ...told, unreached: keys, error: execution.stalled };
}

function nextCall({ key, kind, site, recorded }: Call, known: readonly RecordedCall[]): NextCall {
  const name = site && baseAnchor(site.anchor);
  // Of a step whose body was under way the record may hold what the body has done so far.
  const isNew = recorded === undefined && !known.some(({ within }) => within === key);
  return { key, kind, name, at: placeOf(site), isNew };
}

function changes({ entries }: Rehearsed, codec: Codec): Record<string, boolean> {
  const told = entries.filter(({ kind }) => kind === "changed");
  return Object.fromEntries(told.map(({ name, value }) => [name!, codec.decode(value!) === true]));
}

function isChange({ outcome }: RecordedCall): boolean {
  return outcome?.kind === "changed";
}

function isSame(codec: Codec, one: string, other: string): boolean {
  return one === other || fingerprint([codec.decode(one)]) === fingerprint([codec.decode(other)]);
}

/** A report in words, for people: one line, or what the error says. */
export function describeReport({ runId, workflow, ...told }: ReplayReport): string {
  const { ok, end, hits, edited, orphans, unreached, next, changed, sameOutput, error } = told;
  const list = (what: string, keys: readonly string[]): string[] =>
    keys.length === 0 ? [] : [`${keys.length} ${what}: ${keys.join(", ")}`];
  const ends: Record<ReplayReport["end"], string> = {
    returned: sameOutput === false ? "returns, and not what it returned before" : "returns",
    threw: `throws ${wordsOf(error)}`,
    asks: `goes on with ${next.map(nameOf).join(", ")}`,
    outside: "waits for something outside any step",
    refused: `refused: ${wordsOf(error)}`,
  };
  const parts = [
    `${hits} ${hits === 1 ? "hit" : "hits"}`,
    ...list("edited", edited),
    ...list("orphans", orphans),
    ...list("not reached", unreached),
    ...Object.entries(changed).map(([id, answer]) => `changed(${JSON.stringify(id)}) is ${answer}`),
    ends[end],
  ];
  return `${ok ? "ok" : "FAILS"}  ${runId} (${workflow}): ${parts.join("; ")}`;
}

function nameOf({ key, kind, name, at, isNew }: NextCall): string {
  const place = at === undefined ? key : `${at}, key ${key}`;
  return `${isNew ? "the new " : "the "}${kind} ${name === undefined ? "" : `\`${name}\` `}(${place})`;
}
