/** Edits that put functions elsewhere. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, type Editing, family, filesOf, mainOf, pathOf } from "./editing.js";
import { addTop, afterImports, fresh, freshPath, specifier } from "./names.js";
import {
  all,
  bodies,
  descendants,
  functionOf,
  helpers,
  isFunction,
  isReference,
  type Named,
  named,
  namesUsed,
  topFunctions,
} from "./syntax.js";

export const moving = family("move", {
  "function moved to the top": at(
    (project) => topFunctions(project).map(({ statement }) => statement),
    (editing, statement) => {
      editing.move(statement, afterImports(statement.getSourceFile()));
      editing.after(statement, "\n");
    },
  ),
  "function moved to the end": at(
    (project) => topFunctions(project).map(({ statement }) => statement),
    (editing, statement) => {
      editing.before(statement, "\n");
      editing.move(statement, statement.getSourceFile().end);
    },
  ),
  "functions reordered": at(filesOf, (editing, file) => {
    const functions = file.statements.filter((statement) => named(statement) !== undefined);
    const texts = functions.map((statement) => editing.text(statement)).reverse();
    functions.forEach((statement, index) => {
      editing.replace(statement, texts[index]!);
    });
  }),
  "methods reordered": at(
    (project) => all(project, ts.isClassDeclaration),
    (editing, { members }) => {
      const methods = members.filter(ts.isMethodDeclaration);
      const texts = methods.map((method) => editing.text(method)).reverse();
      methods.forEach((method, index) => {
        editing.replace(method, texts[index]!);
      });
    },
  ),
  "helper moved to another file": at(
    (project) => helpers(project).map(({ statement }) => statement),
    (editing, statement) => moveTo(editing, named(statement)!, freshPath(editing, "moved")),
  ),
  "callee moved to another file": at(
    (project) => bodies(project).map(({ statement }) => statement),
    (editing, statement) => moveTo(editing, named(statement)!, freshPath(editing, "moved")),
  ),
  "class moved to another file": at(
    (project) => all(project, ts.isClassDeclaration),
    (editing, statement) => moveTo(editing, { name: statement.name!.text, statement }, freshPath(editing, "moved")),
  ),
  "workflow's function gets a name": at(
    (project) => all(project, ts.isCallExpression).filter(({ expression }) => expression.getText() === "workflow"),
    (editing, call) => {
      const fn = call.arguments[1]!;
      const name = fresh(editing, "main");
      const text = editing.text(fn);
      addTop(editing, call.getSourceFile(), `const ${name} = ${text};`);
      editing.replace(fn, name);
    },
  ),
  "workflow moved to another file": at(
    (project) => [mainOf(project)],
    (editing, file) => {
      const statement = file.statements.find((each) => /^export const w = /.test(editing.text(each)))!;
      const path = freshPath(editing, "moved");
      moveTo(editing, { name: "w", statement }, path);
      editing.insert(file, file.end, `\nexport { w } from "${specifier(pathOf(file), path)}";\n`);
    },
  ),
  "inner function moved out": at(innerFunctions, (editing, declaration) => {
    const fn = declaration.initializer as ts.ArrowFunction;
    const name = fresh(editing, `${declaration.name.getText()}Outside`);
    const free = freeOf(fn);
    const given = fn.parameters.map((each) => each.name.getText());
    const parameters = [...free, ...fn.parameters.map((each) => editing.text(each))];
    const body = editing.text(fn.body);
    const block = ts.isBlock(fn.body) ? body : `{ return ${body}; }`;
    addTop(editing, fn.getSourceFile(), `async function ${name}(${parameters.map(typed).join(", ")}) ${block}`);
    editing.replace(fn.body, `${name}(${[...free, ...given].join(", ")})`);
  }),
});

function typed(parameter: string): string {
  return /[:=]/.test(parameter) ? parameter : `${parameter}: any`;
}

/** Functions that are declared in functions, and hold calls. */
function innerFunctions(project: Project): ts.VariableDeclaration[] {
  return all(project, ts.isVariableDeclaration).filter(
    ({ initializer, parent }) =>
      initializer !== undefined &&
      ts.isArrowFunction(initializer) &&
      !ts.isSourceFile(functionOf(parent)) &&
      descendants(initializer).some((each) => ts.isAwaitExpression(each)),
  );
}

function freeOf(fn: ts.ArrowFunction): string[] {
  const inside = new Set(
    [fn, ...descendants(fn)].flatMap((node) =>
      (ts.isVariableDeclaration(node) || ts.isParameter(node)) && ts.isIdentifier(node.name) ? [node.name.text] : [],
    ),
  );
  const around = new Set<string>();
  for (let at = functionOf(fn); isFunction(at); at = functionOf(at))
    for (const node of descendants(at))
      if ((ts.isVariableDeclaration(node) || ts.isParameter(node)) && ts.isIdentifier(node.name))
        around.add(node.name.text);
  return [...namesUsed(fn)].filter((name) => around.has(name) && !inside.has(name));
}

/** Moves a statement to a new file, which imports what it needs of the old one, and is imported there. */
export function moveTo(editing: Editing, { name, statement }: Pick<Named, "name" | "statement">, to: string): void {
  const file = statement.getSourceFile();
  const from = pathOf(file);
  const here = new Map(
    file.statements.flatMap((each) => declaredBy(each).map((declared) => [declared, each] as const)),
  );
  const used = [...new Set([statement, ...descendants(statement)].filter(isReference).map(({ text }) => text))];
  const needed = used.filter((each) => each !== name && here.has(each) && here.get(each) !== statement);
  for (const each of new Set(needed.map((use) => here.get(use)!))) exported(editing, each);
  const imports = file.statements.filter(ts.isImportDeclaration).map((each) => editing.text(each));
  if (needed.length > 0) imports.push(`import { ${needed.join(", ")} } from "${specifier(to, from)}";`);
  const text = editing.text(statement);
  editing.addFile(to, `${imports.join("\n")}\n\n${isExported(statement) ? "" : "export "}${text}\n`);
  editing.remove(statement);
  addTop(editing, file, `import { ${name} } from "${specifier(from, to)}";`);
  if (isExported(statement) && name !== "w") editing.insert(file, file.end, `\nexport { ${name} };\n`);
}

function exported(editing: Editing, statement: ts.Statement): void {
  if (!isExported(statement)) editing.before(statement, "export ");
}

function isExported(statement: ts.Statement): boolean {
  return /^export\b/.test(statement.getText());
}

/** Names of values that a statement at the top declares. */
function declaredBy(statement: ts.Statement): string[] {
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return [statement.name!.text];
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.map(({ name }) => name.getText());
}
