/**
 * Names, keys and values that nobody should use and somebody will. Each comes back exactly as it was, from every store and
 * on every pass, or is refused at its step with the reason; no two names are one; nothing hangs or escapes.
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import {
  codec,
  keyed,
  memoryStore,
  now,
  Stepmark,
  type StepmarkError,
  type StepmarkOptions,
  sleep,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { encodeError } from "../../runtime/run/live/outcome.js";
import { bound } from "../../runtime/scope/key.js";

const id = "run";

/** What came to nobody; there may be none. */
const strays: unknown[] = [];
const note = (reason: unknown): void => void strays.push(reason);
beforeAll(() => {
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
});
afterAll(() => {
  process.off("unhandledRejection", note);
  process.off("uncaughtException", note);
});
afterEach(() => expect(strays.splice(0)).toEqual([]));

const stores = [
  ["in memory", memoryStore],
  ["in SQLite", () => sqliteStore(":memory:")],
] as const;

const failureOf = async (result: Promise<unknown>): Promise<StepmarkError & Error> => {
  return (await result.then(
    () => expect.fail("did not fail"),
    (reason: unknown) => reason,
  )) as StepmarkError & Error;
};

/** What a step with the body `make` gave, live and in a second process that answers it from the record. */
async function liveAndReplayed(make: () => unknown, options: StepmarkOptions): Promise<[unknown, unknown]> {
  const given: unknown[] = [];
  let bodies = 0;
  let hold = true;
  let reached!: () => void;
  const here = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const flow = workflow("flow", async () => {
    given.push(
      await step(() => {
        bodies++;
        return make();
      }).catch((error: unknown) => ({ thrown: error })),
    );
    await step(async () => {
      reached();
      if (hold) await new Promise(() => {});
    });
  });
  const first = new Stepmark({ ...options, workflows: [flow] });
  await first.start(flow, undefined, { id });
  await here;
  await first.shutdown();
  hold = false;
  const second = new Stepmark({ ...options, workflows: [flow] });
  await (await second.resume(id)).result();
  await second.shutdown();
  expect(bodies).toBe(1);
  return given as [unknown, unknown];
}

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const detached = (): ArrayBuffer => {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
};
const detachedView = (): Uint8Array => {
  const view = new Uint8Array(8);
  structuredClone(view, { transfer: [view.buffer] });
  return view;
};
const deep = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let value: unknown = "bottom";
  for (let i = 0; i < levels; i++) value = wrap(value);
  return value;
};
const withThen = (value: object, message: string): object =>
  // biome-ignore lint/suspicious/noThenProperty: it is what is tested
  Object.defineProperty(value, "then", {
    get: () => {
      throw new Error(message);
    },
  });
const megabytes = "ä".repeat(5_000_000);
/** More than an argument list can hold. */
const many = Array.from({ length: 150_000 }, (_, i) => i);

/** What no database, no JSON and no path should change. */
const texts: Array<[name: string, text: string]> = [
  ["path separators", "../..\\a/b"],
  ["quotes", "'\"`'; DROP TABLE runs; --"],
  ["__proto__", "__proto__"],
  ["constructor", "constructor"],
  ["line ends", "a\nb\r\n\u2028c"],
  ["key syntax", "a/b~1#k[2]@3.0{}(%0041)"],
  ["composed", "\u00e9"],
  ["decomposed", "e\u0301"],
  ["emoji", "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿"],
  ["blank", " "],
  ["a wildcard", "%_*?"],
  ["upper case", "RUN"],
  ["long", "n".repeat(100_000)],
  ["long, with another end", `${"n".repeat(100_000)}m`],
];
const unkeepable: Array<[name: string, text: string]> = [
  ["a NUL character", "a\0b"],
  ["half a surrogate pair", "a\ud83d"],
  ["the other half", "\ude00a"],
];

describe.each(stores)("values %s", (_, makeStore) => {
  const exact: Array<[name: string, make: () => unknown]> = [
    ...[...texts, ...unkeepable].map(([name, text]): [string, () => unknown] => [
      `a text with ${name}`,
      () => ({ [`key ${text}`]: text, list: [text] }),
    ]),
    ["10 MB of text", () => megabytes],
    ["10 MB of bytes", () => new Uint8Array(10_000_000).fill(7)],
    ["an own key __proto__", () => JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":2}}')],
    ["an object without prototype", () => Object.assign(Object.create(null), { a: 1, __proto__: 2 })],
    ["a toJSON that lies", () => ({ toJSON: "no function", a: 1 })],
    ["a map of many", () => new Map(many.map((i) => [i, { i }]))],
    ["a huge sparse array", () => Object.assign([], { 0: "first", 4000000000: "last" })],
    ["900 levels", () => deep(900, (inner) => ({ inner }))],
    ["a proxy of plain data", () => new Proxy({ a: [1] }, {})],
  ];

  it.each(exact)("%s: are the same live and replayed", async (_, make) => {
    const [live, replayed] = await liveAndReplayed(make, { store: makeStore() });
    const whole = make();
    if (whole instanceof Map) {
      // Compared by hand: the matcher takes quadratic time.
      const spelt = (value: unknown): string => JSON.stringify([...(value as Map<unknown, unknown>)]);
      for (const each of [live, replayed]) expect(spelt(each) === spelt(whole)).toBe(true);
    } else if (whole instanceof Uint8Array) {
      for (const each of [live, replayed]) expect(Buffer.compare(each as Uint8Array, whole)).toBe(0);
    } else if (Array.isArray(whole) && whole.length > 1_000) {
      for (const each of [live, replayed] as unknown[][]) {
        expect([each.length, Object.entries(each)]).toEqual([whole.length, Object.entries(whole)]);
      }
    } else {
      for (const each of [live, replayed]) {
        expect(each).toEqual(whole);
        expect(Object.getPrototypeOf(each)).toBe(Object.getPrototypeOf(whole));
      }
    }
  });

  it("a cycle: is one live and replayed", async () => {
    const make = (): unknown => {
      const parent = { children: [] as unknown[], self: undefined as unknown };
      parent.self = parent;
      parent.children.push({ parent });
      return parent;
    };
    for (const each of await liveAndReplayed(make, { store: makeStore() })) {
      const parent = each as { children: Array<{ parent: unknown }>; self: unknown };
      expect(parent.self).toBe(parent);
      expect(parent.children[0]!.parent).toBe(parent);
    }
  });

  const refused: Array<[name: string, make: () => unknown, says: RegExp]> = [
    [
      "10,000 objects deep",
      () => deep(10_000, (inner) => ({ inner })),
      /nested too deeply, more than 1000 levels at \$ /,
    ],
    ["10,000 arrays deep", () => deep(10_000, (inner) => [inner]), /nested too deeply/],
    ["10,000 maps deep", () => deep(10_000, (inner) => new Map([["in", inner]])), /nested too deeply/],
    [
      "a getter that throws",
      () => ({
        a: [
          {
            get b() {
              throw new Error("trap");
            },
          },
        ],
      }),
      /\(trap\) at \$\.a\[0\]\.b /,
    ],
    [
      "a getter that throws nothing",
      () => ({
        get a() {
          throw undefined;
        },
      }),
      /fails to be read .* at \$\.a /,
    ],
    [
      "a getter that throws a trap",
      () => ({
        get a() {
          throw revoked();
        },
      }),
      /fails to be read .* at \$\.a /,
    ],
    ["a revoked proxy", () => ({ a: revoked() }), /revoked\) at \$\.a /],
    ["a detached buffer", () => [detached()], /a detached ArrayBuffer at \$\[0\] /],
    ["a view of a detached buffer", () => ({ view: detachedView() }), /at \$/],
    ["a symbol", () => [Symbol("s")], /a symbol at \$\[0\] /],
    ["a symbol as key", () => ({ [Symbol("s")]: 1 }), /the symbol key Symbol\(s\) at \$ /],
    ["a generator", () => (function* () {})(), /a generator at \$ .*\. Record an array of what it yields\. /],
    ["an iterator of an array", () => [1].values(), /an iterator at \$ .*\. Record an array of what it yields\. /],
    ["an iterator of a map", () => ({ i: new Map().keys() }), /an iterator at \$\.i .*\. Record an array /],
    ["an instance of a class", () => ({ at: new (class Point {})() }), /an instance of the class Point at \$\.at /],
    ["a function after 150,000 others", () => [...many.map((i) => ({ i })), () => 1], /a function at \$\[150000\] /],
    [
      "a weak map in a map in a set",
      () => new Set([new Map([["k", new WeakMap()]])]),
      /WeakMap at \$\.values\(\)\[0\]\.get\("k"\) /,
    ],
  ];

  it.each(refused)("%s: are refused at the step, with the path", async (_, make, says) => {
    const [live, replayed] = (await liveAndReplayed(make, { store: makeStore() })) as Array<{ thrown: StepmarkError }>;
    expect(live!.thrown).toMatchObject({ code: "SERIALISATION", runId: id, key: "flow/step" });
    expect(live!.thrown.message).toMatch(says);
    expect(live!.thrown.message).toMatch(/\(run "run", key flow\/step, at .*hostile-input\.test\.ts:\d+\)/);
    expect(replayed!.thrown.message).toBe(live!.thrown.message);
  });

  const thrown: Array<[name: string, make: () => unknown, is: object]> = [
    ["an error with 10 MB of message", () => new TypeError(megabytes), { name: "TypeError", message: megabytes }],
    [
      "10,000 causes deep",
      () => deep(10_000, (cause) => new Error("outer", { cause })),
      { message: "outer", cause: { message: "outer", cause: { message: "outer" } } },
    ],
    [
      "10,000 aggregates deep",
      () => deep(10_000, (inner) => new AggregateError([inner], "outer")),
      { message: "outer", errors: [{ message: "outer", errors: [{ message: "outer" }] }] },
    ],
    ["an aggregate of 150,000", () => new AggregateError(many, "wide"), { message: "wide" }],
    [
      "an error that is its own cause, with a socket",
      () => {
        const error = Object.assign(new Error("own"), { socket: () => 1, code: "E" });
        error.cause = error;
        return error;
      },
      { message: "own", code: "E" },
    ],
    [
      "an error with a request, of which the rest is data",
      () => {
        const rest = { status: 404, data: { code: "E_NO_ROOM", free: [7n] }, of: new RangeError("inner") };
        return Object.assign(new Error("refused"), rest, { request: { send: () => 1 }, response: new Response() });
      },
      { message: "refused", status: 404, data: { code: "E_NO_ROOM", free: [7n] }, of: { name: "RangeError" } },
    ],
    ["a revoked proxy", revoked, { message: "A value that cannot be kept was thrown: [object]" }],
    [
      "an error whose cause is a trap",
      () =>
        Object.defineProperty(new RangeError("x"), "cause", {
          get: () => {
            throw new Error("trap");
          },
        }),
      { message: "x", name: "RangeError" },
    ],
    [
      "an error whose fields throw what is no text",
      () =>
        Object.defineProperty(new Error("x"), "extra", {
          enumerable: true,
          get: () => {
            throw Object.create(null);
          },
        }),
      { message: "x" },
    ],
    [
      "an error whose message is a trap",
      () =>
        Object.defineProperty(new Error("x"), "message", {
          get: () => {
            throw new Error("trap");
          },
        }),
      { name: "Error" },
    ],
    [
      "errors that are no list",
      () => Object.assign(new AggregateError([], "x"), { errors: 7, f: () => 1 }),
      { message: "x" },
    ],
    ["a proxied error", () => new Proxy(new Error("behind"), {}), { message: "behind" }],
    ["a symbol", () => Symbol("s"), { message: "A value that cannot be kept was thrown: [object Symbol]" }],
    ["lone surrogates", () => new Error("a\ud83d"), { message: "a\ud83d" }],
  ];

  it.each(thrown)("thrown, %s: comes as an error, the same live and replayed", async (_, make, is) => {
    const [live, replayed] = (await liveAndReplayed(
      () => {
        throw make();
      },
      { store: makeStore() },
    )) as Array<{ thrown: Error }>;
    expect(live!.thrown).toBeInstanceOf(Error);
    expect(live!.thrown).toMatchObject(is);
    expect(replayed!.thrown.message === live!.thrown.message).toBe(true);
    expect(replayed!.thrown.stack === live!.thrown.stack).toBe(true);
    expect(Object.getPrototypeOf(replayed!.thrown)).toBe(Object.getPrototypeOf(live!.thrown));
  });

  it("says of causes that are too deep that they are left out", async () => {
    const [live] = (await liveAndReplayed(
      () => {
        throw deep(10_000, (cause) => new Error("outer", { cause }));
      },
      { store: makeStore() },
    )) as Array<{ thrown: Error }>;
    let depth = 0;
    let at: unknown = live!.thrown;
    for (; at instanceof Error; at = at.cause) depth++;
    expect(depth).toBe(100);
    expect(at).toBe("outer (what it holds is left out, more than 100 levels down)");
  });

  const bodies: Array<[name: string, body: () => unknown, says: RegExp]> = [
    ["a proxied promise", () => new Proxy(Promise.resolve(1), {}), /incompatible receiver/],
    ["a promise whose then throws", () => withThen(Promise.resolve(1), "own then"), /own then/],
    ["an object whose then throws", () => withThen({}, "trap then"), /trap then/],
    ["a revoked proxy", revoked, /revoked/],
  ];

  it.each(bodies)("a body that returns %s: fails its step", async (_, body, says) => {
    const [live, replayed] = (await liveAndReplayed(body, { store: makeStore() })) as Array<{ thrown: Error }>;
    expect(live!.thrown.message).toMatch(says);
    expect(replayed!.thrown.message).toBe(live!.thrown.message);
  });

  it.each([
    ["a revoked proxy", revoked],
    [
      "an error whose cause is a trap",
      () =>
        Object.defineProperty(new Error("x"), "cause", {
          get: () => {
            throw new Error("trap");
          },
        }),
    ],
    ["an aggregate of 150,000", () => new AggregateError(many, "wide")],
    ["10,000 causes", () => deep(10_000, (cause) => new Error("outer", { cause }))],
    ["a symbol", () => Symbol("s")],
  ])("thrown by the workflow, %s: fails the run", async (_, make) => {
    const flow = workflow("flow", async () => {
      await now();
      throw make();
    });
    const app = new Stepmark({ store: makeStore(), workflows: [flow] });
    const error = await failureOf((await app.start(flow, undefined, { id })).result());
    expect(error).toBeInstanceOf(Error);
    expect((await app.get(id)).status).toBe("failed");
    await app.shutdown();
  });

  it("as arguments and captures: are compared without running their code, and replayed", async () => {
    const traps = (): unknown[] => [
      revoked(),
      deep(10_000, (inner) => [inner]),
      deep(10_000, (cause) => new Error("outer", { cause })),
      {
        get a() {
          throw new Error("trap");
        },
      },
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("trap");
          },
        },
      ),
      {
        toJSON: () => {
          throw new Error("trap");
        },
      },
      Object.create(revoked()),
      Symbol("s"),
      new Map(many.map((i) => [i, i])),
      Object.assign([], { 4000000000: 1 }),
      detached(),
      megabytes,
      JSON.parse('{"__proto__":1}'),
    ];
    let bodies = 0;
    const store = makeStore();
    const flow = workflow("flow", async () => {
      const captured = traps();
      const count = (...args: unknown[]): number => {
        bodies++;
        return args.length;
      };
      const first = await step(count, ...traps());
      const second = await step(() => count(captured));
      return [first, second, await waitFor("go")];
    });
    const first = new Stepmark({ store, workflows: [flow] });
    await (await first.start(flow, undefined, { id })).settled();
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [flow] });
    const run = await second.resume(id);
    await second.answer(id, "go", 1);
    expect(await run.result()).toEqual([13, 1, 1]);
    expect(bodies).toBe(2);
    await second.shutdown();
  });

  it("as input, output, answer and payload: are the same, or refused with the run and the path", async () => {
    const store = makeStore();
    const flow = workflow("flow", async (input: unknown) => {
      const answer = await waitFor<unknown>("ask", { payload: input });
      return [input, answer];
    });
    const bad = workflow("bad", async () => ({ a: [() => 1] }));
    const asks = workflow("asks", async () => {
      await waitFor("ask", { payload: { a: revoked() } });
    });
    const app = new Stepmark({ store, workflows: [flow, bad, asks] });
    const value = Object.fromEntries([...texts, ...unkeepable].map(([, text]) => [text, text]));
    const run = await app.start(flow, value, { id });
    expect((await run.settled()).waits[0]!.payload).toEqual(value);
    const refusal = await failureOf(app.answer(id, "ask", { a: Symbol("s") }));
    expect(refusal).toMatchObject({ code: "SERIALISATION", runId: id, path: "$.a" });
    await app.answer(id, "ask", value);
    expect(await run.result()).toEqual([value, value]);
    expect((await app.get(id)).output).toEqual([value, value]);
    const input = await failureOf(
      app.start(
        flow,
        deep(10_000, (inner) => [inner]),
        { id: "deep" },
      ),
    );
    expect(input).toMatchObject({ code: "SERIALISATION", runId: "deep" });
    expect(await store.read("deep")).toBeUndefined();
    const output = await failureOf((await app.start(bad, undefined, { id: "bad" })).result());
    expect(output).toMatchObject({ code: "SERIALISATION", runId: "bad", path: "$.a[0]" });
    const payload = await failureOf((await app.start(asks, undefined, { id: "asks" })).result());
    expect(payload).toMatchObject({ code: "SERIALISATION", runId: "asks", key: "asks/ask", path: "$.a" });
    await app.shutdown();
  });
});

describe.each(stores)("names %s", (_, makeStore) => {
  it("as ids of runs: each is a run of its own", async () => {
    const store = makeStore();
    const flow = workflow("flow", async (input: string) => input);
    const app = new Stepmark({ store, workflows: [flow] });
    for (const [, name] of texts) expect(await (await app.start(flow, name, { id: name })).result()).toBe(name);
    for (const [, name] of texts) expect(await app.get(name)).toMatchObject({ id: name, output: name });
    expect(new Set((await app.list()).map((run) => run.id))).toEqual(new Set(texts.map(([, name]) => name)));
    await app.shutdown();
  });

  it("as names of workflows: each is a workflow of its own", async () => {
    const store = makeStore();
    const flows = texts.map(([, name]) => workflow(name, async () => [await now(), name].length));
    const app = new Stepmark({ store, workflows: flows });
    const keys = new Set<string>();
    for (const flow of flows) {
      const run = await app.start(flow);
      expect(await run.result()).toBe(2);
      keys.add((await app.entries(run.id))[0]!.key);
      expect(await app.list({ workflow: flow.workflowName })).toMatchObject([{ id: run.id }]);
    }
    expect(keys.size).toBe(flows.length);
    await app.shutdown();
  });

  it("as keys of steps and of items: each is a step of its own, and is found again", async () => {
    const store = makeStore();
    const all = [...texts, ...unkeepable].map(([, text]) => text);
    let bodies = 0;
    const same = (text: string): string => {
      bodies++;
      return text;
    };
    const flow = workflow("flow", async () => {
      const byKey: string[] = [];
      for (const key of all) byKey.push(await step({ key }, same, key));
      const byItem: string[] = [];
      for (const item of keyed(all, (each) => each)) byItem.push(await step(same, item));
      const mapped = await Promise.all(keyed(all, (each) => each).map(async (item) => step(same, item)));
      return [byKey, byItem, mapped, await waitFor("go")];
    });
    const first = new Stepmark({ store, workflows: [flow] });
    await (await first.start(flow, undefined, { id })).settled();
    const keys = (await first.entries(id)).map(({ key }) => key);
    expect(new Set(keys).size).toBe(3 * all.length + 1);
    for (const key of keys) expect(key).toMatch(/^[^\0-\x20\u2028]+$/u);
    await first.shutdown();
    const second = new Stepmark({ store, workflows: [flow] });
    const run = await second.resume(id);
    await second.answer(id, "go", "on");
    expect(await run.result()).toEqual([all, all, all, "on"]);
    expect(bodies).toBe(3 * all.length);
    await second.shutdown();
  });

  it("of waits: each gets its own answer, by name and by key", async () => {
    const store = makeStore();
    const names = texts.map(([, text]) => text);
    const flow = workflow("flow", async () => Promise.all(names.map(async (name) => waitFor(name))));
    const app = new Stepmark({ store, workflows: [flow] });
    const run = await app.start(flow, undefined, { id });
    const { waits } = await run.settled();
    expect(waits.map(({ name }) => name)).toEqual(names);
    for (const [index, { name, key }] of waits.entries()) await app.answer(id, index % 2 ? name : key, name);
    expect(await run.result()).toEqual(names);
    await app.shutdown();
  });

  it.each(unkeepable)("with %s: are refused at the door, and never taken for another", async (_, name) => {
    const store = makeStore();
    const flow = workflow("flow", () => waitFor<string>("\ufffd"));
    const asks = workflow("asks", () => waitFor<string>(name));
    const app = new Stepmark({ store, workflows: [flow, asks] });
    // What a database would make of half a pair.
    await (await app.start(flow, undefined, { id: name.replace(/[\0\ud800-\udfff]/g, "\ufffd") })).settled();
    const says =
      /cannot hold a NUL character or half a surrogate pair, as .* does( \(.*\))?\. Give well-formed Unicode/;
    for (const call of [
      () => app.start(flow, undefined, { id: name }),
      async () => workflow(name, async () => 1),
      async () => (await app.start(asks, undefined, { id: "asks" })).result(),
      () => app.answer("asks", name, 1),
    ]) {
      const error = await failureOf(call());
      expect(error.code).toBe("INVALID_ARGUMENT");
      expect(error.message).toMatch(says);
    }
    for (const call of [
      () => app.get(name),
      () => app.resume(name),
      () => app.entries(name),
      () => app.cancel(name),
      () => app.answer(name, "x", 1),
    ])
      expect((await failureOf(call())).code).toBe("RUN_NOT_FOUND");
    await app.shutdown();
  });
});

describe("what is no name, key or duration", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const nothings: Array<[name: string, value: unknown]> = [
    ["empty", ""],
    ["null", null],
    ["a bigint", 10n],
    ["a cycle", cycle],
    ["a symbol", Symbol("s")],
    ["an object without text", Object.create(null)],
    ["a revoked proxy", revoked()],
    [
      "a toJSON that throws",
      {
        toJSON: () => {
          throw new Error("trap");
        },
      },
    ],
  ];

  it.each(nothings)("%s: is an error of ours", async (_, value) => {
    const flow = workflow("flow", async () => 1);
    const errors = [
      [{ key: value }, "INVALID_KEY"],
      [{ retries: value }, "INVALID_ARGUMENT"],
      [{ timeout: value }, "INVALID_ARGUMENT"],
      [{ deadline: value }, "INVALID_ARGUMENT"],
      [{ retries: 1, retryIf: value }, "INVALID_ARGUMENT"],
    ] as const;
    for (const [options, code] of errors) {
      const tries = workflow("tries", async () => step(options as never, () => 1));
      const app = new Stepmark({ store: memoryStore(), workflows: [tries] });
      expect(await failureOf((await app.start(tries)).result())).toMatchObject({ code });
      await app.shutdown();
    }
    const sleeps = workflow("sleeps", async () => sleep(value as never));
    const app = new Stepmark({ store: memoryStore(), workflows: [sleeps] });
    expect(await failureOf((await app.start(sleeps)).result())).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await failureOf(app.start(flow, undefined, { id: value as string }))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(await failureOf((async () => workflow(value as string, async () => 1))())).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    for (const options of [{ limit: value }, { status: ["failed", value] }]) {
      expect(await failureOf(app.list(options as never))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await failureOf(app.prune({ olderThan: "1d", limit: value as number }))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await app.shutdown();
  });

  it.each([-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY])("a list of at most %d runs: is an error", async (limit) => {
    const app = new Stepmark({ store: memoryStore() });
    expect(await failureOf(app.list({ limit }))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await failureOf(app.prune({ olderThan: "1d", limit }))).toMatchObject({ code: "INVALID_ARGUMENT" });
    await app.shutdown();
  });

  it("a list of runs that are stalled, which no store knows: is an error that says how they are listed", async () => {
    const app = new Stepmark({ store: memoryStore() });
    await expect(app.list({ status: "stalled" as never })).rejects.toThrow(
      /a run that is stalled is listed as running/,
    );
  });

  it("a list of any number of runs: is all of them", async () => {
    const one = workflow("one", async () => 1);
    const app = new Stepmark({ store: sqliteStore(":memory:"), workflows: [one] });
    for (let i = 0; i < 120; i++) await (await app.start(one)).result();
    expect(await app.list({ limit: Number.POSITIVE_INFINITY })).toHaveLength(120);
    expect([(await app.list()).length, (await app.list({ limit: 0 })).length]).toEqual([100, 0]);
    await app.shutdown();
  });

  it.each<[value: unknown, said: string]>([
    [Number.NaN, "NaN"],
    [async (x: number) => x, "a function"],
    [Promise.resolve("1h"), "a promise"],
  ])("%s: is called what it is", async (value, said) => {
    const waits = workflow("waits", async (wait: boolean) => (wait ? waitFor(value as never) : sleep(value as never)));
    const app = new Stepmark({ store: memoryStore(), workflows: [waits] });
    for (const wait of [true, false]) {
      const { message } = await failureOf((await app.start(waits, wait)).result());
      expect(message).toMatch(wait ? `must be a non-empty string, not ${said} ` : `must be a duration, not ${said} `);
    }
    await app.shutdown();
  });

  it("a promise is no body: the message says that what it waits for has begun", async () => {
    const charge = async (n: number): Promise<number> => n;
    for (const given of [[charge(1)], ["charge", charge(1)], [{ retries: 1 }, charge(1)]]) {
      const flow = workflow("flow", async () => (step as (...args: unknown[]) => unknown)(...given));
      const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
      const error = await failureOf((await app.start(flow)).result());
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(error.message).toMatch(
        /^`step` was given a promise instead of a function: .* Call `step\(fn, \.\.\.args\)`/,
      );
      await app.shutdown();
    }
  });

  it.each([5, undefined, { length: 1 }])("`keyed` does not take %o for no items", (items) => {
    expect(() => keyed(items as never, String)).toThrow(/`keyed` needs items to iterate over, not /);
  });

  it("a text of 100 characters is no duration", async () => {
    const sleeps = workflow("sleeps", async () => sleep(`${"1".repeat(100)}h` as never));
    const app = new Stepmark({ store: memoryStore(), workflows: [sleeps] });
    expect(await failureOf((await app.start(sleeps)).result())).toMatchObject({ code: "INVALID_ARGUMENT" });
    await app.shutdown();
  });
});

describe("long keys", () => {
  it("I1: are cut between characters, so that every database keeps them", () => {
    for (let shift = 0; shift < 4; shift++) {
      const key = bound(`flow/${"x".repeat(400)}${"😀".repeat(200)}${"y".repeat(shift)}`);
      expect((key as string & { isWellFormed(): boolean }).isWellFormed()).toBe(true);
      expect(key.length).toBeLessThan(200);
    }
  });
});

describe("a limit on values", () => {
  it("leaves out what an error holds, and keeps its plain fields, if all that could be kept is too much", () => {
    const small = codec({ maxBytes: 2_000 });
    const [a, b, c] = ["x", "y", "z"].map((sign) => ({ half: sign.repeat(900) }));
    const parts = { code: "E", a, b, c, socket: () => 1 };
    const kept = small.decode(encodeError(small, Object.assign(new Error("full"), parts)));
    expect(kept).toMatchObject({ message: "full", code: "E" });
    expect(kept).not.toHaveProperty("a");
  });

  it("leaves every error room to be told", async () => {
    const small = codec({ maxBytes: 2_000 });
    for (const error of [new RangeError("x".repeat(5_000)), new Error("\u0000".repeat(5_000)), "y".repeat(5_000)]) {
      const kept = small.decode(encodeError(small, error)) as Error;
      expect(kept).toBeInstanceOf(error instanceof RangeError ? RangeError : Error);
      expect(kept.message).toMatch(/cannot be kept/);
    }
    expect(() => codec({ maxBytes: 100 })).toThrow(/maxBytes is 100\. Give a number of bytes, at least 2000/);
  });
});
