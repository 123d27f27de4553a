/** The tokens that stand between the children of a node: punctuation and keywords. */
import type ts from "typescript";
import { onceFor, type TypeScript } from "./syntax.js";

export interface Token {
  readonly kind: ts.SyntaxKind;
  readonly text: string;
}

/** Between two children there is hardly ever more than this: `) {`, ` =>`, `) => {\n    `. */
const SHORT = 16;

/** Texts repeat in all files, and a compiler's scanner takes longer than a look-up. */
const known = onceFor((): Map<string, readonly Token[]> => new Map());

/** @param text what no node covers, with white space and comments */
export function tokensIn(ts: TypeScript, text: string): readonly Token[] {
  if (text.length > SHORT) return scan(ts, text);
  const tokensOf = known(ts);
  let tokens = tokensOf.get(text);
  if (tokens === undefined) {
    tokens = scan(ts, text);
    tokensOf.set(text, tokens);
  }
  return tokens;
}

function scan(ts: TypeScript, text: string): readonly Token[] {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text);
  const tokens: Token[] = [];
  for (;;) {
    const kind = scanner.scan();
    if (kind === ts.SyntaxKind.EndOfFileToken) return tokens;
    tokens.push({ kind, text: scanner.getTokenText() });
  }
}
