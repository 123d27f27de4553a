/** Edits that change nothing but how the code looks. */
import { format } from "prettier";
import ts from "typescript";
import type { Project } from "../project.js";
import { at, type Editing, family, filesOf, pathOf, type Way } from "./editing.js";
import { addTop } from "./names.js";
import { all, descendants, isFunction, isSimple, sites } from "./syntax.js";

const everyFile = filesOf;

/** Prettier works asynchronously, edits do not: what it has made of a text is known before. */
const formatted = new Map<string, string>();
const spelling = { wide: { printWidth: 200, singleQuote: true, semi: false }, narrow: { printWidth: 40, tabWidth: 4 } };
type Spelling = keyof typeof spelling;

function prettier(kind: Spelling): Way {
  const apply = at(everyFile, (editing, file) => {
    editing.rewrite(file, formatted.get(`${kind} ${editing.project.files.get(pathOf(file))}`)!);
  });
  const prepare = async ({ files }: Project): Promise<void> => {
    for (const text of files.values())
      formatted.set(`${kind} ${text}`, await format(text, { parser: "typescript", ...spelling[kind] }));
  };
  return { ...apply, prepare };
}

function eachStatement(editing: Editing, file: ts.SourceFile, text: (number: number) => string): void {
  descendants(file)
    .filter((node): node is ts.Statement => ts.isStatement(node) && !ts.isBlock(node))
    .forEach((statement, index) => {
      editing.before(statement, text(index));
    });
}

export const form = family("form", {
  "Prettier, wide": prettier("wide"),
  "Prettier, narrow": prettier("narrow"),
  "comments added": at(everyFile, (editing, file) => {
    eachStatement(editing, file, (number) => `/* step(${number}) */ // because\n`);
  }),
  "lines shifted": at(everyFile, (editing, file) => {
    eachStatement(editing, file, () => "\n\n  ");
  }),
  "import added": at(everyFile, (editing, file) => {
    editing.insert(file, 0, 'import * as others from "./bodies.js";\n');
    addTop(editing, file, "export const unused = others;");
  }),
  "quotes changed": at(everyFile, (editing, file) => {
    for (const node of descendants(file))
      if (ts.isStringLiteral(node) && !node.text.includes("'")) editing.replace(node, `'${node.text}'`);
  }),
  "parentheses added": at(everyFile, (editing, file) => {
    for (const node of descendants(file)) {
      if (ts.isAwaitExpression(node)) editing.wrap(node, "(", ")");
      if (ts.isAwaitExpression(node)) editing.wrap(node.expression, "((", "))");
    }
  }),
  "types added": at(everyFile, (editing, file) => {
    for (const node of descendants(file)) {
      if (ts.isAwaitExpression(node)) editing.wrap(node, "(", " as any)");
      if (ts.isVariableDeclaration(node) && node.type === undefined && ts.isIdentifier(node.name) && isLocal(node))
        editing.after(node.name, ": any");
    }
  }),
  "braces added": at(
    (project) => all(project, ts.isIfStatement).filter(({ thenStatement }) => !ts.isBlock(thenStatement)),
    (editing, { thenStatement }) => editing.wrap(thenStatement, "{ ", " }"),
  ),
  "block put around": at(
    (project) => simpleStatements(sites(project)).filter(ts.isExpressionStatement),
    (editing, statement) => editing.wrap(statement, "{ ", " }"),
  ),
  "unrelated statement": at(
    (project) => simpleStatements(sites(project)),
    (editing, statement) => editing.before(statement, "const start = 1 + 1;\n"),
  ),
  "unrelated function": at(everyFile, (editing, file) => {
    addTop(editing, file, "export function double(n: number) { return n * 2; }");
  }),
  "function written as arrow": at(
    (project) => filesOf(project).flatMap((file) => file.statements.filter(ts.isFunctionDeclaration)),
    (editing, fn) => {
      const { name, parameters, body, asteriskToken } = fn;
      if (name === undefined || body === undefined || asteriskToken) return;
      const text = editing.text(fn);
      const rest = text.slice(name.end - fn.getStart());
      const head = text.slice(0, name.getStart() - fn.getStart());
      const bodyAt = body.getStart() - name.end;
      const isExported = /\bexport\b/.test(head);
      void parameters;
      editing.replace(
        fn,
        `${isExported ? "export " : ""}const ${name.text} = async ${rest.slice(0, bodyAt)}=> ${rest.slice(bodyAt)};`,
      );
    },
  ),
  "arrow written as function": at(
    (project) =>
      filesOf(project).flatMap((file) =>
        file.statements.filter(ts.isVariableStatement).filter((statement) => arrowOf(statement) !== undefined),
      ),
    (editing, statement) => {
      const { name, arrow } = arrowOf(statement)!;
      const isExported = /^export\b/.test(editing.text(statement));
      const parameters = arrow.parameters.map((each) => editing.text(each)).join(", ");
      const body = ts.isBlock(arrow.body) ? editing.text(arrow.body) : `{ return ${editing.text(arrow.body)}; }`;
      const isAsync = arrow.modifiers !== undefined ? "async " : "";
      editing.replace(statement, `${isExported ? "export " : ""}${isAsync}function ${name}(${parameters}) ${body}`);
    },
  ),
  "expression body written as block": at(
    (project) => all(project, ts.isArrowFunction).filter(({ body }) => !ts.isBlock(body)),
    (editing, { body }) => editing.wrap(body, "{ return ", "; }"),
  ),
});

function isLocal(node: ts.VariableDeclaration): boolean {
  return ts.isVariableStatement(node.parent.parent) && ts.isBlock(node.parent.parent.parent);
}

function simpleStatements(calls: readonly ts.CallExpression[]): ts.Statement[] {
  return calls.flatMap((call) => {
    let node: ts.Node = call;
    while (!ts.isStatement(node) && !isFunction(node)) node = node.parent;
    return ts.isStatement(node) && isSimple(node) && ts.isBlock(node.parent) ? [node] : [];
  });
}

function arrowOf(statement: ts.VariableStatement): { name: string; arrow: ts.ArrowFunction } | undefined {
  const { name, initializer } = statement.declarationList.declarations[0]!;
  if (initializer === undefined || !ts.isArrowFunction(initializer)) return undefined;
  return { name: name.getText(), arrow: initializer };
}
