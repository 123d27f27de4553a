/** Runs fixtures through hosts and holds what was seen against what every host has to show. */
import { rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { type Host, run, type Setting } from "./hosts.js";
import { checkMaps } from "./maps.js";
import { driver, type Language, type Project } from "./project.js";

interface Seen {
  fixtures: Record<string, FixtureSeen>;
  tables: Array<{ path: string; text: string; places: string[] }>;
}

interface FixtureSeen {
  output?: unknown;
  keys?: string[];
  bodies?: string[];
  faults?: string[];
  error?: string;
}

export interface Result {
  host: Host;
  language: Language;
  setting: Setting;
  passed: number;
  /** How many positions were traced through the final source maps. */
  positions: number;
  /** What the fixtures answered. */
  answers: Expected;
  /** One line each. */
  differences: string[];
}

/** What the fixtures answer: the same under every host. */
export type Expected = Record<string, { output: unknown; keys: string[] }>;

/** So many literals keep their form in whatever is built. */
const fewestPositions = 10;

let outputs = 0;

export async function tryHost(
  host: Host,
  setting: Setting,
  project: Project,
  language: Language,
  expected: Expected,
): Promise<Result> {
  const out = path.join(project.folder, "built", String(outputs++));
  const result: Result = { host, language, setting, passed: 0, positions: 0, answers: {}, differences: [] };
  let seen: Seen;
  try {
    seen = await see(host, setting, project, out);
    const maps = checkMaps(out, project);
    result.positions = maps.positions;
    result.differences.push(...maps.differences);
    if (maps.positions < fewestPositions && !host.inMemory) result.differences.push("the source maps are lost");
  } catch (error) {
    result.differences.push(firstLines(error));
    return result;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
  const without = host.without(setting);
  const wanted = Object.keys(project.entries).filter((name) => without[name] === undefined);
  for (const name of wanted) {
    const { output, keys = [] } = seen.fixtures[name] ?? {};
    result.answers[name] = { output, keys };
    const differences = compare(name, seen, expected, project);
    result.differences.push(...differences);
    if (differences.length === 0) result.passed++;
  }
  return result;
}

async function see(host: Host, setting: Setting, project: Project, out: string): Promise<Seen> {
  const built = await host.build(project, setting, out);
  const without = host.without(setting);
  const entries = Object.entries(built.entries).filter(([name]) => without[name] === undefined);
  const urls = Object.fromEntries(entries.map(([name, file]) => [name, pathToFileURL(file).href]));
  const asked = JSON.stringify({ entries: urls, required: setting.format === "cjs" });
  const flags = ["--enable-source-maps", ...(built.flags ?? [])];
  const { stdout } = await run(built.node ?? process.execPath, [...flags, path.join(project.folder, driver), asked], {
    cwd: built.cwd ?? project.folder,
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout) as Seen;
}

function compare(name: string, { fixtures, tables }: Seen, expected: Expected, { sites }: Project): string[] {
  const seen = fixtures[name];
  if (seen?.error !== undefined) return [`${name}: ${seen.error.split("\n").slice(0, 3).join(" | ")}`];
  const wanted = expected[name];
  if (wanted === undefined) return [`${name}: nothing is expected of it`];
  const differences = (seen?.faults ?? []).map((fault) => `${name}: ${fault}`);
  for (const what of ["output", "keys"] as const) {
    const [is, should] = [JSON.stringify(seen?.[what]), JSON.stringify(wanted[what])];
    if (is !== should) differences.push(`${name}: ${what} ${is} instead of ${should}`);
  }
  for (const [file, places] of Object.entries(sites)) {
    if (!belongs(file, name)) continue;
    const table = tables.find((each) => each.path === file);
    if (table === undefined) differences.push(`${name}: no table of ${file}, but ${tables.map((each) => each.path)}`);
    else if (JSON.stringify(table.places) !== JSON.stringify(places)) {
      const at = places.findIndex((place, index) => place !== table.places[index]);
      differences.push(`${name}: ${file} has ${table.places[at]} instead of ${places[at]}`);
    }
  }
  return differences;
}

function belongs(file: string, fixture: string): boolean {
  return file.startsWith(`src/${fixture}/`) || (fixture === "workspace" && file.startsWith("packages/"));
}

function firstLines(error: unknown): string {
  const { message, stderr } = error as { message: string; stderr?: string };
  const lines = (stderr === undefined || stderr === "" ? message : stderr)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.slice(0, 6).join(" | ");
}
