/** A run as it goes on: a stream of lines of JSON, each a batch of what is new. */
import { setTimeout } from "node:timers/promises";
import { RunNotFoundError } from "../runtime/errors.js";
import type { Codec } from "../runtime/journal/codec.js";
import type { Message, RunRecord, Store } from "../runtime/stores/store.js";
import { isAlive, rowsOf, runBrief } from "./shown-run.js";
import type { Batch } from "./wire.js";

/** Most entries of a batch. */
const batchSize = 2_000;
/** Between two looks at the store, in milliseconds. */
const interval = 250;
/** After so many looks without news the page is told that the server is still there. */
const quietLooks = 40;

export interface Followed {
  store: Store;
  codec: Codec;
  id: string;
  /** Begin after this entry. */
  after: number;
  signal: AbortSignal;
  onError(error: unknown): void;
}

/** @throws RunNotFoundError, StoreError */
export async function followRun({ store, codec, id, after, signal, onError }: Followed): Promise<ReadableStream> {
  if ((await store.read(id)) === undefined) throw new RunNotFoundError(id);
  const encoder = new TextEncoder();
  const lines = batches({ store, codec, id, after, signal });
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await lines.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(`${value === undefined ? "" : JSON.stringify(value)}\n`));
      } catch (error) {
        if (signal.aborted) return controller.close();
        onError(error);
        controller.error(error);
      }
    },
    cancel: () => void lines.return(),
  });
}

/** Undefined: nothing new, for whoever wonders. */
type Batches = AsyncGenerator<Batch | undefined, void>;

async function* batches({ store, codec, id, after, signal }: Omit<Followed, "onError">): Batches {
  let last = after;
  let told = "";
  let caughtUp = false;
  let quiet = 0;
  while (!signal.aborted) {
    // The run first: what it says of its end holds for all its entries.
    const run = await store.read(id);
    if (run === undefined) return;
    const inbox = await store.inbox(id);
    const entries = await store.entries(id, last, batchSize);
    const batch: Batch = {};
    const now = Date.now();
    const standing = standingOf(run, inbox, now);
    if (standing !== told) batch.run = runBrief(run, inbox, codec, now);
    told = standing;
    if (entries.length > 0) Object.assign(batch, rowsOf(entries));
    last = entries.at(-1)?.seq ?? last;
    const isAll = entries.length < batchSize;
    if (isAll && !caughtUp) batch.caughtUp = true;
    caughtUp ||= isAll;
    if (Object.keys(batch).length > 0) {
      quiet = 0;
      yield batch;
    } else if (++quiet % quietLooks === 0) yield undefined;
    if (isAll) await setTimeout(interval, undefined, { signal }).catch(() => {});
  }
}

/** What the page is told anew if it changes. */
function standingOf(run: RunRecord, inbox: readonly Message[], now: number): string {
  const { status, due, fence, updatedAt, owner } = run;
  return JSON.stringify([
    ...[status, due, fence, status === "running" ? 0 : updatedAt],
    ...[owner?.token, isAlive(run, now), inbox.length],
  ]);
}
