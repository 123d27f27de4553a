/** The suite's files and what they say about themselves. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface TestFile {
  /** Relative to the suite's `test`. */
  readonly path: string;
  readonly source: string;
  readonly flags: ReadonlySet<string>;
  readonly includes: readonly string[];
  readonly negative?: { readonly phase: string; readonly type: string };
}

/** Paths of the tests below some folders, relative to the suite's `test`. */
export function listTests(suite: string, folders: readonly string[], only: string): string[] {
  const root = join(suite, "test");
  return folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))))
    .filter((path) => path.endsWith(".js") && !path.includes("_FIXTURE") && path.includes(only))
    .sort();
}

export function readTest(suite: string, path: string): TestFile {
  const source = readFileSync(join(suite, "test", path), "utf8");
  const [, about = ""] = /\/\*---([\s\S]*?)---\*\//.exec(source) ?? [];
  const phase = /^negative:[\s\S]*?^\s+phase:\s*(\w+)/m.exec(about)?.[1];
  const type = /^negative:[\s\S]*?^\s+type:\s*(\w+)/m.exec(about)?.[1];
  return {
    path,
    source,
    flags: new Set(listOf(about, "flags")),
    includes: listOf(about, "includes"),
    ...(phase !== undefined && type !== undefined && { negative: { phase, type } }),
  };
}

/** `name: [a, b]`, or one a line after `name:`. */
function listOf(about: string, name: string): string[] {
  const inLine = new RegExp(`^${name}:\\s*\\[([^\\]]*)\\]`, "m").exec(about)?.[1];
  if (inLine !== undefined)
    return inLine
      .split(",")
      .map((item) => item.trim())
      .filter(Boolean);
  const lines = new RegExp(`^${name}:\\s*\\r?\\n((?:\\s+-.*\\r?\\n?)+)`, "m").exec(about)?.[1] ?? "";
  return [...lines.matchAll(/-\s*(\S+)/g)].map(([, item]) => item!);
}
