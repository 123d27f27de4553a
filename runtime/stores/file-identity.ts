/** Whether a file that is open is still the one that its path leads to. */
import { statSync } from "node:fs";

/** A file as the system tells it from others, wherever it is moved; undefined if there is none at the path. */
export type FileIdentity = string | undefined;

export function identityOf(path: string): FileIdentity {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Those of the paths that lead to another file now, or to none. */
export function moved(files: ReadonlyMap<string, FileIdentity>): string[] {
  const gone: string[] = [];
  for (const [path, identity] of files) if (identityOf(path) !== identity) gone.push(path);
  return gone;
}
