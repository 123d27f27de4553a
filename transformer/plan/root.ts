/** The function that links a module to the runtime. */
import type ts from "typescript";
import type { Row } from "../../runtime/scope/site-table.js";
import { forEachPart, type TypeScript } from "./syntax.js";

/** Key of the runtime's state on `globalThis`: a text that transformed code holds, whatever has been made of it since. */
export const RUNTIME = "stepmark@1";

/** What a module tells the runtime of itself. */
export interface SiteTable {
  readonly path: string;
  /** Fingerprint. */
  readonly text: string;
  readonly rows: readonly Row[];
  /** Tags of the lock file's places that are gone. */
  readonly retired: readonly string[];
  /** What the tree is called that the path is in. */
  readonly tree: string | undefined;
}

/**
 * What the module's root function returns, as text of one line. The function is a declaration, so that it works wherever
 * it stands and however early a hoisted function of the module is called; and where no runtime is loaded (an included
 * file used on its own, a cycle of modules) it answers a frame that lets all calls through. It is called once at the
 * end, so that the runtime knows the sites of all loaded modules before it judges what an edit has done to a record.
 *
 * @param name that of the function, which keeps the frame
 * @param shadowed names that the module itself declares: the function must not take those for the global ones
 */
export function rootFrame(
  name: string,
  { path, text, rows, retired, tree }: SiteTable,
  shadowed: (name: string) => boolean,
): string {
  const global = shadowed("globalThis") ? "global" : "globalThis";
  const builtin = (builtinName: string): string => (shadowed(builtinName) ? `${global}.${builtinName}` : builtinName);
  const more = tree !== undefined ? [retired, tree] : retired.length > 0 ? [retired] : [];
  const module = [path, text, rows, ...more].map(literal).join(", ");
  const passing = [
    "enter() { return this; }",
    `call(i, p, f, t, a) { return ${builtin("Reflect")}.apply(f, t, a); }`,
    `new(i, p, C, a) { return ${builtin("Reflect")}.construct(C, a); }`,
    "itemKey(k, i) { return i; }",
  ];
  const frame = `(r) => r ? (${name}.m = r.module(${module})) : { ${passing.join(", ")} }`;
  return `${name}.m || (${frame})(${global}[${builtin("Symbol")}.for("${RUNTIME}")])`;
}

/** Whether a file has such a function already, wherever a bundler or minifier may have put it. */
export function hasRoot(ts: TypeScript, file: ts.SourceFile): boolean {
  // What was parsed says it in its text; what a transformer made of a file keeps the text from before.
  if (ts.getOriginalNode(file) === file && !file.text.includes(RUNTIME)) return false;
  const tells = (node: ts.Node): boolean =>
    isVerbatim(ts, node, RUNTIME) || tellsSites(ts, node) || (forEachPart(ts, node, tells) ?? false);
  return tells(file);
}

/** Whether the node is text that the applier has handed over as it is. */
function isVerbatim(ts: TypeScript, node: ts.Node, text: string): boolean {
  return ts.isIdentifier(node) && node.text.includes(text);
}

/** `r.module("src/flow.ts", "1ada0e5236276521", [...])` */
function tellsSites(ts: TypeScript, node: ts.Node): boolean {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  if (node.expression.name.text !== "module") return false;
  const [path, text, rows] = node.arguments;
  if (path === undefined || text === undefined || rows === undefined) return false;
  return ts.isStringLiteralLike(path) && ts.isStringLiteralLike(text) && ts.isArrayLiteralExpression(rows);
}

/** JSON that is also safe in a script element and in old parsers. */
function literal(value: unknown): string {
  return JSON.stringify(value)
    .replace(/\u2028/g, "\\u2028")
    .replace(/\u2029/g, "\\u2029")
    .replace(/<\/(?=script)/gi, "<\\/");
}
