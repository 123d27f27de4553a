/** Fingerprints of arguments (B07): what they tell apart, what they do not, and that they never run anybody's code. */
import { createContext, runInContext, runInThisContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fingerprint } from "../runtime/journal/fingerprint.js";

const print = (value: unknown): string => fingerprint([value]);

/** Values no two of which are equal. */
const different: unknown[] = [
  null,
  Number.NaN,
  0,
  -0,
  1,
  1n,
  "1",
  "",
  "null",
  "<object>",
  true,
  Number.POSITIVE_INFINITY,
  [],
  [undefined],
  [null],
  [[]],
  ["a,b"],
  ["a", "b"],
  Object.assign(new Array(1)),
  {},
  { a: 1 },
  { a: 2 },
  { a: null },
  { "a:1,b": 2 },
  { a: 1, b: 2 },
  new Map(),
  new Map([["k", 1]]),
  new Map([["k", 2]]),
  new Map([["k", undefined]]),
  new Map([[1, "k"]]),
  new Set(),
  new Set(["k"]),
  new Set([["k"]]),
  new Date(0),
  new Date(1),
  new Date(Number.NaN),
  "1970-01-01T00:00:00.000Z",
  /a/,
  /a/g,
  /b/,
  new URL("https://a.test/"),
  new URL("https://b.test/"),
  "https://a.test/",
  new URLSearchParams("a=1"),
  new Uint8Array([1, 2]),
  new Uint8Array([2, 1]),
  new Int8Array([1, 2]),
  new Uint16Array([513]),
  new Uint8Array(100),
  new Uint8Array(101),
  new Uint8Array([1, 2]).buffer,
  new DataView(new Uint8Array([1, 2]).buffer),
  new Error("m"),
  new Error("n"),
  new TypeError("m"),
  new DOMException("m", "AbortError"),
  new DOMException("m", "TimeoutError"),
  Object(1),
  Object("1"),
  () => {},
  Symbol("s"),
  new (class {})(),
  "\ud800",
  "\ud801",
];

describe("B07: a fingerprint tells values apart", () => {
  it("as different ones", () => {
    const prints = different.map(print);
    // Opaque values count by their coarse type only.
    expect(new Set(prints).size).toBe(different.length);
    expect(prints.every((each) => (each as string & { isWellFormed(): boolean }).isWellFormed())).toBe(true);
  });

  it("by number of arguments, but for undefined ones at the end", () => {
    expect(fingerprint([1, undefined])).toBe(fingerprint([1]));
    expect(fingerprint([undefined, 1])).not.toBe(fingerprint([1]));
    expect(fingerprint([1, 2])).not.toBe(fingerprint([[1, 2]]));
    expect(fingerprint([])).toBe("[]");
  });

  it("and not by the order of keys, entries and members, nor by a key without a value", () => {
    expect(print({ a: 1, b: { c: 2, d: 3 } })).toBe(print({ b: { d: 3, c: 2 }, a: 1 }));
    expect(print({ a: 1, b: undefined })).toBe(print({ a: 1 }));
    expect(
      print(
        new Map<unknown, unknown>([
          [{ a: 1 }, 1],
          ["b", 2],
        ]),
      ),
    ).toBe(
      print(
        new Map<unknown, unknown>([
          ["b", 2],
          [{ a: 1 }, 1],
        ]),
      ),
    );
    expect(print(new Set([1, [2], 3]))).toBe(print(new Set([3, 1, [2]])));
    expect(print(Object.assign(Object.create(null), { a: 1 }))).toBe(print({ a: 1 }));
  });

  it("and not by class or function, which a minifier renames", () => {
    class A {
      x = 1;
    }
    class B {
      y = 2;
    }
    class Bag extends Map<unknown, unknown> {}
    expect(print(new A())).toBe(print(new B()));
    expect(print(new Bag([[1, 2]]))).toBe(print(new A()));
    expect(print(A)).toBe(print(() => 1));
    class ErrorA extends TypeError {
      override name = "ErrorA";
    }
    class ErrorB extends TypeError {}
    expect(print(new ErrorA("m"))).toBe(print(new ErrorB("m")));
    expect(print(new ErrorA("m"))).not.toBe(print(new ErrorA("n")));
  });

  it("alike in another realm", () => {
    const text = "({ a: [1, new Map([[1, new Date(0)]]), /x/g], e: new TypeError('t') })";
    expect(print(runInContext(text, createContext({})))).toBe(print(runInThisContext(text)));
  });

  it("with cycles, and shared references as what they refer to", () => {
    const ring: Record<string, unknown> = { a: 1 };
    ring.self = ring;
    const other: Record<string, unknown> = { a: 1, self: { a: 1 } };
    expect(print(ring)).toBe(print(structuredClone(ring)));
    expect(print(ring)).not.toBe(print(other));
    const shared = { s: 1 };
    expect(print([shared, shared])).toBe(print([{ s: 1 }, { s: 1 }]));
    const set = new Set<unknown>();
    set.add(1).add(set);
    expect(print(set)).toBe("[Set{1,^1}]");
  });
});

it("B07: no code of a value's runs", () => {
  let ran: string[] = [];
  const run = (what: string) => () => {
    ran.push(what);
    return {};
  };
  class Spy {
    toJSON = run("toJSON");
    get x() {
      return run("class getter")();
    }
  }
  class SpyMap extends Map<unknown, unknown> {
    override get size() {
      ran.push("size");
      return 0;
    }
    override [Symbol.iterator]() {
      ran.push("iterator");
      return super[Symbol.iterator]();
    }
    override forEach() {
      ran.push("forEach");
    }
  }
  const handler = new Proxy({}, { get: (_, trap) => run(`trap ${String(trap)}`) });
  const date = Object.assign(new Date(0), { getTime: run("getTime"), toJSON: run("toJSON") });
  const own = Object.defineProperties(new Map([[1, 2]]), {
    size: { get: run("own size") },
    forEach: { value: run("own forEach") },
  });
  const values = [
    new Spy(),
    { toJSON: run("toJSON"), toString: run("toString"), valueOf: run("valueOf") },
    Object.defineProperty({}, "x", { get: run("getter"), enumerable: true }),
    Object.defineProperty([1], 0, { get: run("element getter"), enumerable: true }),
    Object.defineProperty(new Error("m"), "message", { get: run("message") }),
    Object.defineProperty({}, Symbol.toStringTag, { get: run("toStringTag") }),
    Object.defineProperty(/a/, "global", { get: run("global") }),
    Object.defineProperty(Object.create({}), "constructor", { get: run("constructor") }),
    Object.create(Object.defineProperty({}, "constructor", { get: run("inherited constructor") })),
    new SpyMap([[1, 2]]),
    new Proxy({}, handler),
    new Proxy([], handler),
    new Proxy(() => {}, handler),
    Object.create(new Proxy({}, handler)),
    date,
    own,
    Object.create(Map.prototype),
    Object.create(Date.prototype),
    Object.create(URL.prototype),
    Object.create(Uint8Array.prototype),
  ];
  ran = [];
  for (const value of values) expect(print(value)).toMatch(/^\[.+\]$/s);
  fingerprint(values);
  expect(print(values[2])).toBe('[{"x":<accessor>}]');
  expect(ran).toEqual([]);
  expect(print(own)).toBe(print(new Map([[1, 2]])));
  expect(print(date)).toBe(print(new Date(0)));
});

describe("a fingerprint is bounded", () => {
  it("readable while it is short, else a beginning and a digest", () => {
    expect(fingerprint(["a", { n: [1, undefined] }, new Map([["k", 1n]])])).toBe(
      '["a",{"n":[1,undefined]},Map{"k"=>1n}]',
    );
    const long = print("x".repeat(1000));
    expect(long).toMatch(/^\["x{58}#[0-9a-f]{24}$/);
    expect(print(`${"x".repeat(57)}🎉${"y".repeat(200)}`)).toMatch(/^\["x{57}#/);
    expect(long).not.toBe(print(`${"x".repeat(999)}y`));
  });

  it("in cost, whatever the size and shape", () => {
    const started = performance.now();
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = { deep };
    let shared: unknown = 1;
    for (let i = 0; i < 64; i++) shared = [shared, shared];
    const huge = [
      deep,
      shared,
      "x".repeat(50_000_000),
      new Uint8Array(50_000_000),
      Array.from({ length: 1_000_000 }, (_, i) => i),
      new Map(Array.from({ length: 100_000 }, (_, i) => [i, i])),
      new Array(2 ** 32 - 1),
      2n ** 1_000_000n,
      Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])),
    ];
    for (const value of huge) expect(print(value).length).toBeLessThan(200);
    expect(fingerprint(huge)).toBe(fingerprint([...huge]));
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it("in depth", () => {
    const nest = (depth: number, leaf: number): unknown => (depth === 0 ? leaf : [nest(depth - 1, leaf)]);
    expect(print(nest(199, 1))).not.toBe(print(nest(199, 2)));
    expect(print(nest(201, 1))).toBe(print(nest(201, 2)));
  });

  it("without an order of entries beyond the bound either", () => {
    const entries = Array.from({ length: 300 }, (_, i): [number, number[]] => [i, Array.from({ length: i }, () => i)]);
    expect(print(new Map(entries))).toBe(print(new Map(entries.toReversed())));
    expect(print(new Set(entries))).toBe(print(new Set(entries.toReversed())));
  });
});

describe("as a property, for any value", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withObjectString: true,
    stringUnit: "binary",
  });

  it("a clone has the same fingerprint", () => {
    fc.assert(
      fc.property(anything, (value) => {
        expect(print(structuredClone(value))).toBe(print(value));
      }),
      { numRuns: 500 },
    );
  });

  it("a copy with keys, entries and members in another order has the same fingerprint", () => {
    fc.assert(
      fc.property(anything, (value) => {
        expect(print(reversed(value))).toBe(print(value));
      }),
      { numRuns: 500 },
    );
  });

  it("values that differ in one leaf differ", () => {
    fc.assert(
      fc.property(anything, fc.constantFrom("x", 0, null, true), (value, leaf) => {
        expect(print([value, leaf])).not.toBe(print([value, "another"]));
      }),
    );
  });

  function reversed(value: unknown): unknown {
    if (Array.isArray(value)) {
      const copy: unknown[] = new Array(value.length);
      for (const key of Object.keys(value)) copy[Number(key)] = reversed(value[Number(key)]);
      return copy;
    }
    if (value instanceof Map) return new Map([...value].toReversed().map(([k, v]) => [reversed(k), reversed(v)]));
    if (value instanceof Set) return new Set([...value].toReversed().map(reversed));
    if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const copy: object = {};
    for (const key of Object.keys(value).toReversed()) {
      const held = (value as Record<string, unknown>)[key];
      Object.defineProperty(copy, key, { value: reversed(held), enumerable: true, writable: true, configurable: true });
    }
    return copy;
  }
});
