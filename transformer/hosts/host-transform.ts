/** What every host does with a module: whether it is one to look at, and what becomes of its text. */
import { existsSync } from "node:fs";
import path from "node:path";
import { fileOf } from "../file-name.js";
import { lockOf } from "../lock/lock-file.js";
import { printLine } from "../lock/lock-line.js";
import { includes, modulePath, readOptions } from "../options.js";
import { type Diagnostic, type TransformedText, type TransformTextOptions, transformText } from "../transform-text.js";
import { refuseCompiled } from "./compiled-code.js";

/** The options of a host: those of the tsconfig plugin. */
export type HostOptions = Omit<TransformTextOptions, "file">;

/** Ids of modules that can be script: by their file's extension, or by that of a component's block (`?vue&lang.ts`). */
export const scriptId = /\.[cm]?[jt]sx?(?:[?#]|$)|[?&]lang[.=][cm]?[jt]sx?/;

/**
 * @param report gets what is wrong with the code, one diagnostic after the other
 * @returns undefined for what is left alone
 * @throws TransformerOptionsError when a module comes that has been compiled before
 */
export type HostTransform = (
  code: string,
  id: string,
  report: (diagnostic: Diagnostic) => void,
) => HostTransformed | undefined;

export interface HostTransformed extends Pick<TransformedText, "code" | "map"> {
  /** The lock file that the result depends on too. */
  readonly lock: string | undefined;
}

/**
 * @param options `root` may be relative to `project`, and is `project` by default
 * @param where the options were given, for the error
 * @throws TransformerOptionsError for an unknown option
 */
export function hostTransform(options: HostOptions, project: string, where: string): HostTransform {
  const { include = [], root = ".", lock } = readOptions(options, where);
  const absolute = path.resolve(project, root);
  const isIncluded = includes(include);
  return (code, id, report) => {
    const file = fileOf(id);
    if (file === undefined || !scriptId.test(file)) return undefined;
    // Packages ship transformed code.
    if (/[\\/]node_modules[\\/]/.test(file) && !isIncluded(modulePath(absolute, file))) return undefined;
    const transformed = transformText(code, { ...options, root: absolute, file });
    if (transformed === undefined) return undefined;
    for (const diagnostic of transformed.diagnostics) report(diagnostic);
    if (transformed.sites.length === 0) return undefined;
    refuseCompiled(code, file, modulePath(absolute, file));
    return { ...transformed, lock: lockOf(absolute, lock)?.file };
  };
}

/**
 * What of the lock file a module depends on, for the keys of caches.
 *
 * @param options as of `hostTransform`
 */
export function lockedText({ root = ".", lock }: HostOptions, project: string, file: string): string {
  const absolute = path.resolve(project, root);
  const lines = lockOf(absolute, lock)?.of(modulePath(absolute, file)) ?? [];
  return lines.map(printLine).join("\n");
}

/** The project that a folder belongs to: the nearest folder above with a package.json, or the folder itself. */
export function projectFolder(folder: string): string {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (existsSync(path.join(at, "package.json"))) return at;
    if (at === path.dirname(at)) return path.resolve(folder);
  }
}
