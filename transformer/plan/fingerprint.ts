/**
 * Fingerprints of text: digests of a canonical spelling that keeps what a change of behaviour needs and drops what
 * formatters, type checkers and editors touch. The spelling is made of the tokens themselves, with brackets around every
 * node of more than one token, and never of node kinds, whose names and numbers differ between TypeScript versions.
 *
 * Dropped: comments, white space, `;` and list commas, redundant parentheses, types and what only carries types
 * (`as`, `!`, `private`, `implements`, signatures, type-only imports), the quotes of strings and property names, `()`
 * around an arrow's parameters or after `new C`, line endings in templates, white space in JSX text.
 */
import { hash } from "node:crypto";
import type ts from "typescript";
import {
  canBeErased,
  isErased,
  isWrapper,
  leftOperators,
  ofKind,
  onceFor,
  type Source,
  type TypeScript,
} from "./syntax.js";
import { tokensIn } from "./tokens.js";

export interface Fingerprints {
  /** What they are made of: the canonical spelling. */
  spell(node: ts.Node): string;
  /** Of one call, 12 hexadecimal digits. */
  call(node: ts.Node): string;
  /** Of what surrounds a call, whatever call it is, 8 hexadecimal digits. */
  around(call: ts.Node, surroundings: ts.Node): string;
  /** Of the whole file, 16 hexadecimal digits. */
  module(): string;
}

export function fingerprintsOf(source: Source): Fingerprints {
  const spell = speller(source);
  return {
    spell,
    call: (node) => digest(spell(node), 12),
    around: (call, surroundings) =>
      digest(
        spell(surroundings).replace(spell(call), () => "*"),
        8,
      ),
    module: () => digest(spell(source.file), 16),
  };
}

function digest(text: string, length: number): string {
  return hash("sha256", text).slice(0, length);
}

/** Spells nodes canonically; each node once, since calls nest. */
export function speller({ ts, file }: Source): (node: ts.Node) => string {
  const K = ts.SyntaxKind;
  const spelt = new Map<ts.Node, string>();

  const spell = (node: ts.Node): string => {
    if (node.kind <= K.LastToken) return spellToken(ts, node);
    if (isWrapper(ts, node)) return spell(node.expression);
    if (ts.isOmittedExpression(node)) return "-";
    return spelt.get(node) ?? spellNew(node);
  };

  const spellNew = (node: ts.Node): string => {
    // Inner ones first, so that each finds the one in it spelt.
    if (ts.isBinaryExpression(node)) for (const inner of leftOperators(ts, node)) spellOne(inner);
    return spelt.get(node) ?? spellOne(node);
  };

  const spellOne = (node: ts.Node): string => {
    const text = ts.isForStatement(node) ? spellFor(node) : spellParts(node);
    spelt.set(node, text);
    return text;
  };

  const spellFor = ({ initializer, condition, incrementor, statement }: ts.ForStatement): string =>
    `[for ${[initializer, condition, incrementor, statement].map((part) => (part ? spell(part) : "-")).join(" ")}]`;

  /** The node whose parts are being spelt, how far, and what they have come to. */
  let open: { readonly node: ts.Node; end: number; text: string; count: number };

  /** Children, and the tokens that stand between them and not as nodes of their own; no commas between items of a list. */
  const spellParts = (node: ts.Node): string => {
    const around = open;
    const parts = { node, end: node.pos, text: "", count: 0 };
    open = parts;
    ts.forEachChild(node, addChild, addList);
    addTokens(node.end);
    open = around;
    return parts.count === 1 ? parts.text : `[${parts.text}]`;
  };

  const addChild = (child: ts.Node): void => {
    const { node } = open;
    addTokens(child.pos);
    open.end = child.end;
    if (isDropped(ts, child, node)) return;
    add(isPropertyName(ts, child, node) ? spellName(child.text) : spell(child));
  };

  const addList = (items: ts.NodeArray<ts.Node>): void => {
    addTokens(items.pos);
    open.end = items.end;
    for (const item of items) if (!ts.isEmptyStatement(item) && !isDropped(ts, item, open.node)) add(spell(item));
  };

  const addTokens = (next: number): void => {
    const { node, end } = open;
    if (next === end) return;
    const start = end === node.pos ? node.getStart(file) : end;
    for (const token of tokensIn(ts, file.text.slice(start, next))) {
      if (!isDroppedToken(ts, token.kind, node)) add(token.text);
    }
  };

  const add = (part: string): void => {
    if (part === "") return;
    open.text = open.count === 0 ? part : `${open.text} ${part}`;
    open.count++;
  };

  return spell;
}

function spellToken(ts: TypeScript, node: ts.Node): string {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text;
  if (ts.isNoSubstitutionTemplateLiteral(node)) return `\`${templateText(node)}`;
  if (ts.isStringLiteral(node)) return JSON.stringify(node.text);
  if (ts.isJsxText(node)) return spellJsxText(node.text);
  if (ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)) return templateText(node);
  return ts.isLiteralExpression(node) ? node.text : ts.tokenToString(node.kind)!;
}

function isDropped(ts: TypeScript, node: ts.Node, parent: ts.Node): boolean {
  if (!canBeDropped(ts, node)) return false;
  if (node.kind <= ts.SyntaxKind.LastToken && isDroppedToken(ts, node.kind, parent)) return true;
  if (node.kind === ts.SyntaxKind.EndOfFileToken || node.kind === ts.SyntaxKind.SemicolonClassElement) return true;
  if (ts.isJsxExpression(node) && node.expression === undefined) return true;
  if (ts.isParameter(node) && ts.isIdentifier(node.name) && node.name.text === "this") return true;
  return isErased(ts, node) || holdsNothing(ts, node);
}

/** Whether nodes of the kind ever are. Most never are. */
const canBeDropped = ofKind(
  (ts, node) =>
    canBeErased(ts, node) ||
    doubtfulTokens(ts).has(node.kind) ||
    node.kind === ts.SyntaxKind.EndOfFileToken ||
    node.kind === ts.SyntaxKind.SemicolonClassElement ||
    ts.isJsxExpression(node),
);

/** Whether a token means nothing where it stands. */
function isDroppedToken(ts: TypeScript, token: ts.SyntaxKind, parent: ts.Node): boolean {
  const K = ts.SyntaxKind;
  if (!doubtfulTokens(ts).has(token)) return false;
  if (token === K.OpenParenToken || token === K.CloseParenToken) {
    return ts.isArrowFunction(parent) || ts.isNewExpression(parent);
  }
  if (token === K.LessThanToken || token === K.GreaterThanToken) {
    return !ts.isBinaryExpression(parent) && !isJsxTag(ts, parent);
  }
  if (token === K.VoidKeyword) return !ts.isVoidExpression(parent);
  if (token === K.ColonToken) return !ts.isConditionalExpression(parent);
  return !ts.isConditionalExpression(parent) && !ts.isPrefixUnaryExpression(parent);
}

/** Tokens that can be dropped. */
const doubtfulTokens = onceFor((ts): ReadonlySet<ts.SyntaxKind> => {
  const K = ts.SyntaxKind;
  return new Set([
    ...[K.OpenParenToken, K.CloseParenToken, K.LessThanToken, K.GreaterThanToken, K.VoidKeyword, K.ColonToken],
    ...[K.PublicKeyword, K.PrivateKeyword, K.ProtectedKeyword, K.ReadonlyKeyword, K.AbstractKeyword, K.OverrideKeyword],
    ...[K.SemicolonToken, K.QuestionToken, K.ExclamationToken],
  ]);
});

/** An import or export list of types only: what is left of it depends on compiler options, and means nothing here. */
function holdsNothing(ts: TypeScript, node: ts.Node): boolean {
  if (!ts.isImportDeclaration(node) || node.importClause === undefined) return false;
  const { name, namedBindings } = node.importClause;
  if (name !== undefined || namedBindings === undefined || !ts.isNamedImports(namedBindings)) return false;
  return namedBindings.elements.length > 0 && namedBindings.elements.every((element) => element.isTypeOnly);
}

function isJsxTag(ts: TypeScript, node: ts.Node): boolean {
  return (
    ts.isJsxOpeningElement(node) ||
    ts.isJsxSelfClosingElement(node) ||
    ts.isJsxClosingElement(node) ||
    ts.isJsxOpeningFragment(node) ||
    ts.isJsxClosingFragment(node)
  );
}

/** `{ "a": 1 }` and `{ a: 1 }` are one text to a formatter. */
function isPropertyName(ts: TypeScript, node: ts.Node, parent: ts.Node): node is ts.StringLiteral | ts.NumericLiteral {
  if (!ts.isStringLiteral(node) && !ts.isNumericLiteral(node)) return false;
  return (ts.isObjectLiteralElement(parent) || ts.isClassElement(parent)) && parent.name === node;
}

function spellName(text: string): string {
  return /^[\w$]+$/.test(text) ? text : JSON.stringify(text);
}

/** As JSX reads it: lines trimmed, empty ones left out. */
function spellJsxText(text: string): string {
  const lines = text
    .split(/\r\n?|\n/)
    .map((line) => line.trim().replace(/\s+/g, " "))
    .filter((line) => line !== "");
  return lines.length === 0 ? "" : JSON.stringify(lines.join(" "));
}

function templateText({ rawText, text }: ts.TemplateLiteralLikeNode): string {
  return JSON.stringify((rawText ?? text).replace(/\r\n?/g, "\n"));
}
