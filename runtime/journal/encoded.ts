/** Values of a run to text. */
import { type ErrorPlace, SerialisationError } from "../errors.js";
import type { Codec } from "./codec.js";

/** @throws SerialisationError that tells the place */
export function encoded(codec: Codec, value: unknown, place: ErrorPlace): string {
  try {
    return codec.encode(value);
  } catch (error) {
    throw error instanceof SerialisationError ? error.placed(place) : error;
  }
}
