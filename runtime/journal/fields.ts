/** The own fields of a value: which of them a payload has, and how they are given to its copy. */
import { Damage, type Kind, type Payload, Refusal, text } from "./payload.js";

/** `[key, value, ...]` */
export function entries(value: object, keys: readonly string[]): unknown[] {
  const list: unknown[] = [];
  for (const key of keys) list.push(key, (value as Record<string, unknown>)[key]);
  return list;
}

/** `[number of hidden fields, key, value, ...]`, those first that do not show when keys are listed. */
export function counted(value: object, hidden: readonly string[], shown: readonly string[]): unknown[] {
  return [hidden.length, ...entries(value, hidden), ...entries(value, shown)];
}

/** Own keys that are not enumerable. */
export function hiddenKeys(value: object, shown: readonly string[]): readonly string[] {
  const names = Object.getOwnPropertyNames(value);
  if (names.length === shown.length) return none;
  const listed = new Set(shown);
  return names.filter((name) => !listed.has(name));
}

const none: readonly string[] = [];

/**
 * Those of them that are data, as the ids that libraries put on answers are. The sockets, responses and parents that are
 * hidden beside them are no part of what their owner gives away.
 */
export function hiddenData(value: object, shown: readonly string[]): readonly string[] {
  const hidden = hiddenKeys(value, shown);
  return hidden.length === 0 ? none : hidden.filter((key) => isData(Object.getOwnPropertyDescriptor(value, key)));
}

function isData(property: PropertyDescriptor | undefined): boolean {
  if (property === undefined || !("value" in property)) return false;
  const { value } = property;
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol");
}

/** Marks by which libraries know their errors across copies and processes: `error[Symbol.for("vendor.error")]`. */
export function sharedEntries(value: object): unknown[] {
  return Object.getOwnPropertySymbols(value).flatMap((symbol) =>
    isShared(symbol) && isShown(value, symbol)
      ? [[Symbol.keyFor(symbol)], (value as Record<symbol, unknown>)[symbol]]
      : [],
  );
}

/** Whether a symbol is the same in every process. */
function isShared(symbol: symbol): boolean {
  return Symbol.keyFor(symbol) !== undefined;
}

function isShown(value: object, key: PropertyKey): boolean {
  return Object.prototype.propertyIsEnumerable.call(value, key);
}

/**
 * @param except `shared`: the value's payload has room for symbols that are the same in every process; `none`: what is
 *   hidden counts too
 */
export function refuseSymbols(value: object, except: "hidden" | "shared" | "none" = "hidden"): void {
  const symbols = Object.getOwnPropertySymbols(value);
  if (symbols.length === 0) return;
  for (const symbol of symbols) {
    if (except === "shared" && isShared(symbol)) continue;
    // The two well-known ones are what makes a module, an arguments object or an impostor more than its plain keys.
    const telling = except === "none" || symbol === Symbol.toStringTag || symbol === Symbol.iterator;
    if (telling || isShown(value, symbol)) throw new Refusal(`an object with the symbol key ${String(symbol)}`);
  }
}

/** What the tag of a value with hidden fields begins with; their number comes before the fields. */
export const hiddenPrefix = "hidden:";

/** The same kind for values with hidden fields. */
export function withHidden(kind: Kind & { fields: number }): Kind {
  return {
    fields: kind.fields + 1,
    revive: kind.revive,
    fill: (target, payload) => defineCounted(target, payload, kind.fields),
  };
}

/** Gives `target` the fields in the payload from `from` on. */
export function defineShown(target: object, payload: Payload, from: number): void {
  define(target, payload, from, payload.length, true);
}

/** Gives `target` the fields, the hidden ones first, that come after their number at `countAt`. */
export function defineCounted(target: object, payload: Payload, countAt: number): void {
  const count = payload[countAt];
  if (typeof count !== "number" || count < 0) throw new Damage("no number of fields");
  const from = countAt + 1;
  define(target, payload, from, from + 2 * count, false);
  define(target, payload, from + 2 * count, payload.length, true);
}

function define(target: object, payload: Payload, from: number, to: number, enumerable: boolean): void {
  if (to > payload.length || (to - from) % 2 !== 0) throw new Damage("a field without a value");
  for (let i = from; i < to; i += 2) {
    // Defined, not assigned: assignment would run setters, and `__proto__` is one.
    Object.defineProperty(target, fieldKey(payload[i]), {
      value: payload[i + 1],
      enumerable,
      writable: true,
      configurable: true,
    });
  }
}

/** A key as it stands in a payload: a text, or the name of a shared symbol in a list. */
function fieldKey(key: unknown): string | symbol {
  return Array.isArray(key) ? Symbol.for(text(key[0])) : text(key);
}
