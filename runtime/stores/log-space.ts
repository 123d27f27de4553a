/**
 * Room in SQLite's write-ahead log ahead of what is written to it. A commit that makes the file longer has the disk write
 * the file's new length as well, and takes up to twice as long as one that finds the room there.
 */
import { Buffer } from "node:buffer";
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";

/** SQLite begins the log anew at about this length: from then on it has its room. */
const enough = 1_000 * 4_120;

/** Room costs about as much as this many commits lose without it; who writes less needs none. */
const worthIt = 50;

export class LogSpace {
  private commits = 0;

  /**
   * @param path of the log
   * @param alone runs work while nobody else writes to the log
   */
  constructor(
    private readonly path: string,
    private readonly alone: (work: () => void) => void,
  ) {}

  /** Counts a commit; makes room once it is worth it. */
  committed(): void {
    this.commits += 1;
    if (this.commits !== worthIt) return;
    try {
      this.alone(() => this.layOut());
    } catch {
      // A full disk, say, or somebody who writes all the time: the commits take longer, that is all.
    }
  }

  /** Zeros end what SQLite reads of a log, as its frames have checksums. */
  private layOut(): void {
    const file = openSync(this.path, "r+");
    try {
      const { size } = fstatSync(file);
      if (size < enough) writeSync(file, Buffer.alloc(enough - size), 0, enough - size, size);
    } finally {
      closeSync(file);
    }
  }
}
