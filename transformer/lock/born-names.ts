/** What places were called at birth, by the lines of a lock file. */
import { isGone, joinContainer, type LockLine, splitContainer } from "./lock-line.js";

export class BornNames {
  private readonly functions = new Map<string, LockLine>();
  private readonly known = new Map<string, string>();

  /** @param lines those of functions count, as far as they are not gone */
  constructor(lines: Iterable<LockLine>) {
    for (const line of lines) this.add(line);
  }

  /** A function's line comes before those of what is in it. */
  add(line: LockLine): void {
    if (line.kind === "function" && !isGone(line))
      this.functions.set(spell(line.path, line.container, line.anchor), line);
  }

  /** How functions inside each other were called. */
  container(path: string, container: string): string {
    const key = JSON.stringify([path, container]);
    let name = this.known.get(key);
    if (name === undefined) {
      name = this.spellContainer(path, container);
      this.known.set(key, name);
    }
    return name;
  }

  place(line: LockLine): { container: string; anchor: string } {
    const { path, container, anchor, bornContainer, bornAnchor } = line;
    // What is gone is written down under the name of its birth.
    if (isGone(line)) return { container, anchor };
    return { container: bornContainer ?? this.container(path, container), anchor: bornAnchor ?? anchor };
  }

  private spellContainer(path: string, container: string): string {
    let born: string[] = [];
    const now: string[] = [];
    for (const anchor of splitContainer(container)) {
      const line = this.functions.get(spell(path, joinContainer(now), anchor));
      if (line?.bornContainer !== undefined) born = splitContainer(line.bornContainer);
      born.push(line?.bornAnchor ?? anchor);
      now.push(anchor);
    }
    return joinContainer(born);
  }
}

function spell(path: string, container: string, anchor: string): string {
  return JSON.stringify([path, container, anchor]);
}
