/** What `stepmark init` would change in a project, and what it leaves to people. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { scriptId } from "../../transformer/hosts/host-transform.js";
import { version } from "../../transformer/version.js";
import { bundlersIn, emitsWith } from "../doctor/hosts.js";
import { installed, majorOf, patchFor, typescriptMajor } from "../doctor/packages.js";
import { type Config, hasPlugin, modulesCure, readConfigs, readsExports } from "../project.js";
import { filesBelow } from "../script-files.js";
import { parsedObject, withField } from "./json-edit.js";

/** A file as it is, and as it is to be. */
export interface Edit {
  readonly file: string;
  /** Undefined for a file that is not there yet. */
  readonly before: string | undefined;
  readonly after: string;
}

export interface Plan {
  /** Those that change something. */
  readonly edits: readonly Edit[];
  /** What people have to do themselves. */
  readonly byHand: readonly string[];
  /** Why the compiler's plugin cannot be added; nothing is changed then. */
  readonly refused?: string;
}

const transformer = "stepmark/transformer";
const entry = `{ "transform": "${transformer}" }`;
/** TypeScript does not tell an incremental build of a change of its plugins. */
const entryOfIncremental = `{ "transform": "${transformer}", "transformProgram": true }`;
const otherHosts =
  "docs/hosts.md has the other ways: a bundler's plugin, `node --import stepmark/register`, `stepmark transform`";

/**
 * @param tsconfig undefined for that of the folder
 * @throws UsageError for a tsconfig that was named and is not there, or cannot be read
 */
export function planOf(folder: string, tsconfig: string | undefined): Plan {
  const major = typescriptMajor(folder);
  if (major >= 7) {
    return refusal(`TypeScript ${installed(folder, "typescript")!.version} has no API for transformers`, [
      "Depend on `typescript@6` for the build; or check types with TypeScript 7, and build with another host.",
      `${otherHosts}.`,
    ]);
  }
  const isNew = tsconfig === undefined && !existsSync(path.join(folder, "tsconfig.json"));
  const compiler = isNew ? newTsconfig(folder) : planTsconfig(folder, tsconfig);
  if (compiler.refused !== undefined) return compiler;
  const home = tsconfig === undefined ? folder : homeOf(folder, tsconfig);
  const scripts = planPackage(folder, home, { typescript: major, isNew });
  const ignored = planGitignore(folder);
  const edits = [...compiler.edits, ...scripts.edits, ...ignored].filter(({ before, after }) => before !== after);
  return { edits, byHand: [...compiler.byHand, ...scripts.byHand] };
}

function refusal(refused: string, byHand: readonly string[]): Plan {
  return { edits: [], byHand, refused };
}

// --- tsconfig.json -----------------------------------------------------------------------------------------------------

interface Tsconfig {
  extends?: unknown;
  compilerOptions?: { plugins?: unknown };
}

/** For a project that has nothing yet, or only TypeScript. */
function newTsconfig(folder: string): Plan {
  const [bundler] = bundlersIn(folder);
  if (bundler !== undefined) {
    return refusal(`there is no tsconfig.json, and ${bundler.config} builds this project`, [
      `Add ${bundler.plugin} to its plugins (docs/hosts.md).`,
    ]);
  }
  const scripts = filesBelow(folder).filter((file) => scriptId.test(file));
  const typed = scripts.filter((file) => /\.[cm]?tsx?$/.test(file));
  if (scripts.length > 0 && typed.length === 0) {
    return refusal("there is no tsconfig.json, and all code here is JavaScript", [
      `Nothing has to be built: \`node --import stepmark/register app.js\` runs it. Else ${otherHosts}.`,
    ]);
  }
  const inFolder = typed.every((file) => file.startsWith(`src${path.sep}`));
  const after = `{
  "compilerOptions": {
    "target": "ES2023",
    "module": "nodenext",
    "rootDir": "${inFolder ? "src" : "."}",
    "outDir": "dist",
    "strict": true,
    "skipLibCheck": true,
    "types": ["node"],
    "plugins": [${entry}]
  }${inFolder ? ',\n  "include": ["src"]' : ""}
}
`;
  return { edits: [{ file: "tsconfig.json", before: undefined, after }], byHand: [] };
}

function planTsconfig(folder: string, named: string | undefined): Plan {
  const [config, ...others] = readConfigs(named, folder) as [Config, ...Config[]];
  const name = path.relative(folder, config.file);
  const text = readFileSync(config.file, "utf8");
  const own = parsedObject(text) as Tsconfig | undefined;
  if (own === undefined)
    return refusal(`${name} is not JSON that can be edited`, [`Add ${entry} to its compilerOptions.plugins.`]);
  const modules = readsExports(config, typescriptMajor(folder))
    ? []
    : [`${name} has the compiler look for packages as Node 10 did: it does not find stepmark. ${modulesCure}`];
  if (hasPlugin(config)) return { edits: [], byHand: modules };
  const byHand = stepsForOthers(folder, others);
  if (byHand.length > 0 && config.files.length === 0) {
    return refusal(`${name} refers to other projects, and each of them is compiled by its own tsconfig`, byHand);
  }
  const { plugins } = own.compilerOptions ?? {};
  if (
    own.extends !== undefined &&
    (own.compilerOptions === undefined || (plugins === undefined && config.plugins.length > 0))
  ) {
    const [what, why] =
      own.compilerOptions === undefined
        ? [`${name} only extends ${JSON.stringify(own.extends)}`, "it is not certain which of them is the place"]
        : [`${name} has the plugins of ${JSON.stringify(own.extends)}`, "a list of its own would take their place"];
    return refusal(`${what}, and ${why}`, [
      `Where the code with workflows is compiled, write: "compilerOptions": { "plugins": [${entry}] }, with the entries that are there already.`,
    ]);
  }
  if (config.noEmit) {
    return refusal(`${name} has noEmit: it is not what builds this project`, [
      `Add the plugin to what does (${otherHosts.replace(/:.*/, "")}), or name the tsconfig of the build with --project.`,
    ]);
  }
  const added = config.incremental ? entryOfIncremental : entry;
  const after = Array.isArray(plugins)
    ? withField(text, ["compilerOptions", "plugins", 0], added, "first")
    : withField(text, ["compilerOptions", "plugins"], `[${added}]`);
  return { edits: [{ file: name, before: text, after }], byHand: [...modules, ...byHand] };
}

/** What is to be done for projects that a tsconfig refers to. */
function stepsForOthers(folder: string, configs: readonly Config[]): string[] {
  const without = configs.filter((config) => !hasPlugin(config));
  if (without.length === 0) return [];
  return [
    "Of the projects that it refers to, and that hold workflows, or code that workflows call, do each by itself:",
    ...without.map(({ file }) => `  stepmark init --project ${path.relative(folder, file)}`),
    'In a workspace whose packages run together, give all of them one `"root"` in the plugin\'s entry (docs/hosts.md).',
  ];
}

// --- package.json ------------------------------------------------------------------------------------------------------

type Names = Readonly<Record<string, string>>;

interface PackageFile {
  scripts?: Names;
  dependencies?: Names;
  devDependencies?: Names;
}

/** The folder of the package that a tsconfig belongs to; its own if there is none up to the folder given. */
function homeOf(folder: string, tsconfig: string): string {
  const own = path.dirname(path.resolve(folder, tsconfig));
  for (let at = own; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, "package.json"))) return at;
    if (at === path.resolve(folder) || at === path.dirname(at)) return own;
  }
}

interface Compiler {
  /** Major version. */
  readonly typescript: number;
  /** Whether the tsconfig is one that `init` writes. */
  readonly isNew: boolean;
}

function planPackage(folder: string, home: string, { typescript, isNew }: Compiler): Plan {
  const at = path.join(home, "package.json");
  const file = path.relative(folder, at);
  if (!existsSync(at))
    return { edits: [], byHand: ["There is no package.json here: build with `tspc` of ts-patch instead of tsc."] };
  const before = readFileSync(at, "utf8");
  const read = parsedObject(before) as PackageFile | undefined;
  if (read === undefined)
    return { edits: [], byHand: ["package.json cannot be read: build with `tspc` of ts-patch instead of tsc."] };
  const { scripts = {}, dependencies = {}, devDependencies = {} } = read;
  const byHand: string[] = [];
  let after = before;
  for (const [name, script] of Object.entries(scripts)) {
    if (emitsWith(script, "tsc")) after = withField(after, ["scripts", name], JSON.stringify(compiled(script)));
  }
  const builds = Object.values(scripts).some((script) => emitsWith(script, "tsc") || emitsWith(script, "tspc"));
  if (!builds && scripts.build === undefined) after = withField(after, ["scripts", "build"], '"tspc"');
  else if (!builds)
    byHand.push(
      `The script "build" runs ${JSON.stringify(scripts.build)}, not tsc: if that builds your workflows, add the plugin there (docs/hosts.md).`,
    );
  const has = (name: string): boolean => name in dependencies || name in devDependencies;
  const patch = patchFor(typescript);
  const wanted: ReadonlyArray<readonly [field: keyof PackageFile, name: string, range: string]> = [
    ["dependencies", "stepmark", `^${version()}`],
    ...(isNew ? ([["devDependencies", "@types/node", `^${majorOf(process.versions.node)}`]] as const) : []),
    ["devDependencies", "ts-patch", patch === 3 ? "^3.3.0" : "^4.0.1"],
    ["devDependencies", "typescript", typescript <= 5 ? "~5.9.3" : "^6.0.3"],
  ];
  for (const [field, name, range] of wanted) {
    const how = read[field] === undefined ? undefined : "sorted";
    if (!has(name)) after = withField(after, [field, name], JSON.stringify(range), how);
  }
  return { edits: [{ file, before, after }], byHand };
}

/** A script with `tspc` where it called `tsc` to write something. */
function compiled(script: string): string {
  return script
    .split(/(&&|\|\||[;|&])/)
    .map((part) => (emitsWith(part, "tsc") ? part.replace(/(^|[\s/])tsc(?=\s|$)/, "$1tspc") : part))
    .join("");
}

// --- .gitignore --------------------------------------------------------------------------------------------------------

function planGitignore(folder: string): Edit[] {
  const file = ".gitignore";
  const above = foldersOfRepository(folder);
  const texts = (above ?? [folder]).map((at) => textAt(path.join(at, file)));
  const [before] = texts;
  if (above === undefined && before === undefined) return [];
  if (texts.some((text) => text !== undefined && /^\/?\.stepmark\/?\s*$/m.test(text))) return [];
  const eol = before?.includes("\r\n") ? "\r\n" : "\n";
  const start = before === undefined || before === "" || before.endsWith("\n") ? (before ?? "") : `${before}${eol}`;
  return [{ file, before, after: `${start}.stepmark/${eol}` }];
}

function textAt(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** The folder and those around it, as far as the repository goes; undefined if it is in none. */
function foldersOfRepository(folder: string): string[] | undefined {
  const found: string[] = [];
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    found.push(at);
    if (existsSync(path.join(at, ".git"))) return found;
    if (at === path.dirname(at)) return undefined;
  }
}
