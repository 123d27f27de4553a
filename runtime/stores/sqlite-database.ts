/** The SQLite file that a store has open, and whether it is still the one that others find at its path. */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { StepmarkError, StoreError } from "../errors.js";
import { LogSpace } from "./log-space.js";
import { OpenedFiles } from "./opened-files.js";
import { type Connection, type DriverName, openDatabase, type Statement } from "./sqlite-driver.js";
import { prepareDatabase, preparedLater, prepareStatements, schemaVersion, transaction } from "./sqlite-schema.js";

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
}

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
  /** Of the tables, if they are an older version's and were to be left so. */
  olderVersion?: number;
}

export function open(path: string, options: SqliteOptions): Open {
  // Not in the parameters: those are in the declarations, where `driver` is not.
  const { driver, synchronous = "FULL", migrate = true } = options;
  if (path !== inMemory) {
    mkdirSync(dirname(path), { recursive: true });
    checkNames(path);
  }
  const connection = typeof driver === "function" ? driver(path) : openDatabase(path, driver);
  try {
    const tables = prepareDatabase(connection, path, { synchronous, busyTimeout, migrate });
    if (tables.are === "migrated") tellOfMigration(path, tables.version);
    const isOlder = tables.are === "left";
    const statements = prepareStatements(isOlder ? preparedLater(connection) : connection);
    // Reading opens the log, which a new file does not have before.
    statements.read.get("");
    const files = path === inMemory ? undefined : new OpenedFiles(path);
    const alone = (work: () => void): void => transaction(connection, work);
    const space = files && synchronous === "FULL" ? new LogSpace(files.log.path, alone) : undefined;
    return { connection, statements, lists: new Map(), files, space, ...(isOlder && { olderVersion: tables.version }) };
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

/** @throws StoreError if the tables are to be left as they are */
export function checkWritable(path: string, { olderVersion }: Open): void {
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
