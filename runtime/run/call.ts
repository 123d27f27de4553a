/** A sited call of a run, from the moment it is made until its outcome is delivered. */
import type { EntryKind, SiteRecord } from "../journal/entry.js";
import type { StepExtent } from "../scope/place.js";
import type { FrameEntry } from "../scope/turn.js";
import type { RecordedCall } from "./record/record.js";

/** What the public functions (`step`, `waitFor`, ...) ask a run for. Plain data but for `start`. */
export interface CallRequest {
  kind: EntryKind;
  key: string;
  /** Fingerprint of the arguments. */
  args: string;
  /** Where the functions and instances among them come from; see `scope/origins.ts`. */
  origins?: string | undefined;
  /** See `scope/chain.ts`. */
  chain: string;
  site: SiteRecord | undefined;
  /** How the function around was entered, if its key goes by the order of entries. */
  entry: FrameEntry | undefined;
  /** The step body that makes the call. */
  within: StepExtent | null;
  /** Does what is to be done live: runs a body, opens a wait, sets a timer. Must not throw. */
  start(call: Call): void;
}

/** A call under way. */
export interface Call extends CallRequest {
  readonly promise: Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** What the journal holds of it. */
  recorded: RecordedCall | undefined;
  /** The call of a later attempt of the step body around, which gets the outcome instead. */
  heir: Call | undefined;
}

export function newCall(request: CallRequest, recorded: RecordedCall | undefined): Call {
  const { kind, key, args, origins, chain, site, entry, within, start } = request;
  let resolve!: (value: unknown) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise((res, rej) => {
    resolve = res;
    reject = rej;
  });
  // Written out, since copying costs a small step more than all else that is done here.
  const heir = undefined;
  return { kind, key, args, origins, chain, site, entry, within, start, promise, resolve, reject, recorded, heir };
}

/** `file:line` of a site. */
export function placeOf(site: SiteRecord | undefined): string | undefined {
  return site === undefined ? undefined : `${site.module}:${site.line}`;
}
