/** What stands in the store in place of a value that is kept as a blob. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

export interface Reference {
  /** SHA-256 of the encoded value as UTF-8, in hexadecimal digits. */
  digest: string;
  /** Its length in bytes. */
  bytes: number;
}

/** No codec's text begins so: it has no control characters. */
const mark = "\u0001";

export function isReference(text: string | undefined): text is string {
  return text?.charCodeAt(0) === 1;
}

export function spell({ digest, bytes }: Reference): string {
  return `${mark}sha256:${digest}:${bytes}`;
}

/** Undefined for what is no reference that this version knows. */
export function parse(text: string): Reference | undefined {
  const [, digest, bytes] = /^sha256:([0-9a-f]{64}):(\d{1,15})$/.exec(text.slice(mark.length)) ?? [];
  return digest === undefined ? undefined : { digest, bytes: Number(bytes) };
}

export function referenceTo(content: Uint8Array): Reference {
  return { digest: createHash("sha256").update(content).digest("hex"), bytes: content.length };
}

/** A value as bytes, if it takes more than `above` of them and they are all of it. */
export function largeContent(text: string, above: number): Uint8Array | undefined {
  // A unit of a text takes at most three bytes.
  if (text.length * 3 <= above || isReference(text)) return undefined;
  const content = Buffer.from(text, "utf8");
  if (content.length <= above) return undefined;
  // Half a surrogate pair would not come back.
  return isWellFormed(text) ? content : undefined;
}

function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** The name of a run for a place: it leads nowhere, whatever the id, and differs where ids differ only in case. */
export function placeNameOf(runId: string): string {
  return createHash("sha256").update(JSON.stringify(runId)).digest("hex").slice(0, 32);
}
