/** Which owners count as dead (I8). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import process from "node:process";
import { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import { describe, expect, it } from "vitest";
import { isDead, parseStat, thisProcess } from "../../runtime/stores/owner.js";
import type { Owner } from "../../runtime/stores/store.js";

const self = thisProcess("a");

describe("I8: an owner on this machine", () => {
  it("is alive while its process is, whatever the lease and the token say", () => {
    expect(isDead(self, 0, 1_000)).toBe(false);
    expect(isDead(thisProcess("b"), 0, 1_000)).toBe(false);
    expect(isDead({ ...self, pid: process.ppid, processStart: "" }, 0, 1_000)).toBe(false);
  });

  it("is dead when its number belongs to another process, or to none", async () => {
    expect(isDead({ ...self, processStart: "another time" }, 2_000, 1_000)).toBe(true);
    const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
    const owner = { ...self, pid: child.pid!, processStart: "" };
    await once(child, "exit");
    expect(isDead(owner, 2_000, 1_000)).toBe(true);
  });

  it.runIf(process.platform === "linux")("is dead when it is a zombie", async () => {
    // A shell that starts a process and then becomes another program, which never asks how that process ended.
    const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
    const [printed] = (await once(parent.stdout!, "data")) as [Buffer];
    const owner = { ...self, pid: Number(printed.toString()), processStart: "" };
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8").trim()).toBe("sleep");
    expect(isDead(owner, 2_000, 1_000)).toBe(false);
    process.kill(owner.pid, "SIGKILL");
    await expect.poll(() => isDead(owner, 2_000, 1_000)).toBe(true);
    // Its number is still taken.
    process.kill(owner.pid, 0);
    parent.kill("SIGKILL");
  });
});

describe("I8: an owner in a worker thread", () => {
  it("is dead with its process at once, and else when its lease has run out, except to itself", async () => {
    const contents = `
      import { parentPort } from "node:worker_threads";
      import { isDead, thisProcess } from "./runtime/stores/owner.ts";
      const owner = thisProcess("t");
      parentPort.postMessage({ owner, isDeadToItself: isDead(owner, 0, 1_000), isMainDead: isDead(JSON.parse(process.env.MAIN), 0, 1_000) });`;
    const { outputFiles } = buildSync({
      stdin: { contents, resolveDir: process.cwd() },
      bundle: true,
      platform: "node",
      write: false,
    });
    const worker = new Worker(outputFiles[0]!.text, {
      eval: true,
      env: { ...process.env, MAIN: JSON.stringify(self) },
    });
    const [told] = (await once(worker, "message")) as [{ owner: Owner; isDeadToItself: boolean; isMainDead: boolean }];
    await worker.terminate();
    expect(told).toEqual({
      owner: { ...self, token: "t", thread: worker.threadId === -1 ? expect.any(Number) : worker.threadId },
      isDeadToItself: false,
      isMainDead: false,
    });
    expect(isDead(told.owner, 1_000, 1_000)).toBe(false);
    expect(isDead(told.owner, 1_000, 1_001)).toBe(true);
    expect(isDead({ ...told.owner, processStart: "another time" }, 2_000, 1_000)).toBe(true);
  });
});

describe("I8: an owner on another machine", () => {
  const other = { ...self, host: "elsewhere", pid: 1 };

  it("is alive until its lease has run out", () => {
    expect(isDead(other, 1_000, 999)).toBe(false);
    expect(isDead(other, 1_000, 1_000)).toBe(false);
    expect(isDead(other, 1_000, 1_001)).toBe(true);
  });
});

it("an owner is told by host, process and start time", () => {
  expect(self).toEqual({ token: "a", host: expect.any(String), pid: process.pid, processStart: expect.any(String) });
  if (process.platform === "linux") {
    expect(self.processStart).toMatch(/^\d+$/);
    expect(self.host).toMatch(/\/[0-9a-f-]{36}\/pid:\[\d+\]$/);
  }
});

it("a command's name may hold anything", () => {
  const rest = "1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0";
  for (const name of ["node", "a b", "x) Z 1 (y", ") Z"]) {
    expect(parseStat(`7 (${name}) S ${rest}`)).toEqual({ exists: true, start: "12345" });
    expect(parseStat(`7 (${name}) Z ${rest}`).exists).toBe(false);
  }
});
