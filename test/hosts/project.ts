/**
 * The fixtures as a project of their own outside the repository, with the package installed as npm would install it: its code
 * is this checkout's, built, and what it depends on is linked.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import blankTypes from "ts-blank-space";
import ts from "typescript";
import { transformText } from "../../transformer/transform-text.js";

const require = createRequire(import.meta.url);
// By the package's name, since these tests are also bundled into one file.
export const repository = path.dirname(require.resolve("stepmark/package.json"));
const fixtures = path.join(repository, "test/hosts/fixtures");
export const driver = "driver.mjs";

export interface Project {
  folder: string;
  /** Each fixture's name and the path of its entry, relative to the folder. */
  entries: Readonly<Record<string, string>>;
  /** The tables that every host has to make, by module path. */
  sites: Readonly<Record<string, readonly string[]>>;
  remove(): void;
}

/** `typescript`: as the fixtures are. `javascript`: the same without their types, for Nodes that cannot strip them. */
export type Language = "typescript" | "javascript";

export function makeProject(language: Language = "typescript"): Project {
  const folder = path.join(realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-hosts-"))), "the project");
  cpSync(fixtures, folder, { recursive: true });
  const windowsText = path.join(folder, "src/windows-text/main.ts");
  writeFileSync(windowsText, `\ufeff${readFileSync(windowsText, "utf8").replaceAll("\n", "\r\n")}`);
  writeFileSync(path.join(folder, driver), readFileSync(path.join(repository, "test/hosts", driver)));
  const modules = path.join(folder, "node_modules");
  mkdirSync(path.join(modules, "@fixtures"), { recursive: true });
  symlinkSync(path.join(folder, "packages/lib"), path.join(modules, "@fixtures/lib"));
  if (language === "javascript") stripAll(folder);
  installPackage(modules);
  const entries = findEntries(folder);
  return {
    folder,
    entries,
    sites: readSites(folder),
    remove: () => rmSync(path.dirname(folder), { recursive: true, force: true }),
  };
}

/** Links a package of the repository into the project. */
export function link(folder: string, name: string, as = name): void {
  const at = path.join(folder, "node_modules", as);
  rmSync(at, { force: true });
  mkdirSync(path.dirname(at), { recursive: true });
  symlinkSync(path.join(repository, "node_modules", name), at);
}

/** Puts the package, built, into a `node_modules`. */
export function installPackage(modules: string): void {
  const at = path.join(modules, "stepmark");
  const rolldown = path.join(repository, "node_modules/rolldown/bin/cli.mjs");
  const build = [rolldown, "--config", "rolldown.config.ts", "--dir", path.join(at, "dist"), "--logLevel", "silent"];
  execFileSync(process.execPath, build, { cwd: repository, stdio: "pipe" });
  for (const file of ["runtime", "transformer", "cli"].flatMap((name) => filesBelow(path.join(repository, name))))
    if (!file.includes("/hosts/")) writeDeclaration(file, at);
  writeFileSync(path.join(at, "package.json"), readFileSync(path.join(repository, "package.json")));
  const needs = require("stepmark/package.json") as {
    dependencies: object;
    optionalDependencies: object;
  };
  mkdirSync(path.join(at, "node_modules"));
  for (const name of Object.keys({ ...needs.dependencies, ...needs.optionalDependencies })) {
    mkdirSync(path.join(at, "node_modules", path.dirname(name)), { recursive: true });
    symlinkSync(path.join(repository, "node_modules", name), path.join(at, "node_modules", name));
  }
}

function writeDeclaration(file: string, at: string): void {
  const { outputText } = ts.transpileDeclaration(readFileSync(file, "utf8"), { fileName: file });
  const to = path.join(at, "dist", path.relative(repository, file).replace(/\.ts$/, ".d.ts"));
  mkdirSync(path.dirname(to), { recursive: true });
  writeFileSync(to, outputText);
}

function filesBelow(folder: string): string[] {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true });
  return all.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

/** All sources of the project. */
export function sourcesOf(folder: string): string[] {
  return ["src", "packages"]
    .flatMap((name) => filesBelow(path.join(folder, name)))
    .filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !file.endsWith(".d.ts"));
}

/** The module tables as `transformText` makes them, spelt as the driver spells those that it finds. */
function readSites(folder: string): Record<string, readonly string[]> {
  const { stepmark } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { stepmark: object };
  const sites: Record<string, readonly string[]> = {};
  for (const file of sourcesOf(folder)) {
    const made = transformText(readFileSync(file, "utf8"), { ...stepmark, root: folder, file });
    if (made === undefined) continue;
    const containerOf = (index: number): string[] =>
      index < 0 ? [] : [...containerOf(made.sites[index]![2]), made.sites[index]![1]];
    const name = path.relative(folder, file).normalize("NFC");
    sites[name] = made.sites.map(([kind, anchor, container, line, shared, text, loops = []]) =>
      [kind, containerOf(container).join(">"), anchor, line, text, shared, ...loops].join(" "),
    );
  }
  return sites;
}

function findEntries(folder: string): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const name of readdirSync(path.join(folder, "src")).sort()) {
    const [main] = sourcesOf(folder).filter(
      (file) => path.basename(path.dirname(file)) === name && /^main\./.test(path.basename(file)),
    );
    if (main !== undefined) entries[name] = path.relative(folder, main);
  }
  return entries;
}

/** Replaces each TypeScript file by what Node's own stripping makes of it: types become blanks, so that all places stay. */
function stripAll(folder: string): void {
  for (const file of sourcesOf(folder)) {
    if (!/\.ts$/.test(file)) {
      if (file.endsWith(".tsx")) rmSync(file);
      continue;
    }
    const code = readFileSync(file, "utf8");
    rmSync(file);
    if (/^(enum|namespace) /m.test(code)) continue;
    const stripped = blankTypes(code);
    writeFileSync(file.replace(/\.ts$/, ".js"), stripped.replace(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
  }
  const lib = path.join(folder, "packages/lib/package.json");
  writeFileSync(lib, readFileSync(lib, "utf8").replace("index.ts", "index.js"));
}
