/** The module's root function as nodes. */
import type ts from "typescript";
import type { TypeScript } from "../plan/syntax.js";

/** Parses the plan's text and cuts the nodes off from it, so that nobody looks for their text or names in the file. */
export function rootFunction(ts: TypeScript, source: string): readonly ts.Statement[] {
  const parsed = ts.createSourceFile("root.js", source, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
  const detach = (node: ts.Node): void => {
    Object.assign(node, { pos: -1, end: -1, flags: node.flags | ts.NodeFlags.Synthesized });
    ts.forEachChild(node, detach, (nodes) => {
      Object.assign(nodes, { pos: -1, end: -1 });
      nodes.forEach(detach);
    });
  };
  parsed.statements.forEach(detach);
  return parsed.statements;
}
