/** Finding nodes of one kind. */
import type ts from "typescript";
import { nodesIn, type Source } from "../plan/syntax.js";

/** All nodes of a kind under a node, by default in the whole file; nothing of what types alone are made of. */
export function findNodes<T extends ts.Node>(
  source: Source,
  isWanted: (node: ts.Node) => node is T,
  under: ts.Node = source.file,
): T[] {
  return nodesIn(source, under).filter(isWanted);
}
