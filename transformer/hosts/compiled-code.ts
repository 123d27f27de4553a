/**
 * Refuses text that is not the source any more. Its calls would get other keys and lines than the source has under other hosts:
 * an async function that has become a generator in a helper's callback is another function, with another name.
 */
import { readFileSync } from "node:fs";
import type { Expression, Node, SourceFile } from "typescript";
import { TransformerOptionsError } from "../errors.js";
import { ts } from "../own-compiler.js";
import { forEachPart, isErased } from "../plan/syntax.js";

/** Functions that compilers write, and what a call of one says. */
const helpers = new Map<string, string>([
  ...["__awaiter", "__asyncGenerator", "__generator", "__async", "_asyncToGenerator", "_async_to_generator"].map(
    (name) => [name, "its async functions have been compiled into generators"] as const,
  ),
  ...["__webpack_require__", "__commonJS", "__esm", "__vite_ssr_import__"].map(
    (name) => [name, "it has been bundled"] as const,
  ),
]);
const mention = new RegExp(`\\b(?:${[...helpers.keys()].join("|")})`);

/**
 * @param file the file that the text is said to be of, which need not exist
 * @throws TransformerOptionsError with the cure
 */
export function refuseCompiled(code: string, file: string, module: string): void {
  const what = calledHelper(code, file) ?? (lostItsTypes(code, file) ? "its types have been stripped" : undefined);
  if (what === undefined) return;
  throw new TransformerOptionsError(
    `stepmark has to see the source of ${module}, but ${what}`,
    "Put stepmark before the plugins and loaders that compile, and give them a target of ES2017 or later; a plugin that hands over compiled code when it loads a file (@rollup/plugin-typescript) takes stepmark as one of its own `before` transformers instead.",
  );
}

function calledHelper(code: string, file: string): string | undefined {
  if (!mention.test(code)) return undefined;
  const find = (node: Node): string | undefined => {
    const called = ts.isCallExpression(node) ? helpers.get(nameOf(node.expression)) : undefined;
    return called ?? forEachPart(ts, node, find);
  };
  return find(parse(file, code));
}

/** `__awaiter`, `tslib.__awaiter`, `_async_to_generator._`; esbuild numbers a helper whose name is taken: `__async2`. */
function nameOf(callee: Expression): string {
  if (ts.isIdentifier(callee)) return callee.text.replace(/\d+$/, "");
  if (!ts.isPropertyAccessExpression(callee)) return "";
  return callee.name.text === "_" ? nameOf(callee.expression) : callee.name.text;
}

/** A TypeScript file whose text differs from what is on disk, where there are types and here there are none. */
function lostItsTypes(code: string, file: string): boolean {
  if (!/\.[cm]?tsx?$/.test(file)) return false;
  const source = read(file);
  if (source === undefined || source === code) return false;
  return hasTypes(parse(file, source)) && !hasTypes(parse(file, code));
}

function hasTypes(node: Node): boolean {
  if (isErased(ts, node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node)) return true;
  return forEachPart(ts, node, hasTypes) ?? false;
}

function parse(file: string, code: string): SourceFile {
  return ts.createSourceFile(file, code, ts.ScriptTarget.Latest);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
