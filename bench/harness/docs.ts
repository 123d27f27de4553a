/** Puts results into the docs. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const docs = fileURLToPath(new URL("../../../docs", import.meta.url));

/** Data and plots lie here. */
export const folder = join(docs, "benchmarks");

export function writeData(name: string, data: unknown): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(data, null, 2)}\n`);
}

/** Replaces what lies between the section's two comments in `docs/benchmarks.md`. */
export function writeSection(name: string, markdown: string): void {
  const path = join(docs, "benchmarks.md");
  const [begin, end] = [`<!-- ${name}: made by the command -->`, `<!-- ${name}: end -->`];
  const text = readFileSync(path, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} has no section "${name}"`);
  writeFileSync(path, `${text.slice(0, from + begin.length)}\n\n${markdown}\n\n${text.slice(to)}`);
}
