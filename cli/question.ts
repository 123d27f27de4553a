/** Questions to whoever sits at the terminal. */
import process from "node:process";
import { createInterface } from "node:readline/promises";

/** Yes unless the answer begins with n; no where nobody is there to answer. */
export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return !/^n/i.test((await terminal.question(`${question} [Y/n] `)).trim());
  } finally {
    terminal.close();
  }
}
