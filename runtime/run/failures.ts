/** Which recorded failures an error holds: as itself, in `cause` or in `errors`. */
import { isA } from "../journal/careful.js";

export class DeliveredFailures {
  private readonly objects = new WeakMap<object, string>();
  private readonly primitives: Array<{ value: unknown; key: string }> = [];

  /** Notes that `error` is what the failed call `key` was answered with. */
  add(error: unknown, key: string): void {
    if (isObject(error)) this.objects.set(error, key);
    else this.primitives.push({ value: error, key });
  }

  /** Keys of the failed calls whose errors `error` holds. */
  heldBy(error: unknown): string[] {
    const found = new Set<string>();
    const seen = new Set<unknown>();
    const pending: unknown[] = [error];
    while (pending.length > 0) {
      const value = pending.pop();
      if (!isObject(value)) {
        for (const known of this.primitives) if (Object.is(known.value, value)) found.add(known.key);
        continue;
      }
      if (seen.has(value)) continue;
      seen.add(value);
      const key = this.objects.get(value);
      if (key !== undefined) found.add(key);
      // Not spread: an argument list has less room than an array.
      if (isA(value, Error)) for (const part of partsOf(value)) pending.push(part);
    }
    return [...found];
  }
}

function partsOf(error: Error): unknown[] {
  try {
    const { errors } = error as Partial<AggregateError>;
    const parts: unknown[] = Array.isArray(errors) ? [...errors] : [];
    if ("cause" in error) parts.push(error.cause);
    return parts;
  } catch {
    // Its own getters threw.
    return [];
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
