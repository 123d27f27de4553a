/**
 * Where in a run objects and functions come from. Fingerprints do not look into functions and instances of classes, so to them
 * one is like another: two jobs, say, that workers take from a queue. But what a marked call has made, given or been given first has a
 * place in the run, and that is the same on every pass of the same code, whoever comes by the value later.
 *
 * It checks identity and never forms it: what differs says little, since a client that is made when it is first needed comes
 * from wherever that was. But if what a record names is there too, and is not what the code gives now, then it is of another call.
 */
import { types } from "node:util";

/** What is written of one call at most. */
const most = 16;
const separator = ",";

export class Origins {
  /** A key, and the number of the element or argument after it. */
  private readonly places = new WeakMap<object, string>();
  /** Those that the record names and this pass has come by, by their digests. */
  private readonly present = new Map<string, string>();

  /** @param recorded digests of the places that the record names */
  constructor(private readonly recorded: ReadonlySet<string> = new Set()) {}

  /** What a call that stands at `key` has come to: an object or function, or a list of them. */
  noteResult(value: unknown, key: string): void {
    if (typeof value === "function") return this.note(value, key);
    if (typeof value !== "object" || value === null || types.isProxy(value)) return;
    if (!Array.isArray(value)) {
      if (!isPlain(value)) this.note(value, key);
    } else if (isOpaque(elementOf(value, 0))) {
      for (let i = 0; i < value.length; i++) {
        const element = elementOf(value, i);
        if (isOpaque(element)) this.note(element, `${key}:${i}`);
      }
    }
  }

  /** Functions that are handed to a call at `key`, into a list say. */
  noteGiven(args: readonly unknown[], key: string): void {
    for (let i = 0; i < args.length; i++) {
      const arg = args[i];
      if (typeof arg === "function") this.note(arg, `${key}!${i}`);
    }
  }

  /** Where it was met first is its place. */
  note(value: object, place: string): void {
    if (this.places.has(value)) return;
    this.places.set(value, place);
    if (this.recorded.size === 0) return;
    const digest = digestOf(place);
    if (this.recorded.has(digest)) this.present.set(digest, place);
  }

  /** What is written of the places of values; undefined if none of them is known. */
  of(values: readonly unknown[]): string | undefined {
    let found: string[] | undefined;
    for (let i = 0; i < values.length && i < most; i++) {
      const place = this.places.get(values[i] as object);
      if (place === undefined) continue;
      found ??= [];
      while (found.length < i) found.push("");
      found.push(digestOf(place));
    }
    return found?.join(separator);
  }

  /**
   * Where a value comes from that a record names, if it is there and is not what is given in its place now.
   *
   * @param then what is recorded of the call
   * @param now what `of` says of it
   */
  another(then: string | undefined, now: string | undefined): string | undefined {
    if (then === undefined || now === undefined || then === now) return undefined;
    const before = then.split(separator);
    const after = now.split(separator);
    for (let i = 0; i < before.length; i++) {
      const [digest, given] = [before[i]!, after[i] ?? ""];
      const place = digest === given || given === "" ? undefined : this.present.get(digest);
      if (place !== undefined) return place;
    }
    return undefined;
  }
}

/** The places that what is written of a call names. */
export function originsIn(written: string): string[] {
  return written.split(separator).filter((digest) => digest !== "");
}

/** An element that is none of the code's own getters. */
function elementOf(list: readonly unknown[], index: number): unknown {
  return Object.getOwnPropertyDescriptor(list, index)?.value;
}

/** Whether fingerprints do not look into a value. Of those that belong to the language some are taken for such; it does no harm. */
function isOpaque(value: unknown): value is object {
  if (typeof value === "function") return true;
  return typeof value === "object" && value !== null && !types.isProxy(value) && !isPlain(value);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return (
    prototype === null ||
    prototype === Object.prototype ||
    prototype === Promise.prototype ||
    prototype === Array.prototype
  );
}

/** Short, and quickly made: it is compared within one run only. */
function digestOf(place: string): string {
  let one = 0x811c9dc5;
  let other = 0x9747b28c;
  for (let i = 0; i < place.length; i++) {
    const unit = place.charCodeAt(i);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x5bd1e995) ^ (other >>> 13);
  }
  return (one >>> 0).toString(36) + (other >>> 0).toString(36);
}
