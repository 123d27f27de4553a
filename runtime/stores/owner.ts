/**
 * Who owns a run, and whether that process still lives. On one machine this is known at once, from the process table;
 * of another machine only a lease tells.
 */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import { isMainThread, threadId } from "node:worker_threads";
import type { Owner } from "./store.js";

/** This process as an owner. `token` is unique for each `Stepmark` instance. */
export function thisProcess(token: string): Owner {
  self ??= {
    ...{ host: host(), pid: process.pid, processStart: lookUp(process.pid).start },
    ...(!isMainThread && { thread: threadId }),
  };
  return { token, ...self };
}

let self: Omit<Owner, "token"> | undefined;

/** A name for this process that journals keep: its number, and a digest of what tells it from others of that number. */
export function processName(): string {
  if (name === undefined) {
    const { host, pid, processStart } = thisProcess("");
    const digest = createHash("sha256")
      .update(JSON.stringify([host, processStart]))
      .digest("hex");
    name = `${pid}-${digest.slice(0, 6)}`;
  }
  return name;
}

let name: string | undefined;

/**
 * Whether the owner is gone. On this machine: its process does not exist, is a zombie, or is another one that was given the
 * same number. On another machine, or in a worker thread, which may end before its process and leave nothing to be seen of
 * that: the lease has run out. Two instances in one thread are two owners, both alive.
 *
 * @param leaseUntil milliseconds since the epoch
 * @param now milliseconds since the epoch
 */
export function isDead(owner: Owner, leaseUntil: number, now: number): boolean {
  const here = thisProcess("");
  if (owner.host !== here.host) return leaseUntil < now;
  if (!isProcessAlive(owner, here)) return true;
  const isElsewhere = owner.pid !== here.pid || owner.thread !== here.thread;
  return owner.thread !== undefined && isElsewhere && leaseUntil < now;
}

function isProcessAlive({ pid, processStart }: Owner, here: Owner): boolean {
  if (pid === here.pid) return processStart === here.processStart;
  const { exists, start } = lookUp(pid);
  // Where a start time cannot be had, the number alone has to do: better to wait than to run a step twice.
  return exists && (start === "" || processStart === "" || start === processStart);
}

/**
 * Where process numbers mean the same. A host's name is not enough: two machines may share it, and so may two
 * containers, which count their processes apart. After a reboot the numbers begin anew.
 */
function host(): string {
  const parts = [hostname()];
  if (process.platform === "linux") {
    parts.push(
      attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? "",
      attempt(() => readlinkSync("/proc/self/ns/pid")) ?? "",
    );
  }
  return parts.filter(Boolean).join("/");
}

interface Found {
  exists: boolean;
  /** Empty where it cannot be found out. */
  start: string;
}

function lookUp(pid: number): Found {
  if (!exists(pid)) return { exists: false, start: "" };
  if (process.platform === "linux") return readStat(pid);
  if (process.platform === "darwin") {
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
    // Loaded where it is needed: elsewhere it would take a tenth of the time that the library takes to load.
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    const ps = (): string => execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { env, encoding: "utf8" });
    return { exists: true, start: attempt(ps)?.trim() ?? "" };
  }
  return { exists: true, start: "" };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other refusal (EPERM) comes from a process that is there.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function readStat(pid: number): Found {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return stat === undefined ? { exists: true, start: "" } : parseStat(stat);
}

/**
 * State and start time from `/proc/<pid>/stat`: fields 3 and 22, see proc(5). The command's name, field 2, stands in
 * parentheses and may hold anything, parentheses and spaces included.
 *
 * @internal
 */
export function parseStat(stat: string): Found {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  return { exists: state !== "Z" && state !== "X", start: fields[19] ?? "" };
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
