/** What helps when Postgres fails, by its SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html. */
import { fieldOf, isA, wordsOf } from "../journal/careful.js";

const reach =
  "Check that the server runs, that this process can reach it, and the address. What was being written may have been taken or not: `resume` the run, which looks.";
const notDone = "What was being written does not count as done: `resume` the run after that.";
const rights = `Grant the role what docs/postgres.md lists. ${notDone}`;
const space = `Free space on the server's disk. ${notDone}`;
const smaller = `Keep large values elsewhere, and only say where in the run. ${notDone}`;
const primary = `Connect to the primary server: this one only reads. ${notDone}`;
const mend = `Restore the database from a backup. ${notDone}`;

/** By code, or by its first two characters, which name a class of codes. */
const cures: Readonly<Record<string, string>> = {
  "08": reach,
  "22": `The value is one that Postgres does not take; give the run another one. ${notDone}`,
  "25006": primary,
  "28": `Check the role and its password. ${notDone}`,
  "3D": `Make the database, or check its name in the address. ${notDone}`,
  "3F": `The schema is gone: restore it, or start the process anew to make an empty one. ${notDone}`,
  "42501": rights,
  "42": `The schema's tables are not those that stepmark made: restore them, or give it another schema. ${notDone}`,
  "53100": space,
  "53300": `The server has no connection left: raise max_connections, or lower \`connections\`, the pool's \`max\`. ${notDone}`,
  "53": `The server has run short of something. ${notDone}`,
  "54": smaller,
  "55P03": `Another session holds a lock on the run for longer than lock_timeout: let it finish, or end it. ${notDone}`,
  "57014": `The statement took longer than statement_timeout, or was cancelled: raise that limit for this role. ${notDone}`,
  "57": reach,
  "58": mend,
  XX: mend,
  ECONNREFUSED: reach,
  ECONNRESET: reach,
  EHOSTUNREACH: reach,
  ENETUNREACH: reach,
  ENOTFOUND: reach,
  EPIPE: reach,
  ETIMEDOUT: reach,
  ENOENT: reach,
};

/** The fault in words. */
export function faultIn(error: unknown): string {
  return wordsOf(innermost(error));
}

/** The cure of a fault; that of a lost connection where the server has not spoken. */
export function cureOf(error: unknown): string {
  const code = codeOf(error);
  return (code === undefined ? undefined : (cures[code] ?? cures[code.slice(0, 2)])) ?? reach;
}

/**
 * Whether nothing was written because others wrote at the same time, so that the same statement may be taken now:
 * serialization failures, deadlocks, and numbers that another session took, as happens under stricter isolation than Postgres's own.
 */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && /^(40...|23505|23P01)$/.test(code);
}

/** Whether the server refused the statement as a whole for what may be the fault of a part of it: nothing was written. */
export function isSeparable(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && /^(22...|23...|40...|54...|53100|53200|55P03|57014)$/.test(code);
}

/** Whether the session does not know a statement by its name, or knows it where it should not: nothing was done. */
export function isNameFault(error: unknown): boolean {
  const code = codeOf(error);
  return code === "26000" || code === "42P05";
}

/** The server's code; the system's own (`ECONNREFUSED`) where the server was not reached. */
function codeOf(error: unknown): string | undefined {
  const inner = innermost(error);
  const code = isA(inner, Error) ? fieldOf(inner, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Of a host with several addresses each attempt has failed, and only those errors tell how. */
function innermost(error: unknown): unknown {
  if (!isA(error, AggregateError)) return error;
  const errors = fieldOf(error, "errors");
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : error;
}
