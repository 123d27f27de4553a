/** Which recorded failures an error holds: as itself, in `cause` or in `errors`. */

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
      if (value instanceof Error) {
        if ("cause" in value) pending.push(value.cause);
        const { errors } = value as Partial<AggregateError>;
        if (Array.isArray(errors)) pending.push(...errors);
      }
    }
    return [...found];
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
