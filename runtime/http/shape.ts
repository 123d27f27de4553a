/** Whether a request's body has the shape that its route wants. */
import { shown } from "../journal/careful.js";
import { RefusedRequest } from "./refused-request.js";

/** What a field of a body must be. */
export interface Field<T> {
  is(value: unknown): value is T;
  /** For messages: "a non-empty text". */
  what: string;
  optional: boolean;
}

export type Shape = { readonly [name: string]: Field<unknown> };
export type Shaped<S extends Shape> = { [Name in keyof S]: S[Name] extends Field<infer T> ? T : never };

export const text: Field<string> = {
  is: (value): value is string => typeof value === "string" && value !== "",
  what: "a non-empty text",
  optional: false,
};

export const anything: Field<unknown> = { is: (_value): _value is unknown => true, what: "a value", optional: false };

export function exactly<T extends string>(only: T): Field<T> {
  return { is: (value): value is T => value === only, what: JSON.stringify(only), optional: false };
}

export function optional<T>(field: Field<T>): Field<T | undefined> {
  return { ...field, optional: true };
}

/**
 * @param body undefined if there was none
 * @throws RefusedRequest that tells what is wrong
 */
export function shaped<S extends Shape>(body: unknown, shape: S): Shaped<S> {
  const names = Object.keys(shape);
  const wanted = names.length === 0 ? "It has no fields." : `Its fields are ${names.join(", ")}.`;
  const given = body === undefined ? {} : body;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw invalid(`The body must be a JSON object. ${wanted}`);
  const strange = Object.keys(given).find((name) => !Object.hasOwn(shape, name));
  if (strange !== undefined) throw invalid(`The body has a field ${shown(strange)} that nothing reads. ${wanted}`);
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(shape)) {
    if (Object.hasOwn(given, name)) {
      const value = (given as Record<string, unknown>)[name];
      if (!field.is(value)) throw invalid(`"${name}" must be ${field.what}, not ${shown(value)}.`);
      read[name] = value;
    } else if (!field.optional) throw invalid(`"${name}" is missing: ${field.what}.`);
  }
  return read as Shaped<S>;
}

export function invalid(message: string): RefusedRequest {
  return new RefusedRequest(400, "INVALID_BODY", message);
}
