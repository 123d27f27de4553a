/** The function that links a module to the runtime. */
import type ts from "typescript";
import type { Row } from "../../runtime/scope/site-table.js";
import type { TypeScript } from "./syntax.js";

/** Key of the runtime's state on `globalThis`. */
const RUNTIME = "stepmark@1";

/**
 * Text of a hoisted function that answers the module's root frame. It is a declaration, so that it works wherever it
 * stands and however early a hoisted function of the module is called; and where no runtime is loaded (an included
 * file used on its own, a cycle of modules) it answers a frame that lets all calls through. It is called once at the
 * end, so that the runtime knows the sites of all loaded modules before it judges what an edit has done to a record.
 *
 * @param shadowed names that the module itself declares: the function must not take those for the global ones
 */
export function rootSource(
  name: string,
  path: string,
  text: string,
  rows: readonly Row[],
  shadowed: (name: string) => boolean,
): string {
  const global = shadowed("globalThis") ? "global" : "globalThis";
  const builtin = (builtinName: string): string => (shadowed(builtinName) ? `${global}.${builtinName}` : builtinName);
  const table = rows.map((row) => `    ${literal(row)},\n`).join("");
  return `function ${name}() {
  return ${name}.m || ((r) => r ? (${name}.m = r.module(${literal(path)}, ${literal(text)}, [
${table}  ])) : {
    enter() { return this; },
    call(i, p, f, t, a) { return ${builtin("Reflect")}.apply(f, t, a); },
    new(i, p, C, a) { return ${builtin("Reflect")}.construct(C, a); },
    itemKey(k, i) { return i; },
  })(${global}[${builtin("Symbol")}.for("${RUNTIME}")]);
}
${name}();`;
}

/** Whether a file has such a function already. */
export function hasRoot(ts: TypeScript, file: ts.SourceFile): boolean {
  // What was parsed says it in its text; what a transformer made of a file keeps the text from before.
  if (ts.getOriginalNode(file) === file && !file.text.includes(RUNTIME)) return false;
  const mentionsRuntime = (node: ts.Node): boolean =>
    (ts.isStringLiteralLike(node) && node.text === RUNTIME) || (ts.forEachChild(node, mentionsRuntime) ?? false);
  return file.statements.some((statement) => ts.isFunctionDeclaration(statement) && mentionsRuntime(statement));
}

/** JSON that is also safe in a script element and in old parsers. */
function literal(value: unknown): string {
  return JSON.stringify(value)
    .replace(/\u2028/g, "\\u2028")
    .replace(/\u2029/g, "\\u2029")
    .replace(/<\/(?=script)/gi, "<\\/");
}
