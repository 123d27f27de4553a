import type { Entry } from "stepmark";
import type { JournalWriter } from "../../runtime/run/journal-writer.js";

/** Appends an entry through a journal's writer; settled as that acknowledges it. */
export function appended(writer: JournalWriter, entry: Omit<Entry, "seq">): Promise<Entry> {
  return new Promise((resolve, reject) => writer.append({ seq: 0, ...entry }, undefined, resolve, reject));
}
