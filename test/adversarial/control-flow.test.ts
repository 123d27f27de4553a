/** Ways to put control flow that are neither plain calls nor plain loops: merged iterables, thenables, streams, proxies, timers. */
import { EventEmitter, on } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { callbackify, promisify } from "node:util";
import { step, workflow } from "stepmark";
import { describe, it } from "vitest";
import { replayed, work } from "../support/scheduled-work.js";

/** One site, called from everywhere. */
const workOn = (item: unknown): Promise<string> => step(work, item);

const twice = (...items: string[]): string[] => items.map((item) => `w(w(${item}))`);

/** Whatever comes first of several iterables. */
async function* merged<T>(...iterables: Array<AsyncIterable<T>>): AsyncGenerator<T> {
  const iterators = iterables.map((each) => each[Symbol.asyncIterator]());
  const next = async (index: number): Promise<{ index: number; result: IteratorResult<T> }> => ({
    index,
    result: await iterators[index]!.next(),
  });
  const pending = new Map(iterators.map((_, index) => [index, next(index)]));
  while (pending.size > 0) {
    const { index, result } = await Promise.race(pending.values());
    if (result.done) pending.delete(index);
    else {
      pending.set(index, next(index));
      yield result.value;
    }
  }
}

async function* source(name: string, count: number): AsyncGenerator<string> {
  for (let i = 0; i < count; i++) yield await step(work, name + i);
}

/** Begins when somebody waits for it. */
class Lazy<T> implements PromiseLike<T> {
  private begun: Promise<T> | undefined;
  constructor(private readonly begin: () => Promise<T>) {}
  // biome-ignore lint/suspicious/noThenProperty: what makes it awaited like a promise
  then<A, B>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.begun ??= this.begin();
    return this.begun.then(done, failed);
  }
}

describe("iterables", () => {
  it("`for await` over what comes first of several", async () => {
    const flow = workflow("merged", async () => {
      const out: string[] = [];
      for await (const item of merged(source("a", 3), source("b", 2), source("c", 1))) out.push(await step(work, item));
      return out.sort();
    });
    await replayed(flow, twice("a0", "a1", "a2", "b0", "b1", "c0"));
  });

  it("streams: a readable that is mapped, and a pipeline of generators", async () => {
    const flow = workflow("streams", async () => {
      const out: string[] = [];
      for await (const item of Readable.from(source("s", 2)).map(workOf, { concurrency: 2 })) out.push(item);
      await pipeline(
        source("p", 2),
        async function* (items: AsyncIterable<string>) {
          for await (const item of items) yield step(work, item);
        },
        async (items: AsyncIterable<string>) => {
          for await (const item of items) out.push(item);
        },
      );
      return out;

      async function workOf(item: string): Promise<string> {
        return step(work, item);
      }
    });
    await replayed(flow, twice("s0", "s1", "p0", "p1"));
  });

  it("events as an iterable", async () => {
    const flow = workflow("on", async (items: string[]) => {
      const emitter = new EventEmitter();
      const consumer = (async () => {
        const heard: string[] = [];
        for await (const [item] of on(emitter, "item")) {
          heard.push(await step(work, item));
          if (heard.length === items.length) break;
        }
        return heard;
      })();
      await Promise.all(items.map(async (item) => emitter.emit("item", await step(work, item))));
      return (await consumer).sort();
    });
    await replayed(flow, twice("a", "b", "c"), ["a", "b", "c"]);
  });
});

describe("promises of other kinds", () => {
  it("a lazy one that branches share begins with the first that comes", async () => {
    const flow = workflow("lazy", async (items: string[]) => {
      const lazy = new Lazy(() => step(work, "once"));
      return Promise.all(items.map(async (item) => step(work, item).then(() => lazy)));
    });
    await replayed(flow, ["w(once)", "w(once)", "w(once)"], ["a", "b", "c"]);
  });

  it("a generator that is driven like an async function", async () => {
    const drive = async <T>(generator: Generator<Promise<string>, T, string>): Promise<T> => {
      let next = generator.next("");
      while (!next.done) next = generator.next(await next.value);
      return next.value;
    };
    const flow = workflow("driven", async (items: string[]) =>
      Promise.all(
        items.map((item) =>
          drive(
            (function* (): Generator<Promise<string>, string, string> {
              const once = yield step(work, item);
              return yield step(work, once);
            })(),
          ),
        ),
      ),
    );
    await replayed(flow, twice("a", "b"), ["a", "b"]);
  });

  it("callbacks: made of promises, and promises made of them", async () => {
    const flow = workflow("callbacks", async (items: string[]) => {
      const called = promisify((item: string, done: (error: Error | null, value?: string) => void) => {
        step(work, item).then((value) => done(null, value), done);
      });
      const calls = callbackify(workOn);
      return Promise.all(
        items.map(async (item) => [
          await called(item),
          await new Promise((resolve) => calls(item, (_, value) => resolve(value))),
        ]),
      );
    });
    await replayed(
      flow,
      ["a", "b"].map((item) => [`w(${item})`, `w(${item})`]),
      ["a", "b"],
    );
  });
});

describe("callees that are made up as they are called", () => {
  it("the methods of a proxy", async () => {
    const flow = workflow("proxy", async (items: string[]) => {
      const api = new Proxy({} as Record<string, (item: string) => Promise<string>>, {
        get: (_, name) => (item: string) => step(work, `${String(name)} ${item}`),
      });
      return Promise.all(items.map(async (item) => api.save!(await api.load!(item))));
    });
    await replayed(flow, ["w(save w(load a))", "w(save w(load b))"], ["a", "b"]);
  });
});

describe("what the code waits for outside of any step", () => {
  it("timers that start branches, in another order than the branches stand in", async () => {
    const flow = workflow("timers", async () => {
      const later = (ms: number, item: string): Promise<string> =>
        new Promise((resolve) => setTimeout(() => resolve(step(work, item)), ms));
      return Promise.all([later(6, "a"), later(1, "b"), later(3, "c")]);
    });
    await replayed(flow, ["w(a)", "w(b)", "w(c)"]);
  });

  it("an interval that calls one step after the other", async () => {
    const flow = workflow("interval", async () => {
      const calls: Array<Promise<string>> = [];
      await new Promise<void>((resolve) => {
        const interval = setInterval(() => {
          calls.push(step(work, calls.length));
          if (calls.length < 3) return;
          clearInterval(interval);
          resolve();
        }, 1);
      });
      return Promise.all(calls);
    });
    await replayed(flow, ["w(0)", "w(1)", "w(2)"]);
  });

  it("an abort signal whose listener calls a step", async () => {
    const flow = workflow("abort", async () => {
      const abort = new AbortController();
      const heard = new Promise<string>((resolve) =>
        abort.signal.addEventListener("abort", () => resolve(step(work, "aborted")), { once: true }),
      );
      const loop = (async () => {
        let turns = 0;
        while (!abort.signal.aborted && turns < 3) await step(work, `turn ${turns++}`);
        return turns <= 3;
      })();
      await step(work, "main");
      abort.abort();
      return [await heard, await loop];
    });
    await replayed(flow, ["w(aborted)", true]);
  });
});
