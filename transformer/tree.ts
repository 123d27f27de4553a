/** What the tree is called that module paths are in: packages that are built apart may have equal ones. */
import { readFileSync } from "node:fs";
import path from "node:path";

const known = new Map<string, string | undefined>();

/**
 * The name in the nearest package.json above that has one, and the way from there. Undefined if there is none.
 *
 * @param root folder that module paths are relative to
 */
export function treeOf(root: string): string | undefined {
  const folder = path.resolve(root);
  if (!known.has(folder)) known.set(folder, find(folder));
  return known.get(folder);
}

function find(root: string): string | undefined {
  for (let folder = root; ; folder = path.dirname(folder)) {
    const name = nameIn(folder);
    if (name !== undefined) {
      const way = path.relative(folder, root).replaceAll("\\", "/").normalize("NFC");
      return way === "" ? name : `${name}/${way}`;
    }
    if (path.dirname(folder) === folder) return undefined;
  }
}

function nameIn(folder: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { name?: unknown };
    return typeof name === "string" && name !== "" ? name : undefined;
  } catch {
    return undefined;
  }
}
