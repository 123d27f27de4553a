/** Finds the edit of a node by the node's original position, which transformers before ours have kept. */
import type ts from "typescript";
import type { CallEdit, ChainEdit, FunctionEdit, LoopEdit, Plan, Span, WrapEdit } from "./plan/shape.js";
import { isFunctionNode, isLoop, type TypeScript } from "./plan/syntax.js";

export interface Edits {
  call(node: ts.CallExpression | ts.NewExpression): CallEdit | undefined;
  chain(node: ts.Node): ChainEdit | undefined;
  loop(node: ts.IterationStatement): LoopEdit | undefined;
  /** The label that a `continue` statement breaks out of instead. */
  skip(node: ts.ContinueStatement): string | undefined;
  function(node: ts.Node): FunctionEdit | undefined;
  wrap(node: ts.Expression): WrapEdit | undefined;
  /** Whether a node is the one that a span of the plan means, if it is of the right kind. */
  isAt(node: ts.Node, span: Span): boolean;
  /** Whether an edit starts in a span of the original text. */
  startsIn(span: Span): boolean;
}

export function indexEdits(ts: TypeScript, plan: Plan): Edits {
  const calls = bySpan(plan.calls);
  const chains = bySpan(plan.chains);
  const loops = bySpan(plan.loops);
  const functions = bySpan(plan.functions);
  const wraps = bySpan(plan.wraps);
  const continues = plan.loops.flatMap(({ skips: skip }) => skip?.continues.map((at) => ({ ...at, ...skip })) ?? []);
  const skips = bySpan(continues);
  const find = <T>(edits: ReadonlyMap<number, T>, node: ts.Node): T | undefined => {
    if (edits.size === 0) return undefined;
    const original = ts.getOriginalNode(node);
    return original.pos < 0 || original.kind !== node.kind ? undefined : edits.get(key(original));
  };
  return {
    call: (node) => find(calls, node),
    chain: (node) => (ts.isOptionalChain(node) && !ts.isNonNullExpression(node) ? find(chains, node) : undefined),
    loop: (node) => (isLoop(ts, node) ? find(loops, node) : undefined),
    skip: (node) => find(skips, node)?.label,
    function: (node) => (isFunctionNode(ts, node) ? find(functions, node) : undefined),
    wrap: (node) => find(wraps, node),
    isAt: (node, span) => key(ts.getOriginalNode(node)) === key(span),
    startsIn: searchStarts([plan.calls, plan.chains, plan.loops, continues, plan.functions, plan.wraps].flat()),
  };
}

/** By binary search, since an applier asks for every node. */
function searchStarts(edits: readonly Span[]): (span: Span) => boolean {
  const starts = Float64Array.from(edits, ({ pos }) => pos).sort();
  return ({ pos, end }) => {
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle]! < pos) low = middle + 1;
      else high = middle;
    }
    return low < starts.length && starts[low]! < end;
  };
}

function bySpan<T extends Span>(edits: readonly T[]): ReadonlyMap<number, T> {
  return new Map(edits.map((edit) => [key(edit), edit]));
}

/** One number of both, for texts of up to 64 MB. */
function key({ pos, end }: Span): number {
  return pos * 2 ** 26 + end;
}
