/** What helps when SQLite fails. Both drivers tell its result code, each in its own way. */
import { fieldOf, isA, wordsOf } from "../journal/careful.js";
import { noDriver } from "./sqlite-driver.js";

/** SQLite's result codes that have a cure of their own, https://www.sqlite.org/rescode.html. */
const numbers: Readonly<Record<number, string>> = {
  3: "PERM",
  5: "BUSY",
  6: "LOCKED",
  8: "READONLY",
  10: "IOERR",
  11: "CORRUPT",
  13: "FULL",
  14: "CANTOPEN",
  18: "TOOBIG",
  26: "NOTADB",
};

const writable = "Let this process read and write the file, its folder and the files beside it (-wal, -shm)";
const ofFolder = "Check that the folder can be made and written by this process, and that the path leads to a file";

const cures: Readonly<Record<string, string>> = {
  PERM: writable,
  BUSY: "Another process holds its lock: let that process finish, or end it",
  LOCKED: "Another process holds its lock: let that process finish, or end it",
  READONLY: writable,
  IOERR: "Look after its disk (full, over a quota, failing)",
  CORRUPT: "Restore the file from a backup, or save what can be read of it with `sqlite3 FILE .recover`",
  FULL: "Free space on its disk",
  CANTOPEN: `${ofFolder}. ${writable}`,
  TOOBIG: "Keep large values elsewhere, and only say where in the run",
  NOTADB: "Give the path of a file of stepmark's own, or restore the file from a backup",
  ENOSPC: "Free space on its disk",
  EROFS: writable,
  EACCES: ofFolder,
  EPERM: ofFolder,
  ENOTDIR: ofFolder,
  EEXIST: ofFolder,
  [noDriver]:
    "Install it, or build it (`npm rebuild better-sqlite3`; package managers that run no install scripts have to be told to: `pnpm approve-builds`); or use Node 22.13 or later",
};

/** SQLITE_IOERR_SHORT_READ: not the disk is at fault, the file has been cut. */
const shortRead = 522;

/** The fault in words. */
export function faultIn(error: unknown): string {
  const words = wordsOf(error);
  return isShortRead(error) ? `${words}, the file ends too early` : words;
}

/** The cure of a fault; undefined where none is known. */
export function cureOf(error: unknown): string | undefined {
  const name = resultCode(error);
  const cure = name === undefined ? undefined : cures[name];
  return cure && `${cure}. What was being written does not count as done: \`resume\` the run after that.`;
}

/** Whether others hold the file's lock, so that every attempt waits in vain. */
export function isLocked(error: unknown): boolean {
  const name = resultCode(error);
  return name === "BUSY" || name === "LOCKED";
}

/** Whether the file, its folder or its disk does not let itself be written. */
export function isUnwritable(error: unknown): boolean {
  return unwritable.has(resultCode(error) ?? "");
}

const unwritable = new Set(["PERM", "READONLY", "CANTOPEN", "EROFS", "EACCES", "EPERM"]);

/** `FULL` for SQLITE_FULL and its variants; the system's own code (`ENOSPC`) where SQLite was not reached. */
function resultCode(error: unknown): string | undefined {
  if (!isA(error, Error)) return undefined;
  if (isShortRead(error)) return "CORRUPT";
  const number = fieldOf(error, "errcode");
  // The lower byte is the result code, what is above tells its variant.
  if (typeof number === "number") return numbers[number & 0xff];
  const code = fieldOf(error, "code");
  if (typeof code !== "string") return undefined;
  return /^SQLITE_([A-Z]+)/.exec(code)?.[1] ?? code;
}

function isShortRead(error: unknown): boolean {
  if (!isA(error, Error)) return false;
  return fieldOf(error, "errcode") === shortRead || fieldOf(error, "code") === "SQLITE_IOERR_SHORT_READ";
}
