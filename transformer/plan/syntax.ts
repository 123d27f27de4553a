/** Questions about single syntax nodes, answered without a checker. */
import type ts from "typescript";

/** The TypeScript that the host gave us. Never imported: a process can hold several, with different node kinds. */
export type TypeScript = typeof ts;

/** One source file under analysis. */
export interface Source {
  readonly ts: TypeScript;
  readonly file: ts.SourceFile;
  /** All nodes but those that are erased and what is in them, in the order of the text, each before what is in it. */
  readonly nodes: readonly ts.Node[];
  /** Of these nodes, and of erased ones that stand among them. */
  readonly parents: ReadonlyMap<ts.Node, ts.Node>;
  /** Whether the file has an identifier of this name, in types too. */
  mentions(name: string): boolean;
  /** The names of identifiers that match a pattern. */
  identifiersLike(pattern: RegExp): readonly string[];
}

/** Nodes that open a frame: everything with a body of its own. */
export type FunctionNode = ts.FunctionLikeDeclaration | ts.ClassStaticBlockDeclaration;

export type LoopNode = ts.IterationStatement;

export function readSource(ts: TypeScript, file: ts.SourceFile): Source {
  const nodes: ts.Node[] = [];
  const parents = new Map<ts.Node, ts.Node>();
  // What is still to be read, the next one last.
  const pending: ts.Node[] = [];
  const addChildren = (node: ts.Node): void => {
    const start = pending.length;
    ts.forEachChild(node, (child) => {
      parents.set(child, node);
      pending.push(child);
    });
    for (let from = start, to = pending.length - 1; from < to; from++, to--) {
      [pending[from], pending[to]] = [pending[to]!, pending[from]!];
    }
  };
  addChildren(file);
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isErased(ts, node)) continue;
    nodes.push(node);
    addChildren(node);
  }
  return { ts, file, nodes, parents, ...identifiersOf(ts, file) };
}

/**
 * Like `ts.forEachChild`; but of a chain of operators it visits the operands and operators, and none of the binary expressions that
 * the chain is made of. They nest as deep as the chain is long, and generated code has thousands of them in a row.
 */
export function forEachPart<T>(ts: TypeScript, node: ts.Node, visit: (part: ts.Node) => T | undefined): T | undefined {
  if (!ts.isBinaryExpression(node)) return ts.forEachChild(node, visit);
  const pending: ts.Node[] = [node];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (ts.isBinaryExpression(part)) pending.push(part.right, part.operatorToken, part.left);
    else {
      const found = visit(part);
      if (found) return found;
    }
  }
  return undefined;
}

/** The text says sooner than all nodes do that a name is not there, unless it spells identifiers with escapes. */
function identifiersOf(ts: TypeScript, file: ts.SourceFile): Pick<Source, "mentions" | "identifiersLike"> {
  const { text } = file;
  const hasEscapes = text.includes("\\u");
  let known: ReadonlySet<string> | undefined;
  const all = (): ReadonlySet<string> => {
    known ??= collectIdentifiers(ts, file);
    return known;
  };
  return {
    mentions: (name) => (hasEscapes || text.includes(name)) && all().has(name),
    identifiersLike: (pattern) => {
      if (!hasEscapes && !pattern.test(text)) return [];
      const whole = new RegExp(`^(?:${pattern.source})$`);
      return [...all()].filter((name) => whole.test(name));
    },
  };
}

function collectIdentifiers(ts: TypeScript, file: ts.SourceFile): Set<string> {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) found.add(node.text);
    // `import { other as name }`: the other is no name of this file.
    if (ts.isImportSpecifier(node)) visit(node.name);
    else forEachPart(ts, node, visit);
  };
  visit(file);
  return found;
}

/** Those of the source's nodes that stand under a node. */
export function nodesIn({ file, nodes }: Source, root: ts.Node): readonly ts.Node[] {
  if (root === file) return nodes;
  const index = nodes.indexOf(root, firstAt(nodes, root.pos));
  if (index < 0) return [];
  let end = index + 1;
  while (end < nodes.length && nodes[end]!.pos < root.end) end++;
  return nodes.slice(index + 1, end);
}

/** Index of the first node that starts at an offset or behind it. */
function firstAt(nodes: readonly ts.Node[], pos: number): number {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (nodes[middle]!.pos < pos) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Keeps an answer that depends on the compiler alone. A process hardly ever has two of them under way. */
export function onceFor<T>(make: (ts: TypeScript) => T): (ts: TypeScript) => T {
  let compiler: TypeScript | undefined;
  let made: T;
  return (ts) => {
    if (ts !== compiler) {
      made = make(ts);
      compiler = ts;
    }
    return made;
  };
}

/** A test that looks at a node's kind alone. Its answers are kept, since every node of a file is asked many times. */
export function ofKind(test: (ts: TypeScript, node: ts.Node) => boolean): (ts: TypeScript, node: ts.Node) => boolean {
  const answersFor = onceFor((): boolean[] => []);
  return (ts, node) => {
    const answers = answersFor(ts);
    answers[node.kind] ??= test(ts, node);
    return answers[node.kind]!;
  };
}

type Guard<T extends ts.Node> = (ts: TypeScript, node: ts.Node) => node is T;

type Wrapper =
  | ts.ParenthesizedExpression
  | ts.AsExpression
  | ts.SatisfiesExpression
  | ts.NonNullExpression
  | ts.TypeAssertion
  | ts.ExpressionWithTypeArguments;

/** Whether the node only wraps an expression and has no effect of its own: `(x)`, `x as T`, `x satisfies T`, `x!`, `<T>x`, `x<T>`. */
export const isWrapper = ofKind(
  (ts, node) =>
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isTypeAssertionExpression(node) ||
    ts.isExpressionWithTypeArguments(node),
) as Guard<Wrapper>;

export function unwrap(ts: TypeScript, node: ts.Expression): ts.Expression {
  let inner = node;
  while (isWrapper(ts, inner)) inner = inner.expression;
  return inner;
}

/** The nearest ancestor that is not a wrapper, with the child through which it was reached. */
export function parentPastWrappers(source: Source, node: ts.Node): { parent: ts.Node | undefined; child: ts.Node } {
  let child = node;
  let parent = source.parents.get(child);
  while (parent !== undefined && isWrapper(source.ts, parent)) {
    child = parent;
    parent = source.parents.get(child);
  }
  return { parent, child };
}

/** The binary expressions that start where one starts, innermost first: `a + b`, `a + b + c` and so on. */
export function leftOperators(ts: TypeScript, node: ts.BinaryExpression): readonly ts.BinaryExpression[] {
  const found = [node];
  for (let { left } = node; ts.isBinaryExpression(left); left = left.left) found.push(left);
  return found.reverse();
}

export type FunctionLiteral = ts.ArrowFunction | ts.FunctionExpression;

export function functionLiteral(ts: TypeScript, node: ts.Expression | undefined): FunctionLiteral | undefined {
  if (node === undefined) return undefined;
  const inner = unwrap(ts, node);
  return ts.isArrowFunction(inner) || ts.isFunctionExpression(inner) ? inner : undefined;
}

/** Functions with a body, and static blocks; not overload signatures, abstract or ambient members. */
export function isFunctionNode(ts: TypeScript, node: ts.Node): node is FunctionNode {
  return ts.isClassStaticBlockDeclaration(node) || (isFunctionLike(ts, node) && node.body !== undefined);
}

export const isFunctionLike = ofKind(
  (ts, node) =>
    ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isGetAccessorDeclaration(node) ||
    ts.isSetAccessorDeclaration(node) ||
    ts.isConstructorDeclaration(node),
) as Guard<ts.FunctionLikeDeclaration>;

export const isLoop = ofKind(
  (ts, node) =>
    ts.isForStatement(node) ||
    ts.isForOfStatement(node) ||
    ts.isForInStatement(node) ||
    ts.isWhileStatement(node) ||
    ts.isDoStatement(node),
) as Guard<LoopNode>;

export function isAmbient(ts: TypeScript, node: ts.Node): boolean {
  return hasModifier(ts, node, ts.SyntaxKind.DeclareKeyword);
}

function hasModifier(ts: TypeScript, node: ts.Node, kind: ts.SyntaxKind): boolean {
  return ts.canHaveModifiers(node) && (node.modifiers?.some((modifier) => modifier.kind === kind) ?? false);
}

/** Whether nothing is left of the node at run time: types, interfaces, type-only imports, signatures, `declare ...`. */
export function isErased(ts: TypeScript, node: ts.Node): boolean {
  if (!canBeErased(ts, node)) return false;
  if (ts.isExpressionWithTypeArguments(node)) return false;
  if (ts.isTypeNode(node) || ts.isTypeParameterDeclaration(node)) return true;
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true;
  if (ts.isHeritageClause(node)) return node.token === ts.SyntaxKind.ImplementsKeyword;
  if (ts.isIndexSignatureDeclaration(node)) return true;
  if (ts.isImportDeclaration(node)) return node.importClause?.isTypeOnly ?? false;
  if (ts.isImportEqualsDeclaration(node) || ts.isExportDeclaration(node)) return node.isTypeOnly;
  if (ts.isImportSpecifier(node) || ts.isExportSpecifier(node)) return node.isTypeOnly;
  if (isFunctionLike(ts, node) && node.body === undefined) return true;
  if (ts.isPropertyDeclaration(node) && hasModifier(ts, node, ts.SyntaxKind.AbstractKeyword)) return true;
  return isAmbient(ts, node);
}

/** Whether nodes of the kind can be; all that have modifiers are among them. */
export const canBeErased = ofKind(
  (ts, node) =>
    ts.isTypeNode(node) ||
    ts.isTypeParameterDeclaration(node) ||
    ts.isHeritageClause(node) ||
    ts.isIndexSignatureDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isImportSpecifier(node) ||
    ts.isExportSpecifier(node) ||
    ts.canHaveModifiers(node),
);

/** Text of a property name; `[name]` for one that is computed. */
export function propertyText(ts: TypeScript, name: ts.PropertyName): string {
  if (!ts.isComputedPropertyName(name)) return name.text;
  const inner = unwrap(ts, name.expression);
  if (ts.isStringLiteralLike(inner) || ts.isNumericLiteral(inner)) return inner.text;
  if (ts.isIdentifier(inner)) return `[${inner.text}]`;
  if (ts.isPropertyAccessExpression(inner)) return `[${inner.name.text}]`;
  return "[]";
}

/** `o.m` and `o[k]`. */
export function isMember(
  ts: TypeScript,
  node: ts.Node,
): node is ts.PropertyAccessExpression | ts.ElementAccessExpression {
  return ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
}

/** The member that a callee names, through parentheses and casts, also those that an earlier transformer has emptied. */
export function memberIn(
  ts: TypeScript,
  callee: ts.Expression,
): ts.PropertyAccessExpression | ts.ElementAccessExpression {
  let node = callee;
  while (isWrapper(ts, node) || ts.isPartiallyEmittedExpression(node)) node = node.expression;
  return node as ts.PropertyAccessExpression | ts.ElementAccessExpression;
}

/** Whether an assignment would give the value a name: an anonymous function or class. */
export function takesName(ts: TypeScript, expression: ts.Expression): boolean {
  const node = unwrap(ts, expression);
  if (ts.isArrowFunction(node)) return true;
  return (ts.isFunctionExpression(node) || ts.isClassExpression(node)) && node.name === undefined;
}

/** The statements at the start of a body that are directives, such as `"use strict"`. */
export function directivesOf(ts: TypeScript, statements: readonly ts.Statement[]): readonly ts.Statement[] {
  const after = statements.findIndex(
    (statement) => !(ts.isExpressionStatement(statement) && ts.isStringLiteral(statement.expression)),
  );
  return after < 0 ? statements : statements.slice(0, after);
}

/** The loop that a statement is, with or without labels. */
export function labelledLoop(ts: TypeScript, node: ts.Node): LoopNode | undefined {
  let inner = node;
  while (ts.isLabeledStatement(inner)) inner = inner.statement;
  return isLoop(ts, inner) ? inner : undefined;
}

/** The name by which a member is read, if the text says it: `o.m`, `o["m"]`. */
export function memberName(
  ts: TypeScript,
  node: ts.PropertyAccessExpression | ts.ElementAccessExpression,
): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  const key = unwrap(ts, node.argumentExpression);
  return ts.isStringLiteralLike(key) ? key.text : undefined;
}

/** The leftmost expression of a member access chain: `a` in `a.b[c].d`. */
export function memberRoot(ts: TypeScript, node: ts.Expression): ts.Expression {
  let root = unwrap(ts, node);
  while (isMember(ts, root)) root = unwrap(ts, root.expression);
  return root;
}

/** The outermost node of the optional chain that the node is a link of; undefined if it is in none. */
export function outermostLink(source: Source, node: ts.Node): ts.Node | undefined {
  const { ts, parents } = source;
  if (!ts.isOptionalChain(node)) return undefined;
  let link: ts.Node = node;
  for (;;) {
    const parent = parents.get(link);
    if (parent === undefined || !ts.isOptionalChain(parent) || parent.expression !== link) return link;
    link = parent;
  }
}
