/**
 * Values to text and back. Built on devalue, which knows the language's plain data; what it does not know is written
 * as tagged payloads (`tagged.ts`). Nothing is lost in silence: a value is kept in full or refused with the path.
 *
 * A copy is a fresh value, neither frozen nor sealed. Kept of an object are its own enumerable properties with string
 * keys, an accessor as the value it gives, and of those that are hidden the ones that hold a primitive; of an instance of
 * a registered class all that it owns.
 */
import { Buffer } from "node:buffer";
import { stringify, unflatten } from "devalue";
import { DecodeError, InvalidArgumentError, SerialisationError } from "../errors.js";
import { isA, shown, wordsOf } from "./careful.js";
import { depthOf, leadsToItself } from "./flat.js";
import { locate, refusalWords } from "./locate.js";
import { Damage, type Payload, Refusal, UnknownTag } from "./payload.js";
import { customPrefix, type Registry, registry, type TypeOptions } from "./registry.js";
import { tagged } from "./tagged.js";

export type { CustomType, RegisteredClass, TypeOptions } from "./registry.js";

export interface Codec {
  /**
   * Text for a value; well-formed Unicode without control characters, so any database takes it. Never changes the
   * value.
   *
   * @throws SerialisationError with the path, for what cannot be kept in full.
   */
  encode(value: unknown): string;
  /**
   * A fresh copy of the value.
   *
   * @throws DecodeError for text that is damaged, or of a type that is not registered.
   */
  decode(text: string): unknown;
}

export interface CodecOptions extends TypeOptions {
  /** Most bytes (UTF-8) that one value may take, at least 2,000. Default: no limit. */
  maxBytes?: number;
}

/**
 * A codec for plain data, built-in types, errors, and the classes it is given.
 *
 * An instance of a registered class comes back with its prototype and own fields, without its constructor having run.
 * `#private` fields are out of reach of any library: register such a class in `types`, with `encode` and `decode`.
 * An error of a class that is not registered comes back as one of the nearest class that is known, with its name.
 *
 * @throws InvalidArgumentError for a name given twice and for classes that cannot be rebuilt from their fields.
 */
export function codec(options: CodecOptions = {}): Codec {
  const known = registry(options);
  const maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
  if (!(maxBytes >= leastBytes)) {
    throw new InvalidArgumentError(
      `maxBytes is ${shown(options.maxBytes)}`,
      `Give a number of bytes, at least ${leastBytes}: an error must find room to be told.`,
    );
  }
  return {
    encode(value) {
      const text = encode(value, known);
      if (exceeds(text, maxBytes)) {
        throw new SerialisationError(
          `The value takes more than the limit of ${maxBytes} bytes`,
          "$",
          {},
          "Record less of it, or raise `maxBytes`.",
        );
      }
      return text;
    },
    decode: (text) => decode(text, known),
  };
}

const leastBytes = 2_000;

/**
 * Most levels of nesting. devalue recurses, and how deep it can go depends on what the engine has optimised so far: a
 * warm process could write what a fresh one, after the crash, cannot read. A fresh one reads twice this depth.
 */
const maxDepth = 1000;

function encode(value: unknown, known: Registry): string {
  if (typeof value === "boolean" || value === null || isPlainNumber(value)) return `[${value}]`;
  // As devalue would, but for its going from character to character.
  if (typeof value === "string") return `[${JSON.stringify(value)}]`;
  let objects = 0;
  let customs = false;
  let payload: Payload | undefined;
  const reduce = (thing: unknown): Payload | undefined => {
    if (typeof thing === "object") objects++;
    // devalue asks about the payload that it has just been given.
    if (thing === payload && payload !== undefined) return undefined;
    const found = tagged(thing, known);
    if (found === undefined) return undefined;
    customs ||= found[0].startsWith(customPrefix);
    payload = found;
    return found;
  };
  let text: string;
  try {
    text = stringify(value, { $: reduce });
  } catch (error) {
    throw refusal(value, known, error);
  }
  if (objects > maxDepth || customs) {
    const flat = JSON.parse(text) as unknown[];
    if (depthOf(flat) > maxDepth) throw tooDeep();
    // Such a cycle could not be closed: `decode` would need its own result.
    if (customs && leadsToItself(flat, customPrefix)) {
      throw new SerialisationError(
        "Cannot record a cycle through a type with `encode` and `decode`",
        "$",
        {},
        "Let `encode` leave out what leads back.",
      );
    }
  }
  return (text as WellFormed).isWellFormed() ? text : text.replace(loneSurrogate, escaped);
}

/** One that JSON can write. */
function isPlainNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0);
}

// The library's types for this come with ES2024; Node 20 has it.
type WellFormed = string & { isWellFormed(): boolean };
const loneSurrogate = /[\uD800-\uDFFF]/gu;
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16)}`;

function refusal(value: unknown, known: Registry, error: unknown): SerialisationError {
  if (isA(error, RangeError) && /call stack/i.test(error.message)) return tooDeep();
  if (isA(error, RangeError) && /string length/i.test(error.message)) {
    return new SerialisationError(
      "The value is too large for one text",
      "$",
      { cause: error },
      "Record it in parts, or where it is kept.",
    );
  }
  const found = locate(value, known);
  const reason = found?.reason ?? error;
  const cure = isA(reason, Refusal) ? reason.cure : undefined;
  return new SerialisationError(refusalWords(reason), found?.path ?? "$", { cause: reason }, cure);
}

function tooDeep(): SerialisationError {
  return new SerialisationError(
    `The value is nested too deeply, more than ${maxDepth} levels`,
    "$",
    {},
    "Record it in a flatter form, for instance as a list.",
  );
}

function exceeds(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  // No unit of UTF-16 takes more than three bytes of UTF-8.
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}

function decode(text: string, known: Registry): unknown {
  try {
    const flat: unknown = JSON.parse(text);
    return isAlone(flat) ? flat[0] : unflatten(flat as unknown[], { $: reviver(known) });
  } catch (error) {
    throw unreadable(error);
  }
}

/** Whether it is one value that refers to no other. */
function isAlone(flat: unknown): flat is [string | number | boolean | null] {
  if (!Array.isArray(flat) || flat.length !== 1) return false;
  return flat[0] === null || typeof flat[0] !== "object";
}

/**
 * Turns payloads into values. devalue calls it once more, with a payload that is still being filled, where a cycle
 * leads back; the memo then gives the same object, which is filled when its payload is complete.
 */
function reviver(known: Registry): (payload: unknown) => unknown {
  let shells: Map<unknown, object> | undefined;
  return (given) => {
    if (!Array.isArray(given) || typeof given[0] !== "string") throw new Damage("a payload without a tag");
    const payload = given as Payload;
    const kind = known.kinds.get(payload[0]);
    if (kind === undefined) throw new UnknownTag(payload[0]);
    const complete = Object.hasOwn(payload, payload.length - 1);
    if (!kind.fill) {
      if (!complete) throw new Damage("a cycle through a value that is made in one go");
      return kind.revive(payload);
    }
    shells ??= new Map();
    let shell = shells.get(payload);
    if (shell === undefined) {
      shell = kind.revive(payload) as object;
      shells.set(payload, shell);
    }
    if (complete) kind.fill(shell, payload);
    return shell;
  };
}

function unreadable(error: unknown): DecodeError {
  if (isA(error, UnknownTag)) return unknownType(error);
  const words = wordsOf(error);
  const foreign = /^Unknown type (.+)$/.exec(words);
  return new DecodeError(
    foreign
      ? `A recorded value of type ${JSON.stringify(foreign[1])} cannot be read`
      : `A recorded value cannot be read: ${words}`,
    "Its text is damaged, or was written by a newer version: restore the store from a backup, or read it with that version.",
    { cause: error },
  );
}

function unknownType(error: UnknownTag): DecodeError {
  const [, group, name] = /^(?:hidden:)?(?:(class|type):)?(.*)$/s.exec(error.tag)!;
  const shown = JSON.stringify(name);
  const cures: Record<string, string> = {
    class: `Register the class again under that name: \`codec({ classes: { ${shown}: Class } })\`.`,
    type: `Register the type again under that name: \`codec({ types: { ${shown}: { is, encode, decode } } })\`.`,
  };
  return new DecodeError(
    `A recorded value is of the type ${shown}, which is not registered`,
    cures[group ?? ""] ?? "It was written by a newer version of stepmark: read it with that version.",
    { cause: error },
  );
}
