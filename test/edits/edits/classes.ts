/** Edits that make functions of methods, and the other way round. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, type Editing, family, filesOf } from "./editing.js";
import { fresh } from "./names.js";
import { all, descendants, helperCalls, helpers, type Named } from "./syntax.js";

export const classes = family("classes", {
  "class becomes functions": at(
    (project) => all(project, ts.isClassDeclaration),
    (editing, node) => {
      const methods = node.members.filter(ts.isMethodDeclaration);
      const names = new Set(methods.map(({ name }) => name.getText()));
      const self = fresh(editing, "self");
      const made = node.members.find(ts.isConstructorDeclaration);
      const fields = (made?.parameters ?? []).map(({ name }) => name.getText());
      const make = `function make${node.name!.text}(${fields.map((each) => `${each}: any`).join(", ")}) { return { ${fields.join(", ")} }; }`;
      const functions = methods.map((method) => {
        const parameters = [`${self}: any`, ...method.parameters.map((each) => editing.text(each))].join(", ");
        return `async function ${method.name.getText()}(${parameters}) ${asFunction(method.body!, names, self)}`;
      });
      editing.replace(node, [make, ...functions].join("\n\n"));
      for (const each of all(editing.project, ts.isNewExpression))
        if (each.expression.getText() === node.name!.text) {
          editing.replace(each.expression, `make${node.name!.text}`);
          removeNew(editing, each);
        }
      for (const call of all(editing.project, ts.isCallExpression)) {
        const { expression } = call;
        if (!ts.isPropertyAccessExpression(expression) || !names.has(expression.name.text)) continue;
        if (isInside(call, node)) continue;
        const object = editing.text(expression.expression);
        editing.replace(expression, expression.name.text);
        editing.before(call.arguments[0]!, `${object}, `);
      }
    },
  ),
  "functions become a class": at(
    (project) => filesOf(project).filter((file) => own(project, file).length > 0),
    (editing, file) => {
      const functions = own(editing.project, file);
      const object = fresh(editing, "helpers");
      gather(
        editing,
        functions,
        object,
        (methods) => `class Helpers {\n${methods.join("\n\n")}\n}\nconst ${object} = new Helpers();`,
      );
    },
  ),
  "functions become methods of an object": at(
    (project) => filesOf(project).filter((file) => own(project, file).length > 0),
    (editing, file) => {
      const object = fresh(editing, "helpers");
      gather(
        editing,
        own(editing.project, file),
        object,
        (methods) => `const ${object} = {\n${methods.join(",\n\n")}\n};`,
      );
    },
  ),
});

function isInside(node: ts.Node, outer: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) if (at === outer) return true;
  return false;
}

/** A method's body with its object as a variable. */
function asFunction(body: ts.Block, names: ReadonlySet<string>, self: string): string {
  const start = body.getStart();
  let text = body.getText();
  const edits = descendants(body).flatMap((node) => {
    if (node.kind !== ts.SyntaxKind.ThisKeyword) return [];
    const access = node.parent as ts.PropertyAccessExpression;
    const call = access.parent;
    if (!names.has(access.name.text) || !ts.isCallExpression(call))
      return [{ from: node.getStart(), to: node.end, by: self }];
    return [
      { from: access.getStart(), to: access.end, by: access.name.text },
      { from: call.arguments[0]!.getStart(), to: call.arguments[0]!.getStart(), by: `${self}, ` },
    ];
  });
  for (const { from, to, by } of edits.sort((a, b) => b.from - a.from))
    text = text.slice(0, from - start) + by + text.slice(to - start);
  return text;
}

function removeNew(editing: Editing, node: ts.NewExpression): void {
  const keyword = node.getChildAt(0);
  editing.replace(keyword, "");
}

/** Helpers of a file that are called there, and nothing else. */
function own(project: Project, file: ts.SourceFile): Named[] {
  return helpers(project).filter(({ statement, identifier }) => {
    if (statement.getSourceFile() !== file || /^export\b/.test(statement.getText())) return false;
    const uses = descendants(file).filter((node) => ts.isIdentifier(node) && node.text === identifier.text);
    return uses.every(
      (node) => node === identifier || (ts.isCallExpression(node.parent) && node.parent.expression === node),
    );
  });
}

function gather(
  editing: Editing,
  functions: readonly Named[],
  object: string,
  print: (methods: string[]) => string,
): void {
  const names = new Set(functions.map(({ name }) => name));
  const methods = functions.map(({ name, fn }) => {
    const parameters = fn.parameters.map((each) => editing.text(each)).join(", ");
    const text = withObject(fn.body!, names, object);
    const types = (fn as ts.FunctionDeclaration).typeParameters?.map((each) => editing.text(each)).join(", ");
    return `async ${name}${types ? `<${types}>` : ""}(${parameters}): Promise<any> ${ts.isBlock(fn.body!) ? text : `{ return ${text}; }`}`;
  });
  const [first, ...rest] = functions;
  editing.replace(first!.statement, print(methods));
  for (const { statement } of rest) editing.remove(statement);
  for (const call of helperCalls(editing.project)) {
    if (!ts.isIdentifier(call.expression) || !names.has(call.expression.text)) continue;
    if (functions.some(({ statement }) => isInside(call, statement))) continue;
    editing.replace(call.expression, `${object}.${call.expression.text}`);
  }
}

function withObject(body: ts.Node, names: ReadonlySet<string>, object: string): string {
  const start = body.getStart();
  let text = body.getText();
  const calls = descendants(body).filter(
    (node): node is ts.Identifier => ts.isIdentifier(node) && names.has(node.text) && ts.isCallExpression(node.parent),
  );
  for (const node of calls.sort((a, b) => b.getStart() - a.getStart())) {
    const from = node.getStart() - start;
    text = `${text.slice(0, from)}${object}.${text.slice(from)}`;
  }
  return text;
}
