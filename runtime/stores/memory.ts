/** Runs in memory, for tests. Entries are kept as text, so that no object is shared with anybody. */
import { systemClock } from "../clock.js";
import { RunNotFoundError, StaleOwnerError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { checkSequence } from "./sequence.js";
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
  SenderKey,
  Store,
  StoredStatus,
  Timer,
  WholeRun,
} from "./store.js";

export interface MemoryStore extends Store {
  /**
   * An independent copy, as a crash would have left it: nobody owns a run. With a run's id and a number of entries,
   * that run's journal ends after so many, as if the crash had come just then: the run has not ended, even if those
   * are all its entries, answers used by later entries are unused again, and failed steps that a resume had not run
   * again by then are still to be run again. For tests that resume from each prefix of a journal.
   *
   * @throws RunNotFoundError for an unknown id.
   */
  fork(runId?: string, entries?: number): MemoryStore;
}

/** A store that lives as long as the object; two `Stepmark`s that are given the same one share its runs. */
export function memoryStore(): MemoryStore {
  return storeOf(new Map());
}

interface Kept {
  run: RunRecord;
  /** The app that wakes it. */
  keeper?: string | undefined;
  /** JSON of each entry. */
  entries: string[];
  /** How the entries came. */
  appends: Append[];
  inbox: Array<Message & { used: boolean; refused?: boolean; sender?: SenderKey }>;
}

interface Append {
  /** How many entries came with it. */
  entries: number;
  /** Numbers of the messages that it used up. */
  consume: readonly number[];
  /** Keys of the failed calls that a run under way had to run again from then on. */
  culprits: readonly string[] | undefined;
}

/** Nothing here speaks through `this`, so that a test may spread the store and put a method of its own in. */
function storeOf(runs: Map<string, Kept>): MemoryStore {
  const listeners = new Set<(id: string) => void>();

  const require = (id: string): Kept => {
    const kept = runs.get(id);
    if (!kept) throw new RunNotFoundError(id);
    return kept;
  };

  const put = (id: string, { target, value, at }: Omit<Message, "number">, sender?: SenderKey): Message => {
    const { inbox } = require(id);
    const posted: Message = { number: (inbox.at(-1)?.number ?? 0) + 1, target, value, at };
    inbox.push({ ...posted, used: false, ...(sender && { sender: { ...sender } }) });
    for (const listener of listeners) queueMicrotask(() => listener(id));
    return posted;
  };

  return {
    async create(run: NewRun): Promise<{ created: boolean; run: RunRecord }> {
      const existing = runs.get(run.id);
      if (existing) return { created: false, run: structuredClone(existing.run) };
      const { id, workflow, input, inputPrint, scheme, createdAt, parent } = run;
      const made: RunRecord = {
        id,
        workflow,
        status: "running",
        input,
        inputPrint,
        scheme,
        fence: 0,
        createdAt,
        updatedAt: createdAt,
        ...(parent && { parent: { ...parent } }),
      };
      runs.set(id, { run: made, entries: [], appends: [], inbox: [] });
      return { created: true, run: structuredClone(made) };
    },

    async restore(restored: readonly WholeRun[]): Promise<string[]> {
      for (const { run, entries } of restored) checkSequence(run.id, entries, 0);
      const taken = restored.map(({ run }) => run.id).filter((id) => runs.has(id));
      if (taken.length > 0) return taken;
      for (const { run, entries, inbox } of restored) {
        const kept: RunRecord = structuredClone(run);
        disown(kept);
        runs.set(run.id, {
          run: kept,
          entries: entries.map((entry) => JSON.stringify(entry)),
          appends: [{ entries: entries.length, consume: [], culprits: culpritsUnderWay(run) }],
          inbox: inbox.map(({ number, target, value, at }) => ({ number, target, value, at, used: false })),
        });
      }
      return [];
    },

    async read(id: string): Promise<RunRecord | undefined> {
      return structuredClone(runs.get(id)?.run);
    },

    async list(filter: ListFilter): Promise<RunRecord[]> {
      const { status, workflow, unchangedSince, order = "newest", after, skip = 0, limit } = filter;
      const wanted = status === undefined ? undefined : new Set<StoredStatus>([status].flat());
      const all = [...runs.values()].map(({ run }) => run).sort((a, b) => a.createdAt - b.createdAt);
      if (order === "newest") all.reverse();
      const found = all
        .slice(after === undefined ? 0 : 1 + all.indexOf(require(after).run))
        .filter((run) => (wanted?.has(run.status) ?? true) && (workflow === undefined || run.workflow === workflow))
        .filter(({ updatedAt }) => unchangedSince === undefined || updatedAt < unchangedSince);
      return found.slice(skip, limit && skip + limit).map((run) => structuredClone(run));
    },

    async left(isDead: (owner: Owner, leaseUntil: number, runs: number) => boolean): Promise<RunStanding[]> {
      const running = [...runs.values()].map(({ run }) => run).filter(({ status }) => status === "running");
      const dead = new Map<string | undefined, boolean>([[undefined, true]]);
      for (const { owner } of running) {
        if (owner === undefined || dead.has(nameOf(owner))) continue;
        const own = running.filter((run) => nameOf(run.owner) === nameOf(owner));
        const until = Math.min(...own.map(({ leaseUntil }) => leaseUntil!));
        dead.set(nameOf(owner), isDead(structuredClone(owner), until, own.length));
      }
      return running
        .filter(({ owner }) => dead.get(nameOf(owner)))
        .sort((a, b) => a.createdAt - b.createdAt)
        .map(standingOf);
    },

    async ready(until: number): Promise<RunStanding[]> {
      return [...runs.values()]
        .filter(({ run, inbox }) => run.status === "waiting" && (isDue(run, until) || inbox.some(({ used }) => !used)))
        .map(({ run }) => standingOf(run));
    },

    async kept(keeper: string, ids: readonly string[]): Promise<KeptRun[]> {
      return ids.filter((id) => isAtRest(runs.get(id), keeper)).map((id) => keptRun(id, runs.get(id)!.run.due));
    },

    async timers(keeper: string, limit: number, after?: Timer): Promise<Timer[]> {
      const order = [...runs.keys()];
      const timers = [...runs.values()]
        .filter((kept) => isAtRest(kept, keeper) && kept.run.due !== undefined)
        .map(({ run: { id, due } }) => ({ id, due: due! }));
      const compare = (a: Timer, b: Timer): number => a.due - b.due || order.indexOf(a.id) - order.indexOf(b.id);
      return timers
        .filter((timer) => after === undefined || compare(timer, after) > 0)
        .sort(compare)
        .slice(0, limit);
    },

    async entries(id: string, after = 0, limit = Number.POSITIVE_INFINITY): Promise<Entry[]> {
      const entries = runs.get(id)?.entries ?? [];
      return entries.slice(after, after + limit).map((text) => JSON.parse(text) as Entry);
    },

    async claim(
      id: string,
      owner: Owner,
      isDead: (owner: Owner, leaseUntil: number) => boolean,
      lease: Lease,
    ): Promise<Claim> {
      const { run } = require(id);
      if (run.owner && !isDead(structuredClone(run.owner), run.leaseUntil ?? 0)) {
        return { claimed: false, owner: structuredClone(run.owner) };
      }
      run.fence++;
      run.owner = structuredClone(owner);
      run.leaseUntil = lease.until;
      run.updatedAt = lease.now;
      return { claimed: true, run: structuredClone(run) };
    },

    async renew(fences: ReadonlyMap<string, number>, lease: Lease): Promise<string[]> {
      const lost: string[] = [];
      for (const [id, fence] of fences) {
        const run = runs.get(id)?.run;
        if (run?.owner && run.fence === fence) run.leaseUntil = lease.until;
        else lost.push(id);
      }
      return lost;
    },

    async append(id: string, fence: number, entries: readonly Entry[], change?: RunChange): Promise<void> {
      const kept = runs.get(id);
      if (!kept?.run.owner || kept.run.fence !== fence) throw new StaleOwnerError(id);
      checkSequence(id, entries, kept.entries.length);
      const texts = entries.map((entry) => JSON.stringify(entry));
      kept.entries.push(...texts);
      for (const message of kept.inbox) {
        if (change?.refuse?.includes(message.number)) message.refused = true;
        message.used ||= message.refused || (change?.consume?.includes(message.number) ?? false);
      }
      applyChange(kept.run, change, entries.at(-1)?.endedAt);
      if (change?.keeper !== undefined) kept.keeper = change.keeper ?? undefined;
      const consume = [...(change?.consume ?? [])];
      kept.appends.push({ entries: entries.length, consume, culprits: culpritsUnderWay(kept.run) });
      const { wake } = change ?? {};
      if (wake !== undefined && runs.has(wake.run)) put(wake.run, { target: wake.target, value: "", at: wake.at });
    },

    async post(
      id: string,
      message: Omit<Message, "number">,
      { once = false, sender }: PostOptions = {},
    ): Promise<Message | undefined> {
      const { inbox } = require(id);
      if (sender !== undefined && inbox.some((each) => each.sender?.key === sender.key)) return undefined;
      if (once && inbox.some(({ target, refused }) => target === message.target && !refused)) return undefined;
      return put(id, message, sender);
    },

    async sent(id: string, key: string): Promise<string | undefined> {
      return runs.get(id)?.inbox.find(({ sender }) => sender?.key === key)?.sender?.print;
    },

    async inbox(id: string, after = 0): Promise<Message[]> {
      const messages = runs.get(id)?.inbox ?? [];
      const first = after === 0 ? 0 : messages.findLastIndex(({ number }) => number <= after) + 1;
      return messages
        .slice(first)
        .filter(({ used }) => !used)
        .map(({ number, target, value, at }) => ({ number, target, value, at }));
    },

    async messaged(ids: readonly string[]): Promise<string[]> {
      return ids.filter((id) => runs.get(id)?.inbox.some(({ used }) => !used));
    },

    onPost(listener: (id: string) => void): () => void {
      // A wrapper each time: one function given twice listens twice, and stops once.
      const own = (id: string): void => listener(id);
      listeners.add(own);
      return () => listeners.delete(own);
    },

    async delete(id: string, updatedAt?: number): Promise<boolean> {
      const run = runs.get(id)?.run;
      if (updatedAt !== undefined && (run?.updatedAt !== updatedAt || run.owner !== undefined)) return false;
      return runs.delete(id);
    },

    /** Nothing to release; the runs stay, for whoever holds this store. */
    async close(): Promise<void> {},

    fork(runId?: string, entries?: number): MemoryStore {
      const copy = structuredClone(runs);
      for (const { run } of copy.values()) disown(run);
      if (runId !== undefined) {
        const kept = copy.get(runId);
        if (!kept) throw new RunNotFoundError(runId);
        if (entries !== undefined) cut(kept, Math.min(Math.max(0, entries), kept.entries.length));
      }
      return storeOf(copy);
    },
  };
}

function applyChange(run: RunRecord, change: RunChange | undefined, at = systemClock.now()): void {
  if (change === undefined) return;
  run.updatedAt = at;
  if (change.status !== undefined) run.status = change.status;
  if (change.output !== undefined) run.output = change.output ?? undefined;
  if (change.error !== undefined) run.error = change.error ?? undefined;
  if (change.culprits !== undefined) run.culprits = change.culprits ? [...change.culprits] : undefined;
  if (change.orphans !== undefined) run.orphans = change.orphans ? [...change.orphans] : undefined;
  if (change.edited !== undefined) run.edited = change.edited ? [...change.edited] : undefined;
  if (change.due !== undefined) run.due = change.due ?? undefined;
  if (change.release) disown(run);
}

function isAtRest(kept: Kept | undefined, keeper: string): boolean {
  return kept?.keeper === keeper && kept.run.status === "waiting" && kept.run.owner === undefined;
}

function keptRun(id: string, due: number | undefined): KeptRun {
  return due === undefined ? { id } : { id, due };
}

/** Of a run that has failed nobody has asked yet that it goes on. */
function culpritsUnderWay({ status, culprits }: WholeRun["run"]): readonly string[] | undefined {
  return status === "failed" ? undefined : culprits;
}

function isDue({ due }: RunRecord, until: number): boolean {
  return due !== undefined && due <= until;
}

function disown(run: RunRecord): void {
  run.owner = undefined;
  run.leaseUntil = undefined;
}

/** Leaves the first `length` entries and what came with them. */
function cut(kept: Kept, length: number): void {
  kept.entries.length = length;
  const used = new Set<number>();
  const appends: Append[] = [];
  let left = length;
  for (const append of kept.appends) {
    if (append.entries > left) {
      const partly = answered(kept, append.consume, length - left);
      for (const number of partly) used.add(number);
      if (left > 0) appends.push({ entries: left, consume: partly, culprits: appends.at(-1)?.culprits });
      break;
    }
    left -= append.entries;
    appends.push(append);
    for (const number of append.consume) used.add(number);
  }
  kept.appends = appends;
  for (const message of kept.inbox) Object.assign(message, { used: used.has(message.number), refused: false });
  kept.run.status = "running";
  kept.run.output = undefined;
  kept.run.error = undefined;
  const culprits = appends.at(-1)?.culprits;
  kept.run.culprits = culprits && [...culprits];
  kept.run.orphans = undefined;
  kept.run.edited = undefined;
  kept.run.due = undefined;
}

/** Of an append that is kept in part: the messages whose wait is among the entries from `from` on. */
function answered(kept: Kept, numbers: readonly number[], from: number): number[] {
  const waits = kept.entries
    .slice(from)
    .map((text) => JSON.parse(text) as Entry)
    .filter(({ kind, state }) => kind === "wait" && state === "done");
  return numbers.filter((number) => {
    const target = kept.inbox.find((message) => message.number === number)?.target;
    return waits.some(({ key, name }) => key === target || name === target);
  });
}

function standingOf({ id, workflow, status, fence, owner, leaseUntil, due }: RunRecord): RunStanding {
  return structuredClone({ id, workflow, status, fence, owner, leaseUntil, due });
}

/** An owner by all that is told of it. */
function nameOf(owner: Owner | undefined): string | undefined {
  return owner && JSON.stringify(owner);
}
