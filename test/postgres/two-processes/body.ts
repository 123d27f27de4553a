/** How a process speaks to its test: it prints lines, and waits for lines. */
import process from "node:process";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** The next line. */
export async function told(): Promise<string> {
  return String((await lines.next()).value);
}

/** Says that it begins; the one that this process is to hold goes on when it is told to. */
export async function body(name: string): Promise<string> {
  say(`begin ${name}`);
  if (name === process.env.HOLDS) await told();
  return name.toUpperCase();
}
