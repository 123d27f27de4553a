/** How a value that devalue does not keep is written: `[tag, ...header, key, value, key, value, ...]`. */

export type Payload = [tag: string, ...rest: unknown[]];

/** Why a value cannot be recorded; becomes a SerialisationError once the path is known. */
export class Refusal extends Error {
  /** @param cure by default, plain data in the value's place */
  constructor(
    what: string,
    readonly cure?: string,
  ) {
    super(what);
  }
}

/** The text of a recorded value contradicts itself. */
export class Damage extends Error {}

/** A tag that this codec was not given. */
export class UnknownTag extends Error {
  constructor(readonly tag: string) {
    super(`Unknown tag ${tag}`);
  }
}

/** How a tag is read back. */
export interface Kind {
  /** Where the payload's keys and values begin; undefined: the payload has none. */
  fields?: number;
  /** Makes the value; without its fields where `fill` adds them, so that cycles can close. */
  revive(payload: Payload): unknown;
  fill?(target: object, payload: Payload): void;
}

export function text(value: unknown): string {
  if (typeof value !== "string") throw new Damage("not a text");
  return value;
}
