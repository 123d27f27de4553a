/** What the numbers were measured on. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Contender } from "../contenders/contender.js";
import { serverVersion } from "./places.js";
import { nodeOf } from "./processes.js";

export interface Machine {
  date: string;
  cpu: string;
  memory: string;
  platform: string;
  postgres: string | undefined;
  /** By contender: of its packages, and of the Node it ran on. */
  versions: Record<string, { packages: Record<string, string>; node: string }>;
}

export async function machine(contenders: readonly Contender[], server: string | undefined): Promise<Machine> {
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: `${cpus().length} x ${cpus()[0]?.model.trim() ?? "unknown"}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    platform: `${process.platform} ${process.arch}`,
    postgres: server === undefined ? undefined : await serverVersion(server),
    versions: Object.fromEntries(
      contenders.map((contender) => [
        contender.name,
        {
          packages: Object.fromEntries(contender.packages.map((name) => [name, version(name)])),
          node: contender.node === undefined ? process.version : nodeVersion(contender),
        },
      ]),
    ),
  };
}

/** Packages may not export their manifest: it is read where npm has put it. */
function version(name: string): string {
  const root = fileURLToPath(new URL("../../node_modules", import.meta.url));
  return (JSON.parse(readFileSync(join(root, name, "package.json"), "utf8")) as { version: string }).version;
}

function nodeVersion(contender: Contender): string {
  return execFileSync(nodeOf(contender), ["--version"], { encoding: "utf8" }).trim();
}
