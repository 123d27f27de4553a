/** The lines of source around a call, where the file is still there. What a journal names may be anything: see `withinRoot`. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { SiteRecord } from "../runtime/journal/entry.js";
import { visible } from "./value-text.js";
import type { SourceView } from "./wire.js";

/** Lines before and after. */
const around = 4;
const largest = 4 * 1024 * 1024;
const longestLine = 400;

/**
 * @param root folder that module paths are relative to
 * @returns undefined if there is nothing to be shown
 */
export function sourceAround(root: string, { module, line, anchor }: SiteRecord): SourceView | undefined {
  const file = withinRoot(root, module);
  if (file === undefined || !Number.isSafeInteger(line)) return undefined;
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > largest) return undefined;
    text = readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
  const all = text.split("\n");
  if (line < 1 || line > all.length) return undefined;
  const first = Math.max(1, line - around);
  const lines = all
    .slice(first - 1, line + around)
    .map((each) => visible(each.replace(/\r$/, "").slice(0, longestLine)));
  const shown: SourceView = { path: module, first, lines, line };
  // The call's text may go over a few lines.
  const near = all.slice(line - 1, line + around).join("\n");
  if (!near.includes(nameOf(anchor))) shown.doubtful = true;
  return shown;
}

/** What the source calls it: without its ordinal. */
function nameOf(anchor: string): string {
  return anchor.replace(/~\d+$/, "").replace("()", "").replace(/%7E/gi, "~").replace(/%25/g, "%");
}

/**
 * The real path of a source file below a folder.
 *
 * @param module as a journal names it: relative, with forward slashes
 * @returns undefined for whatever else it may be: outside of the folder, also by a link; no file; no source, as a file of secrets
 */
export function withinRoot(root: string, module: string): string | undefined {
  if (typeof module !== "string" || module.includes("\0") || path.isAbsolute(module) || /^[a-z]:|\\/i.test(module))
    return undefined;
  if (!/\.[cm]?[jt]sx?$/.test(module)) return undefined;
  const parts = module.split("/");
  if (parts.some((part) => part === "" || part.startsWith("."))) return undefined;
  try {
    const folder = realpathSync(root);
    const file = realpathSync(path.join(folder, ...parts));
    const below = path.relative(folder, file);
    if (below === "" || below.startsWith("..") || path.isAbsolute(below)) return undefined;
    if (!/\.[cm]?[jt]sx?$/.test(file) || !statSync(file).isFile()) return undefined;
    return file;
  } catch {
    return undefined;
  }
}
