/** What becomes of the loops around identities. */
import type ts from "typescript";
import { referencesIn } from "./captures.js";
import { exportName, type Library } from "./library.js";
import type { Names } from "./names.js";
import type { Needs } from "./needs.js";
import type { Scopes } from "./scopes.js";
import type { FrameRef, LoopEdit, MovedHead, Span } from "./shape.js";
import type { FunctionRecord, LoopPlace, LoopRecord } from "./survey.js";
import { forEachPart, isFunctionNode, isLoop, type LoopNode, type Source, unwrap } from "./syntax.js";

export function planLoops(
  source: Source,
  library: Library,
  needs: Needs,
  numbers: ReadonlyMap<LoopRecord, number>,
  names: Names,
  frameOf: (record: FunctionRecord) => FrameRef,
): LoopEdit[] {
  return [...numbers].map(([loop, number]) => {
    const { node, statement, owner } = loop;
    const moved = movedHead(source.ts, node, needs.loops.get(loop)!, names.item(number));
    const continues = source.ts.isDoStatement(node) && moved.length > 0 ? continuesOf(source.ts, node, statement) : [];
    return {
      pos: node.pos,
      end: node.end,
      statement: span(statement),
      counter: names.counter(number),
      constant: names.constant(number),
      keyed: isKeyed(source, library, node) ? { name: names.keyed(number), frame: frameOf(owner) } : undefined,
      moved,
      skips: continues.length > 0 ? { label: names.label(number), continues } : undefined,
    };
  });
}

/**
 * Whether `for (const [a = f()] of xs)` reads in `xs` what it is about to bind. That is an error when it runs, which would
 * be lost with the binding's move into the body.
 */
export function readsOwnNames(source: Source, scopes: Scopes, node: LoopNode): boolean {
  const { ts } = source;
  if (!ts.isForOfStatement(node) && !ts.isForInStatement(node)) return false;
  const { initializer: head, expression } = node;
  if (!ts.isVariableDeclarationList(head) || (head.flags & ts.NodeFlags.BlockScoped) === 0) return false;
  return referencesIn(source, node).some((identifier) => {
    const declaration = scopes.resolve(identifier)?.declaration;
    if (declaration === undefined || !isWithin(declaration, head)) return false;
    return isWithin(identifier, expression);
  });
}

function isWithin(inner: ts.Node, outer: ts.Node): boolean {
  return inner.pos >= outer.pos && inner.end <= outer.end;
}

/** `for (const x of keyed(items, by))`. */
function isKeyed({ ts }: Source, library: Library, node: LoopNode): boolean {
  if (!ts.isForOfStatement(node)) return false;
  const iterable = unwrap(ts, node.expression);
  return ts.isCallExpression(iterable) && exportName(library, iterable.expression) === "keyed";
}

function movedHead(ts: Source["ts"], node: LoopNode, parts: ReadonlySet<LoopPlace["part"]>, item: string): MovedHead[] {
  const moved: MovedHead[] = [];
  if (ts.isForOfStatement(node) || ts.isForInStatement(node)) {
    if (parts.has("binding")) moved.push({ kind: "binding", item, ...span(node.initializer) });
    return moved;
  }
  const { update, test } = headOf(ts, node);
  const movesUpdate = parts.has("update");
  if (movesUpdate) moved.push({ kind: "update", ...span(update!) });
  // The test comes after the update: where that moves, this has to follow.
  if (test !== undefined && (movesUpdate || parts.has("test"))) {
    moved.push({ kind: "test", ...span(test) });
  }
  return moved;
}

/** The `continue` statements that go on with a loop. `statement` is the loop with its labels. */
function continuesOf(ts: Source["ts"], { statement: body }: LoopNode, statement: ts.Statement): Span[] {
  const labels = new Set<string>();
  for (let at = statement; ts.isLabeledStatement(at); at = at.statement) labels.add(at.label.text);
  const found: Span[] = [];
  const visit = (node: ts.Node, nearest: boolean): void => {
    if (isFunctionNode(ts, node) || ts.isClassLike(node)) return;
    if (ts.isContinueStatement(node) && (node.label === undefined ? nearest : labels.has(node.label.text))) {
      found.push(span(node));
    }
    const inner = nearest && !isLoop(ts, node);
    forEachPart(ts, node, (part) => visit(part, inner));
  };
  visit(body, true);
  return found;
}

function headOf(
  ts: Source["ts"],
  node: Exclude<LoopNode, ts.ForInOrOfStatement>,
): { update?: ts.Expression | undefined; test?: ts.Expression | undefined } {
  if (ts.isForStatement(node)) return { update: node.incrementor, test: node.condition };
  return { test: (node as ts.WhileStatement | ts.DoStatement).expression };
}

function span({ pos, end }: ts.Node): Span {
  return { pos, end };
}
