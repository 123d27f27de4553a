/**
 * A store whose large values are kept elsewhere. A blob is durable before anything in the store points to it, and what comes
 * back is checked against its digest, so that a value is the one that was recorded or there is an error. Values that nothing
 * points to, because a process stopped in between, go when their run is deleted.
 */
import { Buffer } from "node:buffer";
import { BlobError, StepmarkError, StoreError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { outsideRuns } from "../scope/outside.js";
import type {
  Claim,
  KeptRun,
  Lease,
  ListFilter,
  Message,
  NewRun,
  Owner,
  PostOptions,
  RunChange,
  RunRecord,
  RunStanding,
  Store,
  Timer,
  WholeRun,
} from "../stores/store.js";
import type { BlobOptions, BlobPlace } from "./blob-place.js";
import { belongsElsewhere, placeNameOf, type Reference, referenceIn, referenceTo, spell } from "./reference.js";

const defaultAbove = 131_072;

/** How many blobs of a run are read at once. */
const readsAtOnce = 8;

/**
 * @param options without them nothing goes elsewhere, and what has gone there before cannot be read: that is a BlobError
 */
export function storeWithBlobs(store: Store, options?: BlobOptions): Store {
  return new StoreWithBlobs(store, options?.place, options?.above ?? defaultAbove);
}

/** The fields of a run's record that hold values. */
const valueFields = ["input", "output", "error"] as const;

class StoreWithBlobs implements Store {
  readonly #store: Store;
  readonly #place: BlobPlace | undefined;
  readonly #above: number;
  /** Of each run the last of what waits for blobs, and of what removes them: nothing may overtake it. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(store: Store, place: BlobPlace | undefined, above: number) {
    this.#store = store;
    this.#place = place;
    this.#above = above;
  }

  async create(run: NewRun): Promise<{ created: boolean; run: RunRecord }> {
    const { id, input } = run;
    const create = async (): Promise<{ created: boolean; run: RunRecord }> =>
      this.#store.create({ ...run, input: await this.#kept(id, input) });
    // The blobs of an older run of that id may be about to be removed.
    const { created, run: found } = await (this.#isLarge(input) ? this.#inTurn(id, create) : create());
    return { created, run: await this.#whole(found) };
  }

  async restore(runs: readonly WholeRun[]): Promise<string[]> {
    return this.#store.restore(await Promise.all(runs.map((run) => this.#keepRun(run))));
  }

  async read(id: string): Promise<RunRecord | undefined> {
    const run = await this.#store.read(id);
    return run && this.#whole(run);
  }

  async list(filter: ListFilter): Promise<RunRecord[]> {
    return changed(await this.#store.list(filter), isElsewhere, (run) => this.#whole(run));
  }

  left(isDead: (owner: Owner, leaseUntil: number, runs: number) => boolean): Promise<RunStanding[]> {
    return this.#store.left(isDead);
  }

  ready(until: number): Promise<RunStanding[]> {
    return this.#store.ready(until);
  }

  kept(keeper: string, ids: readonly string[]): Promise<KeptRun[]> {
    return this.#store.kept(keeper, ids);
  }

  timers(keeper: string, limit: number, after?: Timer): Promise<Timer[]> {
    return this.#store.timers(keeper, limit, after);
  }

  async entries(id: string, after?: number, limit?: number): Promise<Entry[]> {
    return changed(await this.#store.entries(id, after, limit), refers, async (entry) => ({
      ...entry,
      value: await this.#fetched(referenceIn(entry.value)!, { runId: id, key: entry.key }),
    }));
  }

  async claim(
    id: string,
    owner: Owner,
    isDead: (owner: Owner, leaseUntil: number) => boolean,
    lease: Lease,
  ): Promise<Claim> {
    await this.#appended(id);
    const claim = await this.#store.claim(id, owner, isDead, lease);
    return claim.claimed ? { claimed: true, run: await this.#whole(claim.run) } : claim;
  }

  renew(fences: ReadonlyMap<string, number>, lease: Lease): Promise<string[]> {
    return this.#store.renew(fences, lease);
  }

  append(id: string, fence: number, entries: readonly Entry[], change?: RunChange): Promise<void> {
    const before = this.#last.get(id);
    if (before === undefined && !this.#holdsLarge(entries, change))
      return this.#store.append(id, fence, entries, change);
    // What the caller does to them later is not ours.
    const given = structuredClone({ entries, change });
    const keep = async (): Promise<void> => {
      const kept = await Promise.all(given.entries.map((entry) => this.#keepEntry(id, entry)));
      const keptChange = given.change && (await this.#keepChange(id, given.change));
      await before?.catch(() => {});
      await this.#store.append(id, fence, kept, keptChange);
    };
    return this.#noted(id, keep());
  }

  async post(id: string, message: Omit<Message, "number">, options?: PostOptions): Promise<Message | undefined> {
    const { value } = message;
    const post = async (): Promise<Message | undefined> =>
      this.#store.post(id, { ...message, value: await this.#kept(id, value) }, options);
    const posted = await (this.#isLarge(value) ? this.#inTurn(id, post) : this.#appended(id).then(post));
    return posted && { ...posted, value };
  }

  sent(id: string, key: string): Promise<string | undefined> {
    return this.#store.sent(id, key);
  }

  async inbox(id: string, after?: number): Promise<Message[]> {
    return changed(await this.#store.inbox(id, after), refers, async (message) => ({
      ...message,
      value: await this.#fetched(referenceIn(message.value)!, { runId: id, key: message.target }),
    }));
  }

  messaged(ids: readonly string[]): Promise<string[]> {
    return this.#store.messaged(ids);
  }

  onPost(listener: (id: string) => void): () => void {
    return this.#store.onPost(listener);
  }

  async delete(id: string, updatedAt?: number): Promise<boolean> {
    return this.#inTurn(id, async () => {
      const deleted = await this.#store.delete(id, updatedAt);
      if (deleted) await this.#of(id, "removed", (place, run) => place.remove(run));
      return deleted;
    });
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#last.values());
    await this.#store.close();
  }

  /** What is written to a run goes before what is asked of it after that. */
  async #appended(id: string): Promise<void> {
    await this.#last.get(id)?.catch(() => {});
  }

  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#appended(id);
    return this.#noted(
      id,
      before.then(() => work()),
    );
  }

  /** What comes for the run waits for it. */
  #noted<T>(id: string, done: Promise<T>): Promise<T> {
    this.#last.set(id, done);
    const forget = (): void => {
      if (this.#last.get(id) === done) this.#last.delete(id);
    };
    done.then(forget, forget);
    return done;
  }

  #isLarge(text: string): boolean {
    return this.#place !== undefined && belongsElsewhere(text, this.#above);
  }

  #holdsLarge(entries: readonly Entry[], change: RunChange | undefined): boolean {
    if (this.#place === undefined) return false;
    const values = [...entries.map(({ value }) => value), change?.output, change?.error];
    return values.some((value) => value && this.#isLarge(value));
  }

  async #keepRun({ run, entries, inbox }: WholeRun): Promise<WholeRun> {
    const { id } = run;
    const values: Partial<Record<(typeof valueFields)[number], string>> = {};
    for (const field of valueFields) if (run[field] !== undefined) values[field] = await this.#kept(id, run[field]);
    return {
      run: { ...run, ...values },
      entries: await changed(entries, any, (entry) => this.#keepEntry(id, entry)),
      inbox: await changed(inbox, any, async (message) => ({ ...message, value: await this.#kept(id, message.value) })),
    };
  }

  async #keepEntry(id: string, entry: Entry): Promise<Entry> {
    return entry.value === undefined ? entry : { ...entry, value: await this.#kept(id, entry.value) };
  }

  async #keepChange(id: string, change: RunChange): Promise<RunChange> {
    const { output, error } = change;
    const kept = { ...change };
    if (typeof output === "string") kept.output = await this.#kept(id, output);
    if (typeof error === "string") kept.error = await this.#kept(id, error);
    return kept;
  }

  /** What is to stand in the store for a value, which is durable in the place by then if it belongs there. */
  async #kept(id: string, text: string): Promise<string> {
    if (!this.#isLarge(text)) return text;
    const content = Buffer.from(text, "utf8");
    const reference = referenceTo(content);
    await this.#of(id, "kept", (place, run) => place.put(run, reference.digest, content));
    return spell(reference);
  }

  /** The record with its values. One that cannot be had is thrown for by whoever reads it: it must not keep others from a list. */
  async #whole(run: RunRecord): Promise<RunRecord> {
    for (const field of valueFields) {
      const text = attempt(() => run[field]);
      const reference = referenceIn(text);
      if (reference === undefined) continue;
      const found = await this.#fetched(reference, { runId: run.id }).then(
        (value) => ({ value, writable: true }),
        (error: unknown) => ({
          get: (): never => {
            throw error;
          },
        }),
      );
      Object.defineProperty(run, field, { ...found, enumerable: true, configurable: true });
    }
    return run;
  }

  async #fetched(reference: Reference, where: { runId: string; key?: string }): Promise<string> {
    const what = `A value of ${reference.bytes} bytes (SHA-256 ${reference.digest})`;
    if (this.#place === undefined) {
      const cure = "Give this `Stepmark` the `blobs` that the run was recorded with.";
      throw new BlobError(`${what} is kept in a place for blobs, and none was given`, where, cure);
    }
    const content = await this.#of(where.runId, "read", (place, run) => place.get(run, reference.digest));
    if (content === undefined) throw new BlobError(`${what} is not in its place`, where);
    const { digest } = referenceTo(content);
    if (digest !== reference.digest) throw new BlobError(`${what} is not what was put into its place`, where);
    return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8");
  }

  /** Does something in the place, which may be anybody's code. */
  async #of<T>(id: string, done: string, work: (place: BlobPlace, run: string) => Promise<T>): Promise<T | undefined> {
    const place = this.#place;
    if (place === undefined) return undefined;
    try {
      return await outsideRuns(() => work(place, placeNameOf(id)));
    } catch (cause) {
      if (cause instanceof StepmarkError) throw cause;
      throw new StoreError(`A large value could not be ${done} in its place`, { runId: id, cause });
    }
  }
}

/** Whether any value of a run is kept elsewhere. */
function isElsewhere(run: RunRecord): boolean {
  return valueFields.some((field) => referenceIn(attempt(() => run[field])) !== undefined);
}

function refers({ value }: { value?: string }): boolean {
  return referenceIn(value) !== undefined;
}

function any(): boolean {
  return true;
}

/** The items, those that `wants` picks changed, a few at a time: most lists hold none, and cost nothing more. */
async function changed<T>(
  items: readonly T[],
  wants: (item: T) => boolean,
  change: (item: T) => Promise<T>,
): Promise<T[]> {
  const results = [...items];
  const wanted = [...items.keys()].filter((index) => wants(items[index]!));
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < wanted.length) {
      const index = wanted[next++]!;
      results[index] = await change(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(readsAtOnce, wanted.length) }, work));
  return results;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
