/** Blobs as files of a directory, one folder a run. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { InvalidArgumentError } from "../errors.js";
import type { BlobPlace } from "./blob-place.js";

/** Blobs in the directory at `path`, made when it is first used. Many processes may use one directory. */
export function blobDirectory(path = "./.stepmark/blobs"): BlobPlace {
  const root = resolve(path);
  return {
    async put(run, name, content) {
      const file = fileOf(root, run, name);
      if (await isThere(file, content.length)) return;
      const folder = dirname(file);
      const isNew = (await mkdir(folder, { recursive: true })) !== undefined;
      // In place at once or not at all, whenever the process or the machine stops.
      const draft = `${file}.${randomUUID()}`;
      try {
        await writeDurably(draft, content);
        await rename(draft, file);
      } catch (error) {
        await unlink(draft).catch(() => {});
        throw error;
      }
      await syncFolder(folder);
      if (isNew) await syncFolder(root);
    },
    async get(run, name) {
      try {
        return await readFile(fileOf(root, run, name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async remove(run) {
      await rm(folderOf(root, run), { recursive: true, force: true });
    },
  };
}

/** Digests only: nothing that a name could say leads out of the directory. */
function folderOf(root: string, run: string): string {
  if (!/^[0-9a-f]{32}$/.test(run)) throw misnamed(run);
  return join(root, run);
}

function fileOf(root: string, run: string, name: string): string {
  if (!/^[0-9a-f]{64}$/.test(name)) throw misnamed(name);
  return join(folderOf(root, run), name);
}

function misnamed(name: string): InvalidArgumentError {
  return new InvalidArgumentError(`${JSON.stringify(name)} names no blob`, "Blobs are named by digests.");
}

async function isThere(file: string, size: number): Promise<boolean> {
  try {
    const found = await stat(file);
    return found.isFile() && found.size === size;
  } catch {
    return false;
  }
}

async function writeDurably(file: string, content: Uint8Array): Promise<void> {
  const handle = await open(file, "wx");
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the names in a folder durable, where the platform lets one. */
async function syncFolder(path: string): Promise<void> {
  let handle: Awaited<ReturnType<typeof open>> | undefined;
  try {
    handle = await open(path, "r");
    await handle.sync();
  } catch (error) {
    // Windows opens no folders, and needs no such thing.
    if (!["EISDIR", "EPERM", "EACCES", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    await handle?.close();
  }
}
