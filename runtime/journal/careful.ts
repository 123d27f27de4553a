/**
 * Looks at values that anybody may have made and thrown: a revoked proxy, an error whose fields are getters that throw,
 * an object without a way to text. Nothing here throws.
 */

/** `value instanceof type`; false if the value does not let itself be asked. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** A field; undefined if reading it fails. */
export function fieldOf(value: object, name: PropertyKey): unknown {
  try {
    return (value as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** A thrown value in words: an error's message, else the value as text. */
export function wordsOf(thrown: unknown): string {
  if (isA(thrown, Error)) {
    const message = fieldOf(thrown, "message");
    if (typeof message === "string") return message;
  }
  return shown(thrown);
}

/** A value as a message shows it: JSON where that says what it is, clipped. */
export function shown(value: unknown): string {
  if (typeof value === "bigint") return clipped(`${value}n`);
  if (typeof value === "number") return String(value);
  // Its text would be transformed code.
  if (typeof value === "function") return "a function";
  if (isA(value, Promise)) return "a promise";
  try {
    const text = JSON.stringify(value) ?? String(value);
    return clipped(text);
  } catch {
    return kindOf(value);
  }
}

/** What sort of value it is: `[object Map]`, or less where even that fails to be read. */
export function kindOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value);
  } catch {
    return `[${typeof value}]`;
  }
}

const mostShown = 200;

/** A text's beginning, without half a surrogate pair at the end. */
export function clipped(text: string, length = mostShown): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)}…`;
}
