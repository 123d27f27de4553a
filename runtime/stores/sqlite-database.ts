/** The SQLite file that a store has open, and whether it is still the one that others find at its path. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { StepmarkError, StoreError } from "../errors.js";
import { LogSpace } from "./log-space.js";
import { OpenedFiles } from "./opened-files.js";
import { type Connection, type DriverName, openDatabase, type Statement } from "./sqlite-driver.js";
import { isUnwritable } from "./sqlite-faults.js";
import {
  prepareDatabase,
  preparedLater,
  prepareStatements,
  type Settings,
  schemaVersion,
  transaction,
} from "./sqlite-schema.js";
import { isReadableInPlace, mayWrite, type Snapshot, snapshotOf } from "./sqlite-snapshot.js";

export interface SqliteOptions {
  /**
   * `FULL` (the default): what is acknowledged survives a loss of power. `NORMAL`: it survives a crash of the process,
   * and a loss of power may take the last appends, never a part of one.
   */
  synchronous?: "FULL" | "NORMAL";
  /**
   * `true` (the default): a file of an older version is brought up to date when it is first opened, with a warning of the process,
   * and older versions refuse it from then on. `false`: such a file is left as it is and can only be read.
   */
  migrate?: boolean;
  /** @internal */
  driver?: DriverName | ((path: string) => Connection);
  /** @internal A file that cannot be written is opened to be read, and who has given this is told so; else it is not opened. */
  onReadOnly?(how: ReadOnly): void;
}

/** How a file is read that cannot be written: where it is, with what others write to it, or a copy as it was when it was opened. */
export type ReadOnly = "in place" | "a copy";

export const inMemory = ":memory:";
// Generous: a process that appends without pause leaves others only short gaps.
const busyTimeout = 15_000;

export interface Open {
  connection: Connection;
  statements: ReturnType<typeof prepareStatements>;
  lists: Map<string, Statement>;
  /** The database and its write-ahead log, which together are the store; undefined in memory. */
  files: OpenedFiles | undefined;
  /** Where commits wait for the disk. */
  space: LogSpace | undefined;
  /** Of a file that cannot be written. */
  readOnly?: ReadOnly;
  /** Of the tables, if they are an older version's and were to be left so. */
  olderVersion?: number;
}

export function open(path: string, options: SqliteOptions): Open {
  if (options.onReadOnly === undefined || path === inMemory || !existsSync(path)) return openToWrite(path, options);
  // Not tried with a file that is not to be written: what SQLite made beside it would be in the way of those who write it.
  if (mayWrite(path)) {
    try {
      return openToWrite(path, options);
    } catch (error) {
      if (!isUnwritable(error)) throw error;
    }
  }
  const found = openToRead(path, options);
  options.onReadOnly(found.readOnly!);
  return found;
}

function openToRead(path: string, options: SqliteOptions): Open {
  checkNames(path);
  if (isReadableInPlace(path)) {
    try {
      return openedToRead(path, path, options, "in place");
    } catch (error) {
      if (!isUnwritable(error)) throw error;
    }
  }
  const snapshot = snapshotOf(path);
  try {
    const copy = openedToRead(path, snapshot.path, options, "a copy");
    // What is open stays so without its names, and is gone with this process, however that ends.
    if (process.platform !== "win32") snapshot.remove();
    return { ...copy, connection: closing(copy.connection, snapshot) };
  } catch (error) {
    snapshot.remove();
    throw error;
  }
}

/** Removes the copy when it is closed. */
function closing(connection: Connection, snapshot: Snapshot): Connection {
  return {
    exec: (sql) => connection.exec(sql),
    prepare: (sql) => connection.prepare(sql),
    close() {
      connection.close();
      snapshot.remove();
    },
  };
}

/** @param file what is opened for the file at `path` */
function openedToRead(path: string, file: string, { driver }: SqliteOptions, readOnly: ReadOnly): Open {
  const connection = typeof driver === "function" ? driver(file) : openDatabase(file, driver, readOnly === "in place");
  const settings = { synchronous: "NORMAL", busyTimeout, migrate: false } as const;
  return { ...opened(connection, path, settings, readOnly === "in place"), readOnly };
}

function openToWrite(path: string, options: SqliteOptions): Open {
  // Not in the parameters: those are in the declarations, where `driver` is not.
  const { driver, synchronous = "FULL", migrate = true } = options;
  if (path !== inMemory) {
    mkdirSync(dirname(path), { recursive: true });
    checkNames(path);
  }
  const connection = typeof driver === "function" ? driver(path) : openDatabase(path, driver);
  const made = opened(connection, path, { synchronous, busyTimeout, migrate }, path !== inMemory);
  const alone = (work: () => void): void => transaction(connection, work);
  const space = made.files && synchronous === "FULL" ? new LogSpace(made.files.log.path, alone) : undefined;
  return { ...made, space };
}

/**
 * Makes a connection ready; if that fails it is closed.
 *
 * @param inPlace whether what is open is the file at `path`
 */
function opened(connection: Connection, path: string, settings: Settings, inPlace: boolean): Open {
  try {
    const tables = prepareDatabase(connection, path, settings);
    if (tables.are === "migrated") tellOfMigration(path, tables.version);
    const isOlder = tables.are === "left";
    const statements = prepareStatements(isOlder ? preparedLater(connection) : connection);
    // Reading opens the log, which a new file does not have before.
    statements.read.get("");
    const files = inPlace ? new OpenedFiles(path) : undefined;
    const olderVersion = isOlder ? { olderVersion: tables.version } : {};
    return { connection, statements, lists: new Map(), files, space: undefined, ...olderVersion };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function tellOfMigration(path: string, version: number): void {
  process.emitWarning(
    `The tables of ${path} were brought up to date, from version ${version} to ${schemaVersion}: processes with an older stepmark refuse the file from now on`,
    { type: "StepmarkWarning", code: "STEPMARK_MIGRATED" },
  );
}

/** @throws StoreError if the file, or its tables, are to be left as they are */
export function checkWritable(path: string, { olderVersion, readOnly }: Open): void {
  if (readOnly !== undefined) {
    throw new StoreError(
      `The database ${path} cannot be written by this process, so it was opened to be read only`,
      {},
      "Nothing was changed. Let this process read and write the file, its folder and the files beside it (-wal, -shm), or be the user who owns them.",
    );
  }
  if (olderVersion === undefined) return;
  throw new StoreError(
    `The database ${path} was written by an older version of stepmark (its tables have version ${olderVersion}, this one writes ${schemaVersion}), and only an app brings it up to date`,
    {},
    "Use the command of the version that the app has, or stop all processes of the file and start the app with this version.",
  );
}

/**
 * SQLite keeps a log beside each name that a file is opened by, and knows nothing of those beside others. Symbolic links are no
 * such names.
 *
 * @throws StoreError
 */
function checkNames(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.nlink <= 1) return;
  throw new StoreError(
    `The database ${path} is one file with ${found.nlink} names (hard links)`,
    {},
    "What is written by one name would be lost to the others: leave it one name, and let the others be copies (`sqlite3 FILE \"VACUUM INTO 'COPY'\"`) or symbolic links.",
  );
}

/** @throws Misplaced if what was read or written is not in the files that others find at the path */
export function checkFiles({ files }: Open): void {
  if (files === undefined) return;
  const gone = files.gone();
  if (gone.length > 0) throw new Misplaced(gone.map(({ path }) => path));
}

/** Whether it was found out here that something is wrong, with the connection in order. */
export function isOurs(cause: unknown): boolean {
  return cause instanceof StepmarkError || cause instanceof Misplaced;
}

/** What is open is not what others find at the path. */
export class Misplaced extends Error {
  constructor(paths: readonly string[]) {
    super(`${paths.join(" and ")} was deleted, moved or replaced while the store was in use`);
  }

  readonly cure =
    "Nothing since then counts as done. Put the file back, with its -wal file, and start the process anew; then `resume` the run.";
}
