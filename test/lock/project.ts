/** A project in memory with a lock file on disk: built, edited, accepted and built again. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { AnyWorkflow } from "stepmark";
import ts from "typescript";
import { parseLock, printLock } from "../../transformer/lock/lock-file.js";
import type { LockLine } from "../../transformer/lock/lock-line.js";
import { type Reconciliation, reconcile } from "../../transformer/lock/reconcile.js";
import { readSourceFile, type SourceFile } from "../../transformer/lock/source-file.js";
import { lockLines } from "../../transformer/lock/write-lock.js";
import { build, forgetModules } from "../support/build.js";

/** Sources by path, in the order of their imports: the last one exports the workflow as `w`. */
export type Sources = Readonly<Record<string, string>>;

const folder = mkdtempSync(path.join(tmpdir(), "stepmark-lock-"));
let files = 0;

export function sourceFiles(sources: Sources): SourceFile[] {
  return Object.entries(sources).flatMap(([name, text]) => {
    const file = ts.createSourceFile(`/${name}`, text, ts.ScriptTarget.Latest, false, ts.ScriptKind.TS);
    return readSourceFile(ts, file, name, false) ?? [];
  });
}

/** What `stepmark accept --yes` writes. */
export function accept(lines: readonly LockLine[], sources: Sources): { lines: LockLine[]; found: Reconciliation } {
  const project = sourceFiles(sources);
  const found = reconcile(lines, project);
  const written = lockLines(lines, project, [...found.kept, ...found.moves], found.unclear);
  // As a build reads it.
  return { lines: [...parseLock(printLock(written), "stepmark.lock").lines], found };
}

/** @param lines of the lock file; undefined: none */
export function load(
  sources: Sources,
  lines: readonly LockLine[] | undefined,
  imports: Record<string, unknown>,
): AnyWorkflow {
  let lock: string | undefined;
  if (lines !== undefined) {
    lock = path.join(folder, `${++files}.lock`);
    writeFileSync(lock, printLock(lines));
  }
  // As in a new process.
  forgetModules();
  const known = { ...imports };
  let last: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(sources)) {
    last = build(text, { path: name, imports: known, lock });
    known[`./${path.basename(name).replace(/\.ts$/, ".js")}`] = last;
  }
  return last.w as AnyWorkflow;
}
