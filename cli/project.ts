/** The project that a command is about: its options, its sources and its lock file. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import type { CompilerOptions, ParseConfigFileHost } from "typescript";
import { scriptId } from "../transformer/hosts/host-transform.js";
import { readProject } from "../transformer/hosts/node/project-options.js";
import { LOCK_NAME, type Lock, lockOf } from "../transformer/lock/lock-file.js";
import { readSourceFile, type SourceFile } from "../transformer/lock/source-file.js";
import { includes, modulePath, readOptions, type TransformOptions } from "../transformer/options.js";
import { ts } from "../transformer/own-compiler.js";
import { mentionsLibrary } from "../transformer/plan/library.js";
import { UsageError } from "./command.js";
import { filesBelow, isWithin } from "./script-files.js";

/** Options that all commands about sources share. */
export const projectOptions = {
  project: {
    type: "string",
    value: "FILE",
    help: "the tsconfig.json; by default that of this folder, if there is one",
  },
  root: {
    type: "string",
    value: "FOLDER",
    help: "what module paths are relative to; by default the folder of the tsconfig that has the plugin, or else of the nearest package.json",
  },
  include: {
    type: "string",
    multiple: true,
    value: "GLOB",
    help: "files that do not import stepmark and are transformed all the same",
  },
  lock: { type: "string", value: "FILE", help: "the lock file, relative to the root; by default stepmark.lock" },
} as const;

/** Comments are no places, and take a while to read. */
const parsing = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };

export interface ProjectArguments {
  readonly project?: string | undefined;
  readonly root?: string | undefined;
  readonly include?: string[] | undefined;
  readonly lock?: string | undefined;
}

export interface Project {
  readonly root: string;
  readonly lockFile: string;
  /** Undefined if there is none yet. */
  readonly lock: Lock | undefined;
  /** Those that hold places. */
  readonly files: readonly SourceFile[];
  /** Reads a text as the file of that path would be read; undefined if it holds no places. */
  read(path: string, text: string): SourceFile | undefined;
}

/**
 * Of a tsconfig that refers to others, their files too, save those that belong to another lock file.
 *
 * @throws UsageError for a tsconfig that cannot be read; ApartError; TransformerOptionsError, LockFileError
 */
export function readSources(given: ProjectArguments, folder = process.cwd()): Project {
  const configs = readConfigs(given.project, folder);
  const builds = configs.map(buildOf);
  const build = builds.find((each) => each !== undefined);
  const isElsewhere = (each: Build | undefined): boolean => each !== undefined && each.lockFile !== build!.lockFile;
  const { folder: packageFolder, options: field, where } = readProject(folder);
  const options: TransformOptions = build?.options ?? readOptions(field, where);
  const base = build?.root ?? path.resolve(packageFolder, options.root ?? ".");
  const root = given.root === undefined ? base : path.resolve(folder, given.root);
  const isOne = given.root !== undefined || given.lock !== undefined;
  if (!isOne && builds[0] === undefined && builds.some(isElsewhere)) throw new ApartError(folder, configs);
  const isIncluded = includes(given.include ?? options.include ?? []);
  const option = given.lock ?? (options.lock === false ? undefined : options.lock);
  const lockFile = path.resolve(root, option ?? LOCK_NAME);
  const read = (module: string, text: string): SourceFile | undefined => {
    if (!isIncluded(module) && !mentionsLibrary(text)) return undefined;
    const file = ts.createSourceFile(path.join(root, module), text, parsing, false);
    return readSourceFile(ts, file, module, isIncluded(module));
  };
  const found =
    configs.length > 0
      ? configs.flatMap(({ files }, index) => {
          if (isOne || build === undefined) return files;
          if (builds[index] === undefined) return files.filter((file) => isWithin(file, root));
          return isElsewhere(builds[index]) ? [] : files;
        })
      : filesBelow(root).map((file) => path.join(root, file));
  const names = [...new Set(found)];
  const files = names
    .filter((file) => scriptId.test(file) && !/\.d\.[cm]?ts$/.test(file))
    .flatMap((file) => read(modulePath(root, file), readFileSync(file, "utf8")) ?? []);
  return { root, lockFile, lock: existsSync(lockFile) ? lockOf(root, lockFile) : undefined, files, read };
}

/** A tsconfig that only refers to others, whose builds read lock files of their own: which of them is meant has to be said. */
export class ApartError extends UsageError {
  constructor(folder: string, configs: readonly Config[]) {
    const names = configs.filter(hasPlugin).map(({ file }) => path.relative(folder, file));
    super(
      `the projects that ${path.relative(folder, configs[0]!.file)} refers to read lock files of their own: name one with --project (${names.join(", ")}), or give all of them one "root" in the plugin's entry`,
    );
  }
}

/** How `tspc` builds a project. */
interface Build {
  readonly options: TransformOptions;
  readonly root: string;
  readonly lockFile: string;
}

function buildOf(config: Config): Build | undefined {
  const entry = config.plugins.find(isPlugin);
  if (entry === undefined) return undefined;
  const options = readOptions(entry);
  const root = path.resolve(path.dirname(config.file), options.root ?? ".");
  return {
    options,
    root,
    lockFile: path.resolve(root, options.lock === false ? LOCK_NAME : (options.lock ?? LOCK_NAME)),
  };
}

function isPlugin({ transform }: Config["plugins"][number]): boolean {
  return transform === "stepmark/transformer";
}

/** Whether the compiler applies the transformer. */
export function hasPlugin({ plugins }: Config): boolean {
  return plugins.some(isPlugin);
}

/** A tsconfig, with what it extends. */
export interface Config {
  readonly file: string;
  readonly files: readonly string[];
  /** Entries of `compilerOptions.plugins`. */
  readonly plugins: ReadonlyArray<{ transform?: unknown } & TransformOptions>;
  readonly noEmit: boolean;
  /** Whether the compiler leaves in place what has not changed. */
  readonly incremental: boolean;
  readonly modules: {
    readonly module: CompilerOptions["module"];
    readonly moduleResolution: CompilerOptions["moduleResolution"];
  };
}

/**
 * Whether a compiler finds packages by their `exports`, as this one has to be found.
 *
 * @param major that of the project's TypeScript: up to 5 it looks as Node 10 did, unless it is told what to do
 */
export function readsExports({ modules: { module, moduleResolution } }: Config, major: number): boolean {
  const { Classic, Node10 } = ts.ModuleResolutionKind;
  if (moduleResolution !== undefined) return moduleResolution !== Classic && moduleResolution !== Node10;
  return major >= 6 || (module ?? ts.ModuleKind.None) >= ts.ModuleKind.Node16;
}

/** What helps where it does not. */
export const modulesCure =
  'Write `"module": "NodeNext"` and no `moduleResolution`, for a CommonJS package too; with a bundler, `"moduleResolution": "Bundler"`.';

/**
 * A tsconfig and those that it refers to; none if none was named and the folder has none.
 *
 * @throws UsageError for one that cannot be read
 */
export function readConfigs(named: string | undefined, folder: string, seen = new Set<string>()): Config[] {
  const file = path.resolve(folder, named ?? "tsconfig.json");
  if (seen.has(file)) return [];
  seen.add(file);
  if (!existsSync(file)) {
    if (named === undefined) return [];
    throw new UsageError(`there is no file ${named}`);
  }
  const host: ParseConfigFileHost = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new UsageError(ts.flattenDiagnosticMessageText(messageText, "\n"));
    },
  };
  const parsed = ts.getParsedCommandLineOfConfigFile(file, {}, host);
  if (parsed === undefined) throw new UsageError(`${file} cannot be read`);
  const { options, fileNames, projectReferences = [] } = parsed;
  const plugins = (options.plugins ?? []) as Config["plugins"];
  const inner = projectReferences.flatMap((reference) =>
    readConfigs(ts.resolveProjectReferencePath(reference), folder, seen),
  );
  const incremental = options.incremental === true || options.composite === true;
  const modules = { module: options.module, moduleResolution: options.moduleResolution };
  return [{ file, files: fileNames, plugins, noEmit: options.noEmit === true, incremental, modules }, ...inner];
}
