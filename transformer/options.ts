/** The transformer's options, and which files they name. */
import path from "node:path";
import type ts from "typescript";
import { type DiagnosticsOption, faultOf } from "./diagnostics/levels.js";
import { TransformerOptionsError } from "./errors.js";

export interface TransformOptions {
  /** Files to transform although they do not import the library: globs, or folders and files, relative to `root`. */
  include?: readonly string[];
  /** Folder that module paths are relative to; by default that of the tsconfig. */
  root?: string;
  /** The lock file, relative to `root`; false for none. By default `stepmark.lock`, if there is one. */
  lock?: string | false;
  /** How loud the diagnostics are: "warn" by default. */
  diagnostics?: DiagnosticsOption;
}

const ours = ["include", "root", "lock", "diagnostics"];
/** What ts-patch and language services put into the same object. */
const foreign = ["transform", "import", "type", "name", "tsConfig", "resolvePathAliases", "transformProgram"];
const misplaced = ["after", "afterDeclarations"];

/**
 * @param where the options were given: "the plugin's entry in tsconfig.json"
 * @throws TransformerOptionsError for a name that means nothing, or a value of the wrong type
 */
export function readOptions(config: object, where = "the plugin's entry in tsconfig.json"): TransformOptions {
  const given = config as Record<string, unknown>;
  for (const name of Object.keys(given)) {
    if (ours.includes(name) || foreign.includes(name)) continue;
    if (misplaced.includes(name)) {
      if (!given[name]) continue;
      throw new TransformerOptionsError(
        "stepmark/transformer has to run before TypeScript's own transformers",
        `In the plugin's entry in tsconfig.json remove "${name}".`,
      );
    }
    throw new TransformerOptionsError(
      `stepmark/transformer has no option ${JSON.stringify(name)}; its options are ${ours.join(", ")}`,
      `Correct ${where}.`,
    );
  }
  const { include, root, lock } = given;
  if (include !== undefined && !(Array.isArray(include) && include.every((entry) => typeof entry === "string"))) {
    throw new TransformerOptionsError(
      `stepmark/transformer: "include" has to be a list of paths or globs, not ${JSON.stringify(include)}`,
      'For instance `"include": ["src/flows/**"]`.',
    );
  }
  if (root !== undefined && typeof root !== "string") {
    throw new TransformerOptionsError(
      `stepmark/transformer: "root" has to be a path, not ${JSON.stringify(root)}`,
      "Leave it out for the folder of the tsconfig.",
    );
  }
  if (lock !== undefined && lock !== false && typeof lock !== "string") {
    throw new TransformerOptionsError(
      `stepmark/transformer: "lock" has to be a path or false, not ${JSON.stringify(lock)}`,
      "Leave it out for stepmark.lock.",
    );
  }
  const fault = faultOf(given.diagnostics);
  if (fault !== undefined) {
    throw new TransformerOptionsError(`stepmark/transformer: ${fault}`, 'For instance `"diagnostics": "error"`.');
  }
  return given;
}

/** The options of a program, with the folder that module paths are relative to. */
export type AbsoluteOptions = TransformOptions & { readonly root: string };

/**
 * @param config the plugin's entry in the program's tsconfig
 * @throws TransformerOptionsError as `readOptions` does
 */
export function absoluteOptions(program: ts.Program, config: TransformOptions): AbsoluteOptions {
  const { configFilePath } = program.getCompilerOptions();
  const projectFolder =
    typeof configFilePath === "string" ? path.dirname(configFilePath) : program.getCurrentDirectory();
  const { include, root = ".", lock, diagnostics } = readOptions(config);
  return {
    ...(include && { include }),
    ...(diagnostics && { diagnostics }),
    ...(lock !== undefined && { lock }),
    root: path.resolve(projectFolder, root),
  };
}

/** A file's path as the site table names it: relative to the root, with forward slashes, in one Unicode form. */
export function modulePath(root: string, fileName: string): string {
  const relative = path.relative(root, path.resolve(root, fileName));
  return relative.replaceAll("\\", "/").normalize("NFC");
}

/** Answers which module paths a list of globs and path prefixes names. */
export function includes(patterns: readonly string[]): (module: string) => boolean {
  const tests = patterns.map((pattern) =>
    patternTest(pattern.replaceAll("\\", "/").replace(/^\.\//, "").normalize("NFC")),
  );
  return (module) => tests.some((test) => test.test(module));
}

/** `*` and `?` stay within a path's part, `**` does not, `{a,b}` are alternatives; a pattern also names what is below it. */
function patternTest(pattern: string): RegExp {
  const parts: Record<string, string> = {
    "**/": "(?:.*/)?",
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
    "{": "(?:",
    "}": ")",
  };
  const source = pattern.replace(/\/$/, "").replace(/\*\*\/|\*\*|[*?{}]|,|[.+^$()|[\]\\]/g, (sign, offset: number) => {
    if (sign === ",") return isInBraces(pattern, offset) ? "|" : ",";
    return parts[sign] ?? `\\${sign}`;
  });
  return new RegExp(`^${source}(?:/.*)?$`);
}

function isInBraces(pattern: string, offset: number): boolean {
  return pattern.lastIndexOf("{", offset) > pattern.lastIndexOf("}", offset);
}
