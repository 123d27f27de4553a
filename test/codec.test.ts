/** The codec: what round-trips, what is refused and where, and what damaged or hostile text does. */
import assert from "node:assert";
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { type Context, createContext, runInContext, runInThisContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DecodeError, InvalidArgumentError, SerialisationError, StepTimeoutError } from "../runtime/errors.js";
import { codec, type RegisteredClass } from "../runtime/journal/codec.js";

const plain = codec();
const again = (value: unknown, by = plain): unknown => by.decode(by.encode(value));

/** Same types, prototypes and values, all the way down. */
function same(value: unknown, by = plain): void {
  const copy = again(value, by);
  assert.deepStrictEqual(copy, value);
  if (typeof value === "object" && value !== null) {
    expect(copy).not.toBe(value);
    expect(Object.getPrototypeOf(copy)).toBe(Object.getPrototypeOf(value));
  }
}

function refusal(value: unknown, by = plain): SerialisationError {
  try {
    by.encode(value);
  } catch (error) {
    expect(error).toBeInstanceOf(SerialisationError);
    return error as SerialisationError;
  }
  throw new assert.AssertionError({ message: "was not refused" });
}

function damage(text: string, by = plain): DecodeError {
  try {
    by.decode(text);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return error as DecodeError;
  }
  throw new assert.AssertionError({ message: "was read" });
}

class Point {
  constructor(
    readonly x: number,
    readonly y: number,
  ) {}
  sum(): number {
    return this.x + this.y;
  }
}

describe("a view on the memory that Node makes small Buffers from", () => {
  const secret = Buffer.from("a secret of another run");
  const text = Buffer.from("12345678");
  const at = text.byteOffset;

  it.each([
    ["Uint8Array", new Uint8Array(text.buffer, at, 8)],
    ["Float64Array", new Float64Array(text.buffer, at - (at % 8), 1)],
    ["DataView", new DataView(text.buffer, at, 8)],
    ["an empty one", new Uint8Array(text.buffer, at, 0)],
  ])("%s: is recorded without the bytes of others", (_, view) => {
    const encoded = plain.encode({ view });
    expect(encoded.length).toBeLessThan(100);
    expect(encoded).not.toContain(secret.toString("base64").slice(2, -4));
    const { view: back } = plain.decode(encoded) as { view: ArrayBufferView };
    expect(back).toStrictEqual(view);
    expect(back.buffer.byteLength).toBe(view.byteLength);
  });

  it("other views keep the buffer that they share", () => {
    const shared = new ArrayBuffer(16);
    const [a, b] = plain.decode(
      plain.encode([new Uint8Array(shared, 0, 8), new Uint8Array(shared, 4, 8)]),
    ) as Uint8Array[];
    a![4] = 7;
    expect(b![0]).toBe(7);
  });
});

describe("B49: a value comes back with the same types and prototypes", () => {
  const buffer = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const sparse: unknown[] = [];
  sparse[100_000] = "far";
  const expression = /a/g;
  expression.lastIndex = 3;
  const matched = /(?<letter>b)/.exec("abc");
  const withProto = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}') as object;
  const nullWithProto = Object.defineProperty(Object.create(null) as object, "__proto__", {
    value: 1,
    enumerable: true,
    writable: true,
    configurable: true,
  });
  const values: Record<string, unknown> = {
    undefined: undefined,
    null: null,
    "minus zero": -0,
    NaN: Number.NaN,
    infinities: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    numbers: [0, -1, 1.5, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE, 2 ** 32],
    BigInt: [10n, -(2n ** 80n)],
    strings: ["", "<script>", '"\\\n\0\u2028', "🎉", "null"],
    Date: new Date(0),
    RegExp: /x\/[\n]/giu,
    "RegExp under way": expression,
    URL: new URL("https://a.test/?q=1#h"),
    URLSearchParams: new URLSearchParams("a=1&a=2"),
    Map: new Map<unknown, unknown>([
      [{ a: 1 }, new Set([1])],
      [Number.NaN, undefined],
    ]),
    Set: new Set<unknown>([-0, "a", new Map()]),
    holes: Object.assign(new Array<unknown>(4), { 0: 1, 2: 3, 3: undefined }),
    sparse,
    "array with own properties": matched,
    "null prototype": Object.assign(Object.create(null), { a: 1 }),
    Buffer: Buffer.from("héllo"),
    "empty Buffer": Buffer.alloc(0),
    ArrayBuffer: buffer,
    DataView: new DataView(buffer, 2, 3),
    "part of a buffer": new Uint16Array(buffer, 2, 2),
    boxed: [Object(1), Object("s"), Object(true), Object(1n), Object(-0), Object(Number.NaN)],
    "minus zero and NaN in views": [new Float32Array([-0, Number.NaN]), new Float64Array(200).fill(-0)],
    "huge BigInt": 3n ** 20_000n,
    "10 MB of text": "é\ud800".repeat(2_500_000),
    "keys of JSON": JSON.parse('{"toJSON": 1, "then": 2, "valueOf": 3}'),
    "errors within errors": new AggregateError([new AggregateError([new RangeError("r")], "inner")], "outer"),
    "key __proto__": withProto,
    "key __proto__ without prototype": nullWithProto,
    "keys of Object.prototype": JSON.parse('{"constructor": 1, "toString": 2, "hasOwnProperty": 3}'),
    Error: new Error("m"),
    DOMException: new DOMException("m", "AbortError"),
  };
  for (const name of [
    "Int8",
    "Uint8",
    "Uint8Clamped",
    "Int16",
    "Uint16",
    "Float16",
    "Int32",
    "Uint32",
    "Float32",
    "Float64",
    "BigInt64",
    "BigUint64",
  ]) {
    const view = (globalThis as unknown as Record<string, new (b: ArrayBuffer) => unknown>)[`${name}Array`];
    if (view) values[`${name}Array`] = new view(buffer);
  }
  it.each(Object.entries(values))("%s", (_, value) => {
    same(value);
    same({ inside: [value] });
  });

  it("the wide value of the case", () => {
    const wide = {
      d: new Date(0),
      u: undefined,
      n: Number.NaN,
      z: -0,
      i: Number.POSITIVE_INFINITY,
      big: 10n,
      m: new Map([[{ a: 1 }, new Set([1])]]),
      re: /x/gi,
      url: new URL("https://a.test/"),
      b: new Uint8Array([1, 2]),
      hole: Object.assign(new Array<number>(3), { 0: 1, 2: 3 }),
    };
    same(wide);
    const copy = again(wide) as Record<string, object>;
    for (const [key, value] of Object.entries(wide)) {
      if (typeof value === "object") expect(Object.getPrototypeOf(copy[key]!)).toBe(Object.getPrototypeOf(value));
    }
    expect(1 in copy.hole!).toBe(false);
  });

  it("keeps cycles and shared references, also through errors and class instances", () => {
    const shared = { s: 1 };
    const ring: Record<string, unknown> = { a: shared, b: shared };
    ring.self = ring;
    const copy = again(ring) as typeof ring;
    expect(copy.self).toBe(copy);
    expect(copy.a).toBe(copy.b);

    const error = Object.assign(new Error("m"), { self: null as unknown });
    error.self = { error };
    const read = again(error) as typeof error;
    expect((read.self as { error: unknown }).error).toBe(read);
    expect(read.message).toBe("m");

    const early = Object.assign(new Error("m"), { self: null as unknown, after: 1 });
    early.self = early;
    const earlyCopy = again(early) as typeof early;
    expect(earlyCopy.self).toBe(earlyCopy);
    expect(earlyCopy.after).toBe(1);

    const map = new Map<unknown, unknown>();
    const point = Object.assign(new Point(1, 2), { map });
    map.set(point, point);
    const back = again(map, codec({ classes: [Point] })) as typeof map;
    const [[key, value]] = [...back] as [[typeof point, typeof point]];
    expect(key).toBe(value);
    expect(key.map).toBe(back);
    expect(key.sum()).toBe(3);
  });

  it("keeps lone surrogates, in text that any database takes", () => {
    const strings = ["\ud800", "a\udc00b", "\udc00\ud800", { "\ud800": "🎉\ud83c" }];
    const text = plain.encode(strings);
    expect(Buffer.from(text).toString()).toBe(text);
    expect(text).not.toContain("\0");
    assert.deepStrictEqual(plain.decode(text), strings);
  });

  it("keeps what another realm made, as this realm's", () => {
    const context: Context = createContext({});
    const value = runInContext("({ a: [1], m: new Map([[1, new Date(0)]]), e: new TypeError('t') })", context);
    const copy = again(value) as { a: unknown; m: Map<number, unknown>; e: Error };
    assert.deepStrictEqual([copy.a, copy.m], [[1], new Map([[1, new Date(0)]])]);
    expect(copy.e).toBeInstanceOf(TypeError);
  });

  it("is a property: any plain value", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withNullPrototype: true,
      withObjectString: true,
      stringUnit: "binary",
    });
    fc.assert(
      fc.property(anything, (value) => {
        // Not assert.deepStrictEqual: Node 20's takes no invalid Date for equal to another.
        expect(again(value)).toStrictEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("an invalid Date", () => {
    const copy = again(new Date(Number.NaN));
    expect(copy).toBeInstanceOf(Date);
    expect((copy as Date).getTime()).toBeNaN();
  });

  it("an accessor, as the value it gives", () => {
    const value = {
      get a(): number {
        return 1;
      },
    };
    expect(Object.getOwnPropertyDescriptor(again(value), "a")?.value).toBe(1);
  });

  it("hidden properties of plain objects that hold a primitive, hidden again; others are no part of the value", () => {
    // As the libraries of payment and model providers do with the id of a request, and with its connection.
    const answer = Object.defineProperties(
      { text: "hi" },
      { _request_id: { value: "req_1" }, response: { value: { socket: () => {} } } },
    );
    const copy = again([answer, Object.assign(Object.create(null), { a: 1 })]) as [typeof answer, object];
    expect(Object.keys(copy[0])).toEqual(["text"]);
    expect(Object.getOwnPropertyDescriptor(copy[0], "_request_id")).toEqual({
      value: "req_1",
      enumerable: false,
      writable: true,
      configurable: true,
    });
    expect("response" in copy[0]).toBe(false);
    const bare = Object.defineProperty(Object.create(null) as object, "__proto__", { value: 1 });
    const bareCopy = again(bare) as object;
    expect(Object.getPrototypeOf(bareCopy)).toBe(null);
    expect(Object.getOwnPropertyDescriptor(bareCopy, "__proto__")).toMatchObject({ value: 1, enumerable: false });
    const ring = Object.defineProperty({ self: null as unknown }, "id", { value: 1 });
    ring.self = ring;
    const ringCopy = again(ring) as { self: unknown; id: number };
    expect([ringCopy.self === ringCopy, ringCopy.id]).toEqual([true, 1]);
  });

  it("frozen values as fresh ones, and proxies as what they show", () => {
    const frozen = Object.freeze({ list: Object.freeze([1]), m: Object.freeze(new Map([[1, Object.seal({ a: 1 })]])) });
    const copy = again(frozen) as { list: number[] };
    expect([copy.list, Object.isFrozen(copy), Object.isFrozen(copy.list)]).toEqual([[1], false, false]);
    const shown = new Proxy([1], { get: (target, key, self) => (key === "0" ? 7 : Reflect.get(target, key, self)) });
    expect(again({ shown })).toEqual({ shown: [7] });
  });

  it("a Temporal.Duration by its units, where there is Temporal", () => {
    const { Temporal } = globalThis as unknown as { Temporal?: { Duration: { from(units: object): object } } };
    if (Temporal === undefined) return;
    const copy = again(Temporal.Duration.from({ milliseconds: 1500 })) as { seconds: number; milliseconds: number };
    expect([copy.seconds, copy.milliseconds]).toEqual([0, 1500]);
  });

  it("never changes the value", () => {
    const frozen = Object.freeze({ list: Object.freeze([Object.freeze(/a/g), new Error("m")]) });
    const before = structuredClone(frozen);
    same(frozen);
    assert.deepStrictEqual(structuredClone(frozen), before);
  });

  it("gives a fresh copy each time", () => {
    const text = plain.encode({ xs: [1] });
    const first = plain.decode(text) as { xs: number[] };
    first.xs.push(2);
    assert.deepStrictEqual(plain.decode(text), { xs: [1] });
  });
});

it("B52: undefined and null stay what they are", () => {
  expect([again(undefined), again(null)]).toEqual([undefined, null]);
  expect(again([undefined, null])).toStrictEqual([undefined, null]);
});

it("B53: false, 0, the empty string and a key without value stay", () => {
  const value = { ok: false, n: 0, s: "", x: null, u: undefined };
  same(value);
  expect("u" in (again(value) as object)).toBe(true);
  for (const bare of [false, 0, ""]) expect(again(bare)).toBe(bare);
});

it("B54: a Date stays a Date", () => {
  expect((again(new Date(60_000)) as Date).toISOString()).toBe("1970-01-01T00:01:00.000Z");
});

describe("B56: errors", () => {
  const classes = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  it.each(classes.map((each) => [each.name, each] as const))("%s keeps class, message and stack", (_, Class) => {
    const error = new Class("m");
    const copy = again(error) as Error;
    same(error);
    expect(copy.stack).toBe(error.stack);
    expect(Object.keys(copy)).toEqual([]);
    expect(Object.hasOwn(copy, "cause")).toBe(false);
  });

  it("keeps a cause with its own fields, and an absent one apart from an undefined one", () => {
    const error = new TypeError("t", { cause: Object.assign(new Error("c"), { code: "E1" }) });
    same(error);
    const copy = again(error) as Error & { cause: { code: string } };
    expect([copy.name, copy.message, copy.cause.code, copy instanceof TypeError, typeof copy.stack]).toEqual([
      "TypeError",
      "t",
      "E1",
      true,
      "string",
    ]);
    expect(Object.hasOwn(again(new Error("m", { cause: undefined })) as Error, "cause")).toBe(true);
  });

  it("keeps AggregateError.errors, a thrown string, and no message", () => {
    const error = new AggregateError([new RangeError("r"), "text", undefined], "all");
    same(error);
    expect((again(error) as AggregateError).errors[0]).toBeInstanceOf(RangeError);
    expect(again("thrown")).toBe("thrown");
    expect(Object.hasOwn(again(new Error()) as Error, "message")).toBe(false);
    const bare = new Error("m");
    Reflect.deleteProperty(bare, "stack");
    expect(Object.hasOwn(again(bare) as Error, "stack")).toBe(false);
  });

  it("brings an unknown class back as the nearest built-in, with its name", () => {
    class OwnName extends RangeError {
      code = "E";
      constructor(message: string) {
        super(message);
        this.name = "Named";
      }
    }
    class PrototypeName extends TypeError {}
    PrototypeName.prototype.name = "FromPrototype";
    class ConstructorName extends Error {}
    class Getter extends Error {
      override get message(): string {
        return "computed";
      }
    }
    const cases: Array<[Error, ErrorConstructor, string]> = [
      [new OwnName("m"), RangeError as ErrorConstructor, "Named"],
      [new PrototypeName("m"), TypeError as ErrorConstructor, "FromPrototype"],
      [new ConstructorName("m"), Error, "ConstructorName"],
    ];
    for (const [error, base, name] of cases) {
      const copy = again(error) as Error;
      expect(Object.getPrototypeOf(copy)).toBe(base.prototype);
      expect([copy.name, copy.message, copy.stack]).toEqual([name, "m", error.stack]);
    }
    expect((again(new OwnName("m")) as OwnName).code).toBe("E");
    expect((again(new Getter()) as Error).message).toBe("computed");
  });

  it("brings registered classes and the library's own back as what they are", () => {
    class Refused extends Error {
      constructor(readonly reason: { at: Date }) {
        super("refused");
        throwsIfRun();
      }
    }
    let throwsIfRun = (): void => {};
    const error = new Refused({ at: new Date(0) });
    throwsIfRun = () => {
      throw new Error("the constructor ran");
    };
    const by = codec({ classes: [Refused] });
    same(error, by);
    expect((again(error, by) as Refused).reason.at).toBeInstanceOf(Date);
    const timeout = new StepTimeoutError(5, { runId: "r" });
    expect(again(timeout)).toBeInstanceOf(StepTimeoutError);
    same(timeout);
  });

  it("keeps the shared symbols by which libraries know their errors, of all errors, and no other symbols", () => {
    const mark = Symbol.for("vendor.ai.error");
    class CallError extends Error {
      [mark] = true;
      request = { body: [1] };
    }
    const copy = again(new AggregateError([new CallError("m")])) as AggregateError;
    const [inner] = copy.errors as Array<Record<PropertyKey, unknown>>;
    expect([inner![mark], inner!.request, Object.getOwnPropertySymbols(inner!)]).toEqual([true, { body: [1] }, [mark]]);
    const exception = Object.assign(new DOMException("m", "AbortError"), { [mark]: { deep: 1 } });
    expect(again(exception)).toMatchObject({ [mark]: { deep: 1 } });
    expect(() => again(Object.assign(new Error("m"), { [Symbol("own")]: 1 }))).toThrow("the symbol key Symbol(own)");
  });

  it("keeps hidden fields that hold a primitive, and what SuppressedError holds", () => {
    const hidden = Object.defineProperties(new Error("m"), {
      requestId: { value: "r1" },
      toString: { value: () => "" },
      socket: { value: { fd: 1 } },
    });
    const copy = again(hidden) as Error & { requestId: string };
    expect(Object.getOwnPropertyDescriptor(copy, "requestId")).toMatchObject({ value: "r1", enumerable: false });
    expect([Object.hasOwn(copy, "toString"), Object.hasOwn(copy, "socket")]).toEqual([false, false]);
    const suppressed = Object.defineProperties(new Error("m"), {
      error: { value: new TypeError("second") },
      suppressed: { value: { first: 1 } },
    });
    const { error, suppressed: first } = again(suppressed) as never as Record<string, unknown>;
    expect([error, first]).toEqual([new TypeError("second"), { first: 1 }]);
  });

  it("brings a subclass of a registered class, and of the library's own, back as that class, with its name", () => {
    class HttpError extends Error {
      constructor(readonly status: number) {
        super(`status ${status}`);
      }
    }
    class NotFound extends HttpError {}
    const by = codec({ classes: [HttpError] });
    const copy = again(new NotFound(404), by) as HttpError;
    expect(Object.getPrototypeOf(copy)).toBe(HttpError.prototype);
    expect([copy.name, copy.status, copy.message]).toEqual(["NotFound", 404, "status 404"]);
    expect((again(new HttpError(1), by) as Error).name).toBe("Error");
    class Slow extends StepTimeoutError {}
    expect(again(new Slow(1, {}))).toBeInstanceOf(StepTimeoutError);
  });

  it("keeps DOMException with name, code and cause", () => {
    const error = new DOMException("m", { name: "TimeoutError", cause: 1 } as never);
    const copy = again(error) as DOMException & { cause: unknown };
    expect(copy).toBeInstanceOf(DOMException);
    expect([copy.name, copy.message, copy.code, copy.cause, copy.stack]).toEqual([
      "TimeoutError",
      "m",
      23,
      1,
      error.stack,
    ]);
  });
});

describe("registered classes and types", () => {
  it("rebuilds an instance from its own fields, which are recorded like any value", () => {
    const value = Object.assign(new Point(1, 2), { at: new Date(0), next: new Point(3, 4), u: undefined });
    same([value, { value }], codec({ classes: [Point] }));
    same([value], codec({ classes: { P: Point } }));
  });

  it("defines fields, so neither setters nor __proto__ are run", () => {
    class Watched {
      set x(_: unknown) {
        throw new Error("setter ran");
      }
    }
    const value = Object.defineProperty(new Watched(), "x", {
      value: 1,
      enumerable: true,
      writable: true,
      configurable: true,
    });
    const copy = again(value, codec({ classes: [Watched] })) as object;
    expect(Object.getOwnPropertyDescriptor(copy, "x")?.value).toBe(1);
  });

  class Money {
    readonly #cents: number;
    constructor(cents: number) {
      this.#cents = cents;
    }
    get cents(): number {
      return this.#cents;
    }
  }
  const money = {
    is: (value: unknown) => value instanceof Money,
    encode: (value: Money) => ({ cents: value.cents }),
    decode: (data: { cents: number }) => new Money(data.cents),
  };

  it("keeps private fields through a type's encode and decode", () => {
    const by = codec({ types: { money } });
    const shared = new Money(5);
    const copy = again([shared, { shared }], by) as [Money, { shared: Money }];
    expect(copy[0].cents).toBe(5);
    expect(copy[1].shared).toBe(copy[0]);
    expect(refusal({ a: new Money(1) }).message).toContain("class Money");
  });

  it("keeps instances of one class, and of no subclass, through its type", () => {
    class Rounded extends Money {}
    class Coded extends Error {
      readonly #code: number;
      constructor(code: number) {
        super("m");
        this.#code = code;
      }
      get code(): number {
        return this.#code;
      }
    }
    const by = codec({
      types: {
        Money: { class: Money, encode: (value: Money) => value.cents, decode: (cents: number) => new Money(cents) },
        Coded: { class: Coded, encode: (value: Coded) => value.code, decode: (code: number) => new Coded(code) },
      },
    });
    const one = new Money(5);
    const [copy, same, error] = again([one, one, new Coded(3)], by) as [Money, Money, Coded];
    expect([copy.cents, copy === same, error.code, error instanceof Coded]).toEqual([5, true, 3, true]);
    expect(refusal({ a: new Rounded(1) }, by)).toMatchObject({ path: "$.a" });
    expect(damage(by.encode(one)).message).toMatch(/"Money".*types/);
  });

  it("rebuilds an instance with all that it owns, hidden fields too, or refuses it", () => {
    class Account {
      name = "a";
      constructor(balance: unknown) {
        Object.defineProperty(this, "balance", { value: balance });
      }
    }
    const by = codec({ classes: [Account] });
    const rich = new Account({ cents: 7 });
    const copy = again(rich, by) as Account;
    expect(Object.getOwnPropertyDescriptor(copy, "balance")).toMatchObject({ value: { cents: 7 }, enumerable: false });
    expect([Object.keys(copy), copy instanceof Account]).toEqual([["name"], true]);
    expect(refusal({ a: new Account(() => {}) }, by).path).toBe("$.a.balance");
    expect(damage(by.encode(rich)).message).toMatch(/"Account".*classes/);
    const marked = Object.defineProperty(new Account(1), Symbol("state"), { value: 1 });
    expect(refusal([marked], by)).toMatchObject({ path: "$[0]" });
    const within = Object.setPrototypeOf(new Map([[1, 2]]), Account.prototype) as object;
    expect(refusal({ within }, by).message).toContain("more than its fields");
    class Derived extends Account {}
    expect(refusal({ d: new Derived(1) }, by).message).toMatch(/class Derived.*\$\.d/);
  });

  describe("refuses, when it is registered, a class whose fields are not all there is", () => {
    const secrets = new WeakMap<object, unknown>();
    const helpers = `var __classPrivateFieldSet = (o, m, v) => m.set(o, v); var _Money_cents = new WeakMap(), _Money_instances = new WeakSet();
      var __privateAdd = (o, m, v) => m.set(o, v), _cents = new WeakMap();
      function _classPrivateFieldInitSpec(o, m, v) { m.set(o, v); } function _class_private_field_init(o, m, v) { m.set(o, v); }`;
    const made = (text: string): RegisteredClass =>
      runInThisContext(`(() => { ${helpers} return ${text}; })()`) as RegisteredClass;
    class Base {
      #secret = 1;
      get secret(): number {
        return this.#secret;
      }
    }
    it.each<[string, RegisteredClass, string]>([
      ["#private fields", Money, "#cents"],
      ["those of a class above", class Below extends Base {}, "#secret"],
      ["private methods", made("class M { async *#run() {} }"), "#run"],
      ["private accessors", made("class M { get /* x */ #run() { return 1 } }"), "#run"],
      ["after strings, comments and expressions", made('class M { a = "}"; b = /[/"]`/; c = `#d`; /* # */ #e }'), "#e"],
      ["an error's", made("class M extends Error { #code = 1 }"), "#code"],
      [
        "as tsc writes them",
        made("class M { constructor(c) { _Money_cents.set(this, void 0); } }"),
        "_Money_cents.set(this",
      ],
      [
        "private methods as tsc writes them",
        made("class M { constructor() { _Money_instances.add(this); } }"),
        "_Money_instances.add(this",
      ],
      [
        "as tsc writes them for ES5",
        made("(function () { function M() { _Money_cents.set(this, void 0); } return M })()"),
        "_Money_cents.set(this",
      ],
      [
        "as esbuild writes them",
        made("class M { constructor(c) { __privateAdd(this, _cents, 1); } }"),
        "__privateAdd(this",
      ],
      [
        "as Babel writes them",
        made("class M { constructor() { _classPrivateFieldInitSpec(this, _cents, 1); } }"),
        "_classPrivateFieldInitSpec(this",
      ],
      [
        "as SWC writes them",
        made("class M { constructor() { _class_private_field_init(this, _cents, {}); } }"),
        "_class_private_field_init(this",
      ],
      [
        "in a WeakMap",
        class M {
          constructor() {
            secrets.set(this, 1);
          }
        },
        ".set(this",
      ],
    ])("%s", (_, target, words) => {
      const register = (): unknown => codec({ classes: { Money: target } });
      expect(register).toThrow(InvalidArgumentError);
      expect(register).toThrow(words);
      expect(register).toThrow('types: { "Money": { class, encode, decode } }');
    });

    it("but not one that only looks like it", () => {
      const classes = {
        Static: made(
          "class M { static #count = 0; static async #load() {} static get #x() { return 1 } static is(o) { return M.#count } }",
        ),
        Text: made('class M { colour = "#fff"; other = `#a`; rule = /#c/; /* #d */ // #e\n f() { return 6 / 2 } }'),
        Registers: made("class M { join(list) { list.set(1, this); this.map.set(this, 1); list.add(this); } }"),
      };
      expect(Object.keys(classes).map((name) => codec({ classes: { [name]: classes[name as "Text"] } }))).toHaveLength(
        3,
      );
    });

    it("and what is derived from a built-in class, known or not", () => {
      expect(() => codec({ classes: [class Task extends Promise<void> {}] })).toThrow(/subclass of Promise/);
      expect(() => codec({ classes: [WeakMap] })).toThrow(/built-in class.*types/);
    });
  });

  it("refuses a cycle through such a type, and the type's own refusals with the path", () => {
    class Link {
      next: unknown;
    }
    const link = {
      is: (value: unknown) => value instanceof Link,
      encode: (value: Link) => ({ next: value.next }),
      decode: (data: { next: unknown }) => Object.assign(new Link(), data),
    };
    const by = codec({ types: { link } });
    const direct = new Link();
    direct.next = direct;
    const outer = { link: new Link() };
    outer.link.next = outer;
    expect(refusal(direct, by).message).toContain("cycle");
    expect(refusal(outer, by).message).toContain("cycle");
    expect(refusal({ a: Object.assign(new Link(), { next: () => {} }) }, by).path).toBe("$.a.next");
    const ring: Record<string, unknown> = {};
    ring.self = ring;
    same([ring, Object.assign(new Link(), { next: { n: 1 } })], by);
  });

  it("refuses two types of one name, and classes that their fields do not describe", () => {
    const another = { Point: class {} }.Point;
    class Bag extends Map {}
    expect(() => codec({ classes: [Point, another] })).toThrow(InvalidArgumentError);
    expect(() => codec({ classes: { A: Point, B: Point } })).toThrow(InvalidArgumentError);
    expect(() => codec({ classes: [Point], types: { Point: money } })).toThrow(InvalidArgumentError);
    expect(() => codec({ classes: [Bag] })).toThrow(/subclass of Map.*types/);
    expect(() => codec({ classes: [Date] })).toThrow(/needs no registration/);
    expect(() => codec({ classes: [(() => {}) as never] })).toThrow(InvalidArgumentError);
    expect(() => codec({ maxBytes: Number.NaN })).toThrow(InvalidArgumentError);
  });
});

describe("B58: what cannot be kept is refused with its path", () => {
  class Bag extends Map {}
  class List extends Array {}
  class Bytes extends Uint8Array {}
  const thenable: Record<string, unknown> = {};
  for (const key of ["then"]) thenable[key] = () => {};
  const argumentsObject = runInThisContext("(function () { return arguments })(1)");
  const listed = Object.assign([1], { extra: () => {} });
  const cases: Array<[name: string, value: unknown, path: string]> = [
    ["a function", () => {}, "$"],
    ["a function within", { items: [0, 1, 2, { socket: () => {} }] }, "$.items[3].socket"],
    ["a symbol", { "a b": Symbol("s") }, '$["a b"]'],
    ["a symbol key", { a: { [Symbol("k")]: 1 } }, "$.a"],
    ["a promise", { p: Promise.resolve() }, "$.p"],
    ["a thenable", { p: thenable }, "$.p.then"],
    ["a WeakMap", [new WeakMap()], "$[0]"],
    ["a class instance in a Map", { m: new Map([["k", new Point(1, 2)]]) }, '$.m.get("k")'],
    ["a class instance as key", { m: new Map([[new Point(1, 2), 1]]) }, "$.m.keys(...)"],
    ["a class instance in a Set", { s: new Set([1, new Point(1, 2)]) }, "$.s.values()[1]"],
    ["a subclass of Map", { m: new Bag() }, "$.m"],
    ["a subclass of Array", { l: List.from([1]) }, "$.l"],
    ["a subclass of a typed array", { l: new Bytes(1) }, "$.l"],
    ["a Map with fields", { m: Object.assign(new Map(), { a: 1 }) }, "$.m"],
    ["a Date with fields", [Object.assign(new Date(), { a: 1 })], "$[0]"],
    ["a field of an array", { listed }, "$.listed.extra"],
    ["a field of an error", { e: Object.assign(new Error("m"), { req: () => {} }) }, "$.e.req"],
    ["a cause", new Error("m", { cause: { f: () => {} } }), "$.cause.f"],
    ["an object made from another", Object.create({ a: 1 }), "$"],
    ["a shared buffer", { b: new Uint8Array(new SharedArrayBuffer(1)) }, "$.b.buffer"],
    ["an arguments object", [argumentsObject], "$[0]"],
    [
      "a getter that throws",
      {
        a: {
          get b() {
            throw new Error("no");
          },
        },
      },
      "$.a.b",
    ],
    ["an impostor", { d: Object.create(Map.prototype) }, "$.d"],
    ["globalThis.Math", { Math }, "$.Math"],
    ["a Buffer with fields", { b: Object.assign(Buffer.from("b"), { type: "text/plain" }) }, "$.b"],
    ["a large view with fields", { b: Object.assign(new Float64Array(100), { unit: "m" }) }, "$.b"],
    ["a small view with fields", { b: Object.assign(new Uint8Array(3), { unit: "m" }) }, "$.b"],
    ["a SharedArrayBuffer", [new SharedArrayBuffer(1)], "$[0]"],
    ["a registered symbol", { s: Symbol.for("s") }, "$.s"],
    ["a well-known symbol as key", { a: { [Symbol.iterator]: 1 } }, "$.a"],
    ["a generator", { g: (function* () {})() }, "$.g"],
    ["a WeakRef", { r: new WeakRef({}) }, "$.r"],
    ["an iterator", { i: new Map().entries() }, "$.i"],
    ["a Blob", { b: new Blob([]) }, "$.b"],
    ["Headers", { h: new Headers() }, "$.h"],
    ["a Response", { r: new Response() }, "$.r"],
    ["an AbortSignal", { s: new AbortController().signal }, "$.s"],
    ["a boxed symbol", { s: Object(Symbol("s")) }, "$.s"],
    ["a proxy of a Map", { m: new Proxy(new Map(), {}) }, "$.m"],
    ["a function as key of a Map", { m: new Map([[() => {}, 1]]) }, "$.m.keys(...)"],
  ];
  it.each(cases)("%s", (_, value, path) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.code).toBe("SERIALISATION");
  });

  it("tells what to record instead of a Response", () => {
    expect(refusal({ r: new Response() }).message).toContain("as `await response.json()`");
  });

  it("names the class to register", () => {
    expect(refusal({ p: new Point(1, 2) }).message).toMatch(/class Point.*\$\.p.*classes/);
  });

  it("round-trips a ring", () => {
    const ring: Record<string, unknown> = {};
    ring.self = ring;
    const copy = again(ring) as typeof ring;
    expect(copy.self).toBe(copy);
  });

  it("refuses what is larger than the limit, in bytes", () => {
    const by = codec({ maxBytes: 1_000_000 });
    expect(refusal("x".repeat(5_000_000), by)).toMatchObject({ path: "$" });
    same("x".repeat(999_000), by);
    expect(refusal("é".repeat(600_000), by).message).toContain("1000000 bytes");
  });

  const nest = (depth: number, wrap: (inner: unknown) => unknown): unknown => {
    let value: unknown = 0;
    for (let i = 0; i < depth; i++) value = wrap(value);
    return value;
  };
  it.each([
    ["objects", (inner: unknown) => ({ inner })],
    ["arrays", (inner: unknown) => [inner]],
    ["Maps", (inner: unknown) => new Map([[1, inner]])],
    ["errors", (inner: unknown) => new Error("m", { cause: inner })],
  ])("refuses %s nested too deeply, long before a fresh process could not read them", (_, wrap) => {
    for (const depth of [1_100, 10_000, 100_000]) {
      const error = refusal(nest(depth, wrap));
      expect(error.path).toBe("$");
      expect(error.message).toContain("nested too deeply");
    }
    same(nest(400, wrap));
  });

  it("does not take width for depth", () => {
    same(Array.from({ length: 5_000 }, (_, id) => ({ id, tags: [{ id }] })));
    const holes: unknown[] = Array.from({ length: 2_000 }, (_, id) => ({ id }));
    holes[1_000_000] = [1];
    same(holes);
    // An index within a sparse array is no reference, although here each could be one to the next array.
    const chain = Array.from({ length: 1_500 }, (_, position) => {
      const far: unknown[] = [];
      far[position + 2] = undefined;
      return far;
    });
    same(chain);
  });
});

describe("B59: what cannot be read is an error, never a hollow value", () => {
  const text = codec({ classes: [Point] }).encode({ p: new Point(1, 2), s: "some text" });

  it("names the class that is no longer registered", () => {
    expect(damage(text).message).toMatch(/"Point".*Register/);
    class Gone extends Error {}
    expect(damage(codec({ classes: [Gone] }).encode(new Gone("m"))).message).toMatch(/"Gone".*Register/);
    const is = (value: unknown): boolean => value instanceof Point;
    const typed = codec({ types: { "a:b": { is, encode: () => 1, decode: () => 1 } } });
    expect(damage(typed.encode(new Point(1, 2))).message).toMatch(/"a:b".*types/);
  });

  it("refuses every truncation", () => {
    for (let length = 0; length < text.length; length++) damage(text.slice(0, length), codec({ classes: [Point] }));
    damage(text.slice(3));
  });

  it.each([
    "",
    "null",
    "{}",
    "[]",
    "5",
    "-99",
    '"a"',
    '[["Nope",1]]',
    '[["$",0]]',
    '[["$",1]]',
    '[["$",1],[]]',
    '[["$",1],[2],"Nope"]',
    '[["$",1],[2,3],"Error",4]',
    '[["$",1],[2,3,4],"Error","TypeError",9]',
    '[["$",1],[2,3,4],"Error","Object",0]',
    '[["$","text"]]',
    '[["$",1],[2,3],"Buffer",0]',
    '[["$",1],[2,2,1],"array"]',
    '[["Uint8Array",1],[1,2]]',
    '[["URL","nonsense"]]',
    '[["BigInt","x"]]',
    '[{"a":7}]',
    '[{"__proto__":1},{"polluted":2},true]',
    "[[1,2",
  ])("refuses %s", (hostile) => {
    damage(hostile);
  });

  it("lets no text reach a prototype", () => {
    const key = (name: string): string =>
      `[["$",1],[2,3,4,5],"object",false,${JSON.stringify(name)},{"polluted":6},true]`;
    const copy = plain.decode(key("__proto__")) as object;
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect("polluted" in {}).toBe(false);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    const error = plain.decode('[["$",1],[2,3,4,5,6],"Error","Error",0,"__proto__",{"polluted":7},true]') as object;
    expect(Object.getPrototypeOf(error)).toBe(Error.prototype);
    damage('[["null","__proto__",1],{"polluted":2},true]');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

it("a fresh process reads the deepest value that a warm one writes", () => {
  let value: unknown = 0;
  for (let i = 0; i < 999; i++) value = { value };
  for (let i = 0; i < 200; i++) plain.encode(value);
  const text = plain.encode(value);
  const script = `
    import { parse } from "devalue";
    let read = parse(${JSON.stringify(text)}, { $: (payload) => payload });
    let depth = 0;
    while (typeof read === "object") { read = read.value; depth++; }
    process.stdout.write(String(depth));`;
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(child.stdout).toBe("999");
});
