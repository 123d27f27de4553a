/** Stands for the real work: leaves lines in a file, as each body begins and ends, and gives a value of its own. */
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface Value {
  label: string;
  /** Another one each time that the body runs. */
  draw: string;
}

export const log = "bodies.log";

export async function work(label: string): Promise<Value> {
  note(`start ${label}`);
  await delay(Math.random() * 8);
  const value = { label, draw: randomUUID() };
  note(`end ${label} ${value.draw}`);
  return value;
}

/** The labels of the bodies that have begun, oldest first. */
export function begun(path: string): string[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line.startsWith("start ")).map((line) => line.slice("start ".length));
}

function note(line: string): void {
  const file = openSync(log, "a");
  writeSync(file, `${line}\n`);
  closeSync(file);
}
