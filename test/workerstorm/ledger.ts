/**
 * What bodies were executed, by whom and when: files that have nothing to do with the library or its database. What a process
 * has written is there although it is killed.
 */
import { openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

export interface Line {
  run: string;
  step: number;
  nonce: string;
  process: number;
  /** Of the machine's monotonic clock, in nanoseconds. */
  at: bigint;
}

let file: number | undefined;
let lines = 0;

/** Notes an execution in the folder `LEDGER`. @returns what tells it from all others */
export function write(run: string, step: number): string {
  file ??= openSync(join(process.env.LEDGER!, `${process.pid}.log`), "a");
  const nonce = `${process.pid}-${lines++}`;
  writeSync(file, `${run} ${step} ${nonce} ${process.hrtime.bigint()}\n`);
  return nonce;
}

/** All executions, in the order in which they began, by run. */
export function read(folder: string): Map<string, Line[]> {
  const all: Line[] = [];
  for (const name of readdirSync(folder)) {
    // What follows the last line end was cut off by a kill.
    for (const line of readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1)) {
      const [run, step, nonce, at] = line.split(" ") as [string, string, string, string];
      all.push({ run, step: Number(step), nonce, process: Number.parseInt(name, 10), at: BigInt(at) });
    }
  }
  all.sort((a, b) => (a.at < b.at ? -1 : 1));
  const runs = new Map<string, Line[]>();
  for (const line of all) {
    const known = runs.get(line.run);
    if (known === undefined) runs.set(line.run, [line]);
    else known.push(line);
  }
  return runs;
}
