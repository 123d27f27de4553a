/** The two ways to reach SQLite, behind what the store needs of either. Nothing is loaded before a database is opened. */
import { createRequire } from "node:module";
import process from "node:process";

export type Value = string | number | null;

/** A prepared statement, as either package gives it: between SQLite and an append there is not a call too many. */
export interface Statement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

export interface Connection {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
}

export type DriverName = "node:sqlite" | "better-sqlite3";

/** Opens a database file, with Node's own SQLite where it has one, else with better-sqlite3. */
export function openDatabase(path: string, driver?: DriverName): Connection {
  if (driver !== "better-sqlite3") {
    const builtin = loadBuiltin();
    if (builtin) return new builtin.DatabaseSync(path);
    if (driver === "node:sqlite") throw new Error("this version of Node has no node:sqlite");
  }
  const Package = loadPackage();
  return new Package(path);
}

type Database = new (path: string) => Connection;

interface BuiltinModule {
  DatabaseSync: Database;
}

let builtinModule: BuiltinModule | undefined;

function loadBuiltin(): BuiltinModule | undefined {
  if (builtinModule) return builtinModule;
  const { emitWarning } = process;
  // Node warns that its SQLite is experimental when it is first loaded. That is our choice, not the user's.
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!/SQLite/i.test(String(warning))) Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    builtinModule = process.getBuiltinModule("node:sqlite") as BuiltinModule | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
  return builtinModule;
}

function loadPackage(): Database {
  try {
    return createRequire(import.meta.url)("better-sqlite3") as Database;
  } catch (cause) {
    throw new Error("this version of Node has no node:sqlite (22.13 has), and better-sqlite3 cannot be loaded", {
      cause,
    });
  }
}
