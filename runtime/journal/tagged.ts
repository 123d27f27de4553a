/**
 * How values that devalue does not keep (errors, Buffers, class instances, ...) are written: as payloads. Here is also the
 * gate: whatever neither devalue nor a payload keeps is refused, so nothing is lost in silence.
 */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual, types } from "node:util";
import { kindOf } from "./careful.js";
import {
  counted,
  defineCounted,
  defineShown,
  entries,
  hiddenData,
  hiddenKeys,
  hiddenPrefix,
  refuseSymbols,
  sharedEntries,
  withHidden,
} from "./fields.js";
import { knownErrors } from "./known-errors.js";
import { type Kind, type Payload, Refusal, text, UnknownTag } from "./payload.js";
import { builtinErrorOf, builtinOf, dataProperty, isErrorName, isViewName } from "./prototypes.js";
import type { Registry } from "./registry.js";

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
  if (registered?.custom) return [registered.tag, registered.custom.encode(value)];
  if (registered && !registered.isError) return taggedInstance(value, registered.tag);
  const builtin = builtinOf(prototype);
  switch (builtin) {
    case "Object":
      return taggedPlain(value, false);
    case "Array":
      return taggedArray(value as unknown[]);
    case "Buffer":
      refuseFieldsOfView(value as Buffer, builtin);
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
      return taggedSubclass(value, prototype, registry);
  }
  if (isErrorName(builtin) || builtin === "DOMException") return taggedError(value, builtin, registry);
  if (isViewName(builtin)) {
    refuseFieldsOfView(value as ArrayBufferView, builtin);
    return isOnPool(value as ArrayBufferView) ? taggedBytes(value as ArrayBufferView, builtin) : undefined;
  }
  refuseSymbols(value);
  if (Object.keys(value).length > 0) throw new Refusal(`a ${builtin} with own properties`);
  return builtin === "Temporal.Duration" ? taggedDuration(value) : undefined;
}

/** An instance of a registered class is all that it owns. */
function taggedInstance(value: object, tag: string): Payload {
  refuseSymbols(value, "none");
  if (isMoreThanFields(value))
    throw new Refusal(`an instance of ${className(value)} that is more than its fields`, typeCure);
  const shown = Object.keys(value);
  const hidden = hiddenKeys(value, shown);
  if (hidden.length > 0) return [`${hiddenPrefix}${tag}`, ...counted(value, hidden, shown)];
  return [tag, ...entries(value, shown)];
}

/** Whether it is a Map or the like within, whatever its prototype says. */
function isMoreThanFields(value: object): boolean {
  return (
    Array.isArray(value) ||
    types.isMap(value) ||
    types.isSet(value) ||
    types.isDate(value) ||
    types.isRegExp(value) ||
    types.isPromise(value) ||
    types.isWeakMap(value) ||
    types.isWeakSet(value) ||
    types.isNativeError(value) ||
    types.isBoxedPrimitive(value) ||
    types.isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value)
  );
}

/** The keys of a view are its elements, and to list many costs more than the value: a large one is compared with a bare one. */
function refuseFieldsOfView(value: ArrayBufferView, name: string): void {
  refuseSymbols(value);
  const { length = 0 } = value as Uint8Array;
  const isBare =
    length > fewElements ? isDeepStrictEqual(value, bareView(value, length)) : Object.keys(value).length === length;
  if (!isBare) throw new Refusal(`a ${name} with own properties`);
}

const fewElements = 64;

function bareView(value: ArrayBufferView, length: number): object {
  const { buffer, byteOffset } = value;
  if (Buffer.isBuffer(value)) return Buffer.from(buffer as ArrayBuffer, byteOffset, length);
  const maker = dataProperty(Object.getPrototypeOf(value), "constructor") as new (...args: unknown[]) => object;
  return new maker(buffer, byteOffset, length);
}

/**
 * Whether a view shows a part of what Node makes small Buffers from, which holds the bytes of others: those are not the value's, and
 * must not get into a record. All other views are kept with their whole buffer, which two of them may share.
 */
function isOnPool({ buffer, byteLength }: ArrayBufferView): boolean {
  return byteLength < buffer.byteLength && buffer.byteLength === Buffer.poolSize && !types.isSharedArrayBuffer(buffer);
}

function taggedBytes({ buffer, byteOffset, byteLength }: ArrayBufferView, name: string): Payload {
  return ["bytes", name, Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("base64")];
}

/** As text, 1000 milliseconds would be one second. */
function taggedDuration(value: object): Payload {
  return ["Temporal.Duration", ...durationUnits.map((unit) => (value as Record<string, number>)[unit])];
}

const durationUnits = ["years", "months", "weeks", "days", "hours", "minutes", "seconds"].concat([
  "milliseconds",
  "microseconds",
  "nanoseconds",
]);

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
  const shown = Object.keys(value);
  const hidden = hiddenData(value, shown);
  if (hidden.length > 0) return [`${hiddenPrefix}object`, isNull, ...counted(value, hidden, shown)];
  // devalue refuses such keys; as a payload they come back as the own property that they were.
  return Object.hasOwn(value, "__proto__") ? ["object", isNull, ...entries(value, shown)] : undefined;
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

function taggedSubclass(value: object, prototype: object, registry: Registry): Payload {
  const base = builtinErrorOf(prototype);
  if (base !== undefined) return taggedError(value, base, registry);
  throw refusalOf(value, prototype);
}

function taggedError(value: object, base: string, registry: Registry): Payload {
  refuseSymbols(value, "shared");
  if (base === "DOMException") {
    const { message, name } = value as DOMException;
    return ["DOMException", message, name, ...errorFields(value)];
  }
  const prototype = Object.getPrototypeOf(value) as object;
  const exact = errorClass(prototype, registry);
  if (exact !== undefined) return ["Error", exact, ...errorFields(value)];
  if (builtinOf(prototype) !== undefined) return ["Error", base, ...errorFields(value)];
  return ["Error", nearestErrorClass(prototype, registry) ?? base, ...errorFields(value, inherited(value, base))];
}

/** The class to bring an error of an unknown class back as. */
function nearestErrorClass(prototype: object, registry: Registry): string | undefined {
  for (let at: object | null = prototype; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const name = errorClass(at, registry);
    if (name !== undefined) return name;
  }
  return undefined;
}

function errorClass(prototype: object, registry: Registry): string | undefined {
  const registered = registry.classes.get(prototype);
  return registered?.isError ? registered.tag : knownErrors.nameOf(prototype);
}

/** What an error of an unknown class would lose with its class: `name` and `message` that it does not own. */
function inherited(value: object, base: string): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const { name, message } = value as Error;
  if (!Object.hasOwn(value, "name")) kept.name = name === base ? className(value) || name : name;
  if (!Object.hasOwn(value, "message") && message !== "") kept.message = message;
  return kept;
}

/** Hidden fields that are more than data: those that the language gives errors. */
const hiddenFields = ["name", "message", "stack", "cause", "errors", "error", "suppressed"];

/** `[number of hidden fields, key, value, ...]`, hidden ones first. */
function errorFields(value: object, extra: Record<string, unknown> = {}): unknown[] {
  const shown = Object.keys(value);
  const standard = hiddenFields.filter((key) => Object.hasOwn(value, key) && !shown.includes(key));
  const hidden = [...standard, ...hiddenData(value, shown).filter((key) => !hiddenFields.includes(key))];
  const count = hidden.length + Object.keys(extra).length;
  const own = [...entries(value, shown), ...sharedEntries(value)];
  return [count, ...entries(value, hidden), ...Object.entries(extra).flat(), ...own];
}

function refusalOf(value: object, prototype: object): Refusal {
  if (types.isPromise(value)) return new Refusal("a promise", "Await it first.");
  if (types.isGeneratorObject(value)) return new Refusal("a generator", "Record an array of what it yields.");
  if (isIterator(value)) return new Refusal("an iterator", "Record an array of what it yields.");
  const name = className(value);
  const instead = instances[name];
  if (instead !== undefined && isGlobal(name, prototype))
    return new Refusal(`a ${name}`, `Record what you need of it, as ${instead}.`);
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    const base = builtinOf(at);
    if (base === undefined || base === "Object") continue;
    return new Refusal(`an instance of ${name || "a class"}, a subclass of ${base},`, typeCure);
  }
  return name
    ? new Refusal(`an instance of the class ${name}`, classCure)
    : new Refusal("an object with a prototype of its own");
}

const classCure = "Record plain data in its place, or register the class: `codec({ classes: [...] })`.";
const typeCure =
  "Record plain data in its place, or tell how it is kept: `codec({ types: { name: { class, encode, decode } } })`.";

/** What to record instead of what holds a connection, a stream or the like. */
const instances: Readonly<Record<string, string>> = {
  Response: "`await response.json()`",
  Request: "its `url`",
  Headers: "`Object.fromEntries(headers)`",
  FormData: "`[...form]`",
  Blob: "`await blob.arrayBuffer()`",
  File: "its `name` and `await file.arrayBuffer()`",
  ReadableStream: "`await new Response(stream).arrayBuffer()`",
};

/** Those that collections give: their classes have no names. */
function isIterator(value: object): boolean {
  return / Iterator\]$/.test(kindOf(value));
}

function isGlobal(name: string, prototype: object): boolean {
  const maker = (globalThis as unknown as Record<string, { prototype: unknown } | undefined>)[name];
  return maker?.prototype === prototype;
}

function className(value: object): string {
  const maker: unknown = value.constructor;
  return typeof maker === "function" && typeof maker.name === "string" ? maker.name : "";
}

const plainKind = {
  fields: 2,
  revive: (payload: Payload): object => (payload[1] ? Object.create(null) : {}),
  fill: (target: object, payload: Payload): void => defineShown(target, payload, 2),
} satisfies Kind;

/** The kinds that need no registration, by tag. */
export const builtinKinds: Readonly<Record<string, Kind>> = {
  object: plainKind,
  [`${hiddenPrefix}object`]: withHidden(plainKind),
  array: {
    fields: 2,
    revive: () => [],
    fill(target, payload) {
      defineShown(target, payload, 2);
      (target as unknown[]).length = payload[1] as number;
    },
  },
  Buffer: {
    revive: (payload) => Buffer.from(text(payload[1]), "base64"),
  },
  bytes: {
    revive(payload) {
      const name = text(payload[1]);
      if (!isViewName(name)) throw new UnknownTag(name);
      const { buffer } = Uint8Array.from(Buffer.from(text(payload[2]), "base64"));
      const View = globalThis[name as "Uint8Array"] as (new (from: ArrayBuffer) => object) | undefined;
      if (View === undefined) throw new Error(`this version of Node has no ${name}`);
      return new View(buffer);
    },
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
    fill: (target, payload) => defineErrorFields(target, payload, 3),
  },
  "Temporal.Duration": {
    revive(payload) {
      const { Temporal } = globalThis as unknown as { Temporal?: { Duration: new (...units: unknown[]) => object } };
      if (Temporal === undefined) throw new Error("this version of Node has no Temporal");
      return new Temporal.Duration(...payload.slice(1));
    },
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
    fill: (target, payload) => defineErrorFields(target, payload, 2),
  };
}

export type ErrorClass = { readonly prototype: object };

/** Instances of a registered class: its prototype and own fields; the constructor does not run. */
export function classKind(prototype: object): Kind & { fields: number } {
  return {
    fields: 1,
    revive: () => Object.create(prototype) as object,
    fill: (target, payload) => defineShown(target, payload, 1),
  };
}

function defineErrorFields(target: object, payload: Payload, countAt: number): void {
  // What the constructor put there is this process's, not the record's.
  Reflect.deleteProperty(target, "stack");
  defineCounted(target, payload, countAt);
}

/** Own data property `prototype` of a class, checked. */
export function prototypeOf(target: object): object | undefined {
  const prototype = dataProperty(target, "prototype");
  return typeof prototype === "object" && prototype !== null ? prototype : undefined;
}
