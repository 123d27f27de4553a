/** Installs what the benchmarks need and the project does not, unless it is there already. */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const changed = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);
if (changed(`${here}node_modules/.package-lock.json`) < changed(`${here}package-lock.json`)) {
  console.error("Installing the benchmarks' own packages: once, a few minutes.");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: here,
    stdio: "inherit",
  });
  process.exit(status ?? 1);
}
