/** Runs in a SQLite file: no server, many processes of one machine. */
import { resolve } from "node:path";
import timers from "node:timers";
import { type ErrorPlace, InvalidArgumentError, RunNotFoundError, StepmarkError, StoreError } from "../errors.js";
import { shown } from "../journal/careful.js";
import type { Entry } from "../journal/entry.js";
import { type Dialect, listQuery, type Position } from "./list-query.js";
import type { OpenedFile } from "./opened-file.js";
import {
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
import { type Append, append, isSingle, none, putMessage } from "./sqlite-append.js";
import {
  checkFiles,
  checkWritable,
  inMemory,
  isOurs,
  Misplaced,
  type Open,
  open,
  type SqliteOptions,
} from "./sqlite-database.js";
import { cureOf, faultIn, isLocked } from "./sqlite-faults.js";
import { transaction } from "./sqlite-schema.js";
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

export type { SqliteOptions } from "./sqlite-database.js";

/**
 * A store in the file at `path`, made with its folder when it is first used. With Node's own SQLite where Node has one,
 * else with the package better-sqlite3. Whatever fails, the opening included, is a StoreError of the method that was
 * called.
 *
 * @throws InvalidArgumentError
 */
export function sqliteStore(path: string, options: SqliteOptions = {}): Store {
  if (typeof path !== "string" || path === "") {
    const what = `\`sqliteStore\` needs the path of a file, not ${shown(path)}`;
    throw new InvalidArgumentError(what, 'Give one, such as `sqliteStore("./.stepmark/runs.db")`.');
  }
  const { synchronous = "FULL" } = options;
  if (synchronous !== "FULL" && synchronous !== "NORMAL") {
    const what = `\`synchronous\` must be "FULL" or "NORMAL", not ${shown(synchronous)}`;
    throw new InvalidArgumentError(what, "Leave it out for FULL.");
  }
  return new Sqlite(path === inMemory ? path : resolve(path), options);
}

// Taken when the module loads, so that test tools that replace timers later cannot stop the store.
const { setImmediate } = timers;

const dialect: Dialect = { table: "runs", columns: "*", parameter: () => "?", all: "-1", merges: true };

/** What waits for the end of its tick, to be committed with all else that does. */
interface Pending {
  place: ErrorPlace;
  /** What the database did if it fails. */
  failing: string;
  /** Whether it is written with one statement, which is a transaction of its own. */
  single: boolean;
  /** Writes it. What is wrong with it alone is returned, before anything of it is written. */
  write(open: Open): StepmarkError | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

class Sqlite implements Store {
  readonly #path: string;
  readonly #options: SqliteOptions;
  readonly #listeners = new Set<(id: string) => void>();
  #open: Open | undefined;
  /** The database's file when it was first opened. */
  #file: OpenedFile | undefined;
  #closed = false;
  #pending: Pending[] = [];

  constructor(path: string, options: SqliteOptions) {
    this.#path = path;
    this.#options = options;
  }

  async create(run: NewRun): Promise<{ created: boolean; run: RunRecord }> {
    return this.#writeTogether(run.id, ({ statements }) => {
      const { id, workflow, scheme, createdAt, inputPrint, parent } = run;
      const { changes } = statements.create.run(
        id,
        workflow,
        scheme,
        createdAt,
        createdAt,
        inputPrint,
        sealedInput(run),
        parent === undefined ? null : JSON.stringify(parent),
      );
      return { created: Number(changes) === 1, run: runOf(statements.read.get(id) as Row) };
    });
  }

  async restore(runs: readonly WholeRun[]): Promise<string[]> {
    for (const { run, entries } of runs) checkSequence(run.id, entries, 0);
    return this.#write(runs[0]?.run.id, ({ statements }) => {
      const taken = runs.map(({ run }) => run.id).filter((id) => statements.number.get(id) !== undefined);
      if (taken.length === 0) for (const run of runs) restore(statements, run);
      return taken;
    });
  }

  async read(id: string): Promise<RunRecord | undefined> {
    return this.#use(id, ({ statements }) => {
      const row = statements.read.get(id);
      return row === undefined ? undefined : runOf(row as Row);
    });
  }

  async list(filter: ListFilter): Promise<RunRecord[]> {
    return this.#use(filter.after, ({ connection, statements, lists }) => {
      let after: Position | undefined;
      if (filter.after !== undefined) {
        after = statements.position.get(filter.after) as Position | undefined;
        if (after === undefined) throw new RunNotFoundError(filter.after);
      }
      const { text, values } = listQuery(dialect, filter, after);
      let statement = lists.get(text);
      if (!statement) {
        statement = connection.prepare(text);
        lists.set(text, statement);
      }
      return statement.all(...values).map((row) => runOf(row as Row));
    });
  }

  async left(isDead: (owner: Owner, leaseUntil: number, runs: number) => boolean): Promise<RunStanding[]> {
    return this.#use(undefined, ({ statements }) =>
      (statements.owners.all() as Row[])
        .filter(
          ({ owner, lease_until, runs }) =>
            owner === null || isDead(ownerOf(owner!), Number(lease_until), Number(runs)),
        )
        .flatMap(({ owner }) => statements.runningOf.all(owner!).map((row) => standingOf(row as Row))),
    );
  }

  async ready(until: number): Promise<RunStanding[]> {
    return this.#use(undefined, ({ statements }) =>
      statements.ready.all(Math.min(until, Number.MAX_SAFE_INTEGER)).map((row) => standingOf(row as Row)),
    );
  }

  async kept(keeper: string, ids: readonly string[]): Promise<KeptRun[]> {
    return this.#use(undefined, ({ statements }) =>
      statements.kept.all(JSON.stringify(ids), keeper).map((row) => keptRunOf(row as Row)),
    );
  }

  async timers(keeper: string, limit: number, after?: Timer): Promise<Timer[]> {
    const { id, due } = after ?? { id: "", due: Number.NEGATIVE_INFINITY };
    return this.#use(undefined, ({ statements }) =>
      statements.timers.all(keeper, due, id, limit).map((row) => keptRunOf(row as Row) as Timer),
    );
  }

  async entries(id: string, after = 0, limit = -1): Promise<Entry[]> {
    return this.#use(id, ({ statements }) =>
      (statements.entries.all(id, after, limit) as Array<{ seq: number; entry: unknown }>).map(({ seq, entry }) =>
        entryOf(id, seq, entry),
      ),
    );
  }

  async claim(
    id: string,
    owner: Owner,
    isDead: (owner: Owner, leaseUntil: number) => boolean,
    lease: Lease,
  ): Promise<Claim> {
    return this.#writeTogether(id, ({ statements }): Claim => {
      const row = statements.read.get(id);
      if (!row) throw new RunNotFoundError(id);
      const run = runOf(row as Row);
      if (run.owner && !isDead(run.owner, run.leaseUntil ?? 0)) return { claimed: false, owner: run.owner };
      statements.claim.run(JSON.stringify(owner), lease.until, lease.now, id);
      return { claimed: true, run: runOf(statements.read.get(id) as Row) };
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
      const given: Append = {
        id,
        fence,
        entries: entries.map((entry) => ({ seq: entry.seq, text: sealedEntry(id, entry) })),
        // What the caller does to the lists later is not ours.
        change: change && structuredClone(change),
        at: entries.at(-1)?.endedAt,
      };
      this.#wait({
        place: { runId: id, key: entries[0]?.key },
        failing: "did not take the append",
        single: isSingle(given),
        write: ({ statements }) => append(statements, given),
        resolve: () => {
          if (change?.wake !== undefined) this.#tell(change.wake.run);
          resolve();
        },
        reject,
      });
    });
  }

  #wait(pending: Pending): void {
    if (this.#pending.length === 0) setImmediate(this.#flush);
    this.#pending.push(pending);
  }

  async post(
    id: string,
    message: Omit<Message, "number">,
    { once = false, sender }: PostOptions = {},
  ): Promise<Message | undefined> {
    const { target, value, at } = message;
    const number = await this.#write(id, ({ statements }) => {
      const run = statements.number.get(id) as { number: number } | undefined;
      if (!run) throw new RunNotFoundError(id);
      if (sender !== undefined && statements.sent.get(id, sender.key)) return undefined;
      if (once && statements.posted.get(run.number, target)) return undefined;
      const number = putMessage(statements, run.number, id, message);
      if (sender !== undefined) statements.sign.run(sender.key, sender.print, run.number, number);
      return number;
    });
    if (number === undefined) return undefined;
    this.#tell(id);
    return { number, target, value, at };
  }

  async sent(id: string, key: string): Promise<string | undefined> {
    return this.#use(id, ({ statements }) => (statements.sent.get(id, key) as { print: string } | undefined)?.print);
  }

  /** A message has come for a run. */
  #tell(id: string): void {
    for (const listener of this.#listeners) queueMicrotask(() => listener(id));
  }

  async inbox(id: string, after = 0): Promise<Message[]> {
    return this.#use(id, ({ statements }) => {
      const messages = after === 0 ? statements.inbox.all(id) : statements.inboxAfter.all(id, after);
      return (messages as Message[]).map((message) => messageOf(id, message));
    });
  }

  async messaged(ids: readonly string[]): Promise<string[]> {
    return this.#use(undefined, ({ statements }) =>
      (statements.messaged.all(JSON.stringify(ids)) as Array<{ id: string }>).map(({ id }) => id),
    );
  }

  onPost(listener: (id: string) => void): () => void {
    // A wrapper each time: one function given twice listens twice, and stops once.
    const own = (id: string): void => listener(id);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  async delete(id: string, updatedAt?: number): Promise<boolean> {
    const seen = updatedAt ?? null;
    return this.#write(id, ({ statements }) => {
      const run = statements.deletable.get(id, seen, seen) as { number: number } | undefined;
      if (!run) return false;
      statements.deleteEntries.run(run.number, run.number);
      statements.delete.run(run.number);
      return true;
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
      throw this.#failure("cannot be closed", {}, cause);
    }
  }

  /** Commits what has been written in this tick together. Each is acknowledged, or refused, on its own. */
  #flush = (): void => {
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    const outcomes = this.#commit(batch);
    batch.forEach(({ resolve, reject }, index) => {
      const refused = outcomes[index];
      if (refused) reject(refused);
      else resolve();
    });
  };

  /** What is wrong with each; undefined for those that are durable. */
  #commit(batch: readonly Pending[]): Array<StepmarkError | undefined> {
    try {
      const open = this.#ready();
      checkWritable(this.#path, open);
      const apply = (): Array<StepmarkError | undefined> => batch.map((each) => each.write(open));
      const outcomes = batch.length === 1 && batch[0]!.single ? apply() : transaction(open.connection, apply);
      checkFiles(open);
      open.space?.committed();
      return outcomes;
    } catch (cause) {
      this.#clear(cause);
      // One that is too large, for the disk or for SQLite, is no reason to refuse the others.
      const separable = batch.length > 1 && !isLocked(cause) && !isOurs(cause);
      if (separable) return batch.flatMap((each) => this.#commit([each]));
      return batch.map(({ failing, place }) => this.#failure(failing, place, cause));
    }
  }

  /**
   * Runs `work` at the end of the tick, in one transaction with all else of the tick: many runs are begun, or taken up, with one
   * wait for the disk. It must not throw once it has written.
   */
  #writeTogether<T>(id: string, work: (open: Open) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#checkOpen(id);
      let result: T;
      this.#wait({
        place: { runId: id },
        failing: "failed",
        single: false,
        write: (open) => {
          try {
            result = work(open);
            return undefined;
          } catch (error) {
            if (error instanceof StepmarkError) return error;
            throw error;
          }
        },
        resolve: () => resolve(result),
        reject,
      });
    });
  }

  /** Runs `work` in a transaction of its own, after what was to be written before. */
  #write<T>(id: string | undefined, work: (open: Open) => T): T {
    this.#flush();
    return this.#use(id, (open) => {
      checkWritable(this.#path, open);
      return transaction(open.connection, () => work(open));
    });
  }

  #use<T>(id: string | undefined, work: (open: Open) => T): T {
    this.#checkOpen(id);
    try {
      const open = this.#ready();
      const result = work(open);
      checkFiles(open);
      return result;
    } catch (cause) {
      this.#clear(cause);
      throw this.#failure("failed", { runId: id }, cause);
    }
  }

  #ready(): Open {
    if (this.#open === undefined) {
      const opened = open(this.#path, this.#options);
      // Never another file in the course of one store: its runs would be strangers there.
      const database = opened.files?.database;
      this.#file ??= database;
      if (database !== undefined && !database.is(this.#file!)) {
        opened.connection.close();
        throw new Misplaced([this.#path]);
      }
      this.#open = opened;
    }
    return this.#open;
  }

  /**
   * After a failure: gives up a connection that is stuck in a transaction, since what it takes from then on would be
   * acknowledged and not be durable.
   */
  #clear(cause: unknown): void {
    const { connection } = this.#open ?? {};
    if (connection === undefined || isOurs(cause)) return;
    try {
      connection.exec("BEGIN");
      connection.exec("ROLLBACK");
    } catch {
      this.#open = undefined;
      try {
        connection.close();
      } catch {
        // It is given up all the same.
      }
    }
  }

  #checkOpen(runId: string | undefined): void {
    if (this.#closed) throw new StoreError(`The store ${this.#path} is closed`, { runId });
  }

  #failure(what: string, place: ErrorPlace, cause: unknown): StepmarkError {
    if (cause instanceof StepmarkError) return cause;
    if (cause instanceof Misplaced) return new StoreError(cause.message, place, cause.cure);
    return new StoreError(`The database ${this.#path} ${what}: ${faultIn(cause)}`, { ...place, cause }, cureOf(cause));
  }
}

function restore(statements: Open["statements"], { run, entries, inbox }: WholeRun): void {
  const { id } = run;
  const { number: row } = statements.restore.get(...restoredCells(run)) as { number: number };
  for (const entry of entries) statements.restoreEntry.run(row, entry.seq, sealedEntry(id, entry));
  for (const message of inbox) {
    const { number, target, at } = message;
    statements.restoreMessage.run(row, number, target, sealedAnswer(id, message), at);
  }
}
