/**
 * The same program as another hand might have written it: other line breaks, comments between any two tokens, semicolons
 * left out, parentheses. It may come to mean something else (`return` at the end of a line); that is no matter, since what
 * is compared is the text with itself, transformed.
 */
import ts from "typescript";

/** @returns undefined if what came out is no program */
export function respell(source: string, fileName: string, next: () => number): string | undefined {
  const file = parse(source, fileName);
  const opened = new Map<number, number>();
  const closed = new Map<number, number>();
  const count = (offsets: Map<number, number>, offset: number): void => {
    offsets.set(offset, (offsets.get(offset) ?? 0) + 1);
  };
  const tokens: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return;
    if (isValue(node) && next() < 0.06) {
      count(opened, node.getStart(file));
      count(closed, node.end);
    }
    const children = node.getChildren(file);
    if (children.length > 0) children.forEach(visit);
    else if (node.end > node.getStart(file)) tokens.push(node);
  };
  visit(file);

  let text = "";
  let end = 0;
  tokens.forEach((token, index) => {
    const start = token.getStart(file);
    const before = tokens[index - 1];
    text += gap(source.slice(end, start), before, token, next);
    text += "(".repeat(opened.get(start) ?? 0);
    const isLast = /^\s*\n/.test(source.slice(token.end)) || tokens[index + 1]?.kind === ts.SyntaxKind.CloseBraceToken;
    const canDrop = token.kind === ts.SyntaxKind.SemicolonToken && !ts.isEmptyStatement(token.parent) && isLast;
    const dropped = canDrop && tokens[index + 1]?.kind !== ts.SyntaxKind.ElseKeyword && next() < 0.3;
    if (!dropped) text += source.slice(start, token.end);
    text += ")".repeat(closed.get(token.end) ?? 0);
    end = token.end;
  });
  text += source.slice(end);
  const { parseDiagnostics } = parse(text, fileName) as unknown as { parseDiagnostics: readonly unknown[] };
  return parseDiagnostics.length === 0 ? text : undefined;
}

/** What stands between two tokens. */
function gap(trivia: string, before: ts.Node | undefined, after: ts.Node, next: () => number): string {
  if (before === undefined || isText(before) || isText(after) || isFixed(before) || isFixed(after)) return trivia;
  const choice = next();
  if (choice < 0.05) return `${trivia} /* ( { \` // */ `;
  const breaks = !endsLine.has(before.kind) && !needsLine.has(after.kind);
  if (choice < 0.1 && breaks) return `${trivia}\n`;
  if (choice < 0.13 && breaks) return `${trivia} // ) } "\n`;
  if (choice < 0.15 && trivia === " ") return "\t ";
  return trivia;
}

/** What a line break after it would end the statement, make a name of a modifier, or mislead TypeScript (`a.` and `b as`). */
const endsLine = new Set<ts.SyntaxKind>([
  ts.SyntaxKind.ThrowKeyword,
  ts.SyntaxKind.AsyncKeyword,
  ts.SyntaxKind.UsingKeyword,
  ts.SyntaxKind.AwaitKeyword,
  ts.SyntaxKind.AccessorKeyword,
  ts.SyntaxKind.AbstractKeyword,
  ts.SyntaxKind.DeclareKeyword,
  ts.SyntaxKind.StaticKeyword,
  ts.SyntaxKind.GetKeyword,
  ts.SyntaxKind.SetKeyword,
  ts.SyntaxKind.OverrideKeyword,
  ts.SyntaxKind.ReadonlyKeyword,
  ts.SyntaxKind.PrivateKeyword,
  ts.SyntaxKind.PublicKeyword,
  ts.SyntaxKind.ProtectedKeyword,
  ts.SyntaxKind.NamespaceKeyword,
  ts.SyntaxKind.TypeKeyword,
  ts.SyntaxKind.YieldKeyword,
  ts.SyntaxKind.DotToken,
  ts.SyntaxKind.CloseParenToken,
]);

/** What has to stand on the line of the word before it. */
const needsLine = new Set<ts.SyntaxKind>([
  ts.SyntaxKind.PlusPlusToken,
  ts.SyntaxKind.MinusMinusToken,
  ts.SyntaxKind.ExclamationToken,
  ts.SyntaxKind.AsKeyword,
  ts.SyntaxKind.SatisfiesKeyword,
  ts.SyntaxKind.EqualsGreaterThanToken,
]);

/** In types and tags, which are not the subject, line breaks follow rules of their own. */
function isFixed(token: ts.Node): boolean {
  for (let node = token; node !== undefined; node = node.parent) {
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return true;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isTypeParameterDeclaration(node))
      return true;
    if (ts.isJsxOpeningLikeElement(node) || ts.isJsxClosingElement(node)) return true;
    if (ts.isJsxOpeningFragment(node) || ts.isJsxClosingFragment(node)) return true;
    if (ts.isStatement(node)) return false;
  }
  return false;
}

/** Between these tokens white space counts. */
function isText(node: ts.Node): boolean {
  return (
    ts.isJsxText(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node) ||
    ts.isNoSubstitutionTemplateLiteral(node)
  );
}

/** Whether parentheses may go around the node in most places. */
function isValue(node: ts.Node): boolean {
  const { parent } = node;
  if (parent === undefined || ts.isDecorator(parent) || ts.isTypeNode(parent) || ts.isModuleReference(parent))
    return false;
  if (ts.isPropertyAccessExpression(node)) return !ts.isJsxOpeningLikeElement(parent);
  return (
    ts.isCallExpression(node) ||
    ts.isNewExpression(node) ||
    ts.isAwaitExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isElementAccessExpression(node) ||
    ts.isNonNullExpression(node) ||
    (ts.isNumericLiteral(node) && ts.isCallExpression(parent))
  );
}

function parse(text: string, fileName: string): ts.SourceFile {
  return ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
}
