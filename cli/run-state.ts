/** How a run of a store stands, beyond what its record says: whether somebody drives it. */
import { type RunInfo, runInfo } from "../runtime/app/run-info.js";
import { RunNotFoundError } from "../runtime/errors.js";
import { codec } from "../runtime/journal/codec.js";
import type { Entry } from "../runtime/journal/entry.js";
import { isDead } from "../runtime/stores/owner.js";
import type { Owner, RunRecord, Store } from "../runtime/stores/store.js";

/** What a run is read with that no app has given a codec. */
export const plainCodec = codec();

export interface RunState {
  readonly run: RunRecord;
  readonly info: RunInfo;
  readonly entries: readonly Entry[];
  readonly driver: Driver | undefined;
}

/** The process that has taken a run. */
export interface Driver {
  readonly pid: number;
  readonly host: string;
  readonly alive: boolean;
}

/** @throws RunNotFoundError, StoreError */
export async function readRun(store: Store, id: string): Promise<RunState> {
  const run = await store.read(id);
  if (run === undefined) throw new RunNotFoundError(id);
  const entries = await store.entries(id);
  return { run, info: runInfo(run, entries, plainCodec), entries, driver: driverOf(run) };
}

export function driverOf({ owner, leaseUntil }: RunRecord, now = Date.now()): Driver | undefined {
  if (owner === undefined) return undefined;
  return { pid: owner.pid, host: hostOf(owner), alive: !isDead(owner, leaseUntil ?? 0, now) };
}

/** Whether the record says that a run goes on, and nobody is there to see to it. */
export function isLeftBehind({ status }: RunRecord, driver: Driver | undefined): boolean {
  return status === "running" && !driver?.alive;
}

/** The machine's name; what tells machines of one name apart may follow it. */
function hostOf({ host }: Owner): string {
  return host.split("/")[0]!;
}

/** A field that is decoded when it is read; why it cannot be, where it cannot. */
export function readField<T extends object>(target: T, field: keyof T): unknown {
  try {
    return target[field];
  } catch (error) {
    return error;
  }
}
