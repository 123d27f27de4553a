/** What can be told of a run from outside. */

import { giveJson, wholeView } from "../http/json-view.js";
import { isA } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { ParentCall, RunRecord, StoredStatus } from "../stores/store.js";
import { setDecoded } from "./decoded.js";
import { hasEnded } from "./ended.js";

export type RunStatus = StoredStatus | "stalled";

/** A wait that nobody has answered. */
export interface OpenWaitInfo {
  /** Replay key: the way to answer this very wait. */
  key: string;
  name: string;
  /** Like `output` of `RunInfo`. */
  payload: unknown;
  /** `file:line` of the call. */
  at: string | undefined;
  /** Milliseconds since the epoch. */
  since: number;
  /** When it times out, in milliseconds since the epoch. */
  due?: number;
}

/** A run that this one has begun by `child`. */
export interface ChildInfo {
  id: string;
  /** Replay key of the call. */
  key: string;
  /** Whether the call has its outcome. */
  status: "open" | "completed" | "failed";
}

/**
 * What is known of a run. `JSON.stringify` shows its values as HTTP does (`docs/http.md#values`), but for errors, which come with their
 * cause, their stack and their fields; what cannot be read is left out.
 */
export interface RunInfo {
  id: string;
  workflow: string;
  status: RunStatus;
  /** Output of a completed run. Reading it throws DecodeError if this app's codec cannot. */
  output?: unknown;
  /** Error of a failed run: of its class, if the codec knows that. Like `output`. */
  error?: unknown;
  waits: OpenWaitInfo[];
  /** What the run has published last, by name. Of `app.get`; empty in lists, for runs that do not wait. */
  published: Record<string, unknown>;
  /** The call of another run that has begun this one. */
  parent?: Pick<ParentCall, "id" | "key">;
  /** The runs that this one has begun. Of `app.get`, like `published`. */
  children: ChildInfo[];
  /** Keys of recorded calls that nobody had asked for when the run last ended. */
  orphans: string[];
  /** Keys of calls that were answered from the record although their text had changed. */
  edited: string[];
  /** Milliseconds since the epoch. */
  createdAt: number;
  updatedAt: number;
}

export function runInfo(run: RunRecord, entries: readonly Entry[], codec: Codec): RunInfo {
  const info: RunInfo = {
    id: run.id,
    workflow: run.workflow,
    status: run.status,
    waits: hasEnded(run.status) ? [] : openWaits(run.id, entries, codec),
    published: published(run.id, entries, codec),
    children: children(entries),
    orphans: run.orphans ?? [],
    edited: run.edited ?? [],
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
  };
  if (run.parent !== undefined) info.parent = { id: run.parent.id, key: run.parent.key };
  if (run.output !== undefined) setDecoded(info, "output", codec, run.output, { runId: run.id });
  if (run.error !== undefined) setError(info, run.error, codec);
  Object.defineProperty(info, "toJSON", { value: asJson, enumerable: false, writable: true, configurable: true });
  return info;
}

function asJson(this: RunInfo): unknown {
  return wholeView({ ...this });
}

/** An error that is spread into another object, or shown alone, is shown whole as well. */
function setError(info: RunInfo, text: string, codec: Codec): void {
  setDecoded(info, "error", codec, text, { runId: info.id });
  const error: unknown = Object.getOwnPropertyDescriptor(info, "error")?.value;
  if (isA(error, Error)) giveJson(error);
}

function openWaits(runId: string, entries: readonly Entry[], codec: Codec): OpenWaitInfo[] {
  const open = new Map<string, OpenWaitInfo>();
  for (const entry of entries) {
    if (entry.kind !== "wait") continue;
    if (entry.state === "refused") continue;
    if (entry.state !== "open") {
      open.delete(entry.key);
      continue;
    }
    const { key } = entry;
    const at = entry.site && `${entry.site.module}:${entry.site.line}`;
    const wait: OpenWaitInfo = { key, name: entry.name!, payload: undefined, at, since: entry.startedAt };
    setDecoded(wait, "payload", codec, entry.value!, { runId, key, at });
    if (entry.due !== undefined) wait.due = entry.due;
    open.set(key, wait);
  }
  return [...open.values()];
}

function published(runId: string, entries: readonly Entry[], codec: Codec): Record<string, unknown> {
  const last = new Map<string, Entry>();
  for (const entry of entries) if (entry.kind === "publish" && entry.state === "done") last.set(entry.name!, entry);
  const values: Record<string, unknown> = {};
  for (const [name, { key, value, site }] of last)
    setDecoded(values, name, codec, value!, { runId, key, at: site && `${site.module}:${site.line}` });
  return values;
}

function children(entries: readonly Entry[]): ChildInfo[] {
  const found = new Map<string, ChildInfo>();
  for (const { kind, state, key, child } of entries) {
    if (kind !== "child") continue;
    const status = state === "done" ? "completed" : state === "failed" ? "failed" : "open";
    found.set(key, { id: child!, key, status });
  }
  return [...found.values()];
}
