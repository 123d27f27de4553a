/**
 * Any value as JSON, for people and programs that look at a run from outside. It is a view, not a codec: kinds that JSON
 * does not have are shown as what is nearest, and the value cannot be made again from it. `docs/http.md` has the rules.
 */
import { Buffer } from "node:buffer";
import { types } from "node:util";
import { fieldOf, isA } from "../journal/careful.js";
import { toldOutside } from "./refused-request.js";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Deeper parts are not shown: what walks through the JSON, here and elsewhere, recurses. */
const mostLevels = 200;

/**
 * About how many characters a view has at most. A value that holds one object in many places is small in memory and in
 * the journal, and may be larger than all memory as JSON.
 */
const mostCharacters = 16 * 1024 * 1024;

/** Never throws. What has no JSON at all (undefined, a function, a symbol) is null, or left out where it is a field. */
export function jsonView(value: unknown): Json {
  return new View().of(value, 0) ?? null;
}

/** As `jsonView`, for who may see all: errors come with their cause, their stack and their other fields. */
export function wholeView(value: unknown): Json {
  return new View(true).of(value, 0) ?? null;
}

/** Has `JSON.stringify` show an error as `wholeView` does, unless its class has a way of its own. */
export function giveJson(error: Error): void {
  if (typeof fieldOf(error, "toJSON") === "function") return;
  Reflect.defineProperty(error, "toJSON", { value: wholeError, enumerable: false, writable: true, configurable: true });
}

function wholeError(this: unknown): Json {
  return wholeView(this);
}

/** Of one value: the objects that are being shown, and how much more may be. */
class View {
  /** @param whole whether errors are told in full */
  constructor(private readonly whole = false) {}

  private readonly open = new Set<object>();
  private left = mostCharacters;

  of(value: unknown, level: number): Json | undefined {
    switch (typeof value) {
      case "string":
        return this.text(value);
      case "number":
        this.left -= 8;
        return Number.isFinite(value) ? value : null;
      case "bigint":
        return this.text(String(value));
      case "boolean":
        this.left -= 5;
        return value;
      case "object":
        this.left -= 4;
        return value === null ? null : this.object(value, level);
      default:
        this.left -= 4;
        return undefined;
    }
  }

  private text(text: string): string {
    if (text.length > this.left) {
      this.left = 0;
      return "[Too large]";
    }
    this.left -= text.length + 2;
    return text;
  }

  private object(value: object, level: number): Json | undefined {
    if (this.open.has(value)) return "[Circular]";
    if (level >= mostLevels) return "[Too deep]";
    this.open.add(value);
    try {
      return this.ofKind(value, level + 1);
    } catch {
      // A getter, a `toJSON` or a proxy of a class that the codec was given.
      return "[Unreadable]";
    } finally {
      this.open.delete(value);
    }
  }

  private ofKind(value: object, level: number): Json | undefined {
    if (isA(value, Error)) return this.error(value, level);
    if (Array.isArray(value)) return this.list(value, level);
    if (types.isMap(value)) return this.list(value.entries(), level);
    if (types.isSet(value)) return this.list(value.values(), level);
    if (types.isAnyArrayBuffer(value)) return this.bytes(new Uint8Array(value));
    if (ArrayBuffer.isView(value)) return this.view(value, level);
    if (types.isBoxedPrimitive(value)) return this.of(value.valueOf(), level);
    if (types.isRegExp(value) || isA(value, URLSearchParams)) return this.text(String(value));
    // Dates, URLs and Temporal have it; a class that has it knows best how it is shown.
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return this.fields(value, level);
    const shown: unknown = Reflect.apply(toJSON, value, []);
    return isObject(shown) && "toJSON" in shown ? this.fields(shown, level) : this.of(shown, level);
  }

  private error(error: Error, level: number): Json | undefined {
    if (this.whole) return this.errorInFull(error, level);
    const code = fieldOf(error, "code");
    const errors = fieldOf(error, "errors");
    return this.fields(
      {
        name: String(fieldOf(error, "name")),
        message: toldOutside(error),
        ...((typeof code === "string" || typeof code === "number") && { code }),
        ...(Array.isArray(errors) && { errors }),
      },
      level,
    );
  }

  private errorInFull(error: Error, level: number): Json | undefined {
    const shown = waysOfItsOwn(error);
    if (shown !== error)
      return isObject(shown) && "toJSON" in shown ? this.fields(shown, level) : this.of(shown, level);
    const told: Record<string, unknown> = Object.create(null);
    for (const name of ["name", "message"]) told[name] = String(fieldOf(error, name));
    for (const name of Object.keys(error)) told[name] ??= fieldOf(error, name);
    for (const name of ["cause", "errors", "stack"])
      if (Object.hasOwn(error, name)) told[name] ??= fieldOf(error, name);
    return this.fields(told, level);
  }

  private view(view: ArrayBufferView, level: number): Json {
    const isBytes = types.isUint8Array(view) || types.isUint8ClampedArray(view) || types.isDataView(view);
    if (isBytes) return this.bytes(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return this.list(view as unknown as Iterable<unknown>, level);
  }

  private bytes(bytes: Uint8Array): Json {
    if (bytes.length > this.left) return this.text("[Too large]");
    return this.text(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"));
  }

  private list(values: Iterable<unknown>, level: number): Json[] {
    const shown: Json[] = [];
    for (const value of values) {
      shown.push(this.of(value, level) ?? null);
      if (this.left <= 0) break;
    }
    return shown;
  }

  private fields(value: object, level: number): Json {
    // Without a prototype, so that a field called `__proto__` is one like any other.
    const shown: { [key: string]: Json } = Object.create(null);
    for (const key of Object.keys(value)) {
      if (this.left <= 0) break;
      this.left -= key.length + 4;
      const field = this.of((value as Record<string, unknown>)[key], level);
      if (field !== undefined) shown[key] = field;
    }
    return shown;
  }
}

/** What an error's class has `JSON.stringify` show; the error itself if it has nothing to say. */
function waysOfItsOwn(error: Error): unknown {
  const toJSON = fieldOf(error, "toJSON");
  if (typeof toJSON !== "function" || toJSON === wholeError) return error;
  try {
    return Reflect.apply(toJSON, error, []);
  } catch {
    return error;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
