/** Whether a build holds steps that were not transformed: each would be refused at run time, at its first call. */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type {
  CallExpression,
  Expression,
  ImportDeclaration,
  JSDocImportTag,
  Node,
  VariableDeclaration,
} from "typescript";
import { ts } from "../../transformer/own-compiler.js";
import { isSitedName, mentionsLibrary } from "../../transformer/plan/library.js";
import { analyseScopes, type Scopes } from "../../transformer/plan/scopes.js";
import { isMember, memberName, readSource, unwrap } from "../../transformer/plan/syntax.js";
import { UsageError } from "../command.js";
import { filesBelow } from "../script-files.js";
import { counted } from "../words.js";
import { error, type Finding, ok, warning } from "./finding.js";

const scripts = /\.[cm]?[jt]sx?$/;

/** More places than these are only counted. */
const mostTold = 10;

/** @throws UsageError if there is no such folder */
export function checkBuild(folder: string): Finding {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError(`there is no folder ${folder}`);
  const files = filesBelow(folder).filter((file) => scripts.test(file) && !/\.d\.[cm]?ts$/.test(file));
  const looks = files.map((file) => lookAt(file, readFileSync(path.join(folder, file), "utf8")));
  const untransformed = looks.flatMap((look) => look.untransformed);
  const [tables, importing] = [sum(looks.map((look) => look.tables)), looks.filter((look) => look.imports).length];
  const bundled = looks.filter((look) => look.holdsRuntime).map(({ file }) => file);
  if (untransformed.length > 0) {
    const told = untransformed.slice(0, mostTold).join(", ");
    const more = untransformed.length > mostTold ? ` and ${untransformed.length - mostTold} more` : "";
    const what = `${counted(untransformed.length, "call")} that ${untransformed.length === 1 ? "was" : "were"} not transformed: ${told}${more}`;
    return error(
      folder,
      what,
      "Build with a host that applies the transformer (docs/hosts.md), and name this folder again.",
    );
  }
  const seen = `${counted(files.length, "script file")}, ${counted(importing, "file")} with stepmark imported, ${counted(tables, "transformed module")}`;
  if (bundled.length > 0 && tables === 0) {
    const what = `${seen}; stepmark itself is part of ${bundled.join(", ")}, and no transformed code is seen`;
    return warning(
      folder,
      what,
      "Add the plugin to what bundles it (docs/hosts.md), or keep stepmark out of the bundle, so that its calls can be seen.",
    );
  }
  if (bundled.length > 0) {
    return ok(
      folder,
      `${seen}; stepmark itself is part of ${bundled.join(", ")}: calls that were left out there cannot be seen from outside`,
    );
  }
  if (importing + tables === 0) {
    return warning(
      folder,
      `${counted(files.length, "script file")}, and none of them has to do with stepmark`,
      "Name the folder that the build writes to.",
    );
  }
  return ok(folder, `${seen}, and no call that was not transformed`);
}

interface Look {
  readonly file: string;
  /** `file:line name(...)`. */
  readonly untransformed: readonly string[];
  /** Tables of sites: one for each transformed module. */
  readonly tables: number;
  readonly imports: boolean;
  readonly holdsRuntime: boolean;
}

function lookAt(file: string, text: string): Look {
  const nothing: Look = { file, untransformed: [], tables: 0, imports: false, holdsRuntime: false };
  if (!mentionsLibrary(text)) return nothing;
  const source = readSource(ts, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  const scopes = analyseScopes(source);
  const untransformed: string[] = [];
  let [tables, imports] = [0, false];
  const visit = (node: Node): void => {
    if (ts.isImportDeclaration(node)) imports ||= isLibrary(node);
    if (ts.isCallExpression(node)) {
      imports ||= isLoad(node) && isLibrary(node);
      if (isTable(node)) tables++;
      const meaning = meaningOf(node.expression, scopes);
      const name = meaning?.kind === "export" ? meaning.name : undefined;
      if (name !== undefined && isSitedName(name) && !hasOwnKey(node)) {
        const { line } = source.file.getLineAndCharacterOfPosition(node.expression.getStart(source.file));
        untransformed.push(`${file}:${line + 1} ${name}(...)`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source.file);
  // A code of the library's errors: code of others has no reason to hold it beside the name of its shared state.
  const holdsRuntime = !imports && text.includes("AMBIGUOUS_SCOPE") && text.includes("stepmark@1");
  return { file, untransformed, tables, imports, holdsRuntime };
}

type Meaning = { readonly kind: "module" } | { readonly kind: "export"; readonly name: string };

/** What of the library an expression means, in the forms that compilers and bundlers leave behind. */
function meaningOf(expression: Expression, scopes: Scopes): Meaning | undefined {
  const node = unwrap(ts, expression);
  // `(0, library.step)(...)`
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken)
    return meaningOf(node.right, scopes);
  if (isMember(ts, node)) return exportOf(meaningOf(node.expression, scopes), memberName(ts, node));
  if (!ts.isIdentifier(node)) return leadsToLibrary(node) ? { kind: "module" } : undefined;
  const declaration = scopes.resolve(node)?.declaration;
  if (declaration === undefined) return undefined;
  if (ts.isImportSpecifier(declaration))
    return isLibrary(declaration.parent.parent.parent)
      ? exportOf({ kind: "module" }, (declaration.propertyName ?? declaration.name).text)
      : undefined;
  if (ts.isNamespaceImport(declaration)) return isLibrary(declaration.parent.parent) ? { kind: "module" } : undefined;
  if (ts.isImportClause(declaration)) return isLibrary(declaration.parent) ? { kind: "module" } : undefined;
  if (ts.isVariableDeclaration(declaration))
    return declaration.initializer && leadsToLibrary(declaration.initializer) ? { kind: "module" } : undefined;
  if (!ts.isBindingElement(declaration)) return undefined;
  const { initializer } = declaration.parent.parent as VariableDeclaration;
  const key = declaration.propertyName ?? declaration.name;
  if (initializer === undefined || !leadsToLibrary(initializer) || !ts.isIdentifier(key)) return undefined;
  return exportOf({ kind: "module" }, key.text);
}

function exportOf(value: Meaning | undefined, name: string | undefined): Meaning | undefined {
  if (value?.kind !== "module" || name === undefined) return undefined;
  return name === "default" ? value : { kind: "export", name };
}

/** `require("stepmark")` and `import("stepmark")`, awaited, and handed through a helper: `__toESM(require("stepmark"), 1)`. */
function leadsToLibrary(expression: Expression): boolean {
  const node = unwrap(ts, expression);
  if (ts.isAwaitExpression(node)) return leadsToLibrary(node.expression);
  if (!ts.isCallExpression(node)) return false;
  return isLoad(node) ? isLibrary(node) : node.arguments.some((argument) => leadsToLibrary(argument));
}

function isLoad({ expression }: CallExpression): boolean {
  return (
    expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === "require")
  );
}

function isLibrary(node: ImportDeclaration | CallExpression | JSDocImportTag): boolean {
  const name = ts.isCallExpression(node) ? node.arguments[0] : node.moduleSpecifier;
  return name !== undefined && ts.isStringLiteralLike(name) && name.text === "stepmark";
}

/** `runtime.module("src/order.ts", "92907b...", [...])`, see `runtime/scope/site-table.ts`. */
function isTable({ expression, arguments: [file, text, rows] }: CallExpression): boolean {
  if (!isMember(ts, expression) || memberName(ts, expression) !== "module") return false;
  return (
    file !== undefined &&
    text !== undefined &&
    rows !== undefined &&
    ts.isStringLiteralLike(file) &&
    ts.isStringLiteralLike(text)
  );
}

/** A step with an explicit key does without the transformer. */
function hasOwnKey({ arguments: [first] }: CallExpression): boolean {
  if (first === undefined || !ts.isObjectLiteralExpression(first)) return false;
  return first.properties.some(({ name }) => name !== undefined && ts.isIdentifier(name) && name.text === "key");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
