/** Files of a revision, by the command `git`. */
import { spawnSync } from "node:child_process";
import { UsageError } from "./command.js";

/**
 * @param folder a folder of the repository
 * @returns the files below the folder in a revision, by their paths relative to it, as far as `wanted` says
 * @throws UsageError if there is no repository, or no such revision
 */
export function filesAt(folder: string, revision: string, wanted: (path: string) => boolean): Map<string, string> {
  const commit = git(folder, ["rev-parse", "--verify", "--end-of-options", `${revision}^{commit}`]).trim();
  const names = git(folder, ["ls-tree", "-r", "-z", "--name-only", commit, "."])
    .split("\0")
    .filter((name) => name !== "" && wanted(name));
  const prefix = git(folder, ["rev-parse", "--show-prefix"]).trim();
  const objects = names.map((name) => `${commit}:${prefix}${name}`);
  // A name with a line break cannot be asked for in this way; no such file is a source.
  const askable = names.filter((_, index) => !objects[index]!.includes("\n"));
  const output = git(
    folder,
    ["cat-file", "--batch"],
    objects.filter((each) => !each.includes("\n")).join("\n"),
    "buffer",
  );
  return readBatch(output, askable);
}

/** Of each object: a line with its size, its bytes, and a line break. */
function readBatch(output: Buffer, names: readonly string[]): Map<string, string> {
  const files = new Map<string, string>();
  let at = 0;
  for (const name of names) {
    const end = output.indexOf("\n", at);
    const size = Number(/ blob (\d+)$/.exec(output.toString("utf8", at, end))?.[1] ?? Number.NaN);
    at = end + 1;
    if (Number.isNaN(size)) continue;
    files.set(name, output.toString("utf8", at, at + size));
    at += size + 1;
  }
  return files;
}

function git(folder: string, args: string[], input?: string): string;
function git(folder: string, args: string[], input: string, encoding: "buffer"): Buffer;
function git(folder: string, args: string[], input = "", encoding: "utf8" | "buffer" = "utf8"): string | Buffer {
  const { error, status, stdout, stderr } = spawnSync("git", args, {
    cwd: folder,
    input: Buffer.from(input),
    maxBuffer: 1 << 30,
  });
  if (error !== undefined) throw new UsageError(`git cannot be run: ${error.message}`);
  if (status !== 0) throw new UsageError(`git ${args[0]}: ${stderr.toString("utf8").trim()}`);
  return encoding === "buffer" ? stdout : stdout.toString("utf8");
}
