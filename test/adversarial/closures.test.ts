/** Where functions are made and who calls them: classes, collections, generators, limiters, queues, locks, recursion. */
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { EventEmitter, once } from "node:events";
import pLimit from "p-limit";
import { memoryStore, Stepmark, step, stepContext, workflow } from "stepmark";
import { describe, expect, it } from "vitest";
import { bodies, replayed, reseed, turn, work } from "../support/scheduled-work.js";
import { Emitter, limiter, retry, sequence } from "../support/unseen.js";

/** One site, called from everywhere. */
const workOn = (item: unknown): Promise<string> => step(work, item);
const w = (...items: unknown[]): string[] => items.map((item) => `w(${item})`);

class Service {
  readonly field = async (x: string): Promise<string> => step(work, await step(work, x));
  static shared = new Service();
  constructor(private readonly name = "s") {}
  async method(x: string): Promise<string> {
    const first = await step(work, `${this.name}${x}`);
    return this.#hidden(first);
  }
  async #hidden(x: string): Promise<string> {
    return step(work, x);
  }
  bound(): (x: string) => Promise<string> {
    return this.method.bind(this);
  }
  async *pages(x: string): AsyncGenerator<string> {
    for (let page = 0; page < 2; page++) yield await step(work, x + page);
  }
}

class Heir extends Service {
  override async method(x: string): Promise<string> {
    return step(work, await super.method(x));
  }
}

/** An iterable whose `next` is a plain async method, entered by nobody's marked call. */
class Pages implements AsyncIterable<string>, AsyncIterator<string> {
  private page = 0;
  constructor(private readonly name: string) {}
  [Symbol.asyncIterator](): this {
    return this;
  }
  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.page === 2) return { value: undefined, done: true };
    return { value: await step(work, this.name + this.page++), done: false };
  }
}

/** A lock as people write it. */
class Mutex {
  private tail: Promise<unknown> = Promise.resolve();
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.tail.then(task, task);
    this.tail = result.catch(() => {});
    return result;
  }
}

class Semaphore {
  private readonly waiting: Array<() => void> = [];
  constructor(private free: number) {}
  async acquire(): Promise<void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
  release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free++;
  }
}

describe("classes", () => {
  it("methods of one shared instance, called from concurrent branches", async () => {
    const flow = workflow("methods", async (items: string[]) => {
      const service = new Service();
      return Promise.all(items.map(async (x) => service.method(await step(work, x))));
    });
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => `w(w(sw(${x})))`),
      ["a", "b", "c"],
    );
  });

  it("arrow fields of instances made at module level, made in the run, and made in each branch", async () => {
    const flow = workflow("fields", async (items: string[]) => {
      const own = new Service();
      return Promise.all(
        items.map(async (x) => {
          await step(work, x);
          return [await Service.shared.field(x), await own.field(x), await new Service().field(x)];
        }),
      );
    });
    await replayed(
      flow,
      ["a", "b"].map((x) => [0, 1, 2].map(() => `w(w(${x}))`)),
      ["a", "b"],
    );
  });

  it("overridden methods and super, bound methods, methods taken off an object", async () => {
    const flow = workflow("heirs", async (items: string[]) => {
      const heir = new Heir("h");
      const bound = heir.bound();
      const table = { run: heir.method.bind(heir) };
      return Promise.all(items.map(async (x) => [await heir.method(x), await bound(x), await table.run(x)]));
    });
    await replayed(
      flow,
      ["a", "b"].map((x) => [0, 1, 2].map(() => `w(w(w(h${x})))`)),
      ["a", "b"],
      3,
    );
  });

  it("a method that is given to a step without its object has no object, live and with retries", async () => {
    class Api {
      readonly base = "https://api.example";
      async get(): Promise<string> {
        return this.base;
      }
    }
    const { get } = new Api();
    const flow = workflow("taken off", async () => {
      const told = (error: Error): string => error.message;
      return [await step(get).catch(told), await step({ retries: 1, backoff: 0 }, get).catch(told)];
    });
    const run = await new Stepmark({ store: memoryStore(), workflows: [flow] }).start(flow);
    const missing = "Cannot read properties of undefined (reading 'base')";
    expect(await run.result()).toEqual([missing, missing]);
  });

  it("an instance kept in a module-level cache that two runs share", async () => {
    const cache = new Map<string, Service>();
    const flow = workflow("cached", async (x: string) => {
      let service = cache.get("one");
      if (service === undefined) {
        service = new Service();
        cache.set("one", service);
      }
      return [await service.method(x), await service.field(x)];
    });
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const runs = await Promise.all(["a", "b", "c"].map((x) => app.start(flow, x, { id: x })));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      ["a", "b", "c"].map((x) => [`w(w(s${x}))`, `w(w(${x}))`]),
    );
  });
});

describe("closures in collections", () => {
  it("in arrays, maps and objects, called later, in another order, from other branches", async () => {
    const flow = workflow("collections", async (items: string[]) => {
      const array: Array<() => Promise<string>> = [];
      const map = new Map<string, () => Promise<string>>();
      const object: Record<string, () => Promise<string>> = {};
      for (const x of items) {
        array.push(async () => step(work, `a${x}`));
        map.set(x, async () => step(work, `m${x}`));
        object[x] = async () => step(work, `o${x}`);
      }
      const taken = await Promise.all(
        items.map(async (x) => {
          await step(work, x);
          const f = array.pop()!;
          return [await map.get(x)!(), await object[x]!(), (await f()).length];
        }),
      );
      return taken;
    });
    await replayed(
      flow,
      ["x", "y", "z"].map((x) => [`w(m${x})`, `w(o${x})`, 5]),
      ["x", "y", "z"],
    );
  });

  it("composed functions: pipelines, currying, decorators of functions, partial application", async () => {
    type F = (x: string) => Promise<string>;
    const compose =
      (...fs: F[]): F =>
      async (x) => {
        let value = x;
        for (const f of fs) value = await f(value);
        return value;
      };
    const logged =
      (f: F): F =>
      async (x) => {
        await step(work, "log");
        return f(x);
      };
    const add =
      (suffix: string): F =>
      async (x) =>
        step(work, x + suffix);
    const flow = workflow("composed", async (items: string[]) => {
      const pipeline = compose(add("1"), logged(add("2")), workOn, add("3"));
      return Promise.all(items.map((x) => pipeline(x)));
    });
    await replayed(
      flow,
      ["a", "b"].map((x) => `w(w(w(w(${x}1)2))3)`),
      ["a", "b"],
    );
  });

  it("reduce with an async accumulator, filter by a step, flatMap, forEach, Array.from, some", async () => {
    const flow = workflow("callbacks", async (items: string[]) => {
      const chain = await items.reduce<Promise<string[]>>(
        async (all, x) => [...(await all), await step(work, x)],
        Promise.resolve([]),
      );
      const keep = await Promise.all(items.map(async (x) => (await step(work, x)).includes("b")));
      const filtered = items.filter((_, i) => keep[i]);
      const flat = await Promise.all(items.flatMap((x) => [workOn(x), workOn(`${x}${x}`)]));
      const each: Array<Promise<string>> = [];
      // biome-ignore lint/suspicious/useIterableCallbackReturn: as people write it
      items.forEach((x) => each.push(workOn(x)));
      const from = await Promise.all(Array.from(items, async (x) => step(work, x)));
      const right = await items.reduceRight<Promise<string>>(
        async (all, x) => (await all) + (await workOn(x)),
        Promise.resolve(""),
      );
      return [chain, filtered, flat, await Promise.all(each), from, right];
    });
    await replayed(
      flow,
      [w("a", "b"), ["b"], w("a", "aa", "b", "bb"), w("a", "b"), w("a", "b"), "w(b)w(a)"],
      ["a", "b"],
      3,
    );
  });

  it("a helper called in a loop, in nested loops, after the loop and twice in one expression", async () => {
    const flow = workflow("helpers", async (items: string[]) => {
      const out: string[] = [];
      for (const x of items) for (let n = 0; n < 2; n++) out.push((await workOn(x + n)) + (await workOn(x)));
      out.push(await workOn("after"));
      let i = 0;
      while (i < 2) out.push(await workOn(i++));
      do out.push(await workOn(i--));
      while (i > 0);
      for (const k in { p: 1, q: 2 }) out.push(await workOn(k));
      const [p, q] = [await workOn("p"), await workOn("q")];
      return [...out, p, q];
    });
    await replayed(
      flow,
      ["w(a0)w(a)", "w(a1)w(a)", "w(b0)w(b)", "w(b1)w(b)", ...w("after", 0, 1, 2, 1, "p", "q", "p", "q")],
      ["a", "b"],
      2,
    );
  });
});

describe("recursion", () => {
  interface Node {
    name: string;
    children: Node[];
  }
  const tree: Node = {
    name: "r",
    children: [
      {
        name: "a",
        children: [
          { name: "b", children: [] },
          { name: "c", children: [] },
        ],
      },
      { name: "d", children: [] },
    ],
  };
  const expected = ["w(r)", ["w(a)", ["w(b)"], ["w(c)"]], ["w(d)"]];

  it("a local closure that calls itself through map", async () => {
    const flow = workflow("walk", async (root: Node) => {
      const walk = async ({ name, children }: Node): Promise<unknown[]> => [
        await step(work, name),
        ...(await Promise.all(children.map(walk))),
      ];
      return walk(root);
    });
    await replayed(flow, expected, tree, 15);
  });

  it("the same through a limiter, which enters the closure from anywhere", async () => {
    const flow = workflow("walk-limited", async (root: Node) => {
      const limit = limiter(2);
      const walk = async ({ name, children }: Node): Promise<unknown[]> => {
        const own = await limit(async () => step(work, name));
        return [own, ...(await Promise.all(children.map((child) => walk(child))))];
      };
      return walk(root);
    });
    await replayed(flow, expected, tree, 15);
  });

  it("two closures that call each other, and a work list that grows", async () => {
    const flow = workflow("mutual", async (n: number) => {
      const even = async (k: number): Promise<string> => (k === 0 ? "even" : (await step(work, `e${k}`)) && odd(k - 1));
      const odd = async (k: number): Promise<string> => (k === 0 ? "odd" : (await step(work, `o${k}`)) && even(k - 1));
      const seen: string[] = [];
      const queue = [n];
      while (queue.length > 0) {
        const k = queue.shift()!;
        seen.push(await step(work, k));
        if (k > 1) queue.push(k - 1, k - 2);
      }
      return [await Promise.all([even(n), odd(n), even(n + 1)]), seen.length];
    });
    await replayed(flow, [["odd", "even", "even"], 5], 3);
  });

  it("a workflow that calls itself, concurrently", async () => {
    const tree2 = workflow(
      "self",
      async (node: Node): Promise<unknown[]> => [
        await step(work, node.name),
        ...(await Promise.all(node.children.map((child) => (tree2 as (n: Node) => Promise<unknown[]>)(child)))),
      ],
    );
    await replayed(tree2, expected, tree, 10);
  });
});

describe("workflows in workflows", () => {
  const kid = workflow("kid", async (x: string) => step(work, await step(work, x)));

  it("one after the other, concurrently, by map, by then, in a loop", async () => {
    const flow = workflow("parents", async (items: string[]) => [
      await kid("one"),
      await Promise.all([kid("a"), kid("a")]),
      await Promise.all(items.map(kid)),
      await Promise.all(items.map((x) => kid(x))),
      await step(work, "t").then(kid),
      await (async () => {
        const out: string[] = [];
        for (const x of items) out.push(await kid(x));
        return out;
      })(),
    ]);
    const k = (x: string): string => `w(w(${x}))`;
    await replayed(
      flow,
      [k("one"), [k("a"), k("a")], ["p", "q"].map(k), ["p", "q"].map(k), k("w(t)"), ["p", "q"].map(k)],
      ["p", "q"],
      3,
    );
  });

  it("called one after the other by code that is not transformed", async () => {
    const flow = workflow("unseen-parent", async (items: string[]) => sequence(items, kid));
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => `w(w(${x}))`),
      ["a", "b", "c"],
      3,
    );
  });

  it("inside a step's body, where a hit keeps it from running", async () => {
    const outer = async (x: string): Promise<string> => {
      bodies.note(`outer${x}`);
      return (await kid(x)) + (await kid(x));
    };
    const flow = workflow("in-step", async (items: string[]) => Promise.all(items.map((x) => step(outer, x))));
    await replayed(
      flow,
      ["a", "b"].map((x) => `w(w(${x}))w(w(${x}))`),
      ["a", "b"],
    );
  });
});

describe("generators", () => {
  async function* numbers(name: string, log: string[]): AsyncGenerator<string, string> {
    try {
      for (let i = 0; ; i++) yield await step(work, name + i);
    } finally {
      log.push(await step(work, `${name}closed`));
    }
  }
  async function* joined(log: string[]): AsyncGenerator<string> {
    yield* new Service().pages("p");
    yield await step(work, "between");
    yield* new Pages("q");
    for await (const x of numbers("n", log)) {
      yield x;
      if (x.includes("1")) break;
    }
  }

  it("left early by break, return and throw, with a step in finally", async () => {
    const flow = workflow("early", async (names: string[]) =>
      Promise.all(
        names.map(async (name) => {
          const log: string[] = [];
          for await (const x of numbers(name, log)) {
            log.push(x);
            if (x.includes("1")) break;
          }
          const first = async (): Promise<string> => {
            for await (const x of numbers(`${name}f`, log)) return x;
            return "none";
          };
          log.push(await first());
          const failing = async (): Promise<string> => {
            for await (const x of numbers(`${name}t`, log)) throw new Error(x);
            return "none";
          };
          log.push(await failing().catch((error: Error) => error.message));
          return log;
        }),
      ),
    );
    const of = (n: string): string[] =>
      w(`${n}0`, `${n}1`, `${n}closed`, `${n}fclosed`, `${n}f0`, `${n}tclosed`, `${n}t0`);
    await replayed(flow, ["a", "b"].map(of), ["a", "b"], 4);
  });

  it("delegated by yield* to methods, custom iterables and other generators", async () => {
    const flow = workflow("delegated", async (names: string[]) =>
      Promise.all(
        names.map(async () => {
          const log: string[] = [];
          const seen: string[] = [];
          for await (const x of joined(log)) seen.push(x);
          return [...seen, ...log];
        }),
      ),
    );
    const all = w("p0", "p1", "between", "q0", "q1", "n0", "n1", "nclosed");
    await replayed(flow, [all, all], ["a", "b"], 4);
  });

  it("custom async iterables, one a branch, and one shared by two workers", async () => {
    const flow = workflow("iterables", async (names: string[]) => {
      const each = await Promise.all(
        names.map(async (name) => {
          const out: string[] = [];
          for await (const x of new Pages(name)) out.push(await step(work, x));
          return out;
        }),
      );
      const seen: string[] = [];
      const log: string[] = [];
      const source = numbers("s", log);
      const worker = async (): Promise<void> => {
        for (;;) {
          const { value, done } = await source.next();
          if (done || Number(/\d+/.exec(value)![0]) > 2) return;
          seen.push(await step(work, value));
        }
      };
      await Promise.all([worker(), worker()]);
      return [each, seen.sort()];
    });
    await replayed(flow, [["a", "b"].map((n) => w(`w(${n}0)`, `w(${n}1)`)), w("w(s0)", "w(s1)", "w(s2)")], ["a", "b"]);
  });

  it("a sync generator that yields step promises, spread and pulled by hand", async () => {
    function* tasks(name: string): Generator<Promise<string>> {
      for (let i = 0; i < 2; i++) yield step(work, name + i);
    }
    const flow = workflow("sync", async () => {
      const [a, b] = [tasks("a"), tasks("b")];
      const second = b.next().value as Promise<string>;
      return [await Promise.all([...a]), await second, await (b.next().value as Promise<string>)];
    });
    await replayed(flow, [w("a0", "a1"), "w(b0)", "w(b1)"]);
  });
});

describe("limiters, locks, queues", () => {
  const chainOf = (x: string): string => `w(w(w(${x})))`;

  it("p-limit around closures, in branches that come to it in any order", async () => {
    const flow = workflow("p-limit", async (items: string[]) => {
      const limit = pLimit(2);
      return Promise.all(
        items.map(async (x) => {
          const first = await step(work, x);
          return limit(async () => step(work, await step(work, first)));
        }),
      );
    });
    await replayed(flow, ["a", "b", "c", "d"].map(chainOf), ["a", "b", "c", "d"], 15);
  });

  it("p-limit given a local closure and its argument, all at once", async () => {
    const flow = workflow("p-limit-args", async (items: string[]) => {
      const limit = pLimit(2);
      const one = async (x: string): Promise<string> => step(work, await step(work, await step(work, x)));
      return Promise.all(items.map((x) => limit(one, x)));
    });
    await replayed(flow, ["a", "b", "c", "d"].map(chainOf), ["a", "b", "c", "d"], 10);
  });

  it("a limiter at module level that runs share, made by code that is not transformed", async () => {
    const limit = limiter(2);
    const flow = workflow("shared-limit", async (name: string) =>
      Promise.all(
        ["1", "2", "3"].map((n) => limit(async () => step(work, await step(work, await step(work, name + n))))),
      ),
    );
    const alone = memoryStore();
    await (await new Stepmark({ store: alone, workflows: [flow] }).start(flow, "x", { id: "x" })).result();
    const keys = (await alone.entries("x")).map(({ key }) => key).sort();
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const runs = await Promise.all(["a", "b", "c"].map((x) => app.start(flow, x, { id: x })));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      ["a", "b", "c"].map((x) => ["1", "2", "3"].map((n) => chainOf(x + n))),
    );
    for (const id of ["a", "b", "c"]) expect((await store.entries(id)).map(({ key }) => key).sort()).toEqual(keys);
  });

  const shared = new Semaphore(2);
  const lock = new Mutex();
  it("a transformed semaphore and lock at module level, shared by runs", async () => {
    const flow = workflow("shared-semaphore", async (name: string) =>
      Promise.all(
        ["1", "2", "3"].map(async (n) => {
          await shared.acquire();
          try {
            return await lock.run(async () => step(work, await step(work, name + n)));
          } finally {
            shared.release();
          }
        }),
      ),
    );
    const alone = memoryStore();
    await (await new Stepmark({ store: alone, workflows: [flow] }).start(flow, "x", { id: "x" })).result();
    const keys = (await alone.entries("x")).map(({ key }) => key).sort();
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow] });
    const runs = await Promise.all(["a", "b", "c"].map((x) => app.start(flow, x, { id: x })));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      ["a", "b", "c"].map((x) => w(...["1", "2", "3"].map((n) => `w(${x}${n})`))),
    );
    for (const id of ["a", "b", "c"]) expect((await store.entries(id)).map(({ key }) => key).sort()).toEqual(keys);
  });

  it("a lock in the run: critical sections in arrival order, each with its own steps", async () => {
    const flow = workflow("lock", async (items: string[]) => {
      const mutex = new Mutex();
      let inside = 0;
      let most = 0;
      const results = await Promise.all(
        items.map(async (x) => {
          const first = await step(work, x);
          return mutex.run(async () => {
            most = Math.max(most, ++inside);
            const second = await step(work, first);
            inside--;
            return step(work, second);
          });
        }),
      );
      return [results, most];
    });
    await replayed(flow, [["a", "b", "c"].map(chainOf), 1], ["a", "b", "c"], 15);
  });

  it("workers on one queue, each with retries by code that is not transformed", async () => {
    const flow = workflow("workers", async (items: string[]) => {
      const queue = [...items];
      const results: Record<string, string> = {};
      const worker = async (): Promise<void> => {
        for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
          const mine = job;
          results[mine] = await retry(async () => step(work, await step(work, mine)));
          if (mine === "a") queue.push("late");
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      return Object.entries(results).sort();
    });
    await replayed(
      flow,
      ["a", "b", "c", "d", "late"].map((x) => [x, `w(w(${x}))`]),
      ["a", "b", "c", "d"],
      15,
    );
  });

  it("a producer and consumers over a channel of promises", async () => {
    const flow = workflow("channel", async (items: string[]) => {
      const waiting: Array<(item: string | undefined) => void> = [];
      const ready: Array<string | undefined> = [];
      const put = (item: string | undefined): void => {
        const next = waiting.shift();
        if (next) next(item);
        else ready.push(item);
      };
      const take = (): Promise<string | undefined> =>
        new Promise((resolve) => (ready.length > 0 ? resolve(ready.shift()) : waiting.push(resolve)));
      const seen: string[] = [];
      const consume = async (): Promise<void> => {
        for (let item = await take(); item !== undefined; item = await take()) seen.push(await step(work, item));
      };
      const produce = async (): Promise<void> => {
        for (const item of items) put(await step(work, item));
        put(undefined);
        put(undefined);
      };
      await Promise.all([consume(), produce(), consume()]);
      return seen.sort();
    });
    await replayed(
      flow,
      ["a", "b", "c", "d"].map((x) => `w(w(${x}))`),
      ["a", "b", "c", "d"],
      15,
    );
  });

  it("a memoised promise that branches share, and a step promise awaited in several places", async () => {
    const flow = workflow("memo", async (items: string[]) => {
      const memo = new Map<string, Promise<string>>();
      const load = (x: string): Promise<string> => {
        let found = memo.get(x);
        if (!found) {
          found = workOn(x);
          memo.set(x, found);
        }
        return found;
      };
      const token = step(work, "token");
      return Promise.all(
        items.map(async (x) => {
          await step(work, x);
          return [await load("common"), await token, await step(work, (await token) + x), await load(x)];
        }),
      );
    });
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => ["w(common)", "w(token)", `w(w(token)${x})`, `w(${x})`]),
      ["a", "b", "c"],
      10,
    );
  });

  it("emitters: node's, and one that is not transformed; listeners from all branches, async ones too", async () => {
    const flow = workflow("emitters", async (items: string[]) => {
      const emitter = new EventEmitter();
      const unseen = new Emitter();
      const heard: Array<Promise<string>> = [];
      const done = once(emitter, "done");
      await Promise.all(
        items.map(async (x) => {
          await step(work, x);
          emitter.on("tick", async (n: number) => heard.push(step(work, `${x}${n}`)));
          unseen.on((n) => heard.push(workOn(`${x}u${n}`)));
        }),
      );
      emitter.emit("tick", 1);
      unseen.emit(1);
      emitter.emit("tick", 2);
      emitter.emit("done", "end");
      const [end] = await done;
      return [end, (await Promise.all(heard)).sort()];
    });
    await replayed(flow, ["end", w("a1", "a2", "au1", "b1", "b2", "bu1")], ["a", "b"], 10);
  });
});

describe("promise chains", () => {
  it("then, catch and finally with helpers, closures and module-level functions", async () => {
    const fail = async (x: string): Promise<string> => {
      bodies.note(x);
      throw new Error(x);
    };
    const flow = workflow("chains", async (items: string[]) =>
      Promise.all(
        items.map((x) => {
          const log: string[] = [];
          return step(work, x)
            .then(workOn)
            .then((y) => step(fail, y))
            .catch(async (error: Error) => step(work, error.message))
            .finally(async () => {
              log.push(await step(work, "f"));
            })
            .then(workOn, workOn)
            .then((z) => [z, ...log]);
        }),
      ),
    );
    await replayed(
      flow,
      ["a", "b"].map((x) => [`w(w(w(w(${x}))))`, "w(f)"]),
      ["a", "b"],
      8,
    );
  });

  it("nested races, any and allSettled keep their live outcome on every replay", async () => {
    const fail = async (x: string): Promise<string> => {
      bodies.note(x);
      await turn();
      throw new Error(x);
    };
    const flow = workflow("nested-races", async () => {
      const branch = async (x: string): Promise<string> => step(work, await step(work, x));
      const winner = await Promise.race([
        Promise.any([step(fail, "f"), branch("a"), branch("b")]),
        Promise.race([branch("c"), branch("d").then(workOn)]),
      ]);
      const settled = await Promise.allSettled([
        step(fail, "g"),
        branch("e"),
        Promise.race([branch("h"), branch("i")]),
      ]);
      return [
        winner,
        ...settled.map((each) => (each.status === "fulfilled" ? each.value : (each.reason as Error).message)),
        await step(work, winner),
      ];
    });
    for (let seed = 1; seed <= 25; seed++) {
      reseed(seed);
      const store = memoryStore();
      const live = await (
        await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id: "run" })
      ).result();
      reseed(seed);
      bodies.reset();
      const { length } = await store.entries("run");
      for (let kept = length; kept > length - 4; kept--) {
        reseed(seed + 999);
        const again = await (
          await new Stepmark({ store: store.fork("run", kept), workflows: [flow] }).resume("run")
        ).result();
        expect((again as unknown[])[0], `seed ${seed}, after ${kept} entries`).toBe((live as unknown[])[0]);
        if (kept === length) expect(again).toEqual(live);
      }
    }
  });
});

describe("async contexts of the user's own", () => {
  const tenant = new AsyncLocalStorage<string>();

  it("a body sees the store of the code that called its step", async () => {
    const whose = async (x: string): Promise<string> => {
      bodies.note(x);
      await turn();
      return `${x} of ${tenant.getStore()}`;
    };
    const flow = workflow("tenants", async (items: string[]) =>
      Promise.all(
        items.map((x) =>
          tenant.run(x, async () => {
            const first = await step(whose, "first");
            const here = tenant.getStore();
            const second = await step(async () => whose("second"));
            return [first, here, second, await step({ retries: 1 }, whose, "third")];
          }),
        ),
      ),
    );
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => [`first of ${x}`, x, `second of ${x}`, `third of ${x}`]),
      ["a", "b", "c"],
      10,
    );
  });

  it("AsyncResource.bind and runInAsyncScope around closures with steps", async () => {
    const flow = workflow("resources", async (items: string[]) => {
      const bound = items.map((x) => AsyncResource.bind(async () => step(work, x)));
      const resource = new AsyncResource("mine");
      return Promise.all([...bound.reverse().map((f) => f()), resource.runInAsyncScope(async () => step(work, "r"))]);
    });
    await replayed(flow, w("b", "a", "r"), ["a", "b"]);
  });
});

describe("stepContext in a limiter", () => {
  it("is that of the step around, through transformed limiters and closures that start in another step's context", async () => {
    const seen: Record<string, string[]> = {};
    const flow = workflow("contexts", async (items: string[]) => {
      const waiting: Array<() => void> = [];
      let running = 0;
      const limit = <T>(task: () => Promise<T>): Promise<T> =>
        new Promise((resolve, reject) => {
          const start = (): void => {
            running++;
            task()
              .then(resolve, reject)
              .finally(() => {
                running--;
                waiting.shift()?.();
              });
          };
          if (running < 1) start();
          else waiting.push(start);
        });
      return Promise.all(
        items.map((x) =>
          step(async () => {
            bodies.note(x);
            const own = stepContext().key;
            const inner = await limit(async () => {
              const { key } = stepContext();
              const result = await step(work, x);
              return [key, stepContext().key, result];
            });
            seen[x] = [own, ...inner];
            return [inner[0] === own, inner[1] === own, inner[2]];
          }),
        ),
      );
    });
    await replayed(
      flow,
      ["a", "b", "c"].map((x) => [true, true, `w(${x})`]),
      ["a", "b", "c"],
      4,
    );
  });
});

describe("a closure that a factory returned, called from several branches", () => {
  it("I2, I3: is refused when a failed step that runs again makes the branches call it in another order", async () => {
    let failing = true;
    let drawn = 0;
    const pre = async (name: string): Promise<string> => {
      if (name === "A" && failing) throw new Error("A fails first");
      return name;
    };
    const draw = async (): Promise<number> => ++drawn;
    const loader = () => async () => step(draw);
    const flow = workflow("factory", async () => {
      const load = loader();
      const errors: unknown[] = [];
      const results = await Promise.all(
        ["A", "B"].map(async (name) => {
          await step(pre, name).catch((error) => errors.push(error));
          return [name, await load()];
        }),
      );
      if (errors.length > 0) throw new AggregateError(errors);
      return results;
    });
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    await expect((await app.start(flow, undefined, { id: "run" })).result()).rejects.toThrow();
    failing = false;
    await expect((await app.resume("run")).result()).rejects.toMatchObject({ code: "AMBIGUOUS_SCOPE" });
    expect(drawn).toBe(2);
  });
});

describe("stepContext", () => {
  it("tells of the step that the code belongs to, also where a limiter starts it in another step's context", async () => {
    const limit = limiter(1);
    const body = async (): Promise<string[]> => {
      const own = stepContext().key;
      const limited = await limit(async () => {
        await turn();
        return stepContext().key;
      });
      return [own, limited];
    };
    const flow = workflow("contexts", async () => Promise.all([step("a", body), step("b", body)]));
    const app = new Stepmark({ store: memoryStore(), workflows: [flow] });
    expect(await (await app.start(flow)).result()).toEqual([
      ["contexts/a", "contexts/a"],
      ["contexts/b", "contexts/b"],
    ]);
  });
});
