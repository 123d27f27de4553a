/**
 * A database file that this process may read and not write. SQLite reads one with a write-ahead log only where it can write beside it,
 * or where the log and its index are there; and what it made beside another's file would be in that one's way.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreError } from "../errors.js";

// What follows opens and closes the file by itself, by which SQLite would lose its locks on it, had this process any: not to be
// done where it may have.

/** Whether this process may write the file, as far as the file itself says. */
export function mayWrite(path: string): boolean {
  try {
    closeSync(openSync(path, "r+"));
    return true;
  } catch {
    return false;
  }
}

/** Whether all is there that SQLite needs to read the file where it is, together with those who write it. */
export function isReadableInPlace(path: string): boolean {
  const file = realpathSync(path);
  return existsSync(`${file}-wal`) && existsSync(`${file}-shm`);
}

/** A copy in a folder of its own. */
export interface Snapshot {
  path: string;
  remove(): void;
}

/** How often a copy is begun anew, because somebody has written meanwhile. */
const mostAttempts = 5;

/**
 * The file as it is now, with what its log holds.
 *
 * @throws StoreError if it is written all the time; whatever `fs` throws
 */
export function snapshotOf(path: string): Snapshot {
  const file = realpathSync(path);
  const folder = mkdtempSync(join(tmpdir(), "stepmark-"));
  const snapshot = {
    path: join(folder, "runs.db"),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
  try {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const before = stateOf(file);
      for (const end of ["", "-wal"]) {
        rmSync(`${snapshot.path}${end}`, { force: true });
        if (!existsSync(`${file}${end}`)) continue;
        copyFileSync(`${file}${end}`, `${snapshot.path}${end}`, constants.COPYFILE_FICLONE);
        chmodSync(`${snapshot.path}${end}`, 0o600);
      }
      if (stateOf(file) === before) return snapshot;
    }
    throw new StoreError(
      `The database ${path} cannot be written by this process, and was written by another one each time it was copied to be read`,
      {},
      "Try again, or let this process read and write the file, its folder and the files beside it (-wal, -shm).",
    );
  } catch (error) {
    snapshot.remove();
    throw error;
  }
}

/** What changes with whatever is written to the file or its log. */
function stateOf(file: string): string {
  return [file, `${file}-wal`]
    .map((each) => statSync(each, { bigint: true, throwIfNoEntry: false }))
    .map((found) => (found === undefined ? "" : [found.ino, found.size, found.mtimeNs].join()))
    .join(" ");
}
