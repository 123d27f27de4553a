/**
 * Steps a second on SQLite, beside the raw limit: single-row commits through the same driver under the same pragmas,
 * in the same process, in turn. `npm run bench` prints medians; `-- --json` prints the same as data, `-- --rounds N`
 * sets how often each is measured.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sqliteStore } from "stepmark/sqlite";
import { rawCommits } from "./raw-commits.js";
import { concurrent, resume, sequential } from "./workloads.js";

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, rounds: { type: "string", default: "5" } },
});
const rounds = Math.max(1, Number.parseInt(values.rounds, 10));

interface Row {
  synchronous: "FULL" | "NORMAL";
  workload: string;
  /** Median of the rounds, with the least and the greatest. */
  milliseconds: [median: number, least: number, greatest: number];
  perSecond: number;
  /** Rate as a multiple of the raw commits' of the same durability. */
  ofRaw: number | null;
}

const steps = 1_000;
const rows: Row[] = [];
for (const synchronous of ["FULL", "NORMAL"] as const) {
  const times: Record<string, number[]> = {};
  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(join(tmpdir(), "stepmark-bench-"));
    const open = () => sqliteStore(join(folder, "runs.db"), { synchronous });
    const note = (workload: string, ms: number): void => {
      times[workload] = [...(times[workload] ?? []), ms];
    };
    note("raw single-row commits", rawCommits({ path: join(folder, "raw.db"), synchronous }, steps));
    note("sequential: 1,000 steps", await sequential(open, steps));
    note("concurrent: 200 x 5 steps", await concurrent(open, 200, 5));
    note("resume of 1,000 recorded steps", await resume(open, steps));
    rmSync(folder, { recursive: true });
  }
  const raw = median(times["raw single-row commits"]!);
  for (const [workload, all] of Object.entries(times)) {
    const middle = median(all);
    const isResume = workload.startsWith("resume");
    rows.push({
      synchronous,
      workload,
      milliseconds: [middle, Math.min(...all), Math.max(...all)],
      perSecond: Math.round((steps / middle) * 1000),
      ofRaw: isResume ? null : raw / middle,
    });
  }
}

if (values.json) console.log(JSON.stringify({ node: process.version, rounds, rows }, null, 2));
else print(rows);

function print(all: Row[]): void {
  console.log(`Node ${process.version}, ${rounds} rounds: median (least-greatest)`);
  for (const { synchronous, workload, milliseconds, perSecond, ofRaw } of all) {
    const [middle, least, greatest] = milliseconds.map((ms) => ms.toFixed(1));
    const rate = `${perSecond.toLocaleString("en")}/s`;
    const share = ofRaw === null ? "" : `${ofRaw.toFixed(2)} of raw`;
    console.log(
      [
        synchronous.padEnd(7),
        workload.padEnd(31),
        `${middle} ms (${least}-${greatest})`.padEnd(28),
        rate.padStart(12),
        share.padStart(13),
      ].join(" "),
    );
  }
}

function median(all: number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
