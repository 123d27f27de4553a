/** Puts results into the docs: the data, the tables and the plots, each made from the one before. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Contender } from "./contenders/contender.js";
import { page, type Results } from "./measure/table.js";
import { drawSpeed } from "./plots/speed.js";

const docs = fileURLToPath(new URL("../../docs", import.meta.url));

/** Data and plots lie here. */
export const folder = join(docs, "benchmarks");

export async function writeSpeed(results: Results, contenders: readonly Contender[]): Promise<void> {
  writeData("speed", results);
  writeSection("speed", page(results, contenders));
  writePlots(results, contenders);
}

export function writePlots(results: Results, contenders: readonly Contender[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of drawSpeed(results, contenders)) writeFileSync(join(folder, `${name}.svg`), svg);
}

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
