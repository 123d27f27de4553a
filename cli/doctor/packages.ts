/** Which packages a project has: versions that fit together, and one stepmark. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { ownPackage } from "../../transformer/version.js";
import { error, type Finding, ok, warning } from "./finding.js";

export interface Installed {
  readonly version: string;
  /** Without links. */
  readonly folder: string;
}

/** A package as Node would find it from a folder. */
export function installed(from: string, name: string): Installed | undefined {
  for (let at = path.resolve(from); ; at = path.dirname(at)) {
    const found = packageAt(path.join(at, "node_modules", name));
    if (found !== undefined) return found;
    if (at === path.dirname(at)) return undefined;
  }
}

export function packageAt(folder: string): Installed | undefined {
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  const { version = "" } = JSON.parse(readFileSync(file, "utf8")) as { version?: string };
  return { version, folder: realpathSync(folder) };
}

export function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}

/** Of the project's TypeScript; of the one that `init` installs if there is none. */
export function typescriptMajor(folder: string): number {
  const found = installed(folder, "typescript");
  return found === undefined ? 6 : majorOf(found.version);
}

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return ok("node", version);
  return error("node", `${version} is older than 20.19`, "Install Node 20.19 or later.");
}

/** Whether the project's stepmark is one, and the one that is speaking. */
export function checkStepmark(folder: string): Finding[] {
  const own = packageAt(ownPackage().folder);
  const found = installed(folder, "stepmark");
  if (found === undefined) {
    if (isOwn(folder, own)) return [ok("stepmark", `${own!.version}, this very project`)];
    return [error("stepmark", "is not installed here", "npm install stepmark")];
  }
  const findings = [ok("stepmark", found.version)];
  const copies = copiesOf("stepmark", folder).filter(({ folder: at }) => at !== found.folder);
  for (const { version, folder: at } of copies) {
    const words = `another copy, ${version}, is in ${path.relative(folder, at)}`;
    const cure = "See `npm ls stepmark`, and install one version (`npm dedupe`).";
    findings.push(version === found.version ? warning("stepmark", words, cure) : error("stepmark", words, cure));
  }
  if (own !== undefined && own.folder !== found.folder && own.version !== found.version) {
    const what = `the project has ${found.version}, and this command line is of ${own.version}`;
    findings.push(warning("stepmark", what, "Run the project's own: `npx stepmark` in its folder."));
  }
  return findings;
}

/** Whether the folder is inside the package that is speaking: nothing is installed into itself. */
function isOwn(folder: string, own: Installed | undefined): boolean {
  return (
    own !== undefined && !path.relative(own.folder, folder).startsWith("..") && !own.folder.includes("node_modules")
  );
}

/** All copies of a package that modules of a project can load: in `node_modules` here and above, and in those of packages there. */
function copiesOf(name: string, folder: string): Installed[] {
  const copies = new Map<string, Installed>();
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const modules = path.join(at, "node_modules");
    for (const holder of ["", ...packagesIn(modules).map((each) => path.join(each, "node_modules"))]) {
      const found = packageAt(path.join(modules, holder, name));
      if (found !== undefined) copies.set(found.folder, found);
    }
    if (at === path.dirname(at)) return [...copies.values()];
  }
}

/** Names of the packages in a `node_modules`, with their scopes. */
function packagesIn(modules: string): string[] {
  if (!existsSync(modules)) return [];
  return readdirSync(modules).flatMap((name) => {
    if (name.startsWith(".")) return [];
    if (!name.startsWith("@")) return [name];
    return readdirSync(path.join(modules, name)).map((inner) => path.join(name, inner));
  });
}

/** TypeScript and ts-patch, for a project that is built with `tspc`. */
export function checkCompiler(folder: string): Finding[] {
  const typescript = installed(folder, "typescript");
  const patch = installed(folder, "ts-patch");
  if (typescript === undefined)
    return [error("typescript", "is not installed here", `npm install --save-dev ${wanted(6)}`)];
  const major = majorOf(typescript.version);
  if (major >= 7) {
    const what = `${typescript.version} has no API for transformers, so \`tspc\` cannot work with it`;
    const cure =
      "Depend on `typescript@6` for the build; or check types with TypeScript 7 and build with another host: a bundler, `stepmark/register`, or `stepmark transform` (docs/hosts.md).";
    return [error("typescript", what, cure)];
  }
  if (major < 5) {
    return [error("typescript", `${typescript.version} is older than 5.9`, `npm install --save-dev ${wanted(6)}`)];
  }
  const findings = [ok("typescript", typescript.version)];
  if (patch === undefined) {
    findings.push(
      error(
        "ts-patch",
        "is not installed here, and `tspc` is its command",
        `npm install --save-dev ts-patch@${patchFor(major)}`,
      ),
    );
  } else if (majorOf(patch.version) !== patchFor(major)) {
    const what = `${patch.version} is not for TypeScript ${typescript.version}`;
    findings.push(error("ts-patch", what, `npm install --save-dev ts-patch@${patchFor(major)}`));
  } else findings.push(ok("ts-patch", patch.version));
  return findings;
}

/** The major version of ts-patch for one of TypeScript. */
export function patchFor(typescript: number): number {
  return typescript <= 5 ? 3 : 4;
}

function wanted(major: number): string {
  return `typescript@${major} ts-patch@${patchFor(major)}`;
}
