/**
 * Calls that cannot lead to a step, or whose text other tools must find unchanged. They are left as they are; that
 * never changes a key, since ordinals count them all the same.
 */
import type ts from "typescript";
import { isGlobal } from "./library.js";
import type { Scopes } from "./scopes.js";
import { forEachPart, isFunctionLike, memberRoot, type Source, unwrap } from "./syntax.js";

const words = (text: string): Set<string> => new Set(text.split(/\s+/));

/** Global functions that call nothing back. */
const functions = words(`Number String Boolean BigInt Symbol Date Error TypeError RangeError SyntaxError ReferenceError
  EvalError URIError AggregateError parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent encodeURI
  decodeURI structuredClone clearTimeout clearInterval clearImmediate btoa atob`);

/** Global objects, and which of their methods call nothing back; `*` for all. */
const methods = new Map<string, Set<string> | "*">([
  ["Math", "*"],
  ["JSON", "*"],
  ["console", "*"],
  ["Number", "*"],
  ["String", "*"],
  ["BigInt", "*"],
  ["Symbol", "*"],
  ["Date", "*"],
  ["Promise", words("all allSettled race any resolve reject withResolvers")],
  [
    "Object",
    words(`keys values entries assign freeze isFrozen seal isSealed preventExtensions isExtensible fromEntries is create
      hasOwn getPrototypeOf setPrototypeOf defineProperty defineProperties getOwnPropertyNames getOwnPropertySymbols
      getOwnPropertyDescriptor getOwnPropertyDescriptors`),
  ],
  ["Array", words("isArray of")],
]);

/** Global classes whose constructors call nothing back. `Worker` is here because bundlers look for its call. */
const constructors = words(`Error TypeError RangeError SyntaxError ReferenceError EvalError URIError AggregateError Map
  Set WeakMap WeakSet WeakRef Date RegExp URL URLSearchParams AbortController Array ArrayBuffer SharedArrayBuffer
  DataView Uint8Array Int8Array Uint8ClampedArray Uint16Array Int16Array Uint32Array Int32Array Float32Array
  Float64Array BigInt64Array BigUint64Array TextEncoder TextDecoder Worker SharedWorker`);

/** Whether the call would be another if it were written differently: to the language, or to tools that look for it. */
export function isSpecialForm(source: Source, scopes: Scopes, node: ts.CallExpression | ts.NewExpression): boolean {
  const { ts } = source;
  const { SuperKeyword, ImportKeyword } = ts.SyntaxKind;
  if (node.expression.kind === SuperKeyword || node.expression.kind === ImportKeyword) return true;
  const root = memberRoot(ts, node.expression);
  if (isImportMeta(ts, root)) return true;
  if (ts.isNewExpression(node)) return (node.arguments ?? []).some((arg) => hasImportMeta(ts, arg));
  if (node.questionDotToken !== undefined) return false;
  // `(eval)(x)` and `eval!(x)` still see the variables around.
  const isEval = isGlobal(source, scopes, unwrap(ts, node.expression), "eval");
  return isEval || isGlobal(source, scopes, root, "require");
}

/** Whether the call cannot lead to a step, whatever surrounds it. */
export function staysAsIs(source: Source, scopes: Scopes, node: ts.CallExpression | ts.NewExpression): boolean {
  const known = source.ts.isNewExpression(node) ? isConstructor : isFunction;
  return known(source, scopes, node.expression);
}

function isConstructor(source: Source, scopes: Scopes, callee: ts.Expression): boolean {
  return source.ts.isIdentifier(callee) && constructors.has(callee.text) && scopes.resolve(callee) === undefined;
}

function isFunction(source: Source, scopes: Scopes, callee: ts.Expression): boolean {
  const { ts } = source;
  const node = unwrap(ts, callee);
  if (ts.isIdentifier(node)) return functions.has(node.text) && scopes.resolve(node) === undefined;
  if (!ts.isPropertyAccessExpression(node)) return false;
  const object = unwrap(ts, node.expression);
  if (!ts.isIdentifier(object) || scopes.resolve(object) !== undefined) return false;
  const known = methods.get(object.text);
  return known === "*" || (known?.has(node.name.text) ?? false);
}

function isImportMeta(ts: Source["ts"], node: ts.Node): boolean {
  return ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword;
}

function hasImportMeta(ts: Source["ts"], node: ts.Node): boolean {
  if (isImportMeta(ts, node)) return true;
  if (isFunctionLike(ts, node)) return false;
  return forEachPart(ts, node, (part) => hasImportMeta(ts, part)) ?? false;
}
