/** The classes and types a codec was given, by prototype and by tag. */
import { types } from "node:util";
import { InvalidArgumentError } from "../errors.js";
import { knownErrors } from "./known-errors.js";
import { builtinErrorOf, builtinOf } from "./prototypes.js";
import { builtinKinds, classKind, errorKind, type Kind, type Payload, prototypeOf } from "./tagged.js";

/** What the tags of registered types begin with, so that no name of a user's can be one of ours. */
const classPrefix = "class:";
export const customPrefix = "type:";

/** A class as registered; its constructor, which may be private, is never called. */
export interface RegisteredClass {
  readonly name: string;
  readonly prototype: object;
}

/** How to keep values that are more than their own fields, for instance those with `#private` ones. */
export interface CustomType {
  /** Whether the value is of this type; asked for every object, function and symbol. */
  is(value: unknown): boolean;
  /** Data to record instead; may hold whatever the codec keeps, except the value itself. */
  encode(value: unknown): unknown;
  /** The value again, from a copy of what `encode` gave. */
  decode(data: unknown): unknown;
}

/** What a codec may be told about types that it does not know. */
export interface TypeOptions {
  /** Classes under their own names, or, for code that is minified, under names of your choice. */
  classes?: readonly RegisteredClass[] | Readonly<Record<string, RegisteredClass>>;
  types?: Readonly<Record<string, CustomType>>;
}

export interface Registry {
  /** By prototype. */
  classes: ReadonlyMap<object, { tag: string; isError: boolean }>;
  customs: ReadonlyArray<{ tag: string; custom: CustomType }>;
  kinds: ReadonlyMap<string, Kind>;
}

/** @throws InvalidArgumentError for a name given twice and for what cannot be rebuilt from its fields. */
export function registry(options: TypeOptions): Registry {
  const classes = new Map<object, { tag: string; isError: boolean }>();
  const kinds = new Map<string, Kind>(Object.entries(builtinKinds));
  const errors = new Map<string, RegisteredClass>();
  const taken = new Set<string>();

  const take = (name: string): void => {
    if (name === "") {
      throw new InvalidArgumentError("A class without a name was registered", "Name it: `classes: { Name: class }`.");
    }
    if (taken.has(name)) {
      throw new InvalidArgumentError(
        `Two types are registered as ${JSON.stringify(name)}`,
        "Give each a name of its own: `classes: { name: Class }`.",
      );
    }
    taken.add(name);
  };

  for (const [name, target] of namedClasses(options.classes ?? [])) {
    take(name);
    const prototype = checkedPrototype(name, target);
    if (classes.has(prototype)) {
      throw new InvalidArgumentError(`The class of ${JSON.stringify(name)} is registered twice`, "Register it once.");
    }
    const tag = `${classPrefix}${name}`;
    const isError = builtinErrorOf(prototype) !== undefined;
    classes.set(prototype, { tag, isError });
    if (isError) errors.set(tag, target);
    else kinds.set(tag, classKind(prototype));
  }

  const customs = Object.entries(options.types ?? {}).map(([name, custom]) => {
    take(name);
    const tag = `${customPrefix}${name}`;
    kinds.set(tag, { revive: (payload: Payload) => custom.decode(payload[1]) });
    return { tag, custom };
  });

  kinds.set(
    "Error",
    errorKind((base) => errors.get(base) ?? knownErrors.classOf(base)),
  );
  return { classes, customs, kinds };
}

function namedClasses(
  classes: readonly RegisteredClass[] | Readonly<Record<string, RegisteredClass>>,
): Array<[string, RegisteredClass]> {
  if (Array.isArray(classes)) {
    return (classes as readonly RegisteredClass[]).map((target) => [String(target?.name ?? ""), target]);
  }
  return Object.entries(classes as Readonly<Record<string, RegisteredClass>>);
}

function checkedPrototype(name: string, target: RegisteredClass): object {
  const prototype = typeof target === "function" ? prototypeOf(target) : undefined;
  if (prototype === undefined) {
    throw new InvalidArgumentError(
      `${JSON.stringify(name)} is registered with something that is no class`,
      "Pass the class itself.",
    );
  }
  for (let at: object | null = prototype; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const base = builtinOf(at);
    if (base === undefined) continue;
    const plain = base === "Object" && at !== prototype;
    const error = at !== prototype && builtinErrorOf(at) === base && base !== "DOMException";
    if (plain || error) return prototype;
    throw new InvalidArgumentError(
      at === prototype
        ? `${JSON.stringify(name)} is a built-in class, which needs no registration`
        : `${JSON.stringify(name)} is a subclass of ${base}, which its own fields do not describe`,
      `Leave it out, or give it in \`types: { ${name}: { is, encode, decode } }\`.`,
    );
  }
  return prototype;
}
