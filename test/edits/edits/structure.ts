/** Edits of what stands around calls: branches, blocks, loops, callbacks, promises. */
import ts from "typescript";
import type { Project } from "../project.js";
import { at, type Editing, family, type Way } from "./editing.js";
import { fresh } from "./names.js";
import {
  all,
  awaited,
  boundCalls,
  contains,
  descendants,
  functionOf,
  helperCalls,
  inStatements,
  isFunction,
  isSite,
  listed,
  namesUsed,
  sites,
} from "./syntax.js";

const calls = (project: Project): ts.CallExpression[] => [...sites(project), ...helperCalls(project)];

export const structure = family("structure", {
  "wrapped in if": around("if (true) {", "}"),
  "wrapped in try and finally": around("try {", "} finally { void 0; }"),
  "wrapped in try and catch": around("try {", "} catch (error) { throw error; }"),
  "wrapped in a block": around("{", "}"),
  "wrapped in a loop": around("for (const once of [0]) {", "}"),
  "wrapped in a while loop": around("let again = true; while (again) { again = false;", "}"),
  "rest wrapped in if": restIn("if (true) {", "}"),
  "rest wrapped in try": restIn("try {", "} finally { void 0; }"),
  "rest wrapped in a loop": restIn("for (const once of [0]) {", "}"),
  "wrapped in an async function": at(
    (project) => calls(project).filter(isAwaitedCall),
    (editing, call) => editing.wrap(call, "(async () => ", ")()"),
  ),
  "rest wrapped in an async function": at(rests, (editing, { statements }) => {
    editing.before(statements[0]!, "return (async () => {\n");
    editing.after(statements.at(-1)!, "\n})();");
  }),
  "wrapped in Promise.all": at(
    (project) => calls(project).filter(({ parent }) => ts.isAwaitExpression(parent)),
    (editing, call) => editing.replace(call.parent, `(await Promise.all([${editing.text(call)}]))[0]`),
  ),
  "two calls at once": at(
    (project) => boundCalls(calls(project)).filter((declaration) => neighbour(declaration) !== undefined),
    (editing, first) => {
      const second = neighbour(first)!;
      const names = [first, second].map(({ name }) => name.getText()).join(", ");
      const both = [first, second].map((each) => editing.text(awaited(each))).join(", ");
      editing.replace(first.parent.parent, `const [${names}] = await Promise.all([${both}]);`);
      editing.remove(second.parent.parent);
    },
  ),
  "then added": at(
    (project) => calls(project).filter(({ parent }) => ts.isAwaitExpression(parent)),
    (editing, call) => editing.after(call, ".then((value: any) => value)"),
  ),
  "rest moved into then": at(
    (project) => boundCalls(calls(project)).filter((declaration) => isRestOfFunction(declaration)),
    (editing, declaration) => {
      const { statement, list } = listed(declaration)!;
      const call = editing.text(awaited(declaration));
      editing.replace(statement, `return ${call}.then(async (${declaration.name.getText()}: any) => {`);
      editing.after(list.at(-1)!, "\n});");
    },
  ),
  "await moved out": at(
    (project) =>
      calls(project)
        .filter(({ parent }) => ts.isAwaitExpression(parent) && !ts.isVariableDeclaration(parent.parent))
        .filter((call) => inStatements([call]).length > 0 && !ts.isExpressionStatement(call.parent.parent)),
    (editing, call) => {
      const name = fresh(editing, "value");
      editing.before(listed(call)!.statement, `const ${name} = ${editing.text(call.parent)};\n`);
      editing.replace(call.parent, name);
    },
  ),
  "await moved in": at(
    (project) => boundCalls(calls(project)).filter((declaration) => usedOnceNext(declaration) !== undefined),
    (editing, declaration) => {
      editing.replace(usedOnceNext(declaration)!, `(${editing.text(declaration.initializer!)})`);
      editing.remove(declaration.parent.parent);
    },
  ),
  "result returned by name": at(
    (project) => calls(project).filter(({ parent }) => ts.isReturnStatement(parent)),
    (editing, call) => {
      const name = fresh(editing, "result");
      editing.replace(call.parent, `{ const ${name} = await ${editing.text(call)};\nreturn ${name}; }`);
    },
  ),
  "result declared before": at(
    (project) => boundCalls(calls(project)),
    (editing, declaration) => {
      const name = declaration.name.getText();
      const value = editing.text(declaration.initializer!);
      editing.replace(declaration.parent.parent, `let ${name}: any;\n${name} = ${value};`);
    },
  ),
  "call made before it is awaited": at(
    (project) => boundCalls(calls(project)),
    (editing, declaration) => {
      const name = fresh(editing, "promise");
      const call = editing.text(awaited(declaration));
      editing.replace(
        declaration.parent.parent,
        `const ${name} = ${call};\nconst ${declaration.name.getText()} = await ${name};`,
      );
    },
  ),
  "condition around": at(
    (project) => boundCalls(calls(project)),
    (editing, declaration) => editing.wrap(declaration.initializer!, "true ? ", " : (undefined as any)"),
  ),
  "for-of becomes for": at(
    (project) => all(project, ts.isForOfStatement).filter((loop) => holdsCalls(loop) && !isKeyed(loop.expression)),
    (editing, loop) => {
      const index = fresh(editing, "index");
      const items = fresh(editing, "list");
      const name = loopName(loop);
      const head = `const ${items} = [...${editing.text(loop.expression)}];\nfor (let ${index} = 0; ${index} < ${items}.length; ${index}++) `;
      replaceHead(editing, loop, `${head}{ const ${name} = ${items}[${index}]!; `, " }");
    },
  ),
  "for-of becomes while": at(
    (project) => all(project, ts.isForOfStatement).filter((loop) => holdsCalls(loop) && !isKeyed(loop.expression)),
    (editing, loop) => {
      const queue = fresh(editing, "queue");
      const name = loopName(loop);
      replaceHead(
        editing,
        loop,
        `const ${queue} = [...${editing.text(loop.expression)}];\nwhile (${queue}.length > 0) { const ${name} = ${queue}.shift()!; `,
        " }",
      );
    },
  ),
  "for-of becomes callbacks": at(
    (project) =>
      all(project, ts.isForOfStatement).filter(
        (loop) => holdsCalls(loop) && !isKeyed(loop.expression) && !leaves(loop),
      ),
    (editing, loop) => {
      const items = editing.text(loop.expression);
      replaceHead(editing, loop, `await Promise.all([...${items}].map(async (${loopName(loop)}: any) => {`, "}));");
    },
  ),
  "callbacks become for-of": at(
    (project) => all(project, ts.isCallExpression).filter(isMapOfCallbacks),
    (editing, all) => {
      const map = all.arguments[0] as ts.CallExpression;
      const { expression } = map.expression as ts.PropertyAccessExpression;
      const fn = map.arguments[0] as ts.ArrowFunction;
      const out = fresh(editing, "out");
      const name = fn.parameters[0]!.name.getText();
      const { body } = fn;
      const value = ts.isBlock(body)
        ? `${withLastPushed(editing, body, out)}`
        : `${out}.push(await ${editing.text(body)});`;
      const { statement } = listed(all)!;
      editing.before(
        statement,
        `const ${out}: any[] = [];\nfor (const ${name} of ${editing.text(expression)}) {\n${value}\n}\n`,
      );
      editing.replace(all.parent, out);
    },
  ),
  "while becomes for": at(
    (project) => all(project, ts.isWhileStatement).filter(holdsCalls),
    (editing, loop) => {
      const condition = editing.text(loop.expression);
      editing.replace(loop, `for (; ${condition}; ) ${editing.text(loop.statement)}`);
    },
  ),
  "while becomes an endless loop": at(
    (project) => all(project, ts.isWhileStatement).filter(holdsCalls),
    (editing, loop) => {
      const condition = editing.text(loop.expression);
      editing.replace(loop, `for (;;) { if (!(${condition})) break; ${editing.text(loop.statement)} }`);
    },
  ),
  "for becomes while": at(
    (project) => all(project, ts.isForStatement).filter((loop) => holdsCalls(loop) && loop.condition !== undefined),
    (editing, loop) => {
      const text = (node: ts.Node | undefined): string => (node === undefined ? "" : editing.text(node));
      const { initializer, condition, incrementor, statement } = loop;
      editing.replace(
        loop,
        `${text(initializer)};\nwhile (${text(condition)}) { ${text(statement)}\n${text(incrementor)}; }`,
      );
    },
  ),
  "items no longer go by their keys": at(
    (project) => all(project, ts.isCallExpression).filter(isKeyed),
    (editing, call) => editing.replace(call, editing.text(call.arguments[0]!)),
  ),
  "else added": at(
    (project) => all(project, ts.isIfStatement).filter((each) => returnsThen(each) && each.elseStatement === undefined),
    (editing, branch) => {
      const { list, index } = listed(branch)!;
      if (index + 1 >= list.length) return;
      editing.after(branch, " else {");
      editing.after(list.at(-1)!, "\n}");
    },
  ),
});

/** Code put around the statement of a call; what it declares is declared before. */
function around(before: string, after: string): Way {
  return at(
    (project) =>
      inStatements(calls(project)).filter((call) => ts.isExpressionStatement(listed(call)!.statement) || boundTo(call)),
    (editing, call) => {
      const { statement } = listed(call)!;
      if (ts.isExpressionStatement(statement)) return editing.wrap(statement, `${before} `, ` ${after}`);
      const { name, initializer } = (statement as ts.VariableStatement).declarationList.declarations[0]!;
      const value = editing.text(initializer!);
      const assign = ts.isIdentifier(name) ? `${name.text} = ${value};` : `(${assignable(name)} = ${value});`;
      const names = ts.isIdentifier(name) ? [name.text] : name.elements.map((each) => each.getText());
      editing.replace(
        statement,
        `let ${names.map((each) => `${each}: any`).join(", ")};\n${before} ${assign} ${after}`,
      );
    },
  );
}

function boundTo(call: ts.CallExpression): boolean {
  const { statement } = listed(call)!;
  if (!ts.isVariableStatement(statement)) return false;
  const { declarations } = statement.declarationList;
  const [{ name }] = declarations as unknown as [ts.VariableDeclaration];
  return (
    declarations.length === 1 && (ts.isIdentifier(name) || name.elements.every((each) => /^\w+$/.test(each.getText())))
  );
}

function assignable(name: ts.BindingPattern): string {
  return name.getText();
}

interface Rest extends ts.Block {
  readonly statements: ts.NodeArray<ts.Statement>;
}

function isAwaitedCall({ parent }: ts.CallExpression): boolean {
  return ts.isAwaitExpression(parent) || ts.isReturnStatement(parent);
}

/** Bodies of functions that return something at their end. */
function rests(project: Project): Rest[] {
  return all(project, ts.isBlock).filter((block): block is Rest => {
    const { parent, statements } = block;
    const last = statements.at(-1);
    if (!isFunction(parent) || last === undefined || !ts.isReturnStatement(last)) return false;
    return statements.length > 1 && descendants(block).some(isSite) && !usesThis(block);
  });
}

function usesThis(node: ts.Node): boolean {
  return descendants(node).some(({ kind }) => kind === ts.SyntaxKind.ThisKeyword);
}

/** Code around the statement of a call and all that follow in its list; only in whole functions, and before a `return`. */
function restIn(before: string, after: string): Way {
  return at(
    (project) => inStatements(calls(project)).filter((call) => isFunction(listed(call)!.list[0]!.parent.parent)),
    (editing, call) => {
      const { statement, list } = listed(call)!;
      editing.before(statement, `${before}\n`);
      editing.after(list.at(-1)!, `\n${after}`);
    },
  );
}

/** The next declaration of a call's result, if that call could be made at the same time. */
function neighbour(declaration: ts.VariableDeclaration): ts.VariableDeclaration | undefined {
  const { list, index } = listed(declaration)!;
  const next = list[index + 1];
  if (next === undefined || !ts.isVariableStatement(next)) return undefined;
  const [other] = next.declarationList.declarations;
  if (other?.initializer === undefined || !ts.isIdentifier(other.name)) return undefined;
  if (next.declarationList.declarations.length > 1) return undefined;
  if (!ts.isAwaitExpression(other.initializer) || !ts.isCallExpression(other.initializer.expression)) return undefined;
  if (namesUsed(other.initializer).has(declaration.name.getText())) return undefined;
  return other;
}

function isRestOfFunction(declaration: ts.VariableDeclaration): boolean {
  const { list, index } = listed(declaration)!;
  const block = list[0]!.parent;
  return isFunction(block.parent) && index < list.length - 1 && ts.isReturnStatement(list.at(-1)!);
}

/** The only use of a result, in the next statement, and that a simple one that evaluates it first. */
function usedOnceNext(declaration: ts.VariableDeclaration): ts.Identifier | undefined {
  const { list, index } = listed(declaration)!;
  const name = declaration.name.getText();
  const uses = list
    .slice(index + 1)
    .flatMap((each) => [each as ts.Node, ...descendants(each)])
    .filter((node): node is ts.Identifier => ts.isIdentifier(node) && node.text === name);
  const next = list[index + 1];
  if (uses.length !== 1 || next === undefined || !contains(next, uses[0]!)) return undefined;
  const [use] = uses as [ts.Identifier];
  // Not into a function, where it would not be awaited, nor after another call of the statement.
  if (functionOf(use) !== functionOf(declaration) || ts.isShorthandPropertyAssignment(use.parent)) return undefined;
  const isAlone = !descendants(next).some((each) => isSite(each) || ts.isAwaitExpression(each));
  return isAlone && !ts.isReturnStatement(next) ? use : undefined;
}

function holdsCalls(loop: ts.IterationStatement): boolean {
  return (
    ts.isBlock(loop.statement) &&
    listed(loop) !== undefined &&
    descendants(loop.statement).some((each) => ts.isAwaitExpression(each))
  );
}

function leaves(loop: ts.IterationStatement): boolean {
  return descendants(loop).some(
    (each) => ts.isBreakStatement(each) || ts.isContinueStatement(each) || ts.isReturnStatement(each),
  );
}

function isKeyed(expression: ts.Expression): boolean {
  return /^keyed\(/.test(expression.getText());
}

function loopName({ initializer }: ts.ForOfStatement): string {
  return (initializer as ts.VariableDeclarationList).declarations[0]!.name.getText();
}

function replaceHead(editing: Editing, loop: ts.IterationStatement, before: string, after: string): void {
  const body = editing.text(loop.statement).slice(1, -1);
  editing.replace(loop, `${before}${body}${after}`);
}

/** `await Promise.all(items.map(async (item) => ...))` in a statement, with callbacks that take one item. */
function isMapOfCallbacks(call: ts.CallExpression): boolean {
  if (call.expression.getText() !== "Promise.all" || !ts.isAwaitExpression(call.parent) || listed(call) === undefined)
    return false;
  const [map] = call.arguments;
  if (map === undefined || !ts.isCallExpression(map) || !ts.isPropertyAccessExpression(map.expression)) return false;
  const [fn] = map.arguments;
  if (map.expression.name.text !== "map" || fn === undefined || !ts.isArrowFunction(fn) || fn.parameters.length !== 1)
    return false;
  if (!ts.isBlock(fn.body)) return true;
  const returns = descendants(fn.body).filter(ts.isReturnStatement);
  return returns.length === 1 && returns[0] === fn.body.statements.at(-1);
}

function withLastPushed(editing: Editing, body: ts.Block, out: string): string {
  return body.statements
    .map((each) =>
      ts.isReturnStatement(each) ? `${out}.push(await (${editing.text(each.expression!)}));` : editing.text(each),
    )
    .join("\n");
}

function returnsThen({ thenStatement }: ts.IfStatement): boolean {
  return ts.isReturnStatement(thenStatement);
}
