/** A file that is open, and whether it is still the one that its path leads to. */
import { statSync } from "node:fs";

export class OpenedFile {
  readonly #device: number | undefined;
  readonly #number: number | undefined;

  /** There need be no file at the path: then there must never be one. */
  constructor(readonly path: string) {
    const found = statSync(path, { throwIfNoEntry: false });
    this.#device = found?.dev;
    this.#number = found?.ino;
  }

  /** Whether it is the file that `other` was, wherever that was moved. */
  is(other: OpenedFile): boolean {
    return this.#number === other.#number && this.#device === other.#device;
  }

  /** Looks whether its path still leads to it. */
  isInPlace(): boolean {
    const found = statSync(this.path, { throwIfNoEntry: false });
    return found?.ino === this.#number && found?.dev === this.#device;
  }
}
