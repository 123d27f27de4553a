/** The script files of a folder. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Paths of all files below a folder, relative to it. node_modules, and what starts with a dot, is left out; links count as what
 * they lead to, unless that is a folder around.
 *
 * @param without a folder that is left out too
 */
export function filesBelow(folder: string, without?: string, below = ""): string[] {
  const at = path.join(folder, below);
  if (at === without) return [];
  const files: string[] = [];
  for (const entry of readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
    const file = path.join(below, entry.name);
    const target = path.join(folder, file);
    if (!statSync(target).isDirectory()) files.push(file);
    else if (!entry.isSymbolicLink() || !isWithin(at, realpathSync(target)))
      files.push(...filesBelow(folder, without, file));
  }
  return files;
}

export function isWithin(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || !(relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
}
