/** Whether a store can be used: that it is one of ours, that this process may read and write it, and how its runs stand. */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { StepmarkError } from "../../runtime/errors.js";
import { openDatabase } from "../../runtime/stores/sqlite-driver.js";
import { cureOf, faultIn, isLocked } from "../../runtime/stores/sqlite-faults.js";
import { oldestVersion, schemaVersion } from "../../runtime/stores/sqlite-schema.js";
import type { Store, StoredStatus } from "../../runtime/stores/store.js";
import { driverOf, isLeftBehind } from "../run-state.js";
import { isAddress, openStore, using } from "../run-store.js";
import { counted, visible } from "../words.js";
import { error, type Finding, ok, warning } from "./finding.js";

const megabyte = 1024 * 1024;

export async function checkStore(where: string): Promise<Finding[]> {
  if (isAddress(where)) return checkRuns("store", where);
  const unusable = checkDriver();
  if (unusable !== undefined) return [unusable];
  if (!existsSync(where)) return [ok("store", `there is none at ${where} yet`), ...checkFolder(path.dirname(where))];
  const faults = [...checkPermissions(where), ...checkFolder(path.dirname(where))];
  if (faults.some(({ level }) => level === "error")) return faults;
  const tables = checkTables(where);
  if (tables.level === "error") return [tables, ...faults];
  return [tables, ...faults, ...(await checkRuns("store", where))];
}

/** Whether this Node can reach SQLite at all. */
function checkDriver(): Finding | undefined {
  try {
    openDatabase(":memory:").close();
    return undefined;
  } catch (fault) {
    return error("store", `SQLite cannot be used: ${faultIn(fault)}`, cureOf(fault) ?? "Install Node 22.13 or later.");
  }
}

function checkPermissions(file: string): Finding[] {
  return [file, `${file}-wal`, `${file}-shm`]
    .filter((each) => existsSync(each) && !may(each, constants.R_OK | constants.W_OK))
    .map((each) =>
      error(
        "store",
        `this process may not read and write ${each}`,
        "Let it: SQLite needs the file and those beside it.",
      ),
    );
}

/** The folder that SQLite writes its log into, as far as it is there. */
function checkFolder(folder: string): Finding[] {
  let at = path.resolve(folder);
  while (!existsSync(at)) at = path.dirname(at);
  if (!may(at, constants.W_OK | constants.X_OK))
    return [error("store", `this process may not write into ${at}`, "Let it: SQLite keeps its log beside the file.")];
  const { bavail, bsize } = statfsSync(at);
  const free = Math.floor((bavail * bsize) / megabyte);
  if (free < 200) {
    const finding = free < 20 ? error : warning;
    return [finding("store", `${free} MB are free on its disk`, "Free space: a run whose store is full stops.")];
  }
  return [ok("store", `${free.toLocaleString("en")} MB are free on its disk`)];
}

function may(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

/** The file's tables and its lock. Nothing is made, and nothing changed. */
function checkTables(file: string): Finding {
  const cure = (fault: unknown): string =>
    cureOf(fault)?.split(". What was being written")[0] ?? "Look after the file.";
  try {
    const connection = openDatabase(file);
    try {
      connection.exec("PRAGMA busy_timeout = 2000");
      const { user_version: version } = connection.prepare("PRAGMA user_version").get() as { user_version: number };
      if (version > schemaVersion) {
        const what = `${file} was written by a newer version of stepmark (tables ${version}, this one knows ${schemaVersion})`;
        return error("store", what, "Install that version, or name another file.");
      }
      if (version < schemaVersion) {
        const { count } = connection.prepare("SELECT count(*) AS count FROM sqlite_master").get() as { count: number };
        if (version === 0 && count === 0) return ok("store", `${file} is empty`);
        if (version >= oldestVersion) {
          const what = `${file} was written by an older version of stepmark (tables ${version}, this one writes ${schemaVersion})`;
          return warning(
            "store",
            what,
            "The app brings it up to date when it opens it: stop all processes of an older version before.",
          );
        }
        const what =
          version === 0
            ? `${file} is another program's database`
            : `${file} was written by an older version of stepmark (tables ${version}, this one knows ${schemaVersion})`;
        return error("store", what, "Finish its runs with what wrote it, and name another file.");
      }
      connection.exec("BEGIN IMMEDIATE");
      connection.exec("ROLLBACK");
      const size = statSync(file).size;
      if (size > 256 * megabyte)
        return ok("store", `${file} can be opened, tables ${version}; too large to be looked through here`);
      const { quick_check: found } = connection.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
      if (found === "ok") return ok("store", `${file} can be read and written, tables ${version}, sound`);
      return error(
        "store",
        `${file} is damaged: ${found}`,
        "Restore it from a backup, or save what can be read with `sqlite3 FILE .recover`.",
      );
    } finally {
      connection.close();
    }
  } catch (fault) {
    const what = isLocked(fault)
      ? `another process has held the lock of ${file} for 2 s`
      : `${file} cannot be used: ${faultIn(fault)}`;
    return error("store", what, `${cure(fault)}.`);
  }
}

const inFlight = ["running", "waiting", "failed"] as const satisfies readonly StoredStatus[];

async function checkRuns(of: string, where: string): Promise<Finding[]> {
  try {
    return await using(openStore(where), async (store) => [
      ...(isAddress(where) ? [ok(of, "answers")] : []),
      ...(await runFindings(of, store)),
    ]);
  } catch (fault) {
    if (!(fault instanceof StepmarkError)) throw fault;
    return [error(of, fault.message, "See docs/errors.md#store.")];
  }
}

async function runFindings(of: string, store: Store): Promise<Finding[]> {
  const runs = await store.list({ status: [...inFlight] });
  const counts = inFlight.map((status) => `${runs.filter((run) => run.status === status).length} ${status}`);
  const leftBehind = runs.filter((run) => isLeftBehind(run, driverOf(run)));
  const findings = [ok(of, `its runs: ${counts.join(", ")}`)];
  if (leftBehind.length > 0) {
    const names = leftBehind.slice(0, 5).map(({ id }) => visible(id));
    const what = `${counted(leftBehind.length, "run")} that nobody drives, since the process has ended: ${names.join(", ")}${leftBehind.length > 5 ? ", ..." : ""}`;
    findings.push(
      warning(of, what, "`app.recover()` goes on with them, and so does `stepmark resume RUN --workflows MODULE`."),
    );
  }
  return findings;
}
