/** Runs in Postgres: many processes, on many machines. */
import { randomBytes } from "node:crypto";
import { systemClock } from "../clock.js";
import {
  type ErrorPlace,
  InvalidArgumentError,
  RunNotFoundError,
  StaleOwnerError,
  StepmarkError,
  StoreError,
} from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { GroupCommit } from "./group-commit.js";
import { listQuery, type Position } from "./list-query.js";
import { type Append, Appender, appendOf } from "./postgres-append.js";
import { type ConnectionOptions, type Connections, connectionsTo } from "./postgres-connections.js";
import { ask, original, type PostgresPool, type PostgresSession } from "./postgres-driver.js";
import { cureOf, faultIn, isConflict, isSeparable } from "./postgres-faults.js";
import { PostgresListener } from "./postgres-listener.js";
import {
  migrationsFrom,
  prepareSchema,
  type Schema,
  type Synchronous,
  schemaOf,
  statementsOf,
  transaction,
} from "./postgres-schema.js";
import {
  type Cell,
  entryOf,
  keptRunOf,
  messageOf,
  ownerOf,
  type Row,
  restoredCells,
  runOf,
  sealedAnswer,
  sealedEntry,
  sealedInput,
  standingOf,
} from "./rows.js";
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
  Store,
  Timer,
  WholeRun,
} from "./store.js";

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresSession } from "./postgres-driver.js";

export interface PostgresOptions extends ConnectionOptions {
  /** The schema that holds the tables, made when the store is first used (default `stepmark`). */
  schema?: string;
  /**
   * `FULL` (the default): what is acknowledged survives a crash of the server and a loss of its power, whatever its
   * `synchronous_commit` says. `NORMAL`: entries survive a crash of this process, and one of the server may take the last of them,
   * never a part of an append; what a run begins with and answers are kept as with `FULL`.
   */
  synchronous?: Synchronous;
  /** `true` (the default): tables of an older version are brought up to date when the store is first used; `false`: they are refused. */
  migrate?: boolean;
}

/**
 * A store in the Postgres database at `where`: an address (`postgres://user:password@host:5432/database`) or a pool of the package
 * `pg`, which stays the caller's to end. Nothing is connected before the store is first used. Whatever fails, connecting
 * included, is a StoreError of the method that was called.
 *
 * @throws InvalidArgumentError for a schema that cannot be named so
 */
export function postgresStore(where: string | PostgresPool, options: PostgresOptions = {}): Store {
  return new Postgres(where, options);
}

/**
 * What makes the tables that `postgresStore` would make itself, as one transaction for `psql`: for applications whose role may make
 * none. A store that finds them as it needs them changes nothing.
 *
 * @param schema as in the options
 * @param from the version that is there, in the schema's table `stepmark_version`; 0 if there is none
 * @throws InvalidArgumentError for a schema that cannot be named so
 */
export function postgresMigrations(schema = "stepmark", from = 0): string {
  return migrationsFrom(from, schemaOf(schema));
}

/** The connection that listens is looked after once in so many milliseconds. */
const longestSilence = 30_000;

/** A statement is tried so often when others write at the same time. */
const mostAttempts = 10;

/** Readings of one clock that were taken one after the other differ by less, in milliseconds. */
const sameClock = 1_000;

class Postgres implements Store {
  readonly #where: string | PostgresPool;
  readonly #options: PostgresOptions;
  readonly #schema: Schema;
  readonly #statements: ReturnType<typeof statementsOf>;
  /** Tells this store's own messages from others', on the channel: eight characters. */
  readonly #sender = randomBytes(4).toString("hex");
  readonly #listeners = new Set<(id: string) => void>();
  readonly #appends = new GroupCommit<Append>((group) => this.#commit(group));
  readonly #appender: Appender;
  #opening: Promise<Connections> | undefined;
  #opened: Connections | undefined;
  #listener: PostgresListener | undefined;
  #closing: Promise<void> | undefined;
  readonly #ignore = (): void => {};

  constructor(where: string | PostgresPool, options: PostgresOptions) {
    if (typeof where === "string" ? where === "" : typeof where?.connect !== "function") {
      throw new InvalidArgumentError("`postgresStore` was given neither an address nor a pool", "Give it one of them.");
    }
    this.#where = where;
    this.#options = options;
    this.#schema = schemaOf(options.schema ?? "stepmark");
    this.#statements = statementsOf(this.#schema, options.synchronous === "NORMAL" ? "NORMAL" : "FULL");
    this.#appender = new Appender(this.#statements, this.#sender);
  }

  async create(run: NewRun): Promise<{ created: boolean; run: RunRecord }> {
    const { id, workflow, scheme, createdAt, inputPrint, parent } = run;
    const parentCell = parent === undefined ? null : JSON.stringify(parent);
    const cells = [id, workflow, scheme, createdAt, inputPrint, sealedInput(run), parentCell];
    for (;;) {
      const [row] = await this.#write(id, this.#statements.create, cells);
      // None: somebody else has made it after this statement began.
      if (row !== undefined) return { created: isTrue(row.created), run: recordOf(row) };
    }
  }

  async restore(runs: readonly WholeRun[]): Promise<string[]> {
    for (const { run, entries } of runs) checkSequence(run.id, entries, 0);
    const ids = runs.map(({ run }) => run.id);
    await this.#appends.settled(new Set(ids));
    return this.#use(ids[0], async ({ pool }) => {
      try {
        await transaction(pool, async (session) => {
          const taken = await ask(session, this.#statements.taken, [ids]);
          if (taken.length > 0) throw new Taken(taken.map(({ id }) => id as string));
          for (const run of runs) await this.#restore(session, run);
        });
        return [];
      } catch (error) {
        if (error instanceof Taken) return ids.filter((id) => error.ids.includes(id));
        throw error;
      }
    });
  }

  async read(id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#ask(id, this.#statements.read, [id]);
    return row && recordOf(row);
  }

  async list(filter: ListFilter): Promise<RunRecord[]> {
    let after: Position | undefined;
    if (filter.after !== undefined) {
      const [row] = await this.#ask(filter.after, this.#statements.position, [filter.after]);
      if (row === undefined) throw new RunNotFoundError(filter.after);
      after = { createdAt: row.created_at!, number: row.number! };
    }
    const { text, values } = listQuery(this.#statements.list, filter, after);
    return (await this.#ask(undefined, text, values)).map(recordOf);
  }

  async left(isDead: (owner: Owner, leaseUntil: number, runs: number) => boolean): Promise<RunStanding[]> {
    const owners = await this.#ask(undefined, this.#statements.owners, []);
    const dead = owners
      .filter(
        (row) =>
          row.owner !== null && isDead(ownerOf(row.owner!), Number(ofThisMachine(row).lease_until), Number(row.runs)),
      )
      .map(({ owner }) => owner);
    const areOwnerless = owners.some(({ owner }) => owner === null);
    if (dead.length === 0 && !areOwnerless) return [];
    return (await this.#ask(undefined, this.#statements.runningOf, [dead, areOwnerless])).map((row) =>
      standingOf(ofThisMachine(row)),
    );
  }

  async ready(until: number): Promise<RunStanding[]> {
    return (await this.#ask(undefined, this.#statements.ready, [until])).map((row) => standingOf(ofThisMachine(row)));
  }

  async kept(keeper: string, ids: readonly string[]): Promise<KeptRun[]> {
    return (await this.#ask(undefined, this.#statements.kept, [keeper, ids])).map(keptRunOf);
  }

  async timers(keeper: string, limit: number, after?: Timer): Promise<Timer[]> {
    const { id, due } = after ?? { id: "", due: Number.NEGATIVE_INFINITY };
    const rows = await this.#ask(undefined, this.#statements.timers, [keeper, due, id, limit]);
    return rows.map((row) => keptRunOf(row) as Timer);
  }

  async entries(id: string, after = 0, limit?: number): Promise<Entry[]> {
    const position = Math.min(after, Number.MAX_SAFE_INTEGER);
    const rows = await this.#ask(id, this.#statements.entries, [id, position, limit ?? null]);
    return rows.map(({ seq, entry }) => entryOf(id, Number(seq), entry));
  }

  async claim(
    id: string,
    owner: Owner,
    isDead: (owner: Owner, leaseUntil: number) => boolean,
    lease: Lease,
  ): Promise<Claim> {
    const cells = [id, JSON.stringify(owner), ...leaseCells(lease), lease.now];
    let seen: Row | undefined;
    for (;;) {
      const known = [seen?.number ?? null, seen?.fence ?? null, seen?.lease_until ?? null];
      const [row] = await this.#write(id, this.#statements.claim, [...cells, ...known]);
      if (row === undefined) throw new RunNotFoundError(id);
      const run = recordOf(row);
      if (isTrue(row.taken)) return { claimed: true, run };
      if (run.owner && !isDead(run.owner, run.leaseUntil ?? 0)) return { claimed: false, owner: run.owner };
      // It is taken if all is as it was seen now.
      seen = row;
    }
  }

  async renew(fences: ReadonlyMap<string, number>, lease: Lease): Promise<string[]> {
    this.#checkOpen(undefined);
    const ids = [...fences.keys()];
    if (ids.length === 0) return [];
    await this.#appends.settled(new Set(ids));
    const cells = [ids, [...fences.values()], ...leaseCells(lease)];
    const held = new Set((await this.#ask(undefined, this.#statements.renew, cells)).map((row) => row.id));
    return ids.filter((id) => !held.has(id));
  }

  append(id: string, fence: number, entries: readonly Entry[], change?: RunChange): Promise<void> {
    try {
      this.#checkOpen(id);
      checkSequence(id, entries);
      return this.#appends.add(appendOf(id, fence, entries, change, entries.at(-1)?.endedAt ?? systemClock.now()));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async post(
    id: string,
    message: Omit<Message, "number">,
    { once = false, sender }: PostOptions = {},
  ): Promise<Message | undefined> {
    const { target, value, at } = message;
    const own = [sender?.key ?? null, sender?.print ?? null];
    const cells = [id, target, sealedAnswer(id, message), at, once, this.#sender, ...own];
    const [row] = await this.#write(id, this.#statements.post, cells);
    if (row!.number === null) throw new RunNotFoundError(id);
    const number = Number(row!.number);
    if (number === 0) return undefined;
    this.#tell(id);
    return { number, target, value, at };
  }

  async sent(id: string, key: string): Promise<string | undefined> {
    const [row] = await this.#ask(id, this.#statements.sent, [id, key]);
    return row?.print as string | undefined;
  }

  async inbox(id: string, after = 0): Promise<Message[]> {
    const rows = await this.#ask(id, this.#statements.inbox, [id, after]);
    return rows.map(({ number, target, value, at }) =>
      messageOf(id, { number: Number(number), target: target as string, value: value as string, at: Number(at) }),
    );
  }

  async messaged(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    return (await this.#ask(undefined, this.#statements.messaged, [ids])).map(({ id }) => id as string);
  }

  onPost(listener: (id: string) => void): () => void {
    // A wrapper each time: one function given twice listens twice, and stops once.
    const own = (id: string): void => listener(id);
    this.#listeners.add(own);
    this.#listen();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) void this.#stopListening();
    };
  }

  async delete(id: string, updatedAt?: number): Promise<boolean> {
    return (await this.#write(id, this.#statements.delete, [id, updatedAt ?? null])).length > 0;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#appends.settled();
    await this.#stopListening();
    await this.#opening?.catch(() => {});
    try {
      if (typeof this.#where === "string") await this.#opened?.pool.end();
      else this.#opened?.pool.removeListener("error", this.#ignore);
    } catch (cause) {
      throw this.#failure("cannot be closed", {}, cause);
    }
  }

  /** What is wrong with each append; undefined for those that are durable. */
  async #commit(group: readonly Append[]): Promise<Array<StepmarkError | undefined>> {
    try {
      const { pool } = await this.#ready();
      const verdicts = await insisting(() => this.#appender.write(pool, group));
      return group.map(({ id, first, wakes }, index) => {
        if (verdicts[index] === "s") return new StaleOwnerError(id);
        if (verdicts[index] === "g")
          return new StoreError(`Entry ${first} does not follow the last one`, { runId: id });
        if (wakes !== undefined) this.#tell(wakes);
        return undefined;
      });
    } catch (cause) {
      // One that is too large for the server is no reason to refuse the others.
      if (group.length > 1 && isSeparable(cause)) {
        const outcomes: Array<StepmarkError | undefined> = [];
        for (const each of group) outcomes.push(...(await this.#commit([each])));
        return outcomes;
      }
      return group.map(({ id, key }) => this.#failure("did not acknowledge the append", { runId: id, key }, cause));
    }
  }

  /** Asks after the appends to the run that were made before. */
  async #write(id: string, text: string, cells: readonly unknown[]): Promise<Row[]> {
    this.#checkOpen(id);
    await this.#appends.settled(new Set([id]));
    return this.#ask(id, text, cells);
  }

  async #ask(id: string | undefined, text: string, cells: readonly unknown[]): Promise<Row[]> {
    return this.#use(id, ({ pool }) => ask(pool, text, cells));
  }

  async #use<T>(id: string | undefined, work: (open: Connections) => Promise<T>): Promise<T> {
    this.#checkOpen(id);
    try {
      const open = await this.#ready();
      return await insisting(() => work(open));
    } catch (cause) {
      throw this.#failure("failed", { runId: id }, cause);
    }
  }

  #ready(): Promise<Connections> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Connections> {
    // A pool that has been made is kept though the schema could not be made ready.
    this.#opened ??= await this.#connect();
    await prepareSchema(this.#opened.pool, this.#schema, this.#options.migrate);
    this.#listen();
    return this.#opened;
  }

  async #connect(): Promise<Connections> {
    const open = await connectionsTo(this.#where, this.#options);
    // A connection that is lost while nobody uses it is made anew when somebody does.
    open.pool.on("error", this.#ignore);
    return open;
  }

  /** Listens for others' messages, if somebody wants to know and the store is in use. */
  #listen(): void {
    const connect = this.#opened?.listening;
    if (this.#listener || this.#closing || this.#listeners.size === 0 || connect === undefined) return;
    this.#listener = new PostgresListener({
      channel: this.#schema.channel,
      heartbeat: Math.min(longestSilence, this.#options.timeout ?? longestSilence),
      connect,
      hear: (payload) => void this.#hear(payload),
      catchUp: async (client) => {
        for (const { id } of await ask(client, this.#statements.withMessages)) this.#tell(id as string);
      },
    });
  }

  async #stopListening(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.stop();
  }

  /** Who sent it, then the run's id, or its number where the id is too long. */
  async #hear(payload: string): Promise<void> {
    const [sender, kind, rest] = [payload.slice(0, 8), payload[8], payload.slice(9)];
    // What was posted here has been told here.
    if (sender === this.#sender) return;
    if (kind === "=") this.#tell(original(rest));
    else if (kind === "#") {
      // A store that fails is found out by whoever needs it.
      const rows = await this.#ask(undefined, this.#statements.idOf, [rest]).catch(() => []);
      for (const { id } of rows) this.#tell(id as string);
    }
  }

  /** A message has come for a run. */
  #tell(id: string): void {
    for (const listener of this.#listeners) queueMicrotask(() => listener(id));
  }

  async #restore(session: PostgresSession, { run, entries, inbox }: WholeRun): Promise<void> {
    const { id } = run;
    const [made] = await ask(session, this.#statements.restore, restoredCells(run));
    if (made === undefined) throw new Taken([id]);
    const { number } = made;
    for (let from = 0; from < entries.length; from += restoredAtOnce) {
      const some = entries.slice(from, from + restoredAtOnce);
      const texts = some.map((entry) => sealedEntry(id, entry));
      await ask(session, this.#statements.restoreEntries, [number, some.map(({ seq }) => seq), texts]);
    }
    const of = <T>(field: (message: Message) => T): T[] => inbox.map(field);
    await ask(session, this.#statements.restoreMessages, [
      ...[number, of((message) => message.number), of(({ target }) => target)],
      ...[of((message) => sealedAnswer(id, message)), of(({ at }) => at)],
    ]);
  }

  #checkOpen(runId: string | undefined): void {
    if (this.#closing) throw new StoreError(`${this.#name} is closed`, { runId });
  }

  get #name(): string {
    return `The Postgres store (schema ${JSON.stringify(this.#schema.name)})`;
  }

  #failure(what: string, place: ErrorPlace, cause: unknown): StepmarkError {
    if (cause instanceof StepmarkError) return cause;
    return new StoreError(`${this.#name} ${what}: ${faultIn(cause)}`, { ...place, cause }, cureOf(cause));
  }
}

const restoredAtOnce = 1_000;

/** Runs of these ids are there. */
class Taken extends Error {
  constructor(readonly ids: readonly string[]) {
    super();
  }
}

/** Does it again while it fails because others write at the same time. */
async function insisting<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === mostAttempts || !isConflict(error)) throw error;
    }
  }
}

/**
 * Whether the lease is by the database's clock, and its end, or how much later than now that is. The clocks of machines
 * differ: where an app goes by its machine's, the database's is taken for all of them. A clock of the app's own is taken at its word.
 */
function leaseCells({ now, until }: Lease): [byDatabase: boolean, until: number] {
  const byDatabase = Math.abs(systemClock.now() - now) < sameClock;
  return [byDatabase, byDatabase ? until - now : until];
}

function recordOf(row: Row): RunRecord {
  return runOf(ofThisMachine(row));
}

/** A row whose lease ends when this machine's clock will show it. */
function ofThisMachine(row: Row): Row {
  if (!isTrue(row.lease_by_database) || row.lease_until === null) return row;
  return { ...row, lease_until: Number(row.lease_until) - Number(row.now) + systemClock.now() };
}

function isTrue(cell: Cell | undefined): boolean {
  return cell === "t";
}
