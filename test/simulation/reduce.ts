/**
 * Smaller programs out of a program, by moves that fast-check does not know: it makes the parts of a value smaller, but
 * never puts a part in the place of the whole.
 */
import type { Program } from "./program.js";

/** Goes on to a smaller program that is still `wanted`, until there is none or the time is over. */
export async function reduce(
  program: Program,
  wanted: (program: Program) => Promise<boolean>,
  milliseconds: number,
): Promise<Program> {
  const until = performance.now() + milliseconds;
  let smallest = program;
  for (let found = true; found; ) {
    found = false;
    for (const candidate of smaller(smallest) as Iterable<Program>) {
      if (performance.now() > until) return smallest;
      if (!(await wanted(candidate))) continue;
      smallest = candidate;
      found = true;
      break;
    }
  }
  return smallest;
}

/** Values of the same kind with one part less, or with a smaller part. */
function* smaller(value: unknown): Iterable<unknown> {
  if (typeof value === "number" && value > 1) yield 1;
  if (Array.isArray(value)) yield* smallerLists(value);
  else if (isNode(value)) {
    for (const [name, part] of Object.entries(value)) {
      for (const less of smaller(part)) yield { ...value, [name]: less };
    }
  }
}

function* smallerLists(list: unknown[]): Iterable<unknown[]> {
  for (const index of list.keys()) if (list.length > 1 || !isStatement(list[index])) yield list.toSpliced(index, 1);
  for (const [index, each] of list.entries()) {
    if (isStatement(each)) for (const block of blocksOf(each)) yield list.toSpliced(index, 1, ...block);
  }
  for (const [index, each] of list.entries()) for (const less of smaller(each)) yield list.with(index, less);
}

/** The outermost blocks within a node. */
function blocksOf(node: Node): unknown[][] {
  return Object.values(node).flatMap((part) => {
    if (Array.isArray(part)) return part.every(isStatement) ? [part] : part.filter(isNode).flatMap(blocksOf);
    return isNode(part) ? blocksOf(part) : [];
  });
}

type Node = Record<string, unknown>;

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStatement(value: unknown): value is Node {
  return isNode(value) && "statement" in value;
}
