/** Edits that make functions of code, and code of functions. */
import ts from "typescript";
import { spell, withoutMarks } from "../marks.js";
import type { Project } from "../project.js";
import { at, type Editing, family } from "./editing.js";
import { addTop, fresh } from "./names.js";
import {
  all,
  descendants,
  type FunctionNode,
  freeVariables,
  functionOf,
  helperCalls,
  helpers,
  isAlone,
  isBound,
  isFunction,
  isReference,
  isSimple,
  isSite,
  listed,
  named,
  namesDeclared,
  namesUsed,
  parameterNames,
  sites,
} from "./syntax.js";

export const extracting = family("helper", {
  "call extracted": at(
    (project) => [...sites(project), ...helperCalls(project)].filter((call) => !isBound([call]) && isAwaited(call)),
    (editing, call) => {
      const free = freeVariables(call);
      const name = fresh(editing, "extracted");
      addTop(editing, call.getSourceFile(), `async function ${name}(${typed(free)}) { return ${editing.text(call)}; }`);
      editing.replace(call, `${name}(${free.join(", ")})`);
    },
  ),
  "call extracted into a function inside": at(
    (project) => inBlocks(sites(project)),
    (editing, call) => {
      const name = fresh(editing, "extracted");
      const { statement } = listed(call)!;
      editing.before(statement, `const ${name} = async () => ${editing.text(call)};\n`);
      editing.replace(call, `${name}()`);
    },
  ),
  "calls extracted": at(
    (project) => sites(project).filter((call) => run(call, 2) !== undefined),
    (editing, call) => extract(editing, run(call, 2)!),
  ),
  "many calls extracted": at(
    (project) => sites(project).filter((call) => run(call, 3) !== undefined),
    (editing, call) => extract(editing, run(call, 3)!),
  ),
  "loop body extracted": at(
    (project) => all(project, ts.isForOfStatement).filter(({ statement }) => isExtractable(statement)),
    (editing, { statement }) => extractBody(editing, statement as ts.Block, "each"),
  ),
  "while body extracted": at(
    (project) => all(project, ts.isForStatement).filter(({ statement }) => isExtractable(statement)),
    (editing, { statement }) => extractBody(editing, statement as ts.Block, "each"),
  ),
  "callback's body extracted": at(
    (project) => callbacks(project).filter((fn) => !isBound([fn])),
    (editing, { body }) => {
      const free = freeVariables(body);
      const name = fresh(editing, "work");
      const block = ts.isBlock(body) ? editing.text(body) : `{ return ${editing.text(body)}; }`;
      addTop(editing, body.getSourceFile(), `async function ${name}(${typed(free)}) ${block}`);
      editing.replace(body, `${name}(${free.join(", ")})`);
    },
  ),
  "callback gets a name": at(
    (project) => callbacks(project).filter((fn) => listed(fn.parent) !== undefined),
    (editing, fn) => {
      const name = fresh(editing, "work");
      editing.before(listed(fn.parent)!.statement, `const ${name} = ${editing.text(fn)};\n`);
      editing.replace(fn, name);
    },
  ),
  "callback moved to a helper": at(
    (project) => callbacks(project).filter((fn) => freeVariables([fn]).length === 0 && !isBound([fn])),
    (editing, fn) => {
      const name = fresh(editing, "work");
      addTop(editing, fn.getSourceFile(), `const ${name} = ${editing.text(fn)};`);
      editing.replace(fn, name);
    },
  ),
  "helper's body extracted": at(
    (project) =>
      helpers(project)
        .map(({ fn }) => fn)
        .filter((fn) => !isBound([fn])),
    (editing, fn) => {
      const names = fn.parameters.flatMap(parameterNames);
      const name = fresh(editing, "inner");
      const text = editing.text(fn.body!);
      const block = ts.isBlock(fn.body!) ? text : `{ return ${text}; }`;
      addTop(editing, fn.getSourceFile(), `async function ${name}(${typed(names)}) ${block}`);
      const call = `${name}(${names.join(", ")})`;
      editing.replace(fn.body!, ts.isBlock(fn.body!) ? `{ return ${call}; }` : call);
    },
  ),
  "helper called through another": at(helperCalls, (editing, call) => {
    if (!ts.isIdentifier(call.expression)) return;
    const name = fresh(editing, "via");
    const callee = call.expression.text;
    addTop(editing, call.getSourceFile(), `const ${name} = async (...given: any[]) => (${callee} as any)(...given);`);
    editing.replace(call.expression, name);
  }),
  "helper inlined": at(
    (project) => inlinable(project).filter((call) => callsOf(project, call).length === 1),
    (editing, call) => {
      inline(editing, call);
      const helper = helperOf(editing.project, call)!;
      if (helper.statement.getSourceFile() === call.getSourceFile()) editing.remove(helper.statement);
    },
  ),
  "helper inlined at one of its calls": at(
    (project) => inlinable(project).filter((call) => callsOf(project, call).length > 1),
    inline,
  ),
  "helper duplicated": at(
    (project) => helpers(project).map(({ statement }) => statement),
    (editing, statement) => {
      const { name, identifier } = named(statement)!;
      const text = editing.text(statement);
      const start = identifier.getStart() - statement.getStart();
      const copy = text.slice(0, start) + fresh(editing, `${name}Copy`) + text.slice(start + name.length);
      editing.after(statement, `\n${withoutMarks(copy)}\n`);
    },
  ),
  "helper of the same shape before it": at(
    (project) => helpers(project).map(({ statement }) => statement),
    (editing, statement) => {
      const { name, identifier } = named(statement)!;
      const text = editing.text(statement);
      const start = identifier.getStart() - statement.getStart();
      const copy = text.slice(0, start) + fresh(editing, `${name}Old`) + text.slice(start + name.length);
      editing.before(statement, `${withoutMarks(copy)}\n`);
    },
  ),
});

function typed(names: readonly string[]): string {
  return names.map((name) => `${name}: any`).join(", ");
}

function isAwaited({ parent }: ts.CallExpression): boolean {
  return ts.isAwaitExpression(parent) || ts.isReturnStatement(parent) || ts.isArrowFunction(parent);
}

function inBlocks(calls: readonly ts.CallExpression[]): ts.CallExpression[] {
  return calls.filter((call) => isAwaited(call) && listed(call) !== undefined && !isBound([call]));
}

/** So many statements from that of a call on, which can be moved together. */
function run(call: ts.CallExpression, length: number): ts.Statement[] | undefined {
  const at = listed(call);
  if (at === undefined) return undefined;
  const statements = at.list.slice(at.index, at.index + length);
  const isWhole = statements.length === length && statements.every(isSimple) && !isBound(statements);
  return isWhole && statements.every((each) => descendants(each).some(isSite)) ? statements : undefined;
}

function extract(editing: Editing, statements: readonly ts.Statement[]): void {
  const [first] = statements;
  const { list, index } = listed(first!)!;
  const later = new Set(list.slice(index + statements.length).flatMap((each) => [...namesUsed(each)]));
  const out = statements.flatMap((each) => [...declared(each)]).filter((name) => later.has(name));
  const free = freeVariables(statements);
  const name = fresh(editing, "extracted");
  const code = statements.map((each) => editing.text(each)).join("\n");
  const result = out.length === 0 ? "" : `\nreturn { ${out.join(", ")} };`;
  addTop(editing, first!.getSourceFile(), `async function ${name}(${typed(free)}) {\n${code}${result}\n}`);
  const call = `await ${name}(${free.join(", ")});`;
  editing.replace(first!, out.length === 0 ? call : `const { ${out.join(", ")} } = ${call}`);
  for (const each of statements.slice(1)) editing.remove(each);
}

function declared(statement: ts.Statement): Set<string> {
  return namesDeclared(statement);
}

function isExtractable(statement: ts.Statement): boolean {
  return ts.isBlock(statement) && !isBound([...statement.statements]) && descendants(statement).some(isSite);
}

function extractBody(editing: Editing, block: ts.Block, base: string): void {
  const free = freeVariables([...block.statements]);
  const name = fresh(editing, base);
  addTop(editing, block.getSourceFile(), `async function ${name}(${typed(free)}) ${editing.text(block)}`);
  editing.replace(block, `{ await ${name}(${free.join(", ")}); }`);
}

/** Functions given to calls, but for those of workflows. */
function callbacks(project: Project): ts.ArrowFunction[] {
  return all(project, ts.isArrowFunction).filter(
    (fn) =>
      ts.isCallExpression(fn.parent) &&
      fn.parent.expression.getText() !== "workflow" &&
      !isSite(fn.parent) &&
      descendants(fn).some((each) => isSite(each)),
  );
}

function helperOf(project: Project, call: ts.CallExpression) {
  return helpers(project).find(({ name }) => name === call.expression.getText());
}

function callsOf(project: Project, call: ts.CallExpression): ts.CallExpression[] {
  return helperCalls(project).filter((each) => each.expression.getText() === call.expression.getText());
}

/** Calls of helpers in the same file, that call nobody back, at which the helper's code could stand. */
function inlinable(project: Project): ts.CallExpression[] {
  return helperCalls(project).filter((call) => {
    const helper = helperOf(project, call);
    if (helper === undefined || helper.statement.getSourceFile() !== call.getSourceFile()) return false;
    const isInside = functionOf(call) === helper.fn;
    return !isInside && isStraight(helper.fn) && (ts.isBlock(helper.fn.body!) ? isWholeStatement(call) : true);
  });
}

/** Whether nothing but the last statement returns. */
function isStraight({ body, parameters }: FunctionNode): boolean {
  if (!parameters.every(({ name }) => ts.isIdentifier(name))) return false;
  if (!ts.isBlock(body!)) return true;
  const returns = descendants(body).filter((node) => ts.isReturnStatement(node) && ownerOf(node) === body.parent);
  return returns.length <= 1 && returns.every((each) => each === body.statements.at(-1));
}

function ownerOf(node: ts.Node): ts.Node {
  let at = node.parent;
  while (!isFunction(at)) at = at.parent;
  return at;
}

/** `await f()`, `const a = await f()`, `return f()`. */
function isWholeStatement(call: ts.CallExpression): boolean {
  const node = ts.isAwaitExpression(call.parent) ? call.parent : call;
  const { parent } = node;
  if (listed(call) === undefined) return false;
  if (ts.isReturnStatement(parent) || ts.isExpressionStatement(parent)) return true;
  return ts.isVariableDeclaration(parent) && isAlone(parent);
}

/** What a helper does, in the place of a call of it. Its calls stand for themselves as called from there. */
function inline(editing: Editing, call: ts.CallExpression): void {
  const { fn } = helperOf(editing.project, call)!;
  const mark = /\/\*@\w+\*\//.exec(editing.text(call))?.[0] ?? spell("none");
  const parameters = fn.parameters.map(({ name }) => name.getText());
  const args = new Map(parameters.map((name, index) => [name, withoutMarks(editing.text(call.arguments[index]!))]));
  if (!ts.isBlock(fn.body!)) return editing.replace(call, `(${substituted(fn.body!, args, mark)})`);
  const { statement } = listed(call)!;
  const own = fn.body.statements;
  const last = own.at(-1);
  const result = last !== undefined && ts.isReturnStatement(last) ? last.expression : undefined;
  const code = own
    .filter((each) => !ts.isReturnStatement(each))
    .map((each) => substituted(each, args, mark))
    .join("\n");
  const value = result === undefined ? "undefined" : substituted(result, args, mark);
  if (ts.isReturnStatement(statement)) return editing.replace(statement, `{ ${code}\nreturn ${value}; }`);
  if (ts.isExpressionStatement(statement))
    return editing.replace(statement, `{ ${code}\n${result ? `await ${value};` : ""} }`);
  const { name } = (statement as ts.VariableStatement).declarationList.declarations[0]!;
  const temporary = fresh(editing, "inlined");
  editing.replace(
    statement,
    `let ${temporary}: any; { ${code}\n${temporary} = await ${value}; }\nconst ${editing.text(name)} = ${temporary};`,
  );
}

/** Code of a helper with arguments for its parameters, and the mark of the call around each of its own. */
function substituted(node: ts.Node, args: ReadonlyMap<string, string>, mark: string): string {
  const start = node.getStart();
  let text = node.getText();
  const places = [node, ...descendants(node)].flatMap((each) => {
    if (isReference(each) && args.has(each.text)) {
      const isShorthand = ts.isShorthandPropertyAssignment(each.parent);
      const value = args.get(each.text)!;
      return [{ from: each.getStart(), to: each.end, text: isShorthand ? `${each.text}: ${value}` : value }];
    }
    if (!ts.isCallExpression(each) || !/^\s*\/\*@/.test(each.getSourceFile().text.slice(each.arguments.pos))) return [];
    return [{ from: each.arguments.pos, to: each.arguments.pos, text: mark }];
  });
  for (const { from, to, text: by } of places.sort((a, b) => b.from - a.from))
    text = text.slice(0, from - start) + by + text.slice(to - start);
  return text;
}
