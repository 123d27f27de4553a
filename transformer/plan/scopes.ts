/**
 * Which binding an identifier means: lexical scopes read from the syntax alone, so that single-file tools and full
 * programs see the same.
 */
import type ts from "typescript";
import { canBeErased, forEachPart, isErased, isFunctionLike, ofKind, type Source } from "./syntax.js";

export type BindingKind =
  | "import"
  /** A type-only import, or a `declare`: has no value of its own here. */
  | "type"
  | "const"
  | "let"
  | "var"
  | "parameter"
  | "catch"
  | "function"
  | "class"
  | "enum"
  | "namespace";

export interface Binding {
  readonly name: string;
  readonly kind: BindingKind;
  /** The node that declares it: a variable declaration, binding element, parameter, import specifier, ... */
  readonly declaration: ts.Node;
  readonly scope: Scope;
  /** Whether anything but its own declaration assigns to it. */
  reassigned: boolean;
}

export interface Scope {
  readonly parent: Scope | undefined;
  /** The function, static block or file whose activation the scope belongs to. */
  readonly owner: ts.Node;
  /** Whether `var` lands here. */
  readonly holdsVar: boolean;
  readonly bindings: Map<string, Binding>;
}

export interface Scopes {
  /** The binding that an identifier in value position means; undefined for globals. */
  resolve(identifier: ts.Identifier): Binding | undefined;
  /** Whether the module itself declares a name at its top. */
  declares(name: string): boolean;
  /** Whether the file mentions `arguments` or calls `eval`, through which parameters may change unseen. */
  readonly dynamic: boolean;
  /** Whether the file is strict code from its first line. */
  readonly strict: boolean;
}

export function analyseScopes(source: Source): Scopes {
  const { ts, file } = source;
  const scopeOf = new Map<ts.Identifier, Scope>();
  const writes: ts.Identifier[] = [];
  const namespaceExports = new Map<Scope, Map<string, Scope>>();
  const strict = hasModuleSyntax(source) || hasUseStrict(ts, file.statements);

  const open = (parent: Scope | undefined, owner: ts.Node, holdsVar: boolean): Scope => ({
    parent,
    owner,
    holdsVar,
    bindings: new Map(),
  });

  const declare = (scope: Scope, name: string, kind: BindingKind, declaration: ts.Node): void => {
    const known = scope.bindings.get(name);
    if (known === undefined) scope.bindings.set(name, { name, kind, declaration, scope, reassigned: false });
    else known.reassigned = true;
  };

  const declarePattern = (scope: Scope, name: ts.BindingName, kind: BindingKind, declaration: ts.Node): void => {
    if (ts.isIdentifier(name)) return declare(scope, name.text, kind, declaration);
    for (const element of name.elements) {
      if (ts.isBindingElement(element)) declarePattern(scope, element.name, kind, element);
    }
  };

  const varScope = (scope: Scope): Scope => {
    let at = scope;
    while (!at.holdsVar && at.parent !== undefined) at = at.parent;
    return at;
  };

  const visitChildren = (node: ts.Node, scope: Scope): void => {
    forEachPart(ts, node, (part) => visit(part, scope));
  };

  const visit = (node: ts.Node, scope: Scope): void => {
    if (ts.isIdentifier(node)) {
      scopeOf.set(node, scope);
      return;
    }
    if (!concernsScopes(ts, node)) return visitChildren(node, scope);
    if (declareErased(node, scope)) return;
    if (isFunctionLike(ts, node)) return visitFunction(node, scope);
    if (ts.isClassLike(node)) return visitClass(node, scope);
    if (ts.isClassStaticBlockDeclaration(node)) return visitChildren(node.body, open(scope, node, true));
    if (ts.isVariableDeclarationList(node)) return visitVariables(node, scope);
    if (ts.isBlock(node) || ts.isCaseBlock(node)) return visitChildren(node, open(scope, scope.owner, false));
    if (ts.isForStatement(node) || ts.isForOfStatement(node) || ts.isForInStatement(node)) {
      return visitChildren(node, open(scope, scope.owner, false));
    }
    if (ts.isCatchClause(node)) return visitCatch(node, scope);
    if (ts.isModuleDeclaration(node)) return visitNamespace(node, scope);
    if (ts.isEnumDeclaration(node)) {
      declareHere(node, scope, node.name.text, "enum");
      return visitChildren(node, scope);
    }
    if (ts.isImportClause(node)) {
      if (node.name !== undefined) declare(scope, node.name.text, "import", node);
    } else if (ts.isNamespaceImport(node) || ts.isImportSpecifier(node)) {
      declare(scope, node.name.text, "import", node);
    } else if (ts.isImportEqualsDeclaration(node)) {
      declareHere(node, scope, node.name.text, "import");
    }
    visitChildren(node, scope);
  };

  /** Declares what an erased node still names, so that the name is not taken for an outer binding; true if erased. */
  const declareErased = (node: ts.Node, scope: Scope): boolean => {
    if (!isErased(ts, node)) return false;
    if (ts.isImportDeclaration(node)) {
      const { name, namedBindings } = node.importClause ?? {};
      if (name !== undefined) declare(scope, name.text, "type", node);
      if (namedBindings !== undefined && ts.isNamespaceImport(namedBindings)) {
        declare(scope, namedBindings.name.text, "type", node);
      } else {
        for (const element of namedBindings?.elements ?? []) declare(scope, element.name.text, "type", element);
      }
    } else if (ts.isImportSpecifier(node) || ts.isImportEqualsDeclaration(node)) {
      declare(scope, node.name.text, "type", node);
    } else if (ts.isVariableStatement(node)) {
      for (const { name } of node.declarationList.declarations) declarePattern(scope, name, "type", node);
    } else if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) {
      // An overload signature stands beside its implementation, which declares the name.
      if (node.name !== undefined && !scope.bindings.has(node.name.text)) {
        const implemented = ts.isFunctionDeclaration(node) && !node.modifiers?.some(isDeclare);
        if (!implemented) declare(scope, node.name.text, "type", node);
      }
    } else if (ts.isEnumDeclaration(node)) {
      declare(scope, node.name.text, "type", node);
    } else if (ts.isModuleDeclaration(node) && ts.isIdentifier(node.name)) {
      // An ambient namespace may merge with a function or class that has a value.
      if (!scope.bindings.has(node.name.text) && node.name.text !== "global") {
        declare(scope, node.name.text, "type", node);
      }
    }
    return true;
  };

  const isDeclare = (modifier: ts.ModifierLike): boolean => modifier.kind === ts.SyntaxKind.DeclareKeyword;

  /** Declares a statement's name in its scope and, if a namespace exports it, for all parts of that namespace. */
  const declareHere = (node: ts.HasModifiers, scope: Scope, name: string, kind: BindingKind): void => {
    declare(scope, name, kind, node);
    if (isExported(node)) declareExport(scope, name, kind, node);
  };

  const declareExport = (scope: Scope, name: string, kind: BindingKind, node: ts.Node): void => {
    const shared = scope.parent;
    if (shared !== undefined && sharedScopes.has(shared)) declare(shared, name, kind, node);
  };

  const isExported = (node: ts.HasModifiers): boolean =>
    node.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword) ?? false;

  const sharedScopes = new Set<Scope>();

  const visitNamespace = (node: ts.ModuleDeclaration, scope: Scope): void => {
    if (!ts.isIdentifier(node.name) || node.body === undefined) return;
    const name = node.name.text;
    if (!scope.bindings.has(name)) declareHere(node, scope, name, "namespace");
    const known = namespaceExports.get(scope) ?? new Map<string, Scope>();
    namespaceExports.set(scope, known);
    const shared = known.get(name) ?? open(scope, scope.owner, false);
    known.set(name, shared);
    sharedScopes.add(shared);
    const inner = open(shared, scope.owner, true);
    if (ts.isModuleDeclaration(node.body)) visitNamespace(node.body as ts.ModuleDeclaration, inner);
    else visitChildren(node.body, inner);
  };

  const visitVariables = (list: ts.VariableDeclarationList, scope: Scope): void => {
    const flags = list.flags & ts.NodeFlags.BlockScoped;
    const kind = flags === 0 ? "var" : flags === ts.NodeFlags.Let ? "let" : "const";
    const parent = source.parents.get(list);
    for (const declaration of list.declarations) {
      const target = kind === "var" ? varScope(scope) : scope;
      declarePattern(target, declaration.name, kind, declaration);
      if (kind === "var" && parent !== undefined && !ts.isVariableStatement(parent)) noteTargets(declaration.name);
      if (parent !== undefined && ts.isVariableStatement(parent) && isExported(parent)) {
        for (const name of boundNames(ts, declaration.name)) declareExport(scope, name, kind, declaration);
      }
    }
    visitChildren(list, scope);
  };

  const visitFunction = (node: ts.FunctionLikeDeclaration, scope: Scope): void => {
    let outer = scope;
    if (ts.isFunctionDeclaration(node) && node.name !== undefined) {
      declareHere(node, scope, node.name.text, "function");
      // In sloppy code a function in a block is visible in the whole function as well.
      if (!strict && !scope.holdsVar) declare(varScope(scope), node.name.text, "function", node);
    } else if (ts.isFunctionExpression(node) && node.name !== undefined) {
      outer = open(scope, node, false);
      declare(outer, node.name.text, "function", node);
    }
    for (const modifier of node.modifiers ?? []) visit(modifier, scope);
    if (node.name !== undefined && !ts.isIdentifier(node.name)) visit(node.name, scope);
    const parameters = open(outer, node, node.body !== undefined && !ts.isBlock(node.body));
    for (const parameter of node.parameters) {
      declarePattern(parameters, parameter.name, "parameter", parameter);
      for (const modifier of parameter.modifiers ?? []) visit(modifier, scope);
      visit(parameter.name, parameters);
      if (parameter.initializer !== undefined) visit(parameter.initializer, parameters);
    }
    if (node.body === undefined) return;
    if (ts.isBlock(node.body)) visitChildren(node.body, open(parameters, node, true));
    else visit(node.body, parameters);
  };

  const visitClass = (node: ts.ClassLikeDeclaration, scope: Scope): void => {
    for (const modifier of node.modifiers ?? []) visit(modifier, scope);
    let inner = scope;
    if (ts.isClassDeclaration(node)) {
      if (node.name !== undefined) declareHere(node, scope, node.name.text, "class");
    } else if (node.name !== undefined) {
      inner = open(scope, scope.owner, false);
      declare(inner, node.name.text, "class", node);
    }
    for (const clause of node.heritageClauses ?? []) visit(clause, inner);
    for (const member of node.members) visit(member, inner);
  };

  const visitCatch = (node: ts.CatchClause, scope: Scope): void => {
    const inner = open(scope, scope.owner, false);
    if (node.variableDeclaration !== undefined) {
      declarePattern(inner, node.variableDeclaration.name, "catch", node.variableDeclaration);
    }
    visitChildren(node, inner);
  };

  const noteWrites = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isAssignment(ts, node.operatorToken.kind)) noteTargets(node.left);
    else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
      const { PlusPlusToken, MinusMinusToken } = ts.SyntaxKind;
      if (node.operator === PlusPlusToken || node.operator === MinusMinusToken) noteTargets(node.operand);
    } else if (ts.isForOfStatement(node) || ts.isForInStatement(node)) {
      if (!ts.isVariableDeclarationList(node.initializer)) noteTargets(node.initializer);
    }
  };

  const noteTargets = (target: ts.Node): void => {
    if (ts.isIdentifier(target)) writes.push(target);
    else if (ts.isBinaryExpression(target)) noteTargets(target.left);
    else if (ts.isPropertyAssignment(target)) noteTargets(target.initializer);
    else if (ts.isShorthandPropertyAssignment(target)) noteTargets(target.name);
    else if (ts.isBindingElement(target)) noteTargets(target.name);
    else if (!ts.isPropertyAccessExpression(target) && !ts.isElementAccessExpression(target)) {
      ts.forEachChild(target, noteTargets);
    }
  };

  const resolve = (identifier: ts.Identifier): Binding | undefined => {
    for (let scope = scopeOf.get(identifier); scope !== undefined; scope = scope.parent) {
      const binding = scope.bindings.get(identifier.text);
      if (binding !== undefined) return binding;
    }
    return undefined;
  };

  const top = open(undefined, file, true);
  visitChildren(file, top);
  for (const node of source.nodes) noteWrites(node);
  for (const target of writes) {
    const binding = resolve(target);
    if (binding !== undefined) binding.reassigned = true;
  }
  const dynamic = source.mentions("arguments") || source.mentions("eval");
  return { resolve, declares: (name) => top.bindings.has(name), dynamic, strict };
}

/** Whether the node may declare a name, or have a scope of its own. Most do not. */
const concernsScopes = ofKind(
  (ts, node) =>
    canBeErased(ts, node) ||
    isFunctionLike(ts, node) ||
    ts.isVariableDeclarationList(node) ||
    ts.isBlock(node) ||
    ts.isCaseBlock(node) ||
    ts.isForStatement(node) ||
    ts.isForOfStatement(node) ||
    ts.isForInStatement(node) ||
    ts.isCatchClause(node) ||
    ts.isImportClause(node) ||
    ts.isNamespaceImport(node),
);

export function boundNames(ts: Source["ts"], name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(ts, element.name) : []));
}

/**
 * Whether the file's own text makes it a module. TypeScript's `isExternalModule` also goes by the name of the file, the
 * nearest package.json and compiler options, which not every host knows.
 */
function hasModuleSyntax({ ts, file }: Source): boolean {
  return file.statements.some((statement) => {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement) || ts.isExportAssignment(statement)) {
      return true;
    }
    if (ts.isImportEqualsDeclaration(statement)) return ts.isExternalModuleReference(statement.moduleReference);
    const isExport = ({ kind }: ts.ModifierLike): boolean => kind === ts.SyntaxKind.ExportKeyword;
    return ts.canHaveModifiers(statement) && (statement.modifiers?.some(isExport) ?? false);
  });
}

export function hasUseStrict(ts: Source["ts"], statements: readonly ts.Statement[]): boolean {
  for (const statement of statements) {
    if (!ts.isExpressionStatement(statement) || !ts.isStringLiteral(statement.expression)) return false;
    if (statement.expression.text === "use strict") return true;
  }
  return false;
}

export function isAssignment(ts: Source["ts"], operator: ts.SyntaxKind): boolean {
  return operator >= ts.SyntaxKind.FirstAssignment && operator <= ts.SyntaxKind.LastAssignment;
}
