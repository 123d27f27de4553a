/** What applies the transformer in a project: its tsconfig, its bundlers' configurations, its scripts. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Node } from "typescript";
import { TransformerOptionsError } from "../../transformer/errors.js";
import { readOptions } from "../../transformer/options.js";
import { ts } from "../../transformer/own-compiler.js";
import { type Config, modulesCure, readConfigs, readsExports } from "../project.js";
import { error, type Finding, ok, warning } from "./finding.js";
import { typescriptMajor } from "./packages.js";

/** Configurations by the beginning of their name, and the plugin that belongs into them. */
const bundlers: ReadonlyArray<readonly [config: RegExp, plugin: string]> = [
  [/^(vite|vitest)\.(config|workspace)\.[cm]?[jt]s$/, "stepmark/vite"],
  [/^rollup\.config\.[cm]?[jt]s$/, "stepmark/rollup"],
  [/^(rolldown|tsdown)\.config\.[cm]?[jt]s$/, "stepmark/rolldown"],
  [/^webpack\.(\w+\.)?(config\.)?[cm]?[jt]s$/, "stepmark/webpack"],
  [/^(rspack|rsbuild)\.config\.[cm]?[jt]s$/, "stepmark/rspack"],
  [/^(esbuild|tsup)(\.config)?\.[cm]?[jt]s$/, "stepmark/esbuild"],
  [/^jest\.config\.[cm]?[jt]s$|^jest\.config\.json$/, "stepmark/jest"],
];

export interface Hosts {
  readonly findings: Finding[];
  /** Whether the tsconfig has the plugin, so that the compiler has to fit. */
  readonly usesCompiler: boolean;
}

/**
 * @param tsconfig undefined for that of the folder, if there is one
 * @throws UsageError for a tsconfig that cannot be read
 */
export function checkHosts(folder: string, tsconfig: string | undefined): Hosts {
  const { scripts, jest } = readPackage(folder);
  const configs = readConfigs(tsconfig, folder);
  const plugins = configs.flatMap((config) => pluginFindings(config, folder, scripts));
  const usesCompiler = plugins.length > 0;
  const others = [...bundlerFindings(folder, jest), ...scriptFindings(scripts)];
  const found = [...plugins, ...others].filter(({ level }) => level === "ok");
  const none: Finding[] = [];
  if (!usesCompiler && configs.length > 0) {
    const named = configs.map(({ file }) => path.relative(folder, file)).join(", ");
    none.push(ok("tsconfig", `${named}: without the plugin, so a build with tsc or tspc alone does not transform`));
  }
  if (found.length === 0 && plugins.length === 0) {
    const cure = "`stepmark init` adds the plugin to tsconfig.json; docs/hosts.md has all other ways.";
    none.push(error("hosts", "nothing is seen here that applies the transformer", cure));
  }
  return { findings: [...plugins, ...others, ...none], usesCompiler };
}

interface PackageFile {
  readonly scripts: Readonly<Record<string, string>>;
  readonly jest: unknown;
}

function readPackage(folder: string): PackageFile {
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) return { scripts: {}, jest: undefined };
  const { scripts = {}, jest } = JSON.parse(readFileSync(file, "utf8")) as Partial<PackageFile>;
  return { scripts, jest };
}

// --- the compiler ----------------------------------------------------------------------------------------------------

function pluginFindings(config: Config, folder: string, scripts: PackageFile["scripts"]): Finding[] {
  const { file, plugins, noEmit } = config;
  const of = path.relative(folder, file) || file;
  return plugins
    .filter(({ transform }) => transform === "stepmark/transformer")
    .flatMap((entry) => {
      const { transformProgram, name } = entry as { transformProgram?: unknown; name?: unknown };
      try {
        readOptions(entry, `the plugin's entry in ${of}`);
      } catch (fault) {
        if (!(fault instanceof TransformerOptionsError)) throw fault;
        return [error(of, fault.message, "See docs/hosts.md for the options.")];
      }
      const ways = [
        transformProgram === true ? "as a transformer of programs" : "as a transformer of files",
        ...(name === "stepmark/editor" ? ["with diagnostics in the editor"] : []),
      ];
      const findings: Finding[] = [ok(of, `has the plugin, ${ways.join(", ")}`)];
      if (!readsExports(config, typescriptMajor(folder))) {
        findings.push(
          error(of, "has the compiler look for packages as Node 10 did: it does not find stepmark", modulesCure),
        );
      }
      if (noEmit) {
        findings.push(
          warning(
            of,
            "has noEmit, so `tspc` writes nothing with it",
            "Build with another tsconfig, or by another host.",
          ),
        );
      }
      return [...findings, ...compilerScripts(scripts)];
    });
}

function compilerScripts(scripts: PackageFile["scripts"]): Finding[] {
  if (Object.values(scripts).some((script) => /\bts-patch install\b/.test(script))) return [];
  return Object.entries(scripts)
    .filter(([, script]) => emitsWith(script, "tsc"))
    .map(([name, script]) =>
      error(
        "package.json",
        `the script "${name}" runs ${JSON.stringify(script)}: tsc knows no transformers`,
        "Write tspc instead of tsc, the command of ts-patch.",
      ),
    );
}

/** Whether a script runs a compiler that writes something. */
export function emitsWith(script: string, compiler: "tsc" | "tspc"): boolean {
  return script
    .split(/&&|\|\||[;|&]/)
    .some((part) => new RegExp(`(^|[\\s/])${compiler}(\\s|$)`).test(part) && !/--noEmit\b(?!\s*false)/.test(part));
}

// --- bundlers and others -----------------------------------------------------------------------------------------------

/** Configurations of bundlers and test runners in a folder, each with the plugin that belongs into it. */
export function bundlersIn(folder: string): Array<{ config: string; plugin: string }> {
  return readdirSync(folder).flatMap((config) => {
    const plugin = bundlers.find(([name]) => name.test(config))?.[1];
    return plugin === undefined ? [] : [{ config, plugin }];
  });
}

function bundlerFindings(folder: string, jest: unknown): Finding[] {
  const findings: Finding[] = [];
  for (const { config: name, plugin } of bundlersIn(folder)) {
    const loads = mentions(path.join(folder, name), plugin);
    findings.push(
      loads
        ? ok(
            name,
            `mentions ${plugin}; whether it is among the plugins that build your workflows cannot be known from here`,
          )
        : warning(
            name,
            `does not mention ${plugin}`,
            `If it builds or tests code with steps, add it to the plugins (docs/hosts.md). What the file loads from elsewhere cannot be known from here.`,
          ),
    );
  }
  if (jest !== undefined) {
    const loads = JSON.stringify(jest).includes('"stepmark/jest"');
    const cure = "If tests run workflows, add it to `transform` (docs/hosts.md).";
    findings.push(
      loads
        ? ok("package.json", "its field jest names stepmark/jest")
        : warning("package.json", "its field jest does not name stepmark/jest", cure),
    );
  }
  return findings;
}

/** Whether the text of a module holds the name of another one as a literal: imported, required or named. */
function mentions(file: string, name: string): boolean {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const visit = (node: Node): boolean =>
    (ts.isStringLiteralLike(node) && node.text === name) || (ts.forEachChild(node, visit) ?? false);
  return visit(source);
}

function scriptFindings(scripts: PackageFile["scripts"]): Finding[] {
  return Object.entries(scripts).flatMap(([name, script]) => {
    if (/--import[= ]stepmark\/register\b/.test(script))
      return [ok("package.json", `the script "${name}" runs with stepmark/register`)];
    if (/\bstepmark transform\b/.test(script))
      return [ok("package.json", `the script "${name}" runs stepmark transform`)];
    return [];
  });
}
