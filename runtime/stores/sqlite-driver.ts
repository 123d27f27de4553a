/** The two ways to reach SQLite, behind what the store needs of either. Nothing is loaded before a database is opened. */
import { isAbsolute } from "node:path";
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

/**
 * Opens a database file, with Node's own SQLite where it has one, else with better-sqlite3.
 *
 * @param onlyRead makes no file, and writes to none
 */
export function openDatabase(path: string, driver?: DriverName, onlyRead = false): Connection {
  if (driver !== "better-sqlite3") {
    const builtin = loadBuiltin();
    if (builtin) return new builtin.DatabaseSync(path, { readOnly: onlyRead });
    if (driver === "node:sqlite") throw new Error("this version of Node has no node:sqlite");
  }
  return openWithPackage(path, onlyRead);
}

/** Each reads the option that it knows. */
type Database = new (path: string, options: { readOnly?: boolean; readonly?: boolean }) => Connection;

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

/**
 * Where the package is looked up from: this module, and a bundle that has this module inside. One in CommonJS has no
 * `import.meta`, and one that was made on another machine has that machine's.
 */
const places = [import.meta.url, typeof __filename === "undefined" ? "" : __filename].filter(
  // Code that is given on the command line has a name that is no file's: `[eval]`.
  (place) => place?.startsWith("file:") || (place && isAbsolute(place)),
);

function loadPackage(): Database {
  // Asked for in this way it is not seen by bundlers, which would put something else in its place.
  const { createRequire } = process.getBuiltinModule("node:module");
  const load = (place: string): Database => createRequire(place)("better-sqlite3") as Database;
  const [place, bundle] = places;
  try {
    return load(place!);
  } catch (cause) {
    if (bundle === undefined || !isMissing(cause)) throw cause;
    return load(bundle);
  }
}

function openWithPackage(path: string, onlyRead: boolean): Connection {
  let reason = "is not installed";
  try {
    const Package = loadPackage();
    reason = "is not built for this Node";
    return new Package(path, { readonly: onlyRead });
  } catch (cause) {
    if (!isUnloadable(cause)) throw cause;
    const what = `this Node has no SQLite of its own (22.13 has), and the package better-sqlite3 ${reason}`;
    throw Object.assign(new Error(what, { cause }), { code: noDriver });
  }
}

/** `code` of the error when neither of the two can be loaded. */
export const noDriver = "NO_DRIVER";

/** The package, or what its install script builds, is not there or is for another Node. */
function isUnloadable(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  return isMissing(error) || code === "ERR_DLOPEN_FAILED" || /\bbindings file\b/.test(String(message));
}

function isMissing(error: unknown): boolean {
  return (Object(error) as { code?: unknown }).code === "MODULE_NOT_FOUND";
}
