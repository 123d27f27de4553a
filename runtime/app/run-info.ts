/** What can be told of a run from outside. */
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { RunRecord, StoredStatus } from "../stores/store.js";
import { setDecoded } from "./decoded.js";

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
}

export interface RunInfo {
  id: string;
  workflow: string;
  status: RunStatus;
  /** Output of a completed run. Reading it throws DecodeError if this app's codec cannot. */
  output?: unknown;
  /** Error of a failed run. Like `output`. */
  error?: unknown;
  waits: OpenWaitInfo[];
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
    waits: run.status === "running" || run.status === "waiting" ? openWaits(run.id, entries, codec) : [],
    orphans: run.orphans ?? [],
    edited: run.edited ?? [],
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
  };
  if (run.output !== undefined) setDecoded(info, "output", codec, run.output, { runId: run.id });
  if (run.error !== undefined) setDecoded(info, "error", codec, run.error, { runId: run.id });
  return info;
}

function openWaits(runId: string, entries: readonly Entry[], codec: Codec): OpenWaitInfo[] {
  const open = new Map<string, OpenWaitInfo>();
  for (const entry of entries) {
    if (entry.kind !== "wait") continue;
    if (entry.state !== "open") {
      open.delete(entry.key);
      continue;
    }
    const { key } = entry;
    const at = entry.site && `${entry.site.module}:${entry.site.line}`;
    const wait: OpenWaitInfo = { key, name: entry.name!, payload: undefined, at, since: entry.startedAt };
    setDecoded(wait, "payload", codec, entry.value!, { runId, key, at });
    open.set(key, wait);
  }
  return [...open.values()];
}
