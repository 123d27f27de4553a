/**
 * How values that devalue does not keep (errors, Buffers, class instances, ...) are written: as a flat array that
 * begins with a tag, `[tag, ...header, key, value, key, value, ...]`. Here is also the gate: whatever neither devalue
 * nor a tag keeps in full is refused, so nothing is lost in silence.
 */
import { Buffer } from "node:buffer";
import { types } from "node:util";
import { knownErrors } from "./known-errors.js";
import { builtinErrorOf, builtinOf, dataProperty, isErrorName, isViewName } from "./prototypes.js";
import type { Registry } from "./registry.js";

export type Payload = [tag: string, ...rest: unknown[]];

/** Why a value cannot be recorded; becomes a SerialisationError once the path is known. */
export class Refusal extends Error {}

/** The text of a recorded value contradicts itself. */
export class Damage extends Error {}

/** A tag that this codec was not given. */
export class UnknownTag extends Error {
  constructor(readonly tag: string) {
    super(`Unknown tag ${tag}`);
  }
}

/** How a tag is read back. */
export interface Kind {
  /** Where the payload's keys and values begin; undefined: the payload has none. */
  fields?: number;
  /** Makes the value; without its fields where `fill` adds them, so that cycles can close. */
  revive(payload: Payload): unknown;
  fill?(target: object, payload: Payload): void;
}

/**
 * The payload to record instead of `value`; undefined if devalue keeps the value itself.
 *
 * @throws Refusal if nothing keeps it.
 */
export function tagged(value: unknown, registry: Registry): Payload | undefined {
  if (value === null) return undefined;
  const type = typeof value;
  if (type !== "object" && type !== "function" && type !== "symbol") return undefined;
  for (const { tag, custom } of registry.customs) {
    if (custom.is(value)) return [tag, custom.encode(value)];
  }
  if (type !== "object") throw new Refusal(type === "symbol" ? "a symbol" : "a function");
  return taggedObject(value as object, registry);
}

function taggedObject(value: object, registry: Registry): Payload | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null) return taggedPlain(value, true);
  const registered = registry.classes.get(prototype);
  if (registered) {
    refuseSymbols(value, registered.isError ? isShared : undefined);
    if (registered.isError) return ["Error", registered.tag, ...errorFields(value)];
    return [registered.tag, ...entries(value, Object.keys(value))];
  }
  const builtin = builtinOf(prototype);
  switch (builtin) {
    case "Object":
      return taggedPlain(value, false);
    case "Array":
      return taggedArray(value as unknown[]);
    case "Buffer":
      return ["Buffer", (value as Buffer).toString("base64")];
    case "RegExp":
      return taggedRegExp(value as RegExp);
    case "ArrayBuffer":
      if ((value as { resizable?: boolean }).resizable) throw new Refusal("a resizable ArrayBuffer");
      if (isDetached(value as ArrayBuffer)) throw new Refusal("a detached ArrayBuffer");
      break;
    case "String":
      refuseSymbols(value);
      if (Object.keys(value).length !== (value as unknown as string).length)
        throw new Refusal("a String with own properties");
      return undefined;
    case undefined:
      return taggedSubclass(value, prototype);
  }
  if (isErrorName(builtin) || builtin === "DOMException") return taggedError(value, builtin);
  refuseSymbols(value);
  // The keys of a view are its elements: listing them would cost more than the value.
  if (!isViewName(builtin) && Object.keys(value).length > 0) throw new Refusal(`a ${builtin} with own properties`);
  return undefined;
}

function isDetached(buffer: ArrayBuffer): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

function taggedPlain(value: object, isNull: boolean): Payload | undefined {
  refuseSymbols(value);
  // devalue refuses such keys; as a payload they come back as the own property that they were.
  return Object.hasOwn(value, "__proto__") ? ["object", isNull, ...entries(value, Object.keys(value))] : undefined;
}

function taggedArray(value: unknown[]): Payload | undefined {
  refuseSymbols(value);
  const keys = Object.keys(value);
  const last = keys.at(-1);
  // Indexes come first, so one look at the last key tells whether there are others (as in the result of a match).
  if (last === undefined || isIndex(last)) return undefined;
  return ["array", value.length, ...entries(value, keys)];
}

function isIndex(key: string): boolean {
  const number = Number(key) >>> 0;
  return String(number) === key && number !== 2 ** 32 - 1;
}

function taggedRegExp(value: RegExp): Payload | undefined {
  refuseSymbols(value);
  if (Object.keys(value).length > 0) throw new Refusal("a RegExp with own properties");
  return value.lastIndex === 0 ? undefined : ["RegExp", value.source, value.flags, value.lastIndex];
}

function taggedSubclass(value: object, prototype: object): Payload {
  const base = builtinErrorOf(prototype);
  if (base !== undefined) return taggedError(value, base);
  throw new Refusal(describe(value, prototype));
}

function taggedError(value: object, base: string): Payload {
  refuseSymbols(value, isShared);
  if (base === "DOMException") {
    const { message, name } = value as DOMException;
    return ["DOMException", message, name, ...errorFields(value)];
  }
  const prototype = Object.getPrototypeOf(value) as object;
  const exact = knownErrors.nameOf(prototype);
  if (exact !== undefined) return ["Error", exact, ...errorFields(value)];
  return ["Error", base, ...errorFields(value, builtinOf(prototype) === undefined ? inherited(value, base) : {})];
}

/** What an error of an unknown class would lose with its class: `name` and `message` that it does not own. */
function inherited(value: object, base: string): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const { name, message } = value as Error;
  if (!Object.hasOwn(value, "name")) kept.name = name === base ? className(value) || name : name;
  if (!Object.hasOwn(value, "message") && message !== "") kept.message = message;
  return kept;
}

const hiddenFields = ["name", "message", "stack", "cause", "errors"];

/** `[number of hidden fields, key, value, ...]`, hidden (not enumerable) ones first. */
function errorFields(value: object, extra: Record<string, unknown> = {}): unknown[] {
  const hidden = hiddenFields.filter(
    (key) => Object.hasOwn(value, key) && !Object.prototype.propertyIsEnumerable.call(value, key),
  );
  const count = hidden.length + Object.keys(extra).length;
  const own = [...entries(value, Object.keys(value)), ...sharedEntries(value)];
  return [count, ...entries(value, hidden), ...Object.entries(extra).flat(), ...own];
}

function entries(value: object, keys: readonly string[]): unknown[] {
  const list: unknown[] = [];
  for (const key of keys) list.push(key, (value as Record<string, unknown>)[key]);
  return list;
}

/** Marks by which libraries know their errors across copies and processes: `error[Symbol.for("vendor.error")]`. */
function sharedEntries(value: object): unknown[] {
  return Object.getOwnPropertySymbols(value).flatMap((symbol) =>
    isShared(symbol) && Object.prototype.propertyIsEnumerable.call(value, symbol)
      ? [[Symbol.keyFor(symbol)], (value as Record<symbol, unknown>)[symbol]]
      : [],
  );
}

/** Whether a symbol is the same in every process. */
function isShared(symbol: symbol): boolean {
  return Symbol.keyFor(symbol) !== undefined;
}

/** @param isKept which symbols the value's payload has room for */
function refuseSymbols(value: object, isKept?: (symbol: symbol) => boolean): void {
  const symbols = Object.getOwnPropertySymbols(value);
  if (symbols.length === 0) return;
  for (const symbol of symbols) {
    if (isKept?.(symbol)) continue;
    // The two well-known ones are what makes a module, an arguments object or an impostor more than its plain keys.
    const telling = symbol === Symbol.toStringTag || symbol === Symbol.iterator;
    if (telling || Object.prototype.propertyIsEnumerable.call(value, symbol)) {
      throw new Refusal(`an object with the symbol key ${String(symbol)}`);
    }
  }
}

function describe(value: object, prototype: object): string {
  if (types.isPromise(value)) return "a promise (await it first)";
  if (types.isGeneratorObject(value)) return "a generator (record an array of what it yields)";
  const name = className(value);
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    const base = builtinOf(at);
    if (base !== undefined && base !== "Object") return `an instance of ${name || "a class"}, a subclass of ${base},`;
  }
  return name ? `an instance of the class ${name}` : "an object with a prototype of its own";
}

function className(value: object): string {
  const maker: unknown = value.constructor;
  return typeof maker === "function" && typeof maker.name === "string" ? maker.name : "";
}

/** The kinds that need no registration, by tag. */
export const builtinKinds: Readonly<Record<string, Kind>> = {
  object: {
    fields: 2,
    revive: (payload) => (payload[1] ? Object.create(null) : {}),
    fill: (target, payload) => define(target, payload, 2, payload.length, true),
  },
  array: {
    fields: 2,
    revive: () => [],
    fill(target, payload) {
      define(target, payload, 2, payload.length, true);
      (target as unknown[]).length = payload[1] as number;
    },
  },
  Buffer: {
    revive: (payload) => Buffer.from(text(payload[1]), "base64"),
  },
  RegExp: {
    revive(payload) {
      const expression = new RegExp(text(payload[1]), text(payload[2]));
      expression.lastIndex = payload[3] as number;
      return expression;
    },
  },
  DOMException: {
    fields: 4,
    revive: (payload) => new DOMException(text(payload[1]), text(payload[2])),
    fill: (target, payload) => defineError(target, payload, 3),
  },
};

/** Errors of the given class: a builtin one, one of the library's, or a registered one. */
export function errorKind(constructorOf: (base: string) => ErrorClass | undefined): Kind {
  return {
    fields: 3,
    revive(payload) {
      const base = text(payload[1]);
      const target = constructorOf(base);
      if (target === undefined) throw new UnknownTag(base);
      // A real error (with the engine's mark), and yet the class's own constructor does not run.
      return Reflect.construct(Error, [], target as unknown as new () => Error) as Error;
    },
    fill: (target, payload) => defineError(target, payload, 2),
  };
}

export type ErrorClass = { readonly prototype: object };

/** Instances of a registered class: its prototype and own fields; the constructor does not run. */
export function classKind(prototype: object): Kind {
  return {
    fields: 1,
    revive: () => Object.create(prototype) as object,
    fill: (target, payload) => define(target, payload, 1, payload.length, true),
  };
}

function defineError(target: object, payload: Payload, countAt: number): void {
  const count = payload[countAt];
  if (typeof count !== "number" || count < 0) throw new Damage("no number of fields");
  const from = countAt + 1;
  // What the constructor put there is this process's, not the record's.
  Reflect.deleteProperty(target, "stack");
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

function text(value: unknown): string {
  if (typeof value !== "string") throw new Damage("not a text");
  return value;
}

/** Own data property `prototype` of a class, checked. */
export function prototypeOf(target: object): object | undefined {
  const prototype = dataProperty(target, "prototype");
  return typeof prototype === "object" && prototype !== null ? prototype : undefined;
}
