/** The classes and types a codec was given, by prototype and by tag. */
import { types } from "node:util";
import { InvalidArgumentError } from "../errors.js";
import { hiddenPrefix, withHidden } from "./fields.js";
import { knownErrors } from "./known-errors.js";
import type { Kind, Payload } from "./payload.js";
import { privateState } from "./private-state.js";
import { builtinErrorOf, builtinOf, nativeName } from "./prototypes.js";
import { builtinKinds, classKind, errorKind, prototypeOf } from "./tagged.js";

/** What the tags of registered types begin with, so that no name of a user's can be one of ours. */
const classPrefix = "class:";
export const customPrefix = "type:";

/** A class as registered; its constructor, which may be private, is never called. */
export interface RegisteredClass {
  readonly name: string;
  readonly prototype: object;
}

/** How to keep values that are more than their own fields, for instance those with `#private` ones. */
export type CustomType = Conversion & (OfClass | Recognised);

export interface Conversion {
  /** Data to record instead; may hold whatever the codec keeps, except the value itself. */
  encode(value: unknown): unknown;
  /** The value again, from a copy of what `encode` gave. */
  decode(data: unknown): unknown;
}

export interface OfClass {
  /** Instances of this very class; those of its subclasses are other types. */
  class: RegisteredClass;
}

export interface Recognised {
  /** Whether the value is of this type; asked for every object, function and symbol. */
  is(value: unknown): boolean;
}

/** What a codec may be told about types that it does not know. */
export interface TypeOptions {
  /** Classes under their own names, or, for code that is minified, under names of your choice. */
  classes?: readonly RegisteredClass[] | Readonly<Record<string, RegisteredClass>>;
  types?: Readonly<Record<string, CustomType>>;
}

export interface Registry {
  /** By prototype. */
  classes: ReadonlyMap<object, KnownClass>;
  customs: ReadonlyArray<{ tag: string; custom: Conversion & Recognised }>;
  kinds: ReadonlyMap<string, Kind>;
}

export interface KnownClass {
  tag: string;
  /** Whether its instances are errors that their fields describe. */
  isError: boolean;
  /** How its instances are kept, if not by their fields. */
  custom?: Conversion;
}

/** @throws InvalidArgumentError for a name given twice and for what cannot be rebuilt from its fields. */
export function registry(options: TypeOptions): Registry {
  const classes = new Map<object, KnownClass>();
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
  const add = (name: string, prototype: object, known: KnownClass): void => {
    if (classes.has(prototype)) {
      throw new InvalidArgumentError(`The class of ${JSON.stringify(name)} is registered twice`, "Register it once.");
    }
    classes.set(prototype, known);
  };

  for (const [name, target] of namedClasses(options.classes ?? [])) {
    take(name);
    const prototype = checkedPrototype(name, target);
    const tag = `${classPrefix}${name}`;
    const isError = builtinErrorOf(prototype) !== undefined;
    add(name, prototype, { tag, isError });
    if (isError) {
      errors.set(tag, target);
    } else {
      const kind = classKind(prototype);
      kinds.set(tag, kind);
      kinds.set(`${hiddenPrefix}${tag}`, withHidden(kind));
    }
  }

  const customs: Array<{ tag: string; custom: Conversion & Recognised }> = [];
  for (const [name, custom] of Object.entries(options.types ?? {})) {
    take(name);
    const tag = `${customPrefix}${name}`;
    kinds.set(tag, { revive: (payload: Payload) => custom.decode(payload[1]) });
    if ("class" in custom) add(name, prototypeOfClass(name, custom.class), { tag, isError: false, custom });
    else customs.push({ tag, custom });
  }

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

function prototypeOfClass(name: string, target: RegisteredClass): object {
  const prototype = typeof target === "function" ? prototypeOf(target) : undefined;
  if (prototype === undefined) {
    throw new InvalidArgumentError(
      `${JSON.stringify(name)} is registered with something that is no class`,
      "Pass the class itself.",
    );
  }
  return prototype;
}

/** The prototype of a class whose instances can be rebuilt from their fields. */
function checkedPrototype(name: string, target: RegisteredClass): object {
  const prototype = prototypeOfClass(name, target);
  const shown = JSON.stringify(name);
  const cure = `in \`types: { ${shown}: { class, encode, decode } }\``;
  for (let at: object | null = prototype; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    const base = builtinOf(at) ?? nativeName(at);
    if (base === undefined) continue;
    const plain = base === "Object" && at !== prototype;
    const error = at !== prototype && builtinErrorOf(at) === base && base !== "DOMException";
    if (plain || error) break;
    throw at === prototype && builtinOf(at) !== undefined
      ? new InvalidArgumentError(`${shown} is a built-in class, which needs no registration`, "Leave it out.")
      : new InvalidArgumentError(
          `${shown} is ${at === prototype ? "a built-in class" : `a subclass of ${base}`}, which its own fields do not describe`,
          `Leave it out, or tell how its instances are kept, ${cure}.`,
        );
  }
  const state = privateState(prototype);
  if (state !== undefined) {
    throw new InvalidArgumentError(
      `Instances of ${shown} keep more than their own fields show (\`${state}\`), and a copy would be without it`,
      `Tell how they are kept, ${cure}.`,
    );
  }
  return prototype;
}
