/** The places of a file as it is now, in the words of the lock file. */
import { type Row, RowKind } from "../../runtime/scope/site-table.js";
import { joinContainer, type LockKind, type LockLine } from "./lock-line.js";

export interface PresentPlace {
  /** The file, relative to the root. */
  readonly path: string;
  /** Index of its row in the site table. */
  readonly row: number;
  readonly kind: LockKind;
  readonly container: string;
  readonly anchor: string;
  readonly text: string;
  readonly loops: number;
  /** Fingerprint of what is made of its result; of a function `-`. */
  readonly own: string;
}

/** What is compared of a place and of a line. */
export interface Place extends Pick<LockLine, "path" | "kind" | "container" | "anchor" | "text" | "own"> {
  /** What a step calls, if it has another name or several, and somebody has looked. */
  readonly calls?: string | undefined;
}

/** @param ownOf of the call in a row */
export function placesOf(path: string, rows: readonly Row[], ownOf: (row: number) => string): PresentPlace[] {
  const anchorsTo = (index: number): string[] => (index < 0 ? [] : [...anchorsTo(rows[index]![2]), rows[index]![1]]);
  return rows.map(([kind, anchor, container, , , text, loops = []], row) => ({
    path,
    row,
    kind: kindOf(kind),
    container: joinContainer(anchorsTo(container)),
    anchor,
    // What a function is known by is what it holds.
    text: kindOf(kind) === "function" ? "-" : text,
    loops: loops.length,
    own: kindOf(kind) === "function" ? "-" : ownOf(row),
  }));
}

export function kindOf(kind: RowKind): LockKind {
  if (kind === RowKind.site) return "site";
  return kind === RowKind.call ? "call" : "function";
}
