/**
 * Runs as text, one JSON value a line: a header, then for each run its record, its entries, its unused messages and an end
 * with a digest, then an end of the file. Each digest is of everything before it, so that a file that was cut off, put
 * together anew or edited is found out.
 */
import { createHash, type Hash } from "node:crypto";
import type { Entry } from "../journal/entry.js";
import type { Message, WholeRun } from "../stores/store.js";

/** Goes up with each change to the lines. */
export const FORMAT_VERSION = 1;

export interface Header {
  stepmark: "runs";
  version: number;
  /** Whether inputs, outputs, errors and the values of entries and messages are there. */
  values: boolean;
}

export interface RunEnd {
  entries: number;
  messages: number;
  /** Ids of child runs that the run waits for, and that its store did not hold. */
  absent?: string[];
  digest: string;
}

export interface FileEnd {
  runs: number;
  digest: string;
}

export type Line =
  | Header
  | { run: WholeRun["run"] }
  | { entry: Entry }
  | { message: Message }
  | { end: RunEnd }
  | { complete: FileEnd };

/** The digest of the lines so far. */
export class LinesDigest {
  private readonly hash: Hash = createHash("sha256");

  add(line: string): void {
    this.hash.update(line).update("\n");
  }

  get value(): string {
    return this.hash.copy().digest("hex");
  }
}

/** The child runs that a run needs to be gone on with: those whose outcome it does not have. */
export function neededChildren({ run, entries }: Pick<WholeRun, "run" | "entries">): string[] {
  if (run.status === "completed" || run.status === "cancelled") return [];
  const needed = new Map<string, string>();
  for (const { kind, state, key, child } of entries) {
    if (kind !== "child") continue;
    if (state === "done") needed.delete(key);
    else needed.set(key, child!);
  }
  return [...new Set(needed.values())];
}
