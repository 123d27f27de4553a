/**
 * Fingerprints of text: digests of a canonical spelling that keeps what a change of behaviour needs and drops what
 * formatters, type checkers and editors touch. The spelling is made of the tokens themselves, with brackets around every
 * node of more than one token, and never of node kinds, whose names and numbers differ between TypeScript versions.
 *
 * Dropped: comments, white space, `;` and list commas, redundant parentheses, types and what only carries types
 * (`as`, `!`, `private`, `implements`, signatures, type-only imports), the quotes of strings and property names, `()`
 * around an arrow's parameters or after `new C`, line endings in templates, white space in JSX text.
 */
import { createHash } from "node:crypto";
import type ts from "typescript";
import { isErased, isWrapper, type Source } from "./syntax.js";

export interface Fingerprints {
  /** Of one call, 12 hexadecimal digits. */
  call(node: ts.Node): string;
  /** Of the whole file, 16 hexadecimal digits. */
  readonly module: string;
}

export function fingerprintsOf(source: Source): Fingerprints {
  const spell = speller(source);
  return {
    call: (node) => digest(spell(node), 12),
    module: digest(spell(source.file), 16),
  };
}

function digest(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

/** Spells nodes canonically; each node once, since calls nest. */
export function speller(source: Source): (node: ts.Node) => string {
  const { ts, file } = source;
  const K = ts.SyntaxKind;
  const spelt = new Map<ts.Node, string>();
  const typeOnlyTokens = new Set<ts.SyntaxKind>([
    K.PublicKeyword,
    K.PrivateKeyword,
    K.ProtectedKeyword,
    K.ReadonlyKeyword,
    K.AbstractKeyword,
    K.OverrideKeyword,
    K.SemicolonToken,
    K.QuestionToken,
    K.ExclamationToken,
  ]);

  const spell = (node: ts.Node): string => {
    const known = spelt.get(node);
    if (known !== undefined) return known;
    const text = spellNew(node);
    spelt.set(node, text);
    return text;
  };

  const spellNew = (node: ts.Node): string => {
    if (isWrapper(ts, node)) return spell(node.expression);
    if (ts.isExpressionWithTypeArguments(node)) return spell(node.expression);
    if (ts.isForStatement(node)) {
      const { initializer, condition, incrementor, statement } = node;
      return `[for ${[initializer, condition, incrementor, statement].map((part) => (part ? spell(part) : "-")).join(" ")}]`;
    }
    if (ts.isOmittedExpression(node)) return "-";
    if (ts.isJsxText(node)) return spellJsxText(node.text);
    const token = spellToken(node);
    if (token !== undefined) return token;
    const parts = partsOf(node, node.getChildren(file));
    return parts.length === 1 ? parts[0]! : `[${parts.join(" ")}]`;
  };

  /** Spelling of a node that is one token. */
  const spellToken = (node: ts.Node): string | undefined => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text;
    if (ts.isNoSubstitutionTemplateLiteral(node)) return `\`${templateText(node)}`;
    if (ts.isStringLiteralLike(node)) return JSON.stringify(node.text);
    if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) return node.text;
    if (ts.isRegularExpressionLiteral(node)) return node.text;
    if (ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)) {
      return templateText(node);
    }
    return ts.tokenToString(node.kind);
  };

  const partsOf = (node: ts.Node, children: readonly ts.Node[]): string[] => {
    const parts: string[] = [];
    for (const child of children) {
      if (isDropped(node, child)) continue;
      if (child.kind === K.SyntaxList) {
        for (const item of child.getChildren(file)) {
          if (item.kind === K.CommaToken || ts.isEmptyStatement(item) || isDropped(child, item)) continue;
          add(parts, spell(item));
        }
      } else if (isPropertyName(node, child)) {
        parts.push(/^[\w$]+$/.test(child.text) ? child.text : JSON.stringify(child.text));
      } else {
        add(parts, spell(child));
      }
    }
    return parts;
  };

  const add = (parts: string[], text: string): void => {
    if (text !== "") parts.push(text);
  };

  const isDropped = (parent: ts.Node, child: ts.Node): boolean => {
    if (child.kind === K.EndOfFileToken || (child.kind >= K.FirstJSDocNode && child.kind <= K.LastJSDocNode))
      return true;
    if (child.kind === K.SemicolonClassElement) return true;
    if (child.kind === K.VoidKeyword) return !ts.isVoidExpression(parent);
    if (ts.isJsxExpression(child) && child.expression === undefined) return true;
    if (typeOnlyTokens.has(child.kind))
      return !ts.isConditionalExpression(parent) && !ts.isPrefixUnaryExpression(parent);
    if (child.kind === K.ColonToken) return !ts.isConditionalExpression(parent);
    if (child.kind === K.LessThanToken || child.kind === K.GreaterThanToken) {
      return !ts.isBinaryExpression(parent) && !isJsxTag(parent);
    }
    if (child.kind === K.OpenParenToken || child.kind === K.CloseParenToken) {
      return ts.isArrowFunction(parent) || ts.isNewExpression(parent);
    }
    if (ts.isParameter(child) && ts.isIdentifier(child.name) && child.name.text === "this") return true;
    return isErased(ts, child) || holdsNothing(child);
  };

  /** An import or export list of types only: what is left of it depends on compiler options, and means nothing here. */
  const holdsNothing = (node: ts.Node): boolean =>
    ts.isImportDeclaration(node) &&
    node.importClause !== undefined &&
    node.importClause.name === undefined &&
    node.importClause.namedBindings !== undefined &&
    ts.isNamedImports(node.importClause.namedBindings) &&
    node.importClause.namedBindings.elements.length > 0 &&
    node.importClause.namedBindings.elements.every((element) => element.isTypeOnly);

  const isJsxTag = (node: ts.Node): boolean =>
    ts.isJsxOpeningElement(node) ||
    ts.isJsxSelfClosingElement(node) ||
    ts.isJsxClosingElement(node) ||
    ts.isJsxOpeningFragment(node) ||
    ts.isJsxClosingFragment(node);

  /** `{ "a": 1 }` and `{ a: 1 }` are one text to a formatter. */
  const isPropertyName = (node: ts.Node, child: ts.Node): child is ts.StringLiteral | ts.NumericLiteral =>
    (ts.isObjectLiteralElement(node) || ts.isClassElement(node)) &&
    node.name === child &&
    (ts.isStringLiteral(child) || ts.isNumericLiteral(child));

  return spell;
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
