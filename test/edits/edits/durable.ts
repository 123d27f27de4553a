/** Edits of what a helper is to a run: a function, the body of a step, a workflow of its own. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, type Editing, family, pathOf } from "./editing.js";
import { addTop, fresh, freshPath, specifier } from "./names.js";
import {
  freeVariables,
  helperCalls,
  helpers,
  isBound,
  type Named,
  named,
  sites,
  steps,
  topFunctions,
} from "./syntax.js";

export const durable = family("durable", {
  "helper's call becomes a step": at(
    (project) =>
      helperCalls(project).filter(({ expression, parent }) => ts.isIdentifier(expression) && isAwaited(parent)),
    (editing, call) => {
      const { expression, arguments: given } = call;
      // The mark stands behind the parenthesis: it is that of the step then.
      const text = editing.project.files.get(pathOf(call))!;
      const open = text.indexOf("(", expression.end);
      const mark = /^\(\s*((?:\/\*@\w+\*\/)*)/.exec(text.slice(open))![0];
      const name = given.length > 0 ? `${editing.text(expression)}, ` : editing.text(expression);
      editing.replaceFrom(call, expression.getStart(), open + mark.length, `step${mark}${name}`);
    },
  ),
  "helper becomes a workflow": at(
    (project) =>
      helpers(project)
        .filter(({ name, fn }) => fn.parameters.length <= 1 && callsOf(project, name).length > 0)
        .map(({ statement }) => statement),
    (editing, statement) => {
      const { name } = named(statement)!;
      const part = fresh(editing, `${name}Flow`);
      const { text } = statement.getSourceFile();
      if (!/import \{[^}]*\bworkflow\b/.test(text))
        editing.insert(statement.getSourceFile(), 0, 'import { workflow } from "stepmark";\n');
      editing.after(statement, `\n${exportOf(statement)}const ${part} = workflow("${name}", ${name} as any) as any;`);
      for (const call of callsOf(editing.project, name)) editing.replace(call.expression, part);
      if (exportOf(statement) === "") return;
      for (const call of callsOf(editing.project, name))
        if (call.getSourceFile() !== statement.getSourceFile())
          addTop(
            editing,
            call.getSourceFile(),
            `import { ${part} } from "${specifier(pathOf(call), pathOf(statement))}";`,
          );
    },
  ),
  "helper becomes a workflow of its name": at(
    (project) =>
      helpers(project)
        .filter(
          ({ fn, name }) => ts.isArrowFunction(fn) && fn.parameters.length <= 1 && callsOf(project, name).length > 0,
        )
        .map(({ fn }) => fn),
    (editing, fn) => {
      const file = fn.getSourceFile();
      if (!/import \{[^}]*\bworkflow\b/.test(file.text))
        editing.insert(file, 0, 'import { workflow } from "stepmark";\n');
      const { name } = fn.parent as ts.VariableDeclaration;
      editing.wrap(fn, `workflow("${name.getText()}", (`, ") as any) as any");
    },
  ),
  "parameter added to a helper": at(
    (project) =>
      helpers(project)
        .filter(({ name }) => callsOf(project, name).length > 0)
        .map(({ statement }) => statement),
    (editing, statement) => {
      const { name, fn } = named(statement)!;
      const last = fn.parameters.at(-1);
      const parameter = `${fresh(editing, "currency")}: any = "EUR"`;
      if (last === undefined) editing.insert(fn.getSourceFile(), openOf(editing, fn), parameter);
      else editing.after(last, `, ${parameter}`);
      for (const call of callsOf(editing.project, name)) {
        const given = call.arguments.at(-1);
        if (given === undefined) editing.insert(call.getSourceFile(), call.end - 1, '"EUR"');
        else editing.after(given, ', "EUR"');
      }
    },
  ),
  "parameter added to a step's function": at(
    (project) => {
      const called = new Set(steps(project).flatMap(({ arguments: [first] }) => first?.getText() ?? []));
      return topFunctions(project)
        .filter(({ name, fn }) => called.has(name) && fn.parameters.length > 0)
        .map(({ fn }) => fn);
    },
    (editing, fn) => editing.after(fn.parameters.at(-1)!, ', currency: any = "EUR"'),
  ),
  "call extracted to another file, at once with others": at(
    (project) =>
      [...sites(project), ...helperCalls(project)].filter(
        (call) => ts.isAwaitExpression(call.parent) && isMovable(call),
      ),
    (editing, call) => {
      const free = freeVariables(call);
      const name = fresh(editing, "extracted");
      const file = call.getSourceFile();
      const path = freshPath(editing, "extracted");
      const from = pathOf(file);
      const used = topNames(file).filter((each) => new RegExp(`\\b${each}\\b`).test(call.getText()));
      for (const statement of file.statements)
        if (!/^export\b/.test(statement.getText()) && declares(statement).some((each) => used.includes(each)))
          editing.before(statement, "export ");
      const imports = file.statements.filter(ts.isImportDeclaration).map((each) => editing.text(each));
      if (used.length > 0) imports.push(`import { ${used.join(", ")} } from "${specifier(path, from)}";`);
      const parameters = free.map((each) => `${each}: any`).join(", ");
      editing.addFile(
        path,
        `${imports.join("\n")}\nexport async function ${name}(${parameters}) { return ${editing.text(call)}; }\n`,
      );
      addTop(editing, file, `import { ${name} } from "${specifier(from, path)}";`);
      editing.replace(call.parent, `(await Promise.all([${name}(${free.join(", ")}), Promise.resolve(0)]))[0]`);
    },
  ),
});

function isAwaited(parent: ts.Node): boolean {
  return ts.isAwaitExpression(parent) || ts.isReturnStatement(parent);
}

function isMovable(call: ts.CallExpression): boolean {
  return !isBound([call]) && !call.getText().includes("this.");
}

function callsOf(project: Project, name: string): ts.CallExpression[] {
  return helperCalls(project).filter(({ expression }) => ts.isIdentifier(expression) && expression.text === name);
}

function exportOf(statement: ts.Statement): string {
  return /^export\b/.test(statement.getText()) ? "export " : "";
}

/** The position behind the parenthesis that opens a function's parameters. */
function openOf(editing: Editing, fn: Named["fn"]): number {
  return editing.project.files.get(pathOf(fn))!.indexOf("(", fn.name?.end ?? fn.getStart()) + 1;
}

function topNames(file: ts.SourceFile): string[] {
  return file.statements.flatMap(declares);
}

function declares(statement: ts.Statement): string[] {
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return [statement.name!.text];
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.map(({ name }) => name.getText());
}
