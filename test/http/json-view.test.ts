/** How values are shown as JSON: each kind that the codec can carry, and whatever else there may be. */
import fc from "fast-check";
import { codec, NonRetryableError, RunOwnedError, StoreError } from "stepmark";
import { describe, expect, it } from "vitest";
import { jsonView } from "../../runtime/http/json-view.js";

class Money {
  constructor(
    readonly amount: number,
    readonly currency: string,
  ) {}
}
class Shown {
  secret = 1;
  toJSON(): unknown {
    return { shown: [new Date(0), this] };
  }
}
class Same {
  kind = "same";
  toJSON(): unknown {
    return this;
  }
}
class Throwing {
  readonly kind = "throwing";
  toJSON(): never {
    throw new Error("no");
  }
}

const text = (value: unknown): string => JSON.stringify(jsonView(value));

// biome-ignore lint/suspicious/noSparseArray: it is what is to be shown
const hole = [1, , 3];
const cycle: Record<string, unknown> = { name: "a" };
cycle.self = cycle;
cycle.list = [cycle, { cycle }];
const ring = new Map<unknown, unknown>();
ring.set("me", ring);
const shared = { x: 1 };
const withProto = JSON.parse('{"__proto__":{"admin":true}}');
const hidden = Object.defineProperty({ seen: 1 }, "hidden", { value: 2, enumerable: false });

const kinds: Array<[what: string, value: unknown, shown: unknown]> = [
  ["a text", "ä\u2028", "ä\u2028"],
  ["half a surrogate pair", "\ud800", "\ud800"],
  ["a number", 1.5, 1.5],
  ["a boolean", false, false],
  ["null", null, null],
  ["undefined", undefined, null],
  ["a function", () => 1, null],
  ["a symbol", Symbol("s"), null],
  ["-0", -0, 0],
  ["NaN", Number.NaN, null],
  ["an infinity", [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], [null, null]],
  ["a bigint", 2n ** 70n, "1180591620717411303424"],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an invalid date", new Date(Number.NaN), null],
  ["a regular expression", /a\/b/giu, "/a\\/b/giu"],
  ["a URL", new URL("https://a.test/b?c#d"), "https://a.test/b?c#d"],
  ["search parameters", new URLSearchParams("a=1&b=%20"), "a=1&b=+"],
  [
    "a map",
    new Map<unknown, unknown>([
      ["a", 1],
      [{ k: 1 }, new Set([2n])],
    ]),
    [
      ["a", 1],
      [{ k: 1 }, ["2"]],
    ],
  ],
  ["a set", new Set([1, "a", undefined]), [1, "a", null]],
  ["a list with undefined", [undefined, () => 1, null], [null, null, null]],
  ["a list with holes", hole, [1, null, 3]],
  ["a field that is undefined", { a: undefined, b: 1, c: () => 1 }, { b: 1 }],
  ["a field called `__proto__`", withProto, withProto],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ["a field that is not enumerable", hidden, { seen: 1 }],
  ["a field under a symbol", { [Symbol("s")]: 1, a: 2 }, { a: 2 }],
  ["bytes", Uint8Array.of(1, 2, 255), "AQL/"],
  ["a part of a buffer", new Uint8Array(Uint8Array.of(0, 1, 2, 255, 0).buffer, 1, 3), "AQL/"],
  ["a Buffer", Buffer.from("hello"), "aGVsbG8="],
  ["clamped bytes", Uint8ClampedArray.of(1, 2), "AQI="],
  ["an ArrayBuffer", Uint8Array.of(1, 2, 255).buffer, "AQL/"],
  ["a DataView", new DataView(Uint8Array.of(0, 1, 2).buffer, 1), "AQI="],
  ["numbers", Float64Array.of(1.5, Number.NaN), [1.5, null]],
  ["signed numbers", Int16Array.of(-1, 2), [-1, 2]],
  ["bigints", BigInt64Array.of(-1n, 2n), ["-1", "2"]],
  ["boxed values", [Object(1), Object("a"), Object(true), Object(2n)], [1, "a", true, "2"]],
  ["an error", new TypeError("bad"), { name: "TypeError", message: "bad" }],
  [
    "an error with a code",
    Object.assign(new Error("gone"), { code: "ENOENT", path: "/x" }),
    { name: "Error", message: "gone", code: "ENOENT" },
  ],
  ["an error with a cause", new Error("a", { cause: new Error("b") }), { name: "Error", message: "a" }],
  [
    "several errors",
    new AggregateError([new Error("a"), 1], "all"),
    { name: "AggregateError", message: "all", errors: [{ name: "Error", message: "a" }, 1] },
  ],
  [
    "an error of the library",
    new NonRetryableError("no"),
    { name: "NonRetryableError", message: "no", code: "NON_RETRYABLE" },
  ],
  ["an abort", new DOMException("stop", "AbortError"), { name: "AbortError", message: "stop", code: 20 }],
  ["an instance of a class", new Money(1, "EUR"), { amount: 1, currency: "EUR" }],
  ["what has a `toJSON`", new Shown(), { shown: ["1970-01-01T00:00:00.000Z", "[Circular]"] }],
  ["what has a `toJSON` that gives itself", new Same(), { kind: "same" }],
  ["a cycle", cycle, { name: "a", self: "[Circular]", list: ["[Circular]", { cycle: "[Circular]" }] }],
  ["a cycle through a map", ring, [["me", "[Circular]"]]],
  ["one object in two places, which is no cycle", [shared, shared], [{ x: 1 }, { x: 1 }]],
];

describe("a value is shown as JSON", () => {
  it.each(kinds)("%s", (_, value, shown) => {
    expect(JSON.parse(text(value))).toEqual(shown);
  });

  it("and does not change", () => {
    const before = structuredClone(cycle);
    jsonView(cycle);
    expect(cycle).toEqual(before);
  });

  it("the same before it was recorded and after", () => {
    const kept = kinds.filter(([, value]) => typeof value !== "function" && typeof value !== "symbol");
    const { encode, decode } = codec({ classes: { Money, Shown, Same } });
    for (const [what, value] of kept) {
      let recorded: string;
      try {
        recorded = encode(value);
      } catch {
        // What the codec refuses, a function in a list for instance, is no value that it carries.
        continue;
      }
      expect(text(decode(recorded)), what).toBe(text(value));
    }
  });

  it("without a word of the server, where an error of the library has one", () => {
    const place = { runId: "r" };
    expect(text(new StoreError("/srv/runs.db: the disk is full", place))).not.toContain("srv");
    expect(text(new RunOwnedError("The run is driven by process 17 on web-3", place))).not.toContain("web-3");
    expect(text([{ error: new StoreError("/srv/runs.db", place) }])).toContain('"code":"STORE"');
  });
});

describe("showing never throws", () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each<[string, unknown, unknown]>([
    ["a `toJSON` that does", new Throwing(), "[Unreadable]"],
    [
      "a getter that does",
      Object.defineProperty({}, "x", {
        get: () => {
          throw new Error("no");
        },
        enumerable: true,
      }),
      "[Unreadable]",
    ],
    ["a revoked proxy", [1, revoked.proxy], [1, "[Unreadable]"]],
    [
      "an error whose name cannot be read",
      Object.defineProperty(new Error("a"), "name", {
        get: () => {
          throw new Error("no");
        },
      }),
      { name: "undefined", message: "a" },
    ],
    [
      "an error whose message is no text",
      Object.assign(new Error(), {
        message: {
          toString: () => {
            throw new Error("no");
          },
        },
      }),
      "[Unreadable]",
    ],
  ])("for %s", (_, value, shown) => {
    expect(JSON.parse(text(value))).toEqual(shown);
  });

  it("however deep the value is: what is deeper than 200 levels is left out", () => {
    const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
      let value: unknown = "core";
      for (let i = 0; i < levels; i++) value = wrap(value);
      return value;
    };
    const wraps = [
      (inner: unknown) => [inner],
      (inner: unknown) => ({ inner }),
      (inner: unknown) => new Map([[inner, 1]]),
    ];
    for (const wrap of wraps) {
      expect(text(nested(200 / (wrap([]) instanceof Map ? 2 : 1), wrap))).toContain("core");
      for (const levels of [201, 100_000]) {
        expect(text(nested(levels, wrap))).toContain("[Too deep]");
        expect(text(nested(levels, wrap))).not.toContain("core");
      }
    }
    expect(text(nested(5_000, (inner) => new Error("e", { cause: inner })))).toBe('{"name":"Error","message":"e"}');
    expect(text(nested(5_000, (inner) => new AggregateError([inner], "e")))).toContain("[Too deep]");
  });

  it("however large it would be as JSON: there is an end", () => {
    // 40 objects in memory, 2 ** 40 as JSON.
    let doubled: unknown = "x".repeat(100);
    for (let i = 0; i < 40; i++) doubled = [doubled, doubled];
    const longest = 20 * 1024 * 1024;
    for (const value of [
      doubled,
      { a: "x".repeat(17 * 1024 * 1024), b: 1 },
      new Uint8Array(17 * 1024 * 1024),
      new Float32Array(5_000_000),
      Array.from({ length: 5_000_000 }, () => undefined),
      Object.assign([], { length: 2 ** 32 - 1 }),
      10n ** 20n,
    ])
      expect(text(value).length).toBeLessThan(longest);
    expect(text(doubled)).toContain("[Too large]");
    expect(text({ a: "x".repeat(17 * 1024 * 1024), b: 1 })).toBe('{"a":"[Too large]"}');
    expect(text(new Uint8Array(17 * 1024 * 1024))).toBe('"[Too large]"');
  });

  it("for whatever there is, and it is JSON each time", () => {
    const anything = fc.anything({
      ...{ withBigInt: true, withBoxedValues: true, withDate: true, withMap: true, withNullPrototype: true },
      ...{ withObjectString: true, withSet: true, withSparseArray: true, withTypedArray: true },
    });
    fc.assert(
      fc.property(anything, (value) => {
        const shown = text(value);
        expect(JSON.stringify(JSON.parse(shown))).toBe(shown);
      }),
      { numRuns: 500 },
    );
  });
});
