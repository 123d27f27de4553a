/** Outcomes of bodies as they are kept: encoded at once, so that later changes to the value change nothing. */
import { clipped, fieldOf, isA, kindOf, wordsOf } from "../../journal/careful.js";
import type { Codec } from "../../journal/codec.js";

export interface Outcome {
  state: "done" | "failed";
  /** Encoded value or error. */
  value: string;
}

/**
 * An error as text; whatever was thrown, something is kept. What the codec refuses is told in a plainer form: without
 * the sockets, requests and the like that errors drag along, then with nothing but plain fields, then in a few words.
 */
export function encodeError(codec: Codec, error: unknown): string {
  const canBeKept = (value: unknown): boolean => {
    try {
      codec.encode(value);
      return true;
    } catch {
      return false;
    }
  };
  const plainForm = (isKept: (value: unknown) => boolean) => () => plainError(error, isKept, new Set(), 0);
  for (const form of [() => error, plainForm(canBeKept), plainForm(isPrimitive)]) {
    try {
      return codec.encode(form());
    } catch {
      // The next form is plainer.
    }
  }
  return codec.encode(briefError(error));
}

/** How far down causes are kept of an error that is too deep to be kept whole. */
const deepest = 100;

const primitives = new Set(["string", "number", "boolean", "bigint", "undefined"]);

function isPrimitive(value: unknown): boolean {
  return value === null || primitives.has(typeof value);
}

function plainError(error: unknown, isKept: (value: unknown) => boolean, seen: Set<unknown>, depth: number): unknown {
  if (!isA(error, Error)) return new Error(`A value that cannot be kept was thrown: ${kindOf(error)}`);
  if (seen.has(error)) return undefined;
  seen.add(error);
  const message = wordsOf(error);
  const part = (value: unknown): unknown => {
    if (!isA(value, Error)) return isPrimitive(value) ? value : kindOf(value);
    if (depth + 1 < deepest) return plainError(value, isKept, seen, depth + 1);
    return `${clipped(wordsOf(value))} (what it holds is left out, more than ${deepest} levels down)`;
  };
  const errors = isA(error, AggregateError) ? fieldOf(error, "errors") : undefined;
  const copy = Array.isArray(errors) ? new AggregateError(errors.map(part), message) : new (builtIn(error))(message);
  for (const name of Object.keys(error)) {
    const value = fieldOf(error, name);
    if (isPrimitive(value) || isKept(value)) Object.defineProperty(copy, name, plain(value));
  }
  for (const name of ["name", "stack"]) {
    const value = fieldOf(error, name);
    if (typeof value === "string" && value !== fieldOf(copy, name))
      Object.defineProperty(copy, name, { ...plain(value), enumerable: false });
  }
  if ("cause" in error)
    Object.defineProperty(copy, "cause", { ...plain(part(fieldOf(error, "cause"))), enumerable: false });
  return copy;
}

function plain(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

/** Its class, name and the beginning of its message: short enough for any limit. */
function briefError(error: unknown): Error {
  if (!isA(error, Error)) return withoutStack(new Error(`A value that cannot be kept was thrown: ${kindOf(error)}`));
  const brief = new (builtIn(error))(`${clipped(wordsOf(error))} (the rest of this error cannot be kept)`);
  const name = fieldOf(error, "name");
  if (typeof name === "string") brief.name = clipped(name, 60);
  return withoutStack(brief);
}

function withoutStack(error: Error): Error {
  Reflect.deleteProperty(error, "stack");
  return error;
}

function builtIn(error: Error): ErrorConstructor {
  const found = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].find((type) =>
    isA(error, type),
  );
  return found ?? Error;
}
