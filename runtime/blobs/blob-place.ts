/** Where large values go that are not to burden the database. */

/**
 * A place for blobs: a directory (`blobDirectory`), or anything that keeps bytes under names, such as a bucket with the names
 * `PREFIX/RUN/NAME`. Every method either resolves after the effect is durable or rejects.
 */
export interface BlobPlace {
  /**
   * Keeps a blob. May be called again with the same names, and then with the same content.
   *
   * @param run 32 hexadecimal digits that stand for a run
   * @param name 64 hexadecimal digits: the content's SHA-256
   */
  put(run: string, name: string, content: Uint8Array): Promise<void>;
  /** Undefined if there is none. */
  get(run: string, name: string): Promise<Uint8Array | undefined>;
  /** Removes all blobs of a run; none is no error. */
  remove(run: string): Promise<void>;
}

export interface BlobOptions {
  place: BlobPlace;
  /** Size from which a value goes there, in bytes as it is encoded (default 131,072). */
  above?: number;
}
