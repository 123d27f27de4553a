/**
 * Room in SQLite's write-ahead log ahead of what is written to it. A commit that makes the file longer has the disk write
 * the file's new length as well, and takes about twice as long as one that finds the room there.
 */
import { Buffer } from "node:buffer";
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";

/** Bytes that are laid out at once. */
const stride = 512 * 1024;

/** SQLite begins the log anew at about this length: from then on it has its room. */
const enough = 1_000 * 4_120;

export class LogSpace {
  private laidOut = 0;

  /**
   * @param path of the log
   * @param alone runs work while nobody else writes to the log
   */
  constructor(
    private readonly path: string,
    private readonly alone: (work: () => void) => void,
  ) {}

  /** Makes room if there is none left, given the log's size in bytes after a commit. */
  ensure(size: number): void {
    if (size === this.laidOut) return;
    this.laidOut = size;
    if (size >= enough) return;
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
      this.laidOut = size + writeSync(file, Buffer.alloc(stride), 0, stride, size);
    } finally {
      closeSync(file);
    }
  }
}
