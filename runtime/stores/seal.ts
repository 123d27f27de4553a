/**
 * Seals on stored texts: whether a text is still the one that was written, at the place where it was written. They are
 * for accidents (a damaged page, an edit by hand) and no protection against somebody who means it.
 */
import { crc32 } from "node:zlib";

/** `#` and eight hexadecimal digits, after the text. */
export const sealLength = 9;

/**
 * The text with its seal.
 *
 * @param place what the text belongs to: its run, its kind, its number; a text that is moved elsewhere breaks its seal
 */
export function seal(text: string, ...place: ReadonlyArray<string | number>): string {
  return `${text}#${checksum(text, place)}`;
}

/** The text without its seal; undefined if it is not what was written there. */
export function unseal(sealed: unknown, ...place: ReadonlyArray<string | number>): string | undefined {
  if (typeof sealed !== "string" || sealed.length < sealLength) return undefined;
  const text = sealed.slice(0, -sealLength);
  return sealed.slice(-sealLength) === `#${checksum(text, place)}` ? text : undefined;
}

function checksum(text: string, place: ReadonlyArray<string | number>): string {
  const sum = crc32(text, crc32(JSON.stringify(place))).toString(16);
  return sum.length === 8 ? sum : sum.padStart(8, "0");
}
