/** A saga under kills at random moments, seen from the books of somebody outside. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { sqliteStore } from "stepmark/sqlite";
import { expect, it } from "vitest";
import { buildChild } from "../support/build-child.js";
import { seeded } from "../support/schedule.js";
import { readBegun, readLedger } from "./ledger.js";
import { parts } from "./saga-flow.js";

const runs = 4;
/** So many processes of each run are killed. */
const kills = 6;
/** A process is killed at most so long after it has the run, in milliseconds. */
const longestLife = 60;

let child: string;

it.each(Array.from({ length: runs }, (_, index) => index + 1))(
  "each booking is made once and undone once, the last one first, whatever is killed (seed %s)",
  async (seed) => {
    child ??= await buildChild("test/killstorm/saga-child.ts");
    const random = seeded(seed);
    const folder = await mkdtemp(join(tmpdir(), "stepmark-saga-"));
    try {
      let output: string | undefined;
      for (let number = 0; output === undefined; number++) {
        const recorded = await recordedIn(folder);
        const before = readBegun(folder).length;
        output = await live(folder, number < kills ? random() * longestLife : undefined);
        const again = readBegun(folder)
          .slice(before)
          .filter(({ key }) => recorded.has(key));
        expect(again, "bodies that began again although their outcome was recorded").toEqual([]);
      }
      expect(output).toBe("undone");
      const lines = readLedger(folder);
      const what = lines.map((line) => line.what);
      expect([...what.slice(0, 4)].sort()).toEqual(parts.map((part) => `book ${part}`).sort());
      expect(what.slice(4)).toEqual(["charge", ...parts.toReversed().map((part) => `cancel ${part}`)]);
      expect(new Set(lines.map(({ key }) => key)).size).toBe(lines.length);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  60_000,
);

/** @returns what the process printed of the run's end; undefined if it was killed before */
async function live(cwd: string, killAfter: number | undefined): Promise<string | undefined> {
  const started = spawn(process.execPath, [child], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(started, "close");
  let output: string | undefined;
  for await (const line of createInterface({ input: started.stdout })) {
    if (line !== "ready") output = line;
    else if (killAfter !== undefined) setTimeout(() => started.kill("SIGKILL"), killAfter);
  }
  await closed;
  return output;
}

/** The replay keys of the steps that are done for good. */
async function recordedIn(folder: string): Promise<Set<string>> {
  const store = sqliteStore(join(folder, ".stepmark/runs.db"));
  const entries = await store.entries("run");
  await store.close();
  return new Set(entries.filter(({ state }) => state === "done" || state === "failed").map(({ key }) => key));
}
