/** The SQLite file that a store has open, and whether it is still the one that others find at its path. */
import { mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StepmarkError, StoreError } from "../errors.js";
import { LogSpace } from "./log-space.js";
import { OpenedFile } from "./opened-file.js";
import { type Connection, type DriverName, openDatabase, type Statement } from "./sqlite-driver.js";
import { prepareDatabase, prepareStatements, transaction } from "./sqlite-schema.js";

export interface SqliteOptions {
  /**
   * `FULL` (the default): what is acknowledged survives a loss of power. `NORMAL`: it survives a crash of the process,
   * and a loss of power may take the last appends, never a part of one.
   */
  synchronous?: "FULL" | "NORMAL";
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
  files: { database: OpenedFile; log: OpenedFile } | undefined;
  /** Where commits wait for the disk. */
  space: LogSpace | undefined;
}

export function open(path: string, options: SqliteOptions): Open {
  // Not in the parameters: those are in the declarations, where `driver` is not.
  const { driver, synchronous = "FULL" } = options;
  if (path !== inMemory) {
    mkdirSync(dirname(path), { recursive: true });
    checkNames(path);
  }
  const connection = typeof driver === "function" ? driver(path) : openDatabase(path, driver);
  try {
    prepareDatabase(connection, path, { synchronous, busyTimeout });
    const statements = prepareStatements(connection);
    // Reading opens the log, which a new file does not have before.
    statements.read.get("");
    const files = path === inMemory ? undefined : openFiles(path);
    const alone = (work: () => void): void => transaction(connection, work);
    const space = files && synchronous === "FULL" ? new LogSpace(files.log.path, alone) : undefined;
    return { connection, statements, lists: new Map(), files, space };
  } catch (error) {
    connection.close();
    throw error;
  }
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

function openFiles(path: string): Open["files"] {
  return { database: new OpenedFile(path), log: new OpenedFile(`${realpathSync(path)}-wal`) };
}

/** @throws Misplaced if what was read or written is not in the files that others find at the path */
export function checkFiles({ files }: Open): void {
  if (files === undefined) return;
  const gone = [files.database, files.log].filter((file) => !file.isInPlace());
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
