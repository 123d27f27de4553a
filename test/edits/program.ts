/** A build of a project, compiled once and loaded for each pass anew, as by a new process. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { AnyWorkflow } from "stepmark";
import ts from "typescript";
import { printLock } from "../../transformer/lock/lock-file.js";
import type { LockLine } from "../../transformer/lock/lock-line.js";
import type { PlacedRow } from "../../transformer/plan/index.js";
import { compile, forgetModules } from "../support/build.js";
import { marksAt, placesIn } from "./marks.js";
import type { Project } from "./project.js";
import type { MarkTable, World } from "./world.js";

export interface Program {
  readonly project: Project;
  readonly marks: MarkTable;
  /** What stands in a row of a file's site table. */
  place(file: string, row: number): PlacedRow;
  /** Loads it into this process, instead of what was loaded before. */
  load(world: World): { w: AnyWorkflow; input: unknown };
}

const folder = mkdtempSync(path.join(tmpdir(), "stepmark-edits-"));
let locks = 0;

/** @param lock lines of the lock file; undefined: there is none */
export function build(project: Project, applier: "nodes" | "text", lock?: readonly LockLine[]): Program {
  let lockFile: string | false = false;
  if (lock !== undefined) {
    lockFile = path.join(folder, `${++locks}.lock`);
    writeFileSync(lockFile, printLock(lock));
  }
  const texts = [...project.files];
  const modules = new Map(
    texts.map(([file, text]) => {
      const code = compile(text, file, ts.ScriptTarget.ES2022, applier, lockFile);
      return [file, new Function("exports", "require", code)] as const;
    }),
  );
  const places = new Map(texts.map(([file, text]) => [file, placesIn(file, text)]));
  const marks = new Map([...places].map(([file, rows]) => [file, rows.map(({ node }) => marksAt(node))]));
  return {
    project,
    marks: {
      of: (file, row) => marks.get(file)?.[row] ?? [],
      functionOf: (file, row) => places.get(file)?.[row]?.row[2] ?? -1,
    },
    place: (file, row) => places.get(file)![row]!,
    load: (world) => load(project.main, modules, world),
  };
}

function load(main: string, modules: ReadonlyMap<string, unknown>, world: World): { w: AnyWorkflow; input: unknown } {
  forgetModules();
  const loaded = new Map<string, unknown>();
  const require = (file: string): unknown => {
    if (loaded.has(file)) return loaded.get(file);
    const exports = {};
    loaded.set(file, exports);
    const module = modules.get(file) as ((exports: unknown, require: unknown) => void) | undefined;
    if (module === undefined) throw new Error(`There is no file ${file}`);
    module(exports, (name: string) => {
      if (name === "stepmark") return world.library;
      if (path.posix.basename(name) === "bodies.js") return world.bodies;
      return require(path.posix.join(path.posix.dirname(file), name).replace(/\.js$/, ".ts"));
    });
    return exports;
  };
  return require(main) as { w: AnyWorkflow; input: unknown };
}
