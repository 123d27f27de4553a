/** Which stepmark this is. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

interface Package {
  folder: string;
  version: string;
}

let known: Package | undefined;

/** This package: the first folder above whose package.json has its name; empty texts if there is none. */
export function ownPackage(): Package {
  known ??= find(path.dirname(fileURLToPath(import.meta.url)));
  return known;
}

/** The version in this package's package.json; empty if there is none. */
export function version(): string {
  return ownPackage().version;
}

function find(folder: string): Package {
  const file = path.join(folder, "package.json");
  if (existsSync(file)) {
    const { name, version = "" } = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
    if (name === "stepmark") return { folder, version };
  }
  const above = path.dirname(folder);
  return above === folder ? { folder: "", version: "" } : find(above);
}
