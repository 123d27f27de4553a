/** Outcomes of bodies as they are kept: encoded at once, so that later changes to the value change nothing. */
import type { Codec } from "../journal/codec.js";

export interface Outcome {
  state: "done" | "failed";
  /** Encoded value or error. */
  value: string;
}

export function encodeError(codec: Codec, error: unknown): string {
  try {
    return codec.encode(error);
  } catch {
    // Errors often drag sockets, requests and the like along. What matters of them is kept.
    try {
      return codec.encode(plainError(error, new Set()));
    } catch (fault) {
      // Its own getters threw.
      return codec.encode(new Error(`An error that cannot be read was thrown: ${String(fault)}`));
    }
  }
}

const kept = new Set(["string", "number", "boolean", "bigint", "undefined"]);

function plainError(error: unknown, seen: Set<unknown>): unknown {
  if (!(error instanceof Error)) return new Error(`A value that cannot be kept was thrown: ${describeValue(error)}`);
  if (seen.has(error)) return undefined;
  seen.add(error);
  const Plain = error instanceof AggregateError ? AggregateError : builtIn(error);
  const copy =
    error instanceof AggregateError
      ? new AggregateError(
          error.errors.map((inner: unknown) => plainPart(inner, seen)),
          error.message,
        )
      : new (Plain as ErrorConstructor)(error.message);
  for (const name of Object.keys(error)) {
    const value = fieldOf(error, name);
    if (value === null || kept.has(typeof value)) Object.defineProperty(copy, name, plain(value));
  }
  if (copy.name !== error.name) Object.defineProperty(copy, "name", { ...plain(error.name), enumerable: false });
  if (error.stack !== undefined) Object.defineProperty(copy, "stack", { ...plain(error.stack), enumerable: false });
  if ("cause" in error)
    Object.defineProperty(copy, "cause", { ...plain(plainPart(error.cause, seen)), enumerable: false });
  return copy;
}

/** A field, or undefined where a getter throws. */
function fieldOf(error: Error, name: string): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

function plainPart(value: unknown, seen: Set<unknown>): unknown {
  if (value instanceof Error) return plainError(value, seen);
  return value === null || kept.has(typeof value) ? value : describeValue(value);
}

function plain(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, writable: true, configurable: true };
}

function builtIn(error: Error): ErrorConstructor {
  const found = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].find(
    (type) => error instanceof type,
  );
  return found ?? Error;
}

function describeValue(value: unknown): string {
  return Object.prototype.toString.call(value);
}
