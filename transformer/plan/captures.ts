/** What an inline step body closes over: `step(() => book(quote))` has no arguments that could be checked instead. */
import type ts from "typescript";
import type { Library } from "./library.js";
import type { Binding, Scopes } from "./scopes.js";
import { functionLiteral, nodesIn, type Source } from "./syntax.js";

/** Captured names, by the function (or static block) whose activation holds them; in order of first appearance. */
export type Captured = ReadonlyMap<ts.Node, readonly string[]>;

/** The inline body of a `step` call: its first argument, or else, after a name or options, its second. */
export function inlineBody(source: Source, call: ts.CallExpression | ts.NewExpression): ts.Node | undefined {
  const [first, second] = call.arguments ?? [];
  return functionLiteral(source.ts, first!) ?? functionLiteral(source.ts, second);
}

export function capturedBy(source: Source, scopes: Scopes, library: Library, body: ts.Node): Captured {
  const groups = new Map<ts.Node, string[]>();
  for (const identifier of referencesIn(source, body)) {
    const binding = scopes.resolve(identifier);
    if (binding === undefined || !holdsValue(source, binding) || library.isLibraryBinding(binding)) continue;
    const { owner } = binding.scope;
    if (source.ts.isSourceFile(owner) || isWithin(source, owner, body)) continue;
    const names = groups.get(owner) ?? [];
    groups.set(owner, names);
    if (!names.includes(binding.name)) names.push(binding.name);
  }
  return groups;
}

/** Variables only; not functions, nor constants that are functions: those are code, and change with the text. */
function holdsValue({ ts }: Source, { kind, declaration }: Binding): boolean {
  if (kind === "const") {
    return !ts.isVariableDeclaration(declaration) || functionLiteral(ts, declaration.initializer) === undefined;
  }
  return kind === "let" || kind === "var" || kind === "parameter" || kind === "catch";
}

function isWithin({ parents }: Source, node: ts.Node, ancestor: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined; at = parents.get(at)) if (at === ancestor) return true;
  return false;
}

/** All identifiers under a node that read a variable, in source order. */
export function referencesIn(source: Source, root: ts.Node): ts.Identifier[] {
  return nodesIn(source, root).filter((node) => isReference(source, node));
}

/** Whether a node is an identifier that reads a variable. */
export function isReference(source: Source, node: ts.Node): node is ts.Identifier {
  return source.ts.isIdentifier(node) && reads(source, node, source.parents.get(node)!);
}

/** Whether an identifier, by its place under its parent, reads a variable rather than names something. */
function reads({ ts }: Source, node: ts.Identifier, parent: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isBinaryExpression(parent)) {
    return !(parent.left === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken);
  }
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isBindingElement(parent) || ts.isVariableDeclaration(parent) || ts.isParameter(parent)) {
    return parent.initializer === node;
  }
  if (ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) return parent.initializer === node;
  if (ts.isEnumMember(parent)) return parent.initializer === node;
  if (ts.isFunctionLike(parent)) return ts.isArrowFunction(parent) && parent.body === node;
  if (ts.isClassLike(parent) || ts.isEnumDeclaration(parent) || ts.isModuleDeclaration(parent)) return false;
  if (ts.isLabeledStatement(parent) || ts.isBreakOrContinueStatement(parent)) return false;
  if (ts.isMetaProperty(parent) || ts.isQualifiedName(parent) || ts.isNamedTupleMember(parent)) return false;
  if (ts.isJsxAttribute(parent) || ts.isJsxNamespacedName(parent) || ts.isJsxClosingElement(parent)) return false;
  if (ts.isJsxOpeningElement(parent) || ts.isJsxSelfClosingElement(parent)) return /^[^a-z]/.test(node.text);
  return true;
}
