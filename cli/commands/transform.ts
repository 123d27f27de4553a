/** `stepmark transform`: a folder of sources becomes a folder of transformed sources, for tools that have no hook. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { type HostTransform, hostTransform, scriptId } from "../../transformer/hosts/host-transform.js";
import { throughEarlierMap } from "../../transformer/hosts/joined-maps.js";
import { readProject } from "../../transformer/hosts/node/project-options.js";
import { type Diagnostic, formatDiagnostic } from "../../transformer/transform-text.js";
import { command, UsageError } from "../command.js";
import { filesBelow, isWithin } from "../script-files.js";

export const transform = command({
  usage: ["transform FOLDER --out FOLDER [--include GLOB]... [--root FOLDER]"],
  about: `Writes every file of a folder into another, in the same layout: transformed where it holds steps (with a source map beside
it), copied otherwise. Types stay, and are not to be checked again: compile the result with a tool that only erases them,
\`tsc --noCheck\` for instance. node_modules, and files and folders whose names start with a dot, are left out.`,
  arguments: { FOLDER: "the sources" },
  options: {
    out: { type: "string", value: "FOLDER", help: "where to; it may not hold the sources" },
    include: {
      type: "string",
      multiple: true,
      value: "GLOB",
      help: "also transform these files, which do not import stepmark; relative to the root",
    },
    root: {
      type: "string",
      value: "FOLDER",
      help: 'what module paths are relative to; by default the folder of the nearest package.json, whose field "stepmark" may hold include and root as well',
    },
  },
  ends: "Ends with 1 if the code has errors.",
  async run({ values, positionals }, { print, warn }) {
    const [from] = positionals;
    if (from === undefined || positionals.length > 1) throw new UsageError("one folder has to be named");
    if (values.out === undefined) throw new UsageError("--out has to say where to write");
    const [source, out] = [existing(from), path.resolve(values.out)];
    if (isWithin(source, real(out))) {
      throw new UsageError(`${values.out} holds ${from}: what is written there could replace the sources`);
    }
    const { folder, options, where } = readProject(process.cwd());
    const given = {
      ...options,
      ...(values.include && { include: values.include }),
      ...(values.root && { root: path.resolve(values.root) }),
    };
    const writing: Writing = {
      transform: hostTransform(given, folder, where),
      report: (diagnostic) => warn(formatDiagnostic(diagnostic)),
    };
    const files = filesBelow(source, real(out));
    const results = files.map((file) => write(path.join(source, file), path.join(out, file), writing));
    const count = (wanted: Result): number => results.filter((result) => result === wanted).length;
    print(`${files.length} files from ${from} to ${values.out}, ${count("transformed") + count("faulty")} transformed`);
    return count("faulty") > 0 ? 1 : 0;
  },
});

interface Writing {
  transform: HostTransform;
  report(diagnostic: Diagnostic): void;
}

type Result = "copied" | "transformed" | "faulty";

function write(file: string, to: string, { transform, report }: Writing): Result {
  mkdirSync(path.dirname(to), { recursive: true });
  let faulty = false;
  const transformed =
    scriptId.test(file) &&
    transform(readFileSync(file, "utf8"), file, (diagnostic) => {
      faulty ||= diagnostic.category === "error";
      report(diagnostic);
    });
  if (transformed) {
    const { code, map } = throughEarlierMap(transformed, file);
    writeFileSync(to, withMap(code, to), { mode: statSync(file).mode });
    map.sources = map.sources.map((from) => beside(from, to));
    writeFileSync(`${to}.map`, map.toString());
  } else {
    copyFileSync(file, to);
  }
  if (faulty) return "faulty";
  return transformed ? "transformed" : "copied";
}

/** A source as a map beside a file names it. */
function beside(source: string, file: string): string {
  return path.isAbsolute(source) ? path.relative(path.dirname(file), source).replaceAll("\\", "/") : source;
}

/** A file that names a map that cannot be read keeps that one: if there is one after all, it holds for the lines, which are the same. */
function withMap(code: string, to: string): string {
  if (/^\/[/*][#@] *sourceMappingURL=/m.test(code)) return code;
  return `${code.replace(/\n?$/, "\n")}//# sourceMappingURL=${encodeURIComponent(path.basename(to))}.map\n`;
}

function existing(folder: string): string {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new UsageError(`there is no folder ${folder}`);
  return realpathSync(folder);
}

/** A path without links, as far as it exists. */
function real(file: string): string {
  if (existsSync(file)) return realpathSync(file);
  const above = path.dirname(file);
  return above === file ? file : path.join(real(above), path.basename(file));
}
