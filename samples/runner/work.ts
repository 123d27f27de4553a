/**
 * Stands for the real work in the samples' step bodies. Each body leaves a line in a file of its own, so that what ran
 * is counted from outside of the journal. A process that is going to be killed is told in which order its bodies end,
 * so that the crash comes at a known point.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const file = "bodies.log";

/** Leaves a line that says that this body ran. Synchronous: nothing of it is lost in a crash. */
export function note(label: string): void {
  appendFileSync(file, `${label}\n`);
}

/** Notes the body, and takes as long as the order of ends says; without such an order no time at all. */
export async function work(label: string): Promise<void> {
  note(label);
  if (ends === undefined) return;
  await new Promise<void>((resolve) => {
    working.push({ label, resolve });
    releaseNext();
  });
}

/** The bodies that ran so far, oldest first. */
export function notes(directory = "."): string[] {
  const path = join(directory, file);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

let ends: readonly string[] | undefined;
let recorded = 0;
let released = 0;
const working: Array<{ label: string; resolve: () => void }> = [];

/** From now on a body ends only when all those before it in `order` are recorded; those that are not in it never end. */
export function endInOrder(order: readonly string[]): void {
  ends = order;
}

/** To be called when the outcome of one more body is durable. */
export function oneMoreRecorded(): void {
  recorded++;
  releaseNext();
}

function releaseNext(): void {
  if (ends === undefined || released > recorded) return;
  const next = working.findIndex(({ label }) => label === ends?.[recorded]);
  if (next === -1) return;
  released = recorded + 1;
  for (const { resolve } of working.splice(next, 1)) resolve();
}
