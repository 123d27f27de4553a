/** Renaming, and imports. */
import path from "node:path";
import ts from "typescript";
import { type Editing, filesOf, pathOf } from "./editing.js";
import { descendants, isReference } from "./syntax.js";

/** Renames what a name stands for in a node. */
export function rename(editing: Editing, scope: ts.Node, from: string, to: string): void {
  for (const node of [scope, ...descendants(scope)]) {
    if (!isReference(node) || node.text !== from) continue;
    const { parent } = node;
    const isShorthand =
      ts.isShorthandPropertyAssignment(parent) ||
      (ts.isBindingElement(parent) && parent.propertyName === undefined && ts.isObjectBindingPattern(parent.parent));
    editing.replace(node, isShorthand ? `${from}: ${to}` : to);
  }
}

/** Renames it in all files. */
export function renameEverywhere(editing: Editing, from: string, to: string): void {
  for (const file of filesOf(editing.project)) rename(editing, file, from, to);
}

/** The position behind the imports of a file. */
export function afterImports(file: ts.SourceFile): number {
  return Math.max(0, ...file.statements.filter(ts.isImportDeclaration).map(({ end }) => end));
}

/** Code for a file's top. */
export function addTop(editing: Editing, file: ts.SourceFile, code: string): void {
  editing.insert(file, afterImports(file), `\n${code}\n`);
}

/** How a file imports another one. */
export function specifier(from: string, to: string): string {
  const relative = path.posix.relative(path.posix.dirname(from), to).replace(/\.ts$/, ".js");
  return relative.startsWith(".") ? relative : `./${relative}`;
}

/** Gives a file another path; those that import it, and what it imports, follow. */
export function moveFile(editing: Editing, file: ts.SourceFile, to: string): void {
  const from = pathOf(file);
  editing.renameFile(from, to);
  for (const other of filesOf(editing.project)) {
    const here = pathOf(other);
    for (const statement of other.statements) {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
      const { moduleSpecifier } = statement;
      if (moduleSpecifier === undefined) continue;
      const { text } = moduleSpecifier as ts.StringLiteral;
      if (!text.startsWith(".") || text.endsWith("bodies.js")) continue;
      const target = path.posix.join(path.posix.dirname(here), text).replace(/\.js$/, ".ts");
      if (here !== from && target !== from) continue;
      editing.replace(moduleSpecifier, `"${specifier(here === from ? to : here, target === from ? to : target)}"`);
    }
  }
}

/** A path at which the project has no file. */
export function freshPath(editing: Editing, base: string): string {
  let path = `${base}.ts`;
  for (let number = 2; editing.project.files.has(path); number++) path = `${base}${number}.ts`;
  return path;
}

/** A name that no file of the project has. */
export function fresh(editing: Editing, base: string): string {
  const used = (name: string): boolean =>
    [...editing.project.files.values()].some((text) => new RegExp(`\\b${name}\\b`).test(text));
  let name = base;
  for (let number = 2; used(name); number++) name = `${base}${number}`;
  return name;
}
