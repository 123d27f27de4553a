/**
 * Which built-in a prototype belongs to, told by identity and never by asking the value: a value can lie about its
 * `constructor` and its `Symbol.toStringTag`, and asking it may run its code.
 */
import { types } from "node:util";

/** Built-in error classes that every value of the language's own can have. */
export const errorNames = [
  "Error",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "AggregateError",
] as const;

/** Views on an ArrayBuffer; some are missing in older versions of Node. */
export const viewNames = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Float16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
  "DataView",
] as const;

const temporalNames = [
  "Duration",
  "Instant",
  "PlainDate",
  "PlainTime",
  "PlainDateTime",
  "PlainMonthDay",
  "PlainYearMonth",
  "ZonedDateTime",
];

const otherNames = [
  "Object",
  "Array",
  "Date",
  "RegExp",
  "Map",
  "Set",
  "URL",
  "URLSearchParams",
  "ArrayBuffer",
  "Buffer",
  "Number",
  "String",
  "Boolean",
  "BigInt",
  "DOMException",
];

type Constructor = { prototype: object } | undefined;
const globals = globalThis as unknown as Record<string, Constructor>;

const known = new Map<object, string>();
for (const name of [...otherNames, ...errorNames, ...viewNames]) {
  const prototype = globals[name]?.prototype;
  if (prototype) known.set(prototype, name);
}
for (const name of temporalNames) {
  const prototype = (globals.Temporal as unknown as Record<string, Constructor>)?.[name]?.prototype;
  if (prototype) known.set(prototype, `Temporal.${name}`);
}

const nameable = new Set(known.values());
const foreign = new WeakMap<object, string>();

/**
 * Name of the built-in class whose prototype this is, of this realm or of another one (a `node:vm` context, as some
 * test runners make); undefined for every other prototype, subclasses of built-ins included. Runs no user code.
 */
export function builtinOf(prototype: object): string | undefined {
  return known.get(prototype) ?? foreign.get(prototype) ?? foreignBuiltin(prototype);
}

/** Name of the first built-in error class on the prototype chain, which begins with `prototype`. */
export function builtinErrorOf(prototype: object | null): string | undefined {
  for (let at = prototype; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const name = builtinOf(at);
    if (name !== undefined) return name === "DOMException" || isErrorName(name) ? name : undefined;
  }
  return undefined;
}

export function isErrorName(name: string): boolean {
  return (errorNames as readonly string[]).includes(name);
}

export function isViewName(name: string): boolean {
  return (viewNames as readonly string[]).includes(name);
}

/** Value of an own data property; undefined for an accessor. */
export function dataProperty(target: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(target, key)?.value;
}

function foreignBuiltin(prototype: object): string | undefined {
  const name = nativeName(prototype);
  if (name === undefined || !nameable.has(name)) return undefined;
  foreign.set(prototype, name);
  return name;
}

/** Name of the engine's own class whose prototype this is, of whatever realm; undefined for classes of source text. */
export function nativeName(prototype: object): string | undefined {
  if (types.isProxy(prototype)) return undefined;
  const maker = dataProperty(prototype, "constructor");
  if (typeof maker !== "function" || types.isProxy(maker)) return undefined;
  if (dataProperty(maker, "prototype") !== prototype) return undefined;
  const name = dataProperty(maker, "name");
  if (typeof name !== "string") return undefined;
  // A user's class may be named `Map`; only the engine's own have no source text.
  return Function.prototype.toString.call(maker).endsWith("{ [native code] }") ? name : undefined;
}
