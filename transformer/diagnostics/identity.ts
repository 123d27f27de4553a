/** Uses of the library's functions that cannot be given an identity. */
import type ts from "typescript";
import { isReference } from "../plan/captures.js";
import {
  exportName,
  isGlobal,
  isImportCall,
  isLibraryText,
  isSitedName,
  type LibraryValue,
  namesLibrary,
} from "../plan/library.js";
import { boundNames } from "../plan/scopes.js";
import { forEachPart, isErased, isMember, memberName, parentPastWrappers, unwrap } from "../plan/syntax.js";
import type { Finding, Rule, Subject } from "./finding.js";
import type { DiagnosticCode } from "./table.js";
import { findNodes } from "./walk.js";

export const identity: Rule = (subject) => [
  ...namesOfLibrary(subject),
  ...computedMembers(subject),
  ...thenOfImport(subject),
  ...insideWith(subject),
  ...evaluated(subject),
];

function namesOfLibrary(subject: Subject): Finding[] {
  const { source, library } = subject;
  const aliases = findNodes(source, source.ts.isVariableDeclaration).filter(
    ({ initializer }) => initializer !== undefined && library.meaningOf(initializer) !== undefined,
  );
  return [...usesAsValue(subject, namesFor(subject, aliases)), ...looseNames(subject, aliases)];
}

/** All names that stand for the library or a part of it somewhere in the file, and may mean others elsewhere. */
function namesFor({ source }: Subject, aliases: readonly ts.VariableDeclaration[]): ReadonlySet<string> {
  const { ts, file } = source;
  const names = new Set(aliases.flatMap(({ name }) => boundNames(ts, name)));
  for (const statement of file.statements) {
    if (ts.isImportEqualsDeclaration(statement)) names.add(statement.name.text);
    if (!ts.isImportDeclaration(statement) || !isLibraryText(source, statement.moduleSpecifier)) continue;
    const { name, namedBindings } = statement.importClause ?? {};
    if (name !== undefined) names.add(name.text);
    if (namedBindings === undefined) continue;
    if (ts.isNamespaceImport(namedBindings)) names.add(namedBindings.name.text);
    else for (const element of namedBindings.elements) names.add(element.name.text);
  }
  return names;
}

function usesAsValue(subject: Subject, names: ReadonlySet<string>): Finding[] {
  const { source, library } = subject;
  const { ts } = source;
  const isImport = (node: ts.Node): boolean => ts.isImportDeclaration(node) || ts.isImportEqualsDeclaration(node);
  const isNamed = (node: ts.Node): node is ts.Identifier => ts.isIdentifier(node) && names.has(node.text);
  return findNodes(source, isNamed).flatMap((node) => {
    if (!isReference(source, node) || isImport(statementAround(source, node))) return [];
    const use = longestUse(subject, node);
    const name = use && exportName(library, use);
    return isSitedName(name) ? faultOfUse(subject, use!, name) : [];
  });
}

/** The statement of the file that a node stands in. */
function statementAround({ file, parents }: Subject["source"], node: ts.Node): ts.Node {
  let at = node;
  for (let parent = parents.get(at); parent !== undefined && parent !== file; parent = parents.get(at)) at = parent;
  return at;
}

/** The longest expression around a name that still means something of the library: `ns.step`, `(0, ns.step)`. */
function longestUse({ source, library }: Subject, name: ts.Identifier): ts.Expression | undefined {
  if (library.meaningOf(name) === undefined) return undefined;
  let use: ts.Expression = name;
  for (;;) {
    const { parent } = parentPastWrappers(source, use);
    const isPart = parent !== undefined && (isMember(source.ts, parent) || source.ts.isBinaryExpression(parent));
    if (!isPart || library.meaningOf(parent) === undefined) return use;
    use = parent;
  }
}

/** What is wrong with the place where a sited function stands; nothing if it is called, or only looked at. */
function faultOfUse({ source }: Subject, use: ts.Expression, name: string): Finding[] {
  const { ts } = source;
  const fault = (code: DiagnosticCode, what: string, at: ts.Node = use): Finding[] => [{ code, at, what }];
  const { parent, child } = parentPastWrappers(source, use);
  if (parent === undefined || ts.isVariableDeclaration(parent)) return [];
  if (ts.isCallExpression(parent)) {
    return parent.expression === child ? [] : fault("STEPMARK1001", `\`${name}\` is passed as a value`);
  }
  if (ts.isNewExpression(parent) && parent.expression === child) {
    return fault("STEPMARK1003", `\`new ${name}()\` is no call of \`${name}\``, parent);
  }
  if (ts.isTaggedTemplateExpression(parent)) {
    return fault("STEPMARK1003", `\`${name}\` is used as the tag of a template`, parent);
  }
  if (isMember(ts, parent)) {
    const member = memberName(ts, parent) ?? "";
    const { parent: call, child: callee } = parentPastWrappers(source, parent);
    const called = call !== undefined && ts.isCallExpression(call) && call.expression === callee;
    if (!called || !["call", "apply", "bind"].includes(member)) return [];
    return fault("STEPMARK1002", `\`${name}.${member}\` calls \`${name}\` in a roundabout way`, parent);
  }
  if (ts.isExportSpecifier(parent) || ts.isExportAssignment(parent)) {
    return fault("STEPMARK1008", `\`${name}\` is exported again`);
  }
  if (ts.isConditionalExpression(parent)) {
    if (parent.condition === child) return [];
    return fault("STEPMARK1004", `Which function is meant, \`${name}\` or another, is only decided at run time`);
  }
  if (ts.isBinaryExpression(parent)) {
    const { AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken, EqualsToken } = ts.SyntaxKind;
    const operator = parent.operatorToken.kind;
    if ([AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken].includes(operator)) {
      return fault("STEPMARK1004", `Which function is meant, \`${name}\` or another, is only decided at run time`);
    }
    if (operator !== EqualsToken || parent.left === child) return [];
    return fault("STEPMARK1004", `\`${name}\` is assigned to what may come to stand for something else`);
  }
  if (onlyLooksAt(ts, parent)) return [];
  const where = ts.isObjectLiteralElement(parent) ? "put into an object" : "used as a value";
  return fault("STEPMARK1001", `\`${name}\` is ${where}`);
}

function onlyLooksAt(ts: Subject["source"]["ts"], parent: ts.Node): boolean {
  return (
    ts.isTypeOfExpression(parent) ||
    ts.isVoidExpression(parent) ||
    ts.isPrefixUnaryExpression(parent) ||
    ts.isExpressionStatement(parent) ||
    ts.isIfStatement(parent) ||
    ts.isJsxOpeningLikeElement(parent)
  );
}

/** `let s = step`, `var { step } = require("stepmark")`, `const { step = other } = ns`. */
function looseNames({ source, library }: Subject, aliases: readonly ts.VariableDeclaration[]): Finding[] {
  const { ts } = source;
  return aliases.flatMap((declaration) => {
    const { name, initializer } = declaration;
    const value = library.meaningOf(initializer!)!;
    const isConst = isConstant(ts, source.parents.get(declaration));
    return namesGiven(ts, name, value)
      .filter(({ hasDefault }) => !isConst || hasDefault)
      .map(({ at, meant }) => ({
        code: "STEPMARK1004" as const,
        at,
        what: `\`${at.text}\` may come to stand for something else than ${meant}`,
      }));
  });
}

interface NameGiven {
  readonly at: ts.Identifier;
  readonly meant: string;
  readonly hasDefault: boolean;
}

/** The names of a declaration that would stand for a sited function, or for the whole module. */
function namesGiven(ts: Subject["source"]["ts"], name: ts.BindingName, value: LibraryValue): NameGiven[] {
  if (ts.isIdentifier(name)) {
    if (value.kind === "module") return [{ at: name, meant: "the module", hasDefault: false }];
    return isSitedName(value.name) ? [{ at: name, meant: `\`${value.name}\``, hasDefault: false }] : [];
  }
  if (value.kind !== "module" || !ts.isObjectBindingPattern(name)) return [];
  return name.elements.flatMap((element) => {
    const key = element.propertyName ?? element.name;
    if (!ts.isIdentifier(element.name) || !(ts.isIdentifier(key) || ts.isStringLiteral(key))) return [];
    if (!isSitedName(key.text)) return [];
    return [{ at: element.name, meant: `\`${key.text}\``, hasDefault: element.initializer !== undefined }];
  });
}

function isConstant(ts: Subject["source"]["ts"], list: ts.Node | undefined): boolean {
  return list !== undefined && (list.flags & ts.NodeFlags.BlockScoped) === ts.NodeFlags.Const;
}

/** `ns[name](...)`, where only the run knows the name. */
function computedMembers({ source, library, found }: Subject): Finding[] {
  const { ts } = source;
  return found.calls.flatMap(({ node }) => {
    const callee = unwrap(ts, node.expression);
    if (!ts.isElementAccessExpression(callee) || memberName(ts, callee) !== undefined) return [];
    if (library.meaningOf(callee.expression)?.kind !== "module") return [];
    const what = "Which function of the module is called is only decided at run time";
    return [{ code: "STEPMARK1004" as const, at: callee, what }];
  });
}

/** `import("stepmark").then((m) => m.step(...))`, if the callback does reach for a sited function. */
function thenOfImport({ source, found }: Subject): Finding[] {
  const { ts } = source;
  return found.calls.flatMap(({ node }) => {
    if (!isImportCall(source, node) || !namesLibrary(source, node)) return [];
    const { parent: member } = parentPastWrappers(source, node);
    if (member === undefined || !isMember(ts, member) || memberName(ts, member) !== "then") return [];
    const call = parentPastWrappers(source, member).parent;
    if (call === undefined || !ts.isCallExpression(call)) return [];
    const callback = call.arguments[0] && unwrap(ts, call.arguments[0]);
    if (callback === undefined || !(ts.isArrowFunction(callback) || ts.isFunctionExpression(callback))) return [];
    const name = sitedNameIn(ts, callback);
    if (name === undefined) return [];
    return [{ code: "STEPMARK1005" as const, at: member, what: `\`${name}\` is taken from a promise of the module` }];
  });
}

function sitedNameIn(
  ts: Subject["source"]["ts"],
  callback: ts.ArrowFunction | ts.FunctionExpression,
): string | undefined {
  const name = callback.parameters[0]?.name;
  if (name === undefined) return undefined;
  if (!ts.isIdentifier(name)) {
    const keys = name.elements.flatMap((element) =>
      ts.isBindingElement(element) ? [element.propertyName ?? element.name] : [],
    );
    return keys.flatMap((key) => (ts.isIdentifier(key) && isSitedName(key.text) ? [key.text] : []))[0];
  }
  const find = (node: ts.Node): string | undefined => {
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === name.text) {
      if (isSitedName(node.name.text)) return node.name.text;
    }
    return forEachPart(ts, node, find);
  };
  return find(callback.body);
}

function insideWith({ source, library }: Subject): Finding[] {
  const { ts, file } = source;
  if (!/\bwith\s*\(/.test(file.text)) return [];
  return findNodes(source, ts.isWithStatement).flatMap(({ statement }) =>
    findNodes(source, ts.isCallExpression, statement).flatMap((call) => {
      const name = exportName(library, call.expression);
      if (!isSitedName(name)) return [];
      const what = `\`${name}\` may mean a property of the object that \`with\` names`;
      return [{ code: "STEPMARK1006" as const, at: call.expression, what }];
    }),
  );
}

/** A direct `eval`, which sees and may change the variables around. */
function evaluated({ source, scopes, found, runs, functions }: Subject): Finding[] {
  if (!source.mentions("eval")) return [];
  return found.calls.flatMap(({ node }) => {
    if (!isGlobal(source, scopes, unwrap(source.ts, node.expression), "eval")) return [];
    if (runs.roleOf(functions.around(node)) !== "flow") return [];
    return [{ code: "STEPMARK1007" as const, at: node.expression, what: "A workflow evaluates text as code" }];
  });
}

/** `export { step } from "stepmark"`, `export * from "stepmark"`: also in files that import nothing of it. */
export function reExports({ source }: Pick<Subject, "source">): Finding[] {
  const { ts, file } = source;
  return file.statements.flatMap((statement): Finding[] => {
    if (!ts.isExportDeclaration(statement) || isErased(ts, statement)) return [];
    const { moduleSpecifier, exportClause } = statement;
    if (moduleSpecifier === undefined || !isLibraryText(source, moduleSpecifier)) return [];
    if (exportClause === undefined || ts.isNamespaceExport(exportClause)) {
      return [{ code: "STEPMARK1008", at: statement, what: "All of stepmark is exported again" }];
    }
    return exportClause.elements.flatMap((element): Finding[] => {
      const { text } = element.propertyName ?? element.name;
      if (isErased(ts, element) || !isSitedName(text)) return [];
      return [{ code: "STEPMARK1008", at: element, what: `\`${text}\` is exported again` }];
    });
  });
}
