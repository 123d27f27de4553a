/**
 * Loops that count their iterations. Everything stays in its order and on its line, save the head of a `for` that holds
 * identities: its update, its test, and what a `for-of` or `for-in` binds move to the start of the body. Only inside such
 * a head, if it spans lines, does code change its line.
 */
import type ts from "typescript";
import { iterationText } from "../generated.js";
import type { LoopEdit, MovedHead } from "../plan/shape.js";
import type { Applying } from "./index.js";

/**
 * @example `a: for (const x of xs) f(x)` becomes
 * `{ let $i1 = -1; a: for (const x of xs) { const $c1 = ++$i1; $1.call(1, [$c1], f, void 0, [x]) } }`
 */
export function applyLoop(applying: Applying, node: ts.IterationStatement, edit: LoopEdit): void {
  const { ts } = applying;
  const [moved] = edit.moved;
  if (moved === undefined) bodyOf(applying, node, edit);
  else if (ts.isDoStatement(node)) doAsFor(applying, node, edit);
  else if (ts.isWhileStatement(node)) whileAsFor(applying, node, edit);
  else headMoved(applying, node as ts.ForStatement | ts.ForInOrOfStatement, edit);
  if (edit.keyed !== undefined) {
    const { expression } = node as ts.ForOfStatement;
    applying.text.open(applying.startOf(expression), `(${edit.keyed.name} = `);
    applying.text.close(expression.end, ")");
  }
}

/**
 * The counter before a loop with its labels; in a block of its own, unless it stands in one. Two braces in a row are
 * avoided because TypeScript misreads `case (a): { {`.
 */
export function countLoop(applying: Applying, statement: ts.Statement, { counter, keyed }: LoopEdit): void {
  const { text, startOf } = applying;
  const variables = keyed === undefined ? `${counter} = -1` : `${counter} = -1, ${keyed.name}`;
  const declaration = `let ${variables}; `;
  if (applying.isInBlock(statement)) return text.open(startOf(statement), declaration);
  text.open(startOf(statement), `{ ${declaration}`);
  text.close(statement.end, " }");
}

/** @example `continue;` becomes `break $l1;` */
export function applySkip({ text, startOf }: Applying, node: ts.ContinueStatement, label: string): void {
  const start = startOf(node);
  text.replace(start, node.label?.end ?? start + "continue".length, `break ${label}`);
}

function constantOf(edit: LoopEdit): string {
  return `const ${edit.constant} = ${iterationText(edit)};`;
}

function bodyOf({ ts, text, startOf }: Applying, { statement: body }: ts.IterationStatement, edit: LoopEdit): void {
  if (ts.isBlock(body)) return text.close(startOf(body) + 1, ` ${constantOf(edit)}`);
  text.open(startOf(body), `{ ${constantOf(edit)} `);
  text.close(body.end, " }");
}

/** @example `while (f(x)) g()` becomes `for (;;) { const $c1 = ++$i1; if (!(f(x))) break; g() }` */
function whileAsFor(applying: Applying, node: ts.WhileStatement, edit: LoopEdit): void {
  const start = applying.startOf(node);
  applying.text.replace(start, start + "while".length, `for (;;) { ${constantOf(edit)} if`);
  breakUnless(applying, node, "");
  applying.text.close(node.statement.end, " }");
}

/** @example `do g(); while (f(x));` becomes `for (;;) { const $c1 = ++$i1; { g(); } if (!(f(x))) break; };` */
function doAsFor(applying: Applying, node: ts.DoStatement, edit: LoopEdit): void {
  const { ts, text, startOf } = applying;
  const { statement: body } = node;
  const start = startOf(node);
  text.replace(start, start + "do".length, `for (;;) { ${constantOf(edit)}`);
  const label = edit.skips === undefined ? "" : `${edit.skips.label}: `;
  text.open(startOf(body), ts.isBlock(body) ? label : ` ${label}{ `);
  if (!ts.isBlock(body)) text.close(body.end, " }");
  const keyword = applying.token(node, ts.SyntaxKind.WhileKeyword);
  text.replace(startOf(keyword), keyword.end, "if");
  breakUnless(applying, node, " }");
}

/** `(test)` becomes `(!(test)) break;`. */
function breakUnless(applying: Applying, node: ts.WhileStatement | ts.DoStatement, after: string): void {
  const { ts, text } = applying;
  const opening = applying.token(node, ts.SyntaxKind.OpenParenToken);
  const closing = applying.token(node, ts.SyntaxKind.CloseParenToken);
  text.replace(opening.end - 1, opening.end, "(!(");
  text.replace(closing.end - 1, closing.end, `)) break;${after}`);
}

/**
 * @example `for (; f(x); g(x)) h()` becomes
 * `for (; ; ) { const $c1 = ++$i1; if ($c1) g(x); if (!(f(x))) break; h() }`
 * @example `for (const [a = f()] of xs) h()` becomes
 * `for (const $x1 of xs) { const $c1 = ++$i1; const [a = f()] = $x1; h() }`
 */
function headMoved(applying: Applying, node: ts.ForStatement | ts.ForInOrOfStatement, edit: LoopEdit): void {
  const { ts, text, startOf } = applying;
  // On the line of the head, wherever the body begins.
  const headEnd = applying.token(node, ts.SyntaxKind.CloseParenToken).end;
  text.close(headEnd, ` { ${constantOf(edit)}`);
  text.close(node.statement.end, " }");
  for (const part of edit.moved) {
    const [moved, before, after] = movedPart(applying, node, edit, part);
    const start = startOf(moved);
    text.open(start, before);
    text.close(moved.end, after);
    if (part.kind === "binding") text.close(start, `const ${part.item} `);
    text.move(start, moved.end, headEnd);
  }
}

/** What moves, and what to write around it. */
function movedPart(
  { ts }: Applying,
  node: ts.ForStatement | ts.ForInOrOfStatement,
  { constant }: LoopEdit,
  part: MovedHead,
): [moved: ts.Node, before: string, after: string] {
  if (part.kind === "binding") {
    const { initializer } = node as ts.ForInOrOfStatement;
    const declares = ts.isVariableDeclarationList(initializer);
    return [initializer, declares ? " " : " (", declares ? ` = ${part.item};` : ` = ${part.item});`];
  }
  const { condition, incrementor } = node as ts.ForStatement;
  if (part.kind === "update") return [incrementor!, ` if (${constant}) `, ";"];
  return [condition!, " if (!(", ")) break;"];
}
