/** Edits that give something another name. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, family, filesOf, mainOf, pathOf } from "./editing.js";
import { fresh, moveFile, rename, renameEverywhere } from "./names.js";
import { all, bodies, boundCalls, functionOf, helperCalls, helpers, isFunction, sites } from "./syntax.js";

export const renaming = family("rename", {
  "result of a call renamed": at(
    (project) => boundCalls([...sites(project), ...helperCalls(project)]),
    (editing, declaration) => {
      const name = declaration.name.getText();
      rename(editing, functionOf(declaration), name, fresh(editing, `${name}Now`));
    },
  ),
  "parameter renamed": at(
    (project) =>
      all(project, ts.isParameter).filter(
        ({ name, parent, modifiers }) => ts.isIdentifier(name) && isFunction(parent) && modifiers === undefined,
      ),
    (editing, { name, parent }) => rename(editing, parent, name.getText(), fresh(editing, `${name.getText()}Given`)),
  ),
  "helper renamed": at(
    (project) => helpers(project).map(({ identifier }) => identifier),
    (editing, { text }) => renameEverywhere(editing, text, fresh(editing, `${text}Again`)),
  ),
  "callee renamed": at(
    (project) => bodies(project).map(({ identifier }) => identifier),
    (editing, { text }) =>
      renameEverywhere(editing, text, fresh(editing, `do${text[0]!.toUpperCase()}${text.slice(1)}`)),
  ),
  "class renamed": at(
    (project) => all(project, ts.isClassDeclaration),
    (editing, { name }) => renameEverywhere(editing, name!.text, fresh(editing, `${name!.text}2`)),
  ),
  "method renamed": at(
    (project) => all(project, ts.isMethodDeclaration),
    (editing, { name }) => {
      const from = name.getText();
      const to = fresh(editing, `${from}Now`);
      editing.replace(name, to);
      for (const each of all(editing.project, ts.isPropertyAccessExpression))
        if (each.name.text === from) editing.replace(each.name, to);
    },
  ),
  "import renamed": at(
    (project) => libraryImports(project).filter((declaration) => importOf(declaration, "step") !== undefined),
    (editing, declaration) => {
      for (const statement of declaration.getSourceFile().statements)
        if (statement !== declaration) rename(editing, statement, "step", "durable");
      editing.replace(importOf(declaration, "step")!, "step as durable");
    },
  ),
  "library imported as a whole": at(libraryImports, (editing, declaration) => {
    const file = declaration.getSourceFile();
    for (const { name } of (declaration.importClause!.namedBindings as ts.NamedImports).elements)
      for (const statement of file.statements)
        if (statement !== declaration) rename(editing, statement, name.text, `stepmark.${name.text}`);
    editing.replace(declaration, 'import * as stepmark from "stepmark";');
  }),
  "file renamed": at(filesOf, (editing, file) => moveFile(editing, file, `renamed-${pathOf(file)}`)),
  "file moved": at(filesOf, (editing, file) => moveFile(editing, file, `app/jobs/${pathOf(file)}`)),
  "file moved by its folder": at(
    (project) => [mainOf(project)],
    (editing) => {
      for (const file of filesOf(editing.project)) editing.renameFile(pathOf(file), `app/${pathOf(file)}`);
    },
  ),
});

function libraryImports(project: Project): ts.ImportDeclaration[] {
  return filesOf(project).flatMap((file) => file.statements.filter(ts.isImportDeclaration).filter(isLibrary));
}

function isLibrary({ moduleSpecifier, importClause }: ts.ImportDeclaration): boolean {
  return (
    (moduleSpecifier as ts.StringLiteral).text === "stepmark" &&
    importClause?.namedBindings !== undefined &&
    ts.isNamedImports(importClause.namedBindings)
  );
}

function importOf({ importClause }: ts.ImportDeclaration, name: string): ts.ImportSpecifier | undefined {
  return (importClause!.namedBindings as ts.NamedImports).elements.find((each) => each.name.text === name);
}
