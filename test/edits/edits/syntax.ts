/** What edits look for in the code of flows. */
import ts from "typescript";
import type { Project } from "../project.js";
import { filesOf } from "./editing.js";

const sited = new Set(["step", "waitFor", "sleep", "now", "random", "uuid"]);

export function descendants(node: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (child: ts.Node): void => {
    found.push(child);
    ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return found;
}

export function all<T extends ts.Node>(project: Project, is: (node: ts.Node) => node is T): T[] {
  return filesOf(project).flatMap((file) => descendants(file).filter(is));
}

/** Calls of the library that have an identity. */
export function sites(project: Project): ts.CallExpression[] {
  return all(project, ts.isCallExpression).filter(isSite);
}

export function isSite(node: ts.Node): node is ts.CallExpression {
  return ts.isCallExpression(node) && sited.has(libraryName(node.expression) ?? "");
}

/** `step` for `step` and `stepmark.step`. */
function libraryName(callee: ts.Expression): string | undefined {
  if (ts.isIdentifier(callee)) return callee.text;
  if (!ts.isPropertyAccessExpression(callee)) return undefined;
  return callee.expression.getText() === "stepmark" ? callee.name.text : undefined;
}

export function steps(project: Project): ts.CallExpression[] {
  return sites(project).filter(({ expression }) => libraryName(expression) === "step");
}

/** Steps in the form `step(fn, ...args)`. */
export function plainSteps(project: Project): ts.CallExpression[] {
  return steps(project).filter((call) => ts.isIdentifier(call.arguments[0]!));
}

/** Calls of functions of the project. */
export function helperCalls(project: Project): ts.CallExpression[] {
  const names = new Set(helpers(project).map(({ name }) => name));
  return all(project, ts.isCallExpression).filter((call) => names.has(calledName(call) ?? ""));
}

/** What is called by its name: `page` for `page(x)` and `this.page(x)`. */
export function calledName({ expression }: ts.CallExpression): string | undefined {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : undefined;
}

/** What a call is named after: of steps, what they call. */
export function nameOf(call: ts.CallExpression): string {
  const first = call.arguments[0];
  if (!isSite(call)) return calledName(call) ?? "";
  if (first === undefined || libraryName(call.expression) !== "step") return call.expression.getText();
  if (ts.isIdentifier(first)) return first.text;
  return /=>\s*(\w+)\(/.exec(first.getText())?.[1] ?? first.getText();
}

export type FunctionNode = ts.FunctionDeclaration | ts.ArrowFunction | ts.FunctionExpression | ts.MethodDeclaration;

export function isFunction(node: ts.Node): node is FunctionNode {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isArrowFunction(node) ||
    ts.isFunctionExpression(node) ||
    ts.isMethodDeclaration(node)
  );
}

/** A function with a name, and the statement that declares it. */
export interface Named {
  readonly name: string;
  readonly identifier: ts.Identifier;
  readonly fn: FunctionNode;
  readonly statement: ts.Statement;
}

/** The functions at the top of files, but for those of workflows. */
export function topFunctions(project: Project): Named[] {
  return filesOf(project).flatMap((file) => [...file.statements].flatMap((statement) => named(statement) ?? []));
}

export function named(statement: ts.Statement): Named | undefined {
  if (ts.isFunctionDeclaration(statement) && statement.name !== undefined)
    return { name: statement.name.text, identifier: statement.name, fn: statement, statement };
  if (!ts.isVariableStatement(statement)) return undefined;
  const [declaration] = statement.declarationList.declarations;
  const { name, initializer } = declaration!;
  if (initializer === undefined || !ts.isArrowFunction(initializer) || !ts.isIdentifier(name)) return undefined;
  return { name: name.text, identifier: name, fn: initializer, statement };
}

/** Functions at the top that lead to calls with an identity, as opposed to bodies of steps. */
export function helpers(project: Project): Named[] {
  return topFunctions(project).filter(({ fn }) => descendants(fn).some(isSite));
}

/** Functions at the top that do the work of steps. */
export function bodies(project: Project): Named[] {
  const called = new Set(steps(project).map(nameOf));
  return topFunctions(project).filter(({ name }) => called.has(name));
}

/** The innermost function around; the file for code at its top. */
export function functionOf(node: ts.Node): FunctionNode | ts.SourceFile {
  for (let around = node.parent; around !== undefined; around = around.parent)
    if (isFunction(around) || ts.isSourceFile(around)) return around;
  throw new Error("A node has no file");
}

export interface Listed {
  readonly statement: ts.Statement;
  readonly list: ts.NodeArray<ts.Statement>;
  readonly index: number;
}

/** The statement around, in the list that it stands in; undefined in an arrow without a block, or a branch without one. */
export function listed(node: ts.Node): Listed | undefined {
  for (let at = node; at.parent !== undefined; at = at.parent) {
    if (isFunction(at)) return undefined;
    if (!ts.isStatement(at)) continue;
    if (!ts.isBlock(at.parent)) return undefined;
    const list = at.parent.statements;
    return { statement: at, list, index: list.indexOf(at) };
  }
  return undefined;
}

/** Calls in statements of their own: a declaration, an assignment, a call alone, or the like, in a function. */
export function inStatements(calls: readonly ts.CallExpression[]): ts.CallExpression[] {
  return calls.filter((call) => {
    const at = listed(call);
    return at !== undefined && !ts.isReturnStatement(at.statement) && isSimple(at.statement);
  });
}

export function isSimple(statement: ts.Statement): boolean {
  return ts.isVariableStatement(statement) || ts.isExpressionStatement(statement);
}

/** `const a = await call` and nothing else. */
export function boundCalls(calls: readonly ts.CallExpression[]): ts.VariableDeclaration[] {
  return calls.flatMap((call) => {
    const declaration = ts.isAwaitExpression(call.parent) ? call.parent.parent : undefined;
    if (declaration === undefined || !ts.isVariableDeclaration(declaration)) return [];
    if (!ts.isIdentifier(declaration.name) || listed(call) === undefined) return [];
    return isAlone(declaration) ? [declaration] : [];
  });
}

/** Whether a declaration declares nothing else. */
export function isAlone({ parent }: ts.VariableDeclaration): boolean {
  return ts.isVariableDeclarationList(parent) && parent.declarations.length === 1;
}

/** The call of `await call`. */
export function awaited(declaration: ts.VariableDeclaration): ts.CallExpression {
  return (declaration.initializer as ts.AwaitExpression).expression as ts.CallExpression;
}

/** Names that code uses, not those of properties. */
export function namesUsed(node: ts.Node): Set<string> {
  return new Set([node, ...descendants(node)].filter(isReference).map(({ text }) => text));
}

/** An identifier that stands for a variable, a function or a class. */
export function isReference(node: ts.Node): node is ts.Identifier {
  if (!ts.isIdentifier(node)) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent))
    return !("name" in parent) || parent.name !== node;
  if (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent)) return parent.name !== node;
  if (ts.isPropertySignature(parent) || ts.isPropertyDeclaration(parent)) return parent.name !== node;
  return !(ts.isBindingElement(parent) && parent.propertyName === node);
}

/** Names that are declared in a node, not those inside functions in it. */
export function namesDeclared(node: ts.Node): Set<string> {
  const names = new Set<string>();
  const visit = (child: ts.Node): void => {
    if (ts.isFunctionDeclaration(child) && child.name !== undefined) names.add(child.name.text);
    if (isFunction(child)) return;
    if (ts.isVariableDeclaration(child) || ts.isBindingElement(child)) {
      if (ts.isIdentifier(child.name)) names.add(child.name.text);
    }
    ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return names;
}

/** Names that a function's parameters and its own code declare, and those of functions around it. */
export function localsAround(node: ts.Node): Set<string> {
  const names = new Set<string>();
  for (let around = functionOf(node); !ts.isSourceFile(around); around = functionOf(around)) {
    for (const parameter of around.parameters) for (const name of parameterNames(parameter)) names.add(name);
    if (around.body !== undefined) for (const name of namesDeclared(around.body)) names.add(name);
  }
  return names;
}

export function parameterNames(parameter: ts.ParameterDeclaration): string[] {
  if (ts.isIdentifier(parameter.name)) return [parameter.name.text];
  return [...namesDeclared(parameter)];
}

/** Variables of the functions around that code uses and does not declare itself. */
export function freeVariables(code: ts.Node | readonly ts.Node[]): string[] {
  const nodes = Array.isArray(code) ? (code as readonly ts.Node[]) : [code as ts.Node];
  const around = localsAround(nodes[0]!);
  const declared = new Set(nodes.flatMap((node) => [...declaredIn(node)]));
  const used = new Set(nodes.flatMap((node) => [...namesUsed(node)]));
  return [...used].filter((name) => around.has(name) && !declared.has(name));
}

/** Names declared anywhere in it, as flows use no name twice in functions inside each other. */
function declaredIn(node: ts.Node): Set<string> {
  const names = new Set<string>();
  for (const each of [node, ...descendants(node)]) {
    if (ts.isVariableDeclaration(each) || ts.isBindingElement(each) || ts.isParameter(each)) {
      if (ts.isIdentifier(each.name)) names.add(each.name.text);
    }
  }
  return names;
}

/** Whether code uses `this`, ends what is around it, or assigns to variables from outside: then it cannot simply be moved. */
export function isBound(code: readonly ts.Node[]): boolean {
  const declared = new Set(code.flatMap((node) => [...declaredIn(node)]));
  return code.some((node) =>
    [node, ...descendants(node)].some((each) => isJump(each, code) || assigns(each, declared)),
  );
}

function isJump(node: ts.Node, code: readonly ts.Node[]): boolean {
  if (node.kind === ts.SyntaxKind.ThisKeyword) return true;
  if (!ts.isReturnStatement(node) && !ts.isBreakStatement(node) && !ts.isContinueStatement(node)) return false;
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (isFunction(at)) return !code.some((each) => contains(each, at));
    if (!ts.isReturnStatement(node) && ts.isIterationStatement(at, false))
      return !code.some((each) => contains(each, at));
  }
  return true;
}

function assigns(node: ts.Node, declared: ReadonlySet<string>): boolean {
  const isOutside = (target: ts.Node): boolean => ts.isIdentifier(target) && !declared.has(target.text);
  if (ts.isPostfixUnaryExpression(node)) return isOutside(node.operand);
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment && isOutside(node.left);
}

export function contains(outer: ts.Node, inner: ts.Node): boolean {
  for (let at: ts.Node | undefined = inner; at !== undefined; at = at.parent) if (at === outer) return true;
  return false;
}
