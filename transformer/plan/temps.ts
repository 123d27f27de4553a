/**
 * Variables for receivers and guards. One variable serves all plain `o.m()` calls of a function, since nothing but the
 * read of the property happens between its two uses; where more can happen, each use has its own.
 */
import type ts from "typescript";
import type { Names } from "./names.js";
import { isStableReceiver, receiverOf } from "./receivers.js";
import type { Scopes } from "./scopes.js";
import type { Self } from "./shape.js";
import type { CallRecord, FunctionRecord, Zone } from "./survey.js";
import { outermostLink, type Source, unwrap } from "./syntax.js";

export interface Temps {
  selfOf(call: CallRecord): Self;
  /** Variables that a function declares in its body. */
  of(record: FunctionRecord): readonly string[];
  /** Initialisers that need variables. */
  zones(): readonly { readonly zone: Zone; readonly temps: readonly string[] }[];
  /** Optional chains that are written out, with the variable of each `?.` link, innermost first. */
  readonly guards: ReadonlyMap<ts.Node, ReadonlyMap<ts.Node, string>>;
}

/** Variables of one function or initialiser. */
interface Pool {
  shared: string | undefined;
  readonly all: string[];
}

export function planTemps(source: Source, scopes: Scopes, calls: readonly CallRecord[], names: Names): Temps {
  const { ts } = source;
  const pools = new Map<FunctionRecord | Zone, Pool>();
  const selves = new Map<CallRecord, Self>();
  const guards = new Map<ts.Node, Map<ts.Node, string>>();

  const poolOf = ({ owner, zone }: CallRecord): Pool => {
    const key = zone ?? owner;
    const pool = pools.get(key) ?? { shared: undefined, all: [] };
    pools.set(key, pool);
    return pool;
  };
  const own = (pool: Pool): string => {
    const name = names.temp(pool.all.length + 1);
    pool.all.push(name);
    return name;
  };
  const shared = (pool: Pool): string => {
    pool.shared ??= own(pool);
    return pool.shared;
  };

  const marked = calls.filter((call) => call.role === "mark" && ts.isCallExpression(call.node));
  for (const call of marked) {
    const chain = outermostLink(source, call.node);
    if (chain === undefined || guards.has(chain)) continue;
    const links = optionalLinks(ts, chain).map((link) => [link, own(poolOf(call))] as const);
    guards.set(chain, new Map(links));
  }

  const choose = (call: CallRecord): Self => {
    const member = receiverOf(ts, call.node as ts.CallExpression);
    if (member === undefined || member === "in closed chain") return { kind: "none" };
    const chain = outermostLink(source, call.node);
    const guard = chain && guards.get(chain)!.get(member);
    if (guard !== undefined) return { kind: "guard", name: guard };
    if (isStableReceiver(source, scopes, member)) {
      const object = unwrap(ts, member.expression);
      return ts.isIdentifier(object) ? { kind: "name", name: object.text } : { kind: "this" };
    }
    const pool = poolOf(call);
    return { kind: "temp", name: hasPlainKey(ts, member) ? shared(pool) : own(pool) };
  };
  for (const call of marked) selves.set(call, choose(call));

  return {
    selfOf: (call) => selves.get(call)!,
    of: (record) => pools.get(record)?.all ?? [],
    zones: () =>
      [...pools].flatMap(([zone, { all }]) => ("expression" in zone && all.length > 0 ? [{ zone, temps: all }] : [])),
    guards,
  };
}

/** Whether nothing of the function's own code runs between reading the receiver and reading the member. */
function hasPlainKey(ts: Source["ts"], member: ts.PropertyAccessExpression | ts.ElementAccessExpression): boolean {
  if (ts.isPropertyAccessExpression(member)) return true;
  const key = unwrap(ts, member.argumentExpression);
  return ts.isIdentifier(key) || ts.isStringLiteralLike(key) || ts.isNumericLiteral(key);
}

/** The nodes with a `?.` in the chain that ends with `chain`, innermost first. */
function optionalLinks(ts: Source["ts"], chain: ts.Node): ts.Node[] {
  const links: ts.Node[] = [];
  for (let node = chain; ts.isOptionalChain(node); node = node.expression) {
    if (!ts.isNonNullExpression(node) && node.questionDotToken !== undefined) links.unshift(node);
  }
  return links;
}
