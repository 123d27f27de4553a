/** Finds the place in a value that cannot be recorded. A second, slow walk: only taken when the first has failed. */
import { isA, wordsOf } from "./careful.js";
import { type Payload, Refusal } from "./payload.js";
import { builtinOf, isViewName } from "./prototypes.js";
import type { Registry } from "./registry.js";
import { tagged } from "./tagged.js";

interface Node {
  value: unknown;
  parent?: Node;
  segment: string;
}

/** Where the value is refused, for instance `$.items[3].socket`, and why. Undefined: nowhere that this walk can see. */
export function locate(root: unknown, registry: Registry): { path: string; reason: unknown } | undefined {
  const seen = new Set<unknown>();
  const stack: Node[] = [{ value: root, segment: "$" }];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (seen.has(node.value)) continue;
    if (typeof node.value === "object") seen.add(node.value);
    let parent: Node = node;
    try {
      const payload = tagged(node.value, registry);
      const found = [...children(node.value, payload, registry)].map(([segment, read]): Node => {
        const child: Node = { value: undefined, parent: node, segment };
        // Reading may run a getter that throws: the blame is then the child's.
        parent = child;
        child.value = read();
        parent = node;
        return child;
      });
      // Not spread: an argument list has less room than an array.
      for (const child of found.reverse()) stack.push(child);
    } catch (reason) {
      return { path: pathOf(parent), reason };
    }
  }
  return undefined;
}

type Child = [segment: string, read: () => unknown];

function* children(value: unknown, payload: Payload | undefined, registry: Registry): Generator<Child> {
  if (payload !== undefined) {
    const fields = registry.kinds.get(payload[0])?.fields;
    if (fields === undefined) yield ["", () => payload[1]];
    else for (let i = fields; i < payload.length; i += 2) yield [property(String(payload[i])), () => payload[i + 1]];
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const prototype = Object.getPrototypeOf(value) as object | null;
  const builtin = prototype === null ? "Object" : builtinOf(prototype);
  if (builtin === "Array" || builtin === "Object") {
    for (const key of Object.keys(value)) {
      const segment = builtin === "Array" ? `[${key}]` : property(key);
      yield [segment, () => (value as Record<string, unknown>)[key]];
    }
  } else if (builtin === "Map") {
    for (const [key, item] of value as Map<unknown, unknown>) {
      const name = nameOf(key);
      yield [`.keys(${name})`, () => key];
      yield [`.get(${name})`, () => item];
    }
  } else if (builtin === "Set") {
    let index = 0;
    for (const item of value as Set<unknown>) yield [`.values()[${index++}]`, () => item];
  } else if (builtin !== undefined && isViewName(builtin)) {
    yield [".buffer", () => (value as ArrayBufferView).buffer];
  }
}

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

function property(key: string): string {
  return identifier.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function nameOf(key: unknown): string {
  if (typeof key === "string") return JSON.stringify(key);
  if (typeof key === "object" || typeof key === "function" || typeof key === "symbol")
    return key === null ? "null" : "...";
  return String(key);
}

function pathOf(node: Node): string {
  const segments: string[] = [];
  for (let at: Node | undefined = node; at !== undefined; at = at.parent) segments.push(at.segment);
  return segments.reverse().join("");
}

/** The refusal's words for a message. */
export function refusalWords(reason: unknown): string {
  if (isA(reason, Refusal)) return `Cannot record ${reason.message}`;
  return `Cannot record a value that fails to be read (${wordsOf(reason)})`;
}
