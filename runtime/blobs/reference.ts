/** What stands in the store in place of a value that is kept as a blob. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

export interface Reference {
  /** SHA-256 of the encoded value as UTF-8, in hexadecimal digits. */
  digest: string;
  /** Its length in bytes. */
  bytes: number;
}

/** No codec's text begins so: it has no control characters. What only begins so is a text like any other. */
const mark = "\u0001";

export function spell({ digest, bytes }: Reference): string {
  return `${mark}sha256:${digest}:${bytes}`;
}

/** The reference that a text is, if it is one. */
export function referenceIn(text: string | undefined): Reference | undefined {
  if (!text?.startsWith(mark)) return undefined;
  const [, digest, bytes] = /^sha256:([0-9a-f]{64}):(\d{1,15})$/.exec(text.slice(mark.length)) ?? [];
  return digest === undefined ? undefined : { digest, bytes: Number(bytes) };
}

export function referenceTo(content: Uint8Array): Reference {
  return { digest: createHash("sha256").update(content).digest("hex"), bytes: content.length };
}

/** Whether a value goes elsewhere: one of more than `above` bytes, if they are all of it; and one that looks like a reference. */
export function belongsElsewhere(text: string, above: number): boolean {
  if (referenceIn(text) !== undefined) return true;
  // A unit of a text takes at most three bytes; and half a surrogate pair would not come back.
  return text.length * 3 > above && Buffer.byteLength(text, "utf8") > above && isWellFormed(text);
}

function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** The name of a run for a place: it leads nowhere, whatever the id, and differs where ids differ only in case. */
export function placeNameOf(runId: string): string {
  return createHash("sha256").update(JSON.stringify(runId)).digest("hex").slice(0, 32);
}
