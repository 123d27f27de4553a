/**
 * The database and the log that are open, and whether they are still those that others find at the path.
 *
 * Looked at after each commit, so the log itself is looked at as seldom as can be: Linux (6.13 and later) gives a file
 * whose times have been read new ones with the next write, which that write's `fsync` then has to wait for as well, half as long
 * again as without. A folder's times tell whether anything in it was deleted, moved or replaced.
 */
import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemClock } from "../clock.js";
import { OpenedFile } from "./opened-file.js";

/** Milliseconds after which another change gives a folder another time, where times are as fine as the system's clock's ticks. */
const tick = 50;
/** The same where times are whole seconds. */
const coarse = 3_000;

export class OpenedFiles {
  readonly database: OpenedFile;
  readonly log: OpenedFile;
  /** Whether what leads to the files is all in their folder. */
  readonly #isPlain: boolean;
  readonly #folder: string;
  /** The folder as it was when both files were last found in place; undefined as long as its times may stay as they are although it changes. */
  #seen: Stats | undefined;

  constructor(
    path: string,
    private readonly now: () => number = systemClock.now,
  ) {
    const real = realpathSync(path);
    this.database = new OpenedFile(path);
    this.log = new OpenedFile(`${real}-wal`);
    this.#folder = dirname(real);
    this.#isPlain = real === path;
  }

  /** Those that were deleted, moved or replaced. */
  gone(): OpenedFile[] {
    const folder = statSync(this.#folder, { throwIfNoEntry: false });
    const unchanged = folder !== undefined && this.#seen !== undefined && isSame(folder, this.#seen);
    const suspects = [...(unchanged && this.#isPlain ? [] : [this.database]), ...(unchanged ? [] : [this.log])];
    const gone = suspects.filter((file) => !file.isInPlace());
    if (!unchanged)
      this.#seen = gone.length === 0 && folder !== undefined && isSettled(folder, this.now()) ? folder : undefined;
    return gone;
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
}

/** Whether each change from now on will show in the folder's times. */
function isSettled({ mtimeMs, ctimeMs }: Stats, now: number): boolean {
  const patience = mtimeMs % 1_000 === 0 ? coarse : tick;
  return now - Math.max(mtimeMs, ctimeMs) > patience;
}
