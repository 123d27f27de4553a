/**
 * A digest of arguments that tells whether a recorded call was made with the same ones. It checks identity and never
 * forms it (rule I3): two different values may share a fingerprint (instances of classes and functions are opaque),
 * but equal values never differ.
 *
 * No code of the value's runs: properties are looked at through their descriptors, built-ins through the getters that
 * were in place when this module loaded, and proxies not at all.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { types } from "node:util";
import { builtinErrorOf, builtinOf, dataProperty, isErrorName, isViewName } from "./prototypes.js";

/** How much of a value counts. What is beyond is one and the same `…`. */
const limits = { nodes: 10_000, chars: 1_000_000, depth: 200, keys: 10_000 };

const readableLength = 160;
const prefixLength = 60;
const digestLength = 24;

/**
 * Structural fingerprint of a list of arguments: the list itself as text if that is short, else its beginning, `#`
 * and a digest. Well-formed Unicode, the same on every machine.
 *
 * Order of object keys, Map entries and Set members makes no difference; neither does a property, or a last
 * argument, that is absent rather than undefined.
 *
 * @param opaque gets the functions and instances that were met, which count by kind only
 */
export function fingerprint(values: readonly unknown[], opaque?: unknown[]): string {
  let length = values.length;
  while (length > 0 && values[length - 1] === undefined) length--;
  const whole = own(values, length, { nodes: limits.nodes, chars: limits.chars, opaque });
  if (whole.length <= readableLength) return whole;
  return `${wholeUnits(whole, prefixLength)}#${digest(whole)}`;
}

/** Whether a fingerprint says nothing of the values but their kinds. */
export function hasOpaqueOnly(print: string): boolean {
  return /^[[\],]*$/.test(print.replace(/<(object|function|symbol)>/g, ""));
}

/** As `list` has them, the first values of an array of the runtime's own: no accessor is in it, and no hole. */
function own(values: readonly unknown[], length: number, budget: Budget): string {
  const ancestors: object[] = [];
  let parts = "";
  for (let i = 0; i < length; i++) {
    if (i > 0) parts += ",";
    if (budget.nodes <= 0 || budget.chars <= 0) return `[${parts}${beyond}${length}]`;
    parts += canonical(values[i], budget, ancestors);
  }
  return `[${parts}]`;
}

/** What is left to spend. */
interface Budget {
  nodes: number;
  chars: number;
  readonly opaque: unknown[] | undefined;
}

const beyond = "…";

function canonical(value: unknown, budget: Budget, ancestors: object[]): string {
  if (budget.nodes <= 0 || budget.chars <= 0) return beyond;
  budget.nodes--;
  switch (typeof value) {
    case "string":
      return text(value, budget);
    case "number":
      return spend(Object.is(value, -0) ? "-0" : String(value), budget);
    case "bigint":
      return spend(bigint(value, budget), budget);
    case "object":
      return value === null ? spend("null", budget) : object(value, budget, ancestors);
    case "function":
      budget.opaque?.push(value);
      return spend("<function>", budget);
    case "symbol":
      return spend(`<${typeof value}>`, budget);
    default:
      return spend(String(value), budget);
  }
}

function object(value: object, budget: Budget, ancestors: object[]): string {
  const above = ancestors.lastIndexOf(value);
  // Relative, because an absolute number would depend on the order in which members were visited.
  if (above >= 0) return spend(`^${ancestors.length - above}`, budget);
  if (ancestors.length >= limits.depth) return beyond;
  ancestors.push(value);
  const described = types.isProxy(value) ? opaque : structure(value, budget, ancestors);
  ancestors.pop();
  if (described !== opaque) return described;
  budget.opaque?.push(value);
  return spend(opaque, budget);
}

const opaque = "<object>";

function structure(value: object, budget: Budget, ancestors: object[]): string {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null) return record(value, budget, ancestors);
  const builtin = builtinOf(prototype);
  if (builtin === undefined) return error(value, prototype, budget);
  try {
    switch (builtin) {
      case "Object":
        return record(value, budget, ancestors);
      case "Array":
        return Array.isArray(value) ? list(value, budget, ancestors) : opaque;
      case "Map":
        return map(value, budget, ancestors);
      case "Set":
        return set(value, budget, ancestors);
      case "Date":
        return spend(`Date(${String(getTime.call(value as Date))})`, budget);
      case "RegExp":
        return `RegExp(${text(source(value), budget)},${flags.map(([letter, on]) => (on(value) ? letter : "")).join("")})`;
      case "URL":
        return `URL(${text(href(value), budget)})`;
      case "URLSearchParams":
        return `URLSearchParams(${text(searchText.call(value as URLSearchParams), budget)})`;
      case "ArrayBuffer":
        return bytes("ArrayBuffer", new Uint8Array(value as ArrayBuffer), budget);
      case "Buffer":
      case "DataView":
        return view(value, budget);
      case "Number":
      case "String":
      case "Boolean":
      case "BigInt":
        return `${builtin}(${canonical(unbox(value), budget, ancestors)})`;
    }
    if (isViewName(builtin)) return view(value, budget);
    if (isErrorName(builtin) || builtin === "DOMException") return error(value, prototype, budget);
    return opaque;
  } catch {
    // The prototype of a built-in without its inside.
    return opaque;
  }
}

function record(value: object, budget: Budget, ancestors: object[]): string {
  const keys = Object.keys(value);
  if (keys.length > limits.keys) return spend(`{${beyond}}`, budget);
  const parts: string[] = [];
  for (const key of keys.sort()) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property === undefined || ("value" in property && property.value === undefined)) continue;
    if (budget.nodes <= 0 || budget.chars <= 0) {
      parts.push(beyond);
      break;
    }
    parts.push(`${text(key, budget)}:${held(property, budget, ancestors)}`);
  }
  return `{${parts.join(",")}}`;
}

function list(value: readonly unknown[], budget: Budget, ancestors: object[]): string {
  const parts: string[] = [];
  const { length } = value;
  for (let i = 0; i < length; i++) {
    if (budget.nodes <= 0 || budget.chars <= 0) {
      parts.push(`${beyond}${length}`);
      break;
    }
    const property = Object.getOwnPropertyDescriptor(value, i);
    if (property === undefined) {
      budget.nodes--;
      parts.push("<hole>");
    } else {
      parts.push(held(property, budget, ancestors));
    }
  }
  return `[${parts.join(",")}]`;
}

function held(property: PropertyDescriptor, budget: Budget, ancestors: object[]): string {
  if (!("value" in property)) return spend("<accessor>", budget);
  return canonical(property.value, budget, ancestors);
}

function map(value: object, budget: Budget, ancestors: object[]): string {
  const size = mapSize(value);
  return unordered("Map", size, budget, (share, add) => {
    mapForEach.call(value as Map<unknown, unknown>, (item, key) => {
      const each = { ...share };
      add(`${canonical(key, each, ancestors)}=>${canonical(item, each, ancestors)}`, each);
    });
  });
}

function set(value: object, budget: Budget, ancestors: object[]): string {
  const size = setSize(value);
  return unordered("Set", size, budget, (share, add) => {
    setForEach.call(value as Set<unknown>, (item) => {
      const each = { ...share };
      add(canonical(item, each, ancestors), each);
    });
  });
}

/** Members in sorted order. All get the same share of what is left, so that it does not matter which comes first. */
function unordered(
  name: string,
  size: number,
  budget: Budget,
  visit: (share: Readonly<Budget>, add: (part: string, left: Budget) => void) => void,
): string {
  if (size === 0) return spend(`${name}{}`, budget);
  const { opaque } = budget;
  const share = { nodes: Math.floor(budget.nodes / size), chars: Math.floor(budget.chars / size), opaque };
  if (share.nodes < 1 || share.chars < 1) return spend(`${name}{${beyond}${size}}`, budget);
  const parts: string[] = [];
  visit(share, (part, left) => {
    budget.nodes -= share.nodes - left.nodes;
    budget.chars -= share.chars - left.chars;
    parts.push(part);
  });
  return `${name}{${parts.sort().join(",")}}`;
}

/** Name and message of an error; of one of a user's class the nearest built-in's name, as minifiers change its own. */
function error(value: object, prototype: object, budget: Budget): string {
  const base = builtinErrorOf(prototype);
  if (base === undefined) return opaque;
  const own = builtinOf(prototype) === base ? dataProperty(value, "name") : undefined;
  const message = base === "DOMException" ? exception("message", value) : dataProperty(value, "message");
  const name = base === "DOMException" ? exception("name", value) : typeof own === "string" ? own : base;
  return `Error(${text(String(name), budget)},${typeof message === "string" ? text(message, budget) : ""})`;
}

function view(value: object, budget: Budget): string {
  if (!ArrayBuffer.isView(value)) return opaque;
  const [from, name] = types.isDataView(value) ? [dataView, "DataView"] : [typedArray, String(typedArray.name(value))];
  return bytes(name, new Uint8Array(from.buffer(value), from.byteOffset(value), from.byteLength(value)), budget);
}

function bytes(name: string, content: Uint8Array, budget: Budget): string {
  const counted = content.subarray(0, Math.max(0, budget.chars));
  budget.chars -= counted.length;
  const rest = counted.length < content.length ? beyond : "";
  const shown = counted.length <= 16 ? Buffer.from(counted).toString("hex") : `#${digest(counted)}`;
  return `${name}(${content.length},${shown}${rest})`;
}

function text(value: string, budget: Budget): string {
  if (value.length <= budget.chars) return spend(JSON.stringify(value), budget);
  const shown = JSON.stringify(value.slice(0, Math.max(0, budget.chars)));
  return spend(`${shown}${beyond}${value.length}`, budget);
}

function bigint(value: bigint, budget: Budget): string {
  const bits = budget.chars * 3;
  // Writing out a number takes more than linear time.
  const shown = BigInt.asIntN(Math.min(bits, 100_000), value);
  return shown === value ? `${value}n` : `${shown}n${beyond}`;
}

function spend(part: string, budget: Budget): string {
  budget.chars -= part.length;
  return part;
}

function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex").slice(0, digestLength);
}

/** The first units of a text, without half a surrogate pair at the end. */
function wholeUnits(value: string, length: number): string {
  const last = value.charCodeAt(length - 1);
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

function getter<T>(prototype: object, key: PropertyKey): (value: unknown) => T {
  const get = Object.getOwnPropertyDescriptor(prototype, key)?.get;
  return get ? (value) => Reflect.apply(get, value, []) as T : () => undefined as T;
}

const mapForEach = Map.prototype.forEach;
const setForEach = Set.prototype.forEach;
const mapSize = getter<number>(Map.prototype, "size");
const setSize = getter<number>(Set.prototype, "size");
const getTime = Date.prototype.getTime;
const href = getter<string>(URL.prototype, "href");
const searchText = URLSearchParams.prototype.toString;
const source = getter<string>(RegExp.prototype, "source");
const flags = Object.entries({
  d: "hasIndices",
  g: "global",
  i: "ignoreCase",
  m: "multiline",
  s: "dotAll",
  u: "unicode",
  v: "unicodeSets",
  y: "sticky",
}).map(([letter, key]) => [letter, getter<boolean>(RegExp.prototype, key)] as const);

function placeOf(prototype: object) {
  return {
    name: getter<string>(prototype, Symbol.toStringTag),
    buffer: getter<ArrayBuffer>(prototype, "buffer"),
    byteOffset: getter<number>(prototype, "byteOffset"),
    byteLength: getter<number>(prototype, "byteLength"),
  };
}
const typedArray = placeOf(Object.getPrototypeOf(Uint8Array.prototype) as object);
const dataView = placeOf(DataView.prototype);

const unboxers = [Number, String, Boolean, BigInt].map((each) => each.prototype.valueOf);
function unbox(value: object): unknown {
  const which = [types.isNumberObject, types.isStringObject, types.isBooleanObject, types.isBigIntObject];
  return Reflect.apply(unboxers[which.findIndex((is) => is(value))]!, value, []);
}

const exceptionGetters = {
  name: getter<string>(DOMException.prototype, "name"),
  message: getter<string>(DOMException.prototype, "message"),
};
function exception(key: "name" | "message", value: object): string {
  return exceptionGetters[key](value);
}
