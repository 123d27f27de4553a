/** Runs in a SQLite file: no server, many processes of one machine. */
import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import timers from "node:timers";
import { systemClock } from "../clock.js";
import { RunNotFoundError, StaleOwnerError, StepmarkError, StoreError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { checkSequence } from "./sequence.js";
import {
  type Connection,
  type DriverName,
  openDatabase,
  type Row,
  type Statement,
  type Value,
} from "./sqlite-driver.js";
import { prepareDatabase, prepareStatements, transaction } from "./sqlite-schema.js";
import type {
  Claim,
  Lease,
  ListFilter,
  Message,
  NewRun,
  Owner,
  RunChange,
  RunRecord,
  Store,
  StoredStatus,
} from "./store.js";

export interface SqliteOptions {
  /**
   * `FULL` (the default): what is acknowledged survives a loss of power. `NORMAL`: it survives a crash of the process,
   * and a loss of power may take the last appends, never a part of one.
   */
  synchronous?: "FULL" | "NORMAL";
  /** @internal */
  driver?: DriverName | ((path: string) => Connection);
}

/**
 * A store in the file at `path`, made with its folder when it is first used. With Node's own SQLite where Node has one,
 * else with the package better-sqlite3. Whatever fails, the opening included, is a StoreError of the method that was
 * called.
 */
export function sqliteStore(path: string, options: SqliteOptions = {}): Store {
  return new Sqlite(path === inMemory ? path : resolve(path), options);
}

const inMemory = ":memory:";
// Generous: a process that appends without pause leaves others only short gaps.
const busyTimeout = 15_000;

// Taken when the module loads, so that test tools that replace timers later cannot stop the store.
const { setImmediate } = timers;

interface Open {
  connection: Connection;
  statements: ReturnType<typeof prepareStatements>;
  lists: Map<string, Statement>;
}

/** An append that waits for the end of its tick. */
interface Pending {
  id: string;
  fence: number;
  entries: ReadonlyArray<{ seq: number; text: string }>;
  change: RunChange | undefined;
  at: number | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

class Sqlite implements Store {
  readonly #path: string;
  readonly #options: SqliteOptions;
  readonly #listeners = new Set<(id: string) => void>();
  #open: Open | undefined;
  #closed = false;
  #pending: Pending[] = [];

  constructor(path: string, options: SqliteOptions) {
    this.#path = path;
    this.#options = options;
  }

  async create(run: NewRun): Promise<{ created: boolean; run: RunRecord }> {
    return this.#write(run.id, ({ statements }) => {
      const { id, workflow, scheme, createdAt, inputPrint, input } = run;
      const { changes } = statements.create.run(id, workflow, scheme, createdAt, createdAt, inputPrint, input);
      return { created: Number(changes) === 1, run: runOf(statements.read.get(id)) };
    });
  }

  async read(id: string): Promise<RunRecord | undefined> {
    return this.#use(id, ({ statements }) => {
      const row = statements.read.get(id);
      return row === undefined ? undefined : runOf(row);
    });
  }

  async list(filter: ListFilter): Promise<RunRecord[]> {
    return this.#use(undefined, (open) => {
      const statuses = filter.status === undefined ? undefined : [filter.status].flat();
      const values: Value[] = [...(statuses ?? []), ...(filter.workflow === undefined ? [] : [filter.workflow])];
      const statement = listStatement(open, statuses?.length, filter.workflow !== undefined);
      return statement.all(...values, filter.limit ?? -1).map(runOf);
    });
  }

  async entries(id: string, after = 0): Promise<Entry[]> {
    return this.#use(id, ({ statements }) =>
      statements.entries.all(id, after).map((row) => JSON.parse((row as { entry: string }).entry) as Entry),
    );
  }

  async claim(
    id: string,
    owner: Owner,
    isDead: (owner: Owner, leaseUntil: number) => boolean,
    lease: Lease,
  ): Promise<Claim> {
    return this.#write(id, ({ statements }): Claim => {
      const row = statements.read.get(id);
      if (!row) throw new RunNotFoundError(id);
      const run = runOf(row);
      if (run.owner && !isDead(run.owner, run.leaseUntil ?? 0)) return { claimed: false, owner: run.owner };
      statements.claim.run(JSON.stringify(owner), lease.until, lease.now, id);
      return { claimed: true, run: runOf(statements.read.get(id)) };
    });
  }

  async renew(fences: ReadonlyMap<string, number>, lease: Lease): Promise<string[]> {
    if (fences.size === 0) return this.#use(undefined, () => []);
    return this.#write(undefined, ({ statements }) =>
      [...fences].filter(([id, fence]) => none(statements.renew.run(lease.until, id, fence))).map(([id]) => id),
    );
  }

  append(id: string, fence: number, entries: readonly Entry[], change?: RunChange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#checkOpen(id);
      checkSequence(id, entries);
      const texts = entries.map((entry) => ({ seq: entry.seq, text: JSON.stringify(entry) }));
      const pending = { id, fence, entries: texts, change: change && copyOf(change), at: entries.at(-1)?.endedAt };
      if (this.#pending.length === 0) setImmediate(this.#flush);
      this.#pending.push({ ...pending, resolve, reject });
    });
  }

  async post(id: string, message: Omit<Message, "number">): Promise<Message> {
    const { target, value, at } = message;
    const number = await this.#write(id, ({ statements }) => {
      const run = statements.number.get(id) as { number: number } | undefined;
      if (!run) throw new RunNotFoundError(id);
      return (statements.post.get(run.number, target, value, at, run.number) as { number: number }).number;
    });
    for (const listener of this.#listeners) queueMicrotask(() => listener(id));
    return { number, target, value, at };
  }

  async inbox(id: string): Promise<Message[]> {
    return this.#use(id, ({ statements }) =>
      (statements.inbox.all(id) as Message[]).map(({ number, target, value, at }) => ({ number, target, value, at })),
    );
  }

  onPost(listener: (id: string) => void): () => void {
    // A wrapper each time: one function given twice listens twice, and stops once.
    const own = (id: string): void => listener(id);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async delete(id: string): Promise<void> {
    return this.#write(id, ({ statements }) => {
      const run = statements.number.get(id) as { number: number } | undefined;
      if (!run) return;
      statements.deleteEntries.run(run.number, run.number);
      statements.delete.run(run.number);
    });
  }

  async close(): Promise<void> {
    this.#flush();
    this.#closed = true;
    const open = this.#open;
    this.#open = undefined;
    try {
      open?.connection.close();
    } catch (cause) {
      throw this.#failure("cannot be closed", undefined, cause);
    }
  }

  /** Commits the appends of this tick together. Each is acknowledged, or refused, on its own. */
  #flush = (): void => {
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    let outcomes: Array<StepmarkError | undefined>;
    try {
      const open = this.#ready();
      const apply = (): typeof outcomes => batch.map((each) => append(open.statements, each));
      // A single statement is a transaction of its own.
      outcomes = isSingle(batch) ? apply() : transaction(open.connection, apply);
    } catch (cause) {
      for (const { id, reject } of batch) reject(this.#failure("did not take the append", id, cause));
      return;
    }
    batch.forEach(({ resolve, reject }, index) => {
      const refused = outcomes[index];
      if (refused) reject(refused);
      else resolve();
    });
  };

  /** Runs `work` in a transaction of its own, after the appends that were made before. */
  #write<T>(id: string | undefined, work: (open: Open) => T): T {
    this.#flush();
    return this.#use(id, (open) => transaction(open.connection, () => work(open)));
  }

  #use<T>(id: string | undefined, work: (open: Open) => T): T {
    this.#checkOpen(id);
    try {
      return work(this.#ready());
    } catch (cause) {
      throw this.#failure("failed", id, cause);
    }
  }

  #ready(): Open {
    this.#open ??= open(this.#path, this.#options);
    return this.#open;
  }

  #checkOpen(runId: string | undefined): void {
    if (this.#closed) throw new StoreError(`The store ${this.#path} is closed`, { runId });
  }

  #failure(what: string, runId: string | undefined, cause: unknown): StepmarkError {
    if (cause instanceof StepmarkError) return cause;
    const words = cause instanceof Error ? cause.message : String(cause);
    return new StoreError(`The database ${this.#path} ${what}: ${words}`, { runId, cause });
  }
}

function open(path: string, { driver, synchronous = "FULL" }: SqliteOptions): Open {
  if (path !== inMemory) mkdirSync(dirname(path), { recursive: true });
  const connection = typeof driver === "function" ? driver(path) : openDatabase(path, driver);
  try {
    prepareDatabase(connection, path, { synchronous, busyTimeout });
    return { connection, statements: prepareStatements(connection), lists: new Map() };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function isSingle(batch: readonly Pending[]): boolean {
  const [first] = batch;
  return batch.length === 1 && first!.entries.length === 1 && first!.change === undefined;
}

/** Writes one append. What is wrong with it alone is returned, before anything of it is written. */
function append(statements: Open["statements"], pending: Pending): StepmarkError | undefined {
  const { id, fence, entries, change, at } = pending;
  for (const { seq, text } of entries) {
    // Only the first can fail: the others follow it in number and in time.
    if (none(statements.append.run(seq, text, id, fence, seq - 1))) {
      if (!statements.holds.get(id, fence)) return new StaleOwnerError(id);
      return new StoreError(`Entry ${seq} does not follow the last one`, { runId: id });
    }
  }
  if (change === undefined) {
    return entries.length > 0 || statements.holds.get(id, fence) ? undefined : new StaleOwnerError(id);
  }
  const { status, output, error, culprits, orphans, edited, consume, release } = change;
  const changed = statements.change.run(
    status ?? null,
    at ?? systemClock.now(),
    ...replaced(output),
    ...replaced(error),
    ...replaced(culprits && JSON.stringify(culprits)),
    ...replaced(orphans && JSON.stringify(orphans)),
    ...replaced(edited && JSON.stringify(edited)),
    id,
    fence,
  );
  if (none(changed)) return new StaleOwnerError(id);
  for (const number of consume ?? []) statements.consume.run(id, number);
  if (release) statements.release.run(id);
  return undefined;
}

function none({ changes }: { changes: number | bigint }): boolean {
  return Number(changes) === 0;
}

/** What the caller does to the lists later is not ours. */
function copyOf(change: RunChange): RunChange {
  return structuredClone(change);
}

/** Whether to replace a column, and by what. */
function replaced(value: string | null | undefined): [replace: number, value: string | null] {
  return [value === undefined ? 0 : 1, value ?? null];
}

function listStatement({ connection, lists }: Open, statuses: number | undefined, byWorkflow: boolean): Statement {
  const conditions = [
    ...(statuses === undefined ? [] : [`status IN (${Array(statuses).fill("?").join(", ")})`]),
    ...(byWorkflow ? ["workflow = ?"] : []),
  ];
  const where = conditions.length ? `WHERE ${conditions.join(" AND ")}` : "";
  const sql = `SELECT * FROM runs ${where} ORDER BY created_at DESC, number DESC LIMIT ?`;
  let statement = lists.get(sql);
  if (!statement) {
    statement = connection.prepare(sql);
    lists.set(sql, statement);
  }
  return statement;
}

function runOf(found: unknown): RunRecord {
  const row = found as Row;
  const optional = <T>(column: string, read: (text: string) => T): T | undefined => {
    const value = row[column];
    return value === null || value === undefined ? undefined : read(String(value));
  };
  return {
    id: row.id as string,
    workflow: row.workflow as string,
    status: row.status as StoredStatus,
    input: row.input as string,
    inputPrint: row.input_print as string,
    output: optional("output", String),
    error: optional("error", String),
    culprits: optional("culprits", (text) => JSON.parse(text) as string[]),
    orphans: optional("orphans", (text) => JSON.parse(text) as string[]),
    edited: optional("edited", (text) => JSON.parse(text) as string[]),
    scheme: row.scheme as number,
    fence: row.fence as number,
    owner: optional("owner", (text) => JSON.parse(text) as Owner),
    leaseUntil: optional("lease_until", Number),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  };
}
