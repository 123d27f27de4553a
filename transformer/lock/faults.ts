/** What is wrong with a lock file in itself, after a merge or an edit by hand. */

import { BornNames } from "./born-names.js";
import { isGone, type LockLine } from "./lock-line.js";

/** @returns a line for each fault */
export function faultsOf(lines: readonly LockLine[]): string[] {
  const names = new BornNames(lines);
  const faults: string[] = [];
  const places = new Map<string, LockLine>();
  const identities = new Map<string, LockLine>();
  const tags = new Map<string, LockLine>();
  const note = (known: Map<string, LockLine>, key: string, line: LockLine, what: string): void => {
    const other = known.get(key);
    if (other === undefined) known.set(key, line);
    else faults.push(`duplicate ${line.path}  ${line.anchor}: ${what} (tags ${other.tag} and ${line.tag})`);
  };
  for (const line of lines) {
    const { path, kind, container, anchor, tag } = line;
    note(tags, tag, line, "two lines with one tag");
    if (!isGone(line)) note(places, JSON.stringify([path, kind, container, anchor]), line, "two lines of one place");
    const born = names.place(line);
    const what = "two places of one identity, or one with that of a place that is gone";
    note(identities, JSON.stringify([path, kind, born.container, born.anchor]), line, what);
  }
  return faults;
}
