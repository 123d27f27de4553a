/** What of the language, of the host, or of a module an expression stands for, by binding. */
import type ts from "typescript";
import { isImportCall, isRequireCall } from "../plan/library.js";
import type { Binding, Scopes } from "../plan/scopes.js";
import { isMember, memberName, type Source, unwrap } from "../plan/syntax.js";

/**
 * Answers `Date.now` for the global, `node:fs.readFile` for what a module exports, `node:fs` for the module itself, `new Date` for what
 * is made of a class; undefined for what the text of the file does not tell. Node's modules go by their name with `node:`.
 */
export type OriginOf = (expression: ts.Expression) => string | undefined;

const globals = new Set(["globalThis", "global", "window", "self"]);

export function traceOrigins(source: Source, scopes: Scopes): OriginOf {
  const { ts, parents } = source;
  const known = new Map<Binding, string | undefined>();

  const originOf: OriginOf = (expression) => {
    const node = unwrap(ts, expression);
    if (ts.isIdentifier(node)) {
      const binding = scopes.resolve(node);
      return binding === undefined ? node.text : ofBinding(binding);
    }
    if (isMember(ts, node)) return member(originOf(node.expression), memberName(ts, node));
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken)
      return originOf(node.right);
    if (ts.isAwaitExpression(node)) {
      const operand = unwrap(ts, node.expression);
      return isImportCall(source, operand) ? moduleOf(operand.arguments[0]) : undefined;
    }
    if (ts.isNewExpression(node)) {
      const made = originOf(node.expression);
      return made === undefined ? undefined : `new ${made}`;
    }
    if (!ts.isCallExpression(node)) return undefined;
    return isRequireCall(source, scopes, node) ? moduleOf(node.arguments[0]) : ofWrapped(node);
  };

  /** `promisify(setTimeout)` and `Date.now.bind(Date)` are what they are made of. */
  const ofWrapped = ({ expression, arguments: given }: ts.CallExpression): string | undefined => {
    const callee = unwrap(ts, expression);
    if (isMember(ts, callee) && memberName(ts, callee) === "bind") return originOf(callee.expression);
    return given[0] !== undefined && originOf(callee) === "node:util.promisify" ? originOf(given[0]) : undefined;
  };

  const ofBinding = (binding: Binding): string | undefined => {
    if (known.has(binding)) return known.get(binding);
    known.set(binding, undefined);
    const origin = readBinding(binding);
    known.set(binding, origin);
    return origin;
  };

  const readBinding = ({ kind, declaration, reassigned }: Binding): string | undefined => {
    if (kind === "import") return ofImport(declaration);
    if (kind !== "const" && !(kind === "var" && !reassigned)) return undefined;
    if (ts.isVariableDeclaration(declaration)) {
      const { name, initializer } = declaration;
      return ts.isIdentifier(name) && initializer !== undefined ? originOf(initializer) : undefined;
    }
    if (!ts.isBindingElement(declaration)) return undefined;
    const pattern = parents.get(declaration)!;
    const whole = parents.get(pattern)!;
    if (!ts.isObjectBindingPattern(pattern) || !ts.isVariableDeclaration(whole) || !whole.initializer) return undefined;
    const key = declaration.propertyName ?? declaration.name;
    return member(originOf(whole.initializer), ts.isIdentifier(key) ? key.text : undefined);
  };

  const ofImport = (node: ts.Node): string | undefined => {
    if (ts.isImportEqualsDeclaration(node)) {
      const { moduleReference } = node;
      return ts.isExternalModuleReference(moduleReference) ? moduleOf(moduleReference.expression) : undefined;
    }
    let declaration: ts.Node | undefined = node;
    while (declaration !== undefined && !ts.isImportDeclaration(declaration)) declaration = parents.get(declaration);
    const module = declaration && moduleOf(declaration.moduleSpecifier);
    return ts.isImportSpecifier(node) ? member(module, (node.propertyName ?? node.name).text) : module;
  };

  const moduleOf = (name: ts.Expression | undefined): string | undefined => {
    if (name === undefined || !ts.isStringLiteralLike(name)) return undefined;
    return nodeModules.has(name.text) ? `node:${name.text}` : name.text;
  };

  const member = (object: string | undefined, name: string | undefined): string | undefined => {
    if (object === undefined || name === undefined) return undefined;
    if (globals.has(object)) return name;
    // Default imports of CommonJS modules are the module itself.
    return name === "default" ? object : `${object}.${name}`;
  };

  return originOf;
}

const nodeModules = new Set(
  `child_process cluster crypto dgram dns dns/promises fs fs/promises http http2 https inspector net os perf_hooks process
  readline readline/promises timers timers/promises tls util v8 worker_threads zlib`.split(/\s+/),
);
