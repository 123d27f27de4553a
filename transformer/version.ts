/** Which stepmark this is. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

let known: string | undefined;

/** The version in this package's package.json, which stands in a folder above; empty if there is none. */
export function version(): string {
  known ??= find(path.dirname(fileURLToPath(import.meta.url)));
  return known;
}

function find(folder: string): string {
  const file = path.join(folder, "package.json");
  if (existsSync(file)) {
    const { name, version = "" } = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
    if (name === "stepmark") return version;
  }
  const above = path.dirname(folder);
  return above === folder ? "" : find(above);
}
