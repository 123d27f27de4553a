/** Recorded values as the application gets to see them. */
import { DecodeError, type ErrorPlace } from "../errors.js";
import { wordsOf } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";

/** @throws DecodeError that tells where the value stands */
export function decoded(codec: Codec, text: string, place: ErrorPlace): unknown {
  try {
    return codec.decode(text);
  } catch (error) {
    if (error instanceof DecodeError) throw error.placed(place);
    throw new DecodeError(
      `The codec could not read a recorded value: ${wordsOf(error)}`,
      "Mend the codec that this `Stepmark` was given, or give it the one that recorded the run.",
      { ...place, cause: error },
    );
  }
}

/**
 * Gives an object a decoded value. One that cannot be read is thrown for by whoever reads that field: all else that the
 * object tells is not lost with it.
 */
export function setDecoded<T extends object>(
  target: T,
  field: keyof T & string,
  codec: Codec,
  text: string,
  place: ErrorPlace,
): void {
  try {
    // Defined, not set: the field may be called `__proto__`.
    const value = decoded(codec, text, place);
    Object.defineProperty(target, field, { value, enumerable: true, writable: true, configurable: true });
  } catch (error) {
    const get = (): never => {
      throw error;
    };
    Object.defineProperty(target, field, { get, enumerable: false, configurable: true });
  }
}
