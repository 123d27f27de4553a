/** Finding nodes of one kind. */
import type ts from "typescript";
import type { Source } from "../plan/syntax.js";
import { isErased } from "../plan/syntax.js";

/** All nodes of a kind at or under a node, by default in the whole file; nothing of what types alone are made of. */
export function findNodes<T extends ts.Node>(
  { ts, file }: Source,
  isWanted: (node: ts.Node) => node is T,
  under: ts.Node = file,
): T[] {
  const found: T[] = [];
  const visit = (node: ts.Node): void => {
    if (isErased(ts, node)) return;
    if (isWanted(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(under);
  return found;
}
