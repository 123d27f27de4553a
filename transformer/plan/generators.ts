/**
 * Where a generator's frame is opened. Its body starts at the first `next()`, often in someone else's context, so the
 * frame has to be opened when the generator function is called: as the default of a trailing parameter that no caller
 * can reach, since a rest array has no property of that name. A rest parameter leaves the function's `length` alone.
 */
import type ts from "typescript";
import { hasUseStrict, type Scopes } from "./scopes.js";
import type { FunctionRecord } from "./survey.js";
import { isFunctionLike, type Source } from "./syntax.js";

/** Whether the function is a generator that can take its frame as a parameter. */
export function opensByParameter(source: Source, scopes: Scopes, { node }: FunctionRecord): boolean {
  const { ts } = source;
  if (!ts.isFunctionDeclaration(node) && !ts.isFunctionExpression(node) && !ts.isMethodDeclaration(node)) return false;
  if (node.asteriskToken === undefined || node.body === undefined) return false;
  // An error, which would be lost with the initialiser.
  if (node.parameters.some(({ dotDotDotToken, initializer }) => dotDotDotToken && initializer)) return false;
  // A function with parameters of this kind may have no directive of its own.
  if (hasUseStrict(ts, node.body.statements)) return false;
  // In sloppy code such parameters would also cut the tie between `arguments` and the parameters.
  if (!scopes.strict && scopes.dynamic) return false;
  // `emitDecoratorMetadata` would list the parameter.
  const decorated = [node, ...node.parameters].some(
    (part) => ts.canHaveDecorators(part) && ts.getDecorators(part)?.length,
  );
  return !decorated && !repeatsParameter(source, node);
}

/** `function* g(a, a)`, which is legal only with plain parameters in sloppy code. */
function repeatsParameter({ ts }: Source, node: ts.FunctionLikeDeclaration): boolean {
  const names = node.parameters.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
  return new Set(names).size < names.length;
}

/** Position of the rest parameter among the arguments; undefined if there is none. */
export function restPosition({ ts }: Source, { node }: FunctionRecord): number | undefined {
  if (!isFunctionLike(ts, node)) return undefined;
  const real = node.parameters.filter(({ name }) => !(ts.isIdentifier(name) && name.text === "this"));
  const index = real.findIndex((parameter) => parameter.dotDotDotToken !== undefined);
  return index < 0 ? undefined : index;
}
