/** Blocks of code of the project's pages. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Block {
  /** `docs/http.md`. */
  readonly page: string;
  /** Of its first line of code. */
  readonly line: number;
  /** Indentation and all. */
  readonly code: string;
}

const root = new URL("../../", import.meta.url);

export const repository = fileURLToPath(root);

export const pages: readonly string[] = [
  "README.md",
  ...readdirSync(new URL("docs/", root))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

export const textOf = (page: string): string => readFileSync(new URL(page, root), "utf8");

/** @param language as the page names it: `ts`, `sh`, ... */
export function blocksOf(page: string, language: string): Block[] {
  const text = textOf(page);
  const fences = text.matchAll(/^ *```(\w*).*\n([\s\S]*?)^ *```/gm);
  return [...fences]
    .filter(([, named]) => named === language)
    .map(({ index, 2: code = "" }) => ({ page, line: text.slice(0, index).split("\n").length + 1, code }));
}
