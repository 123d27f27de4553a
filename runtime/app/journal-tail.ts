/** The last entries that became durable, for listeners that keep up: they need not ask the store. */
import type { Entry } from "../journal/entry.js";

const mostEntries = 64;
/** Of recorded values, in characters. */
const mostText = 256 * 1024;

export class JournalTail {
  private readonly entries: Entry[] = [];
  private text = 0;

  push(entry: Entry): void {
    this.entries.push(entry);
    this.text += lengthOf(entry);
    while (this.entries.length > mostEntries || this.text > mostText) this.text -= lengthOf(this.entries.shift()!);
  }

  /** At most `limit` entries that follow `position`; none if it does not hold the next one. */
  after(position: number, limit: number): Entry[] {
    const from = position + 1 - (this.entries[0]?.seq ?? 0);
    return from < 0 ? [] : this.entries.slice(from, from + limit);
  }

  clear(): void {
    this.entries.length = 0;
    this.text = 0;
  }
}

function lengthOf({ value }: Entry): number {
  return value?.length ?? 0;
}
