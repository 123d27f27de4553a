/** Which expressions mean something of the library: found by binding, never by the name `step`. */
import type ts from "typescript";
import type { Binding, Scopes } from "./scopes.js";
import { isMember, memberName, type Source, unwrap } from "./syntax.js";

const LIBRARY = "stepmark";

/** Library functions whose calls get an identity of their own. */
const sited = ["step", "waitFor", "sleep", "now", "random", "uuid", "child", "publish", "events", "changed"] as const;
export type SitedName = (typeof sited)[number];

/** Library functions that never call code that could lead to a step while they are being called. */
const inert = new Set(["workflow", "keyed", "memoryStore"]);

/** The module itself, or one of its exports. */
export type LibraryValue = { readonly kind: "module" } | { readonly kind: "export"; readonly name: string };

export interface Library {
  /** What of the library the expression means; undefined for everything else. */
  meaningOf(expression: ts.Expression): LibraryValue | undefined;
  /** Whether the binding stands for the library or a part of it. */
  isLibraryBinding(binding: Binding): boolean;
}

export function readLibrary(source: Source, scopes: Scopes): Library {
  const { ts, parents } = source;
  const known = new Map<Binding, LibraryValue | undefined>();

  const meaningOf = (expression: ts.Expression): LibraryValue | undefined => {
    const node = unwrap(ts, expression);
    if (ts.isIdentifier(node)) return ofName(node);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken)
      return meaningOf(node.right);
    if (isMember(ts, node)) return exportOf(meaningOf(node.expression), memberName(ts, node));
    if (ts.isAwaitExpression(node)) {
      const operand = unwrap(ts, node.expression);
      return isImportCall(source, operand) && namesLibrary(source, operand) ? { kind: "module" } : undefined;
    }
    return isRequireCall(source, scopes, node) && namesLibrary(source, node) ? { kind: "module" } : undefined;
  };

  const ofName = (node: ts.Identifier): LibraryValue | undefined => {
    const binding = scopes.resolve(node);
    return binding === undefined ? undefined : ofBinding(binding);
  };

  const ofBinding = (binding: Binding): LibraryValue | undefined => {
    if (known.has(binding)) return known.get(binding);
    known.set(binding, undefined);
    const value = readBinding(binding);
    known.set(binding, value);
    return value;
  };

  const readBinding = ({ kind, declaration }: Binding): LibraryValue | undefined => {
    if (kind === "import") return ofImport(declaration);
    if (kind !== "const") return undefined;
    if (ts.isVariableDeclaration(declaration)) {
      const { name, initializer } = declaration;
      return ts.isIdentifier(name) && initializer !== undefined ? meaningOf(initializer) : undefined;
    }
    return ts.isBindingElement(declaration) ? ofElement(declaration) : undefined;
  };

  const ofImport = (node: ts.Node): LibraryValue | undefined => {
    if (ts.isImportEqualsDeclaration(node)) {
      const { moduleReference } = node;
      if (!ts.isExternalModuleReference(moduleReference)) return ofEntity(moduleReference);
      return isLibraryText(source, moduleReference.expression) ? { kind: "module" } : undefined;
    }
    let declaration: ts.Node | undefined = node;
    while (declaration !== undefined && !ts.isImportDeclaration(declaration)) declaration = parents.get(declaration);
    if (declaration === undefined || !isLibraryText(source, declaration.moduleSpecifier)) return undefined;
    if (!ts.isImportSpecifier(node)) return { kind: "module" };
    return exportOf({ kind: "module" }, (node.propertyName ?? node.name).text);
  };

  const ofEntity = (name: ts.EntityName): LibraryValue | undefined =>
    ts.isIdentifier(name) ? ofName(name) : exportOf(ofEntity(name.left), name.right.text);

  /** `const { step: s } = <library>`: one level, without a default, since a default might be taken. */
  const ofElement = (element: ts.BindingElement): LibraryValue | undefined => {
    const pattern = parents.get(element);
    const declaration = pattern && parents.get(pattern);
    if (pattern === undefined || !ts.isObjectBindingPattern(pattern)) return undefined;
    if (declaration === undefined || !ts.isVariableDeclaration(declaration)) return undefined;
    if (element.initializer !== undefined || element.dotDotDotToken !== undefined) return undefined;
    const key = element.propertyName ?? element.name;
    if (declaration.initializer === undefined || !(ts.isIdentifier(key) || ts.isStringLiteral(key))) return undefined;
    return exportOf(meaningOf(declaration.initializer), key.text);
  };

  return { meaningOf, isLibraryBinding: (binding) => ofBinding(binding) !== undefined };
}

/** `default` is the module itself, as CommonJS interop hands it over. */
function exportOf(value: LibraryValue | undefined, name: string | undefined): LibraryValue | undefined {
  if (value?.kind !== "module" || name === undefined) return undefined;
  return name === "default" ? value : { kind: "export", name };
}

/** The export of the library that an expression means. */
export function exportName(library: Library, expression: ts.Expression): string | undefined {
  const value = library.meaningOf(expression);
  return value?.kind === "export" ? value.name : undefined;
}

export function isSitedName(name: string | undefined): name is SitedName {
  return (sited as readonly (string | undefined)[]).includes(name);
}

export function isInert(name: string): boolean {
  return inert.has(name);
}

export function isImportCall(source: Source, node: ts.Node): node is ts.CallExpression {
  return source.ts.isCallExpression(node) && node.expression.kind === source.ts.SyntaxKind.ImportKeyword;
}

/** A call of the CommonJS `require`, not of something else of that name. */
export function isRequireCall(source: Source, scopes: Scopes, node: ts.Node): node is ts.CallExpression {
  if (!source.ts.isCallExpression(node) || node.questionDotToken !== undefined) return false;
  return isGlobal(source, scopes, node.expression, "require");
}

export function isGlobal(source: Source, scopes: Scopes, node: ts.Node, name: string): boolean {
  return source.ts.isIdentifier(node) && node.text === name && scopes.resolve(node) === undefined;
}

export function namesLibrary(source: Source, call: ts.CallExpression): boolean {
  return call.arguments[0] !== undefined && isLibraryText(source, call.arguments[0]);
}

export function isLibraryText(source: Source, node: ts.Node): boolean {
  return source.ts.isStringLiteralLike(node) && node.text === LIBRARY;
}

/** `stepmark` as a string literal may spell it: any letter as an escape, and line breaks that do not count. */
const mention = new RegExp(
  [...LIBRARY]
    .map((letter) => {
      const code = letter.charCodeAt(0);
      const hex = code.toString(16);
      return `(?:\\\\?${letter}|\\\\(?:x${hex}|u00${hex}|u\\{0*${hex}\\}|${code.toString(8)}))`;
    })
    .join("(?:\\\\(?:\\r\\n?|[\\n\\u2028\\u2029]))*"),
  "i",
);

/** A look at the text, before it is parsed: whether it can import the library at all. */
export function mentionsLibrary(text: string): boolean {
  return text.includes(LIBRARY) || (text.includes("\\") && mention.test(text));
}

/** Whether the file imports the library for more than its types, in whatever way. */
export function importsLibrary(source: Source, scopes: Scopes): boolean {
  const { ts } = source;
  return source.nodes.some((node) => {
    if (ts.isImportDeclaration(node)) return isLibraryText(source, node.moduleSpecifier) && importsValues(ts, node);
    if (ts.isImportEqualsDeclaration(node)) {
      const { moduleReference } = node;
      return ts.isExternalModuleReference(moduleReference) && isLibraryText(source, moduleReference.expression);
    }
    return (isImportCall(source, node) || isRequireCall(source, scopes, node)) && namesLibrary(source, node);
  });
}

function importsValues(ts: Source["ts"], node: ts.ImportDeclaration): boolean {
  const clause = node.importClause;
  if (clause === undefined) return true;
  if (clause.isTypeOnly) return false;
  if (clause.name !== undefined || clause.namedBindings === undefined) return true;
  if (ts.isNamespaceImport(clause.namedBindings)) return true;
  return clause.namedBindings.elements.some((element) => !element.isTypeOnly);
}
