/** The store that a command is told to use. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { blobDirectory } from "../runtime/blobs/directory.js";
import { storeWithBlobs } from "../runtime/blobs/store-with-blobs.js";
import { postgresStore } from "../runtime/stores/postgres.js";
import { sqliteStore } from "../runtime/stores/sqlite.js";
import type { ReadOnly } from "../runtime/stores/sqlite-database.js";
import type { Store } from "../runtime/stores/store.js";
import { UsageError } from "./command.js";

/** Where an app keeps its runs that is told nothing else. */
export const defaultStore = "./.stepmark/runs.db";

/** The option of all commands that use a store. */
export const storeOption = {
  store: {
    type: "string",
    value: "FILE",
    default: defaultStore,
    help: "where the runs are: a SQLite file, or an address postgres://...",
  },
} as const;

const asItIs = { migrate: false };

const told: Readonly<Record<ReadOnly, string>> = {
  "in place": "it is only read",
  "a copy": "a copy of it is read, as it is now",
};

/**
 * The store with the blobs that lie beside it, if any do. It is only looked into where it is of an older version: whoever looks must
 * not lock out the app.
 *
 * @param where a file, or the address of a Postgres database
 * @param tell is given what is to be said of it to whoever looks
 */
export function openStore(where: string, tell: (line: string) => void = (line) => console.error(line)): Store {
  const onReadOnly = (how: ReadOnly): void =>
    tell(`The store ${where} cannot be written by this process: ${told[how]}.`);
  const store = isAddress(where) ? postgresStore(where, asItIs) : sqliteStore(where, { ...asItIs, onReadOnly });
  const blobs = join(dirname(isAddress(where) ? defaultStore : where), "blobs");
  return storeWithBlobs(store, existsSync(blobs) ? { place: blobDirectory(blobs) } : undefined);
}

/** @throws UsageError for a file that is not there: opening it would make an empty one */
export function existingStore(where: string, tell?: (line: string) => void): Store {
  if (!isAddress(where) && !existsSync(where)) {
    const cure = where === defaultStore ? "; --store names another one" : "";
    throw new UsageError(`there is no store ${where}${cure}`);
  }
  return openStore(where, tell);
}

export function isAddress(where: string): boolean {
  return /^postgres(ql)?:\/\//.test(where);
}

/** Closes the store in the end. */
export async function using<T>(store: Store, use: (store: Store) => Promise<T>): Promise<T> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
