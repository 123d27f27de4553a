/** What the compiler infers of the public functions. The expectations are checked by `tsc`; nothing here has to run. */
import {
  child,
  keyed,
  type Run,
  type RunEvent,
  type RunEventOf,
  type RunEventType,
  type RunInfo,
  type Stepmark,
  step,
  type Workflow,
  waitFor,
  withoutRun,
  workflow,
} from "stepmark";
import { describe, expectTypeOf, it } from "vitest";

type Brand = string & { readonly brand: "order" };
interface Optional {
  foo?: "baz";
  n?: { b: "x" | undefined };
}

declare const over: { (x: "a"): 1; (x: "b"): 2 };
declare const search: (from?: string) => Promise<{ hits: string[]; next?: string }>;
declare const convert: (mode: "fast" | "slow", options: { range: [from: number, unit: "s" | "ms"] }) => "done" | null;
declare const withIds: <T extends { id: string }>(first: T, rest?: readonly T[]) => Promise<T[]>;
declare const api: { get<T>(path: string): Promise<T> };
declare function charge(this: { fee: number }, cents: number): Promise<number>;
declare const till: { fee: number; charge: typeof charge };
type Parcel = { kind: "box"; size: number } | { kind: "letter" };
const page = async (i: { cursor: number }): Promise<{ cursor: number | null; items: string[] }> => ({
  cursor: i.cursor > 3 ? null : i.cursor + 1,
  items: ["x"],
});
const pair = (a: number, b?: string): readonly [number, string?] => [a, b];
const identity = async <T>(x: T): Promise<T> => x;

/** Type-checks `code` and keeps it from running: outside a run its steps would be rejected. */
const never = (code: (app: Stepmark) => unknown): unknown => code;

describe("types", () => {
  it("B90: literals, optional members, unions and tuples stay as they are", () => {
    never(async () => {
      const r = await step(async (): Promise<Optional> => ({ foo: "baz" }));
      expectTypeOf(r).toEqualTypeOf<Optional>();
      expectTypeOf(r.foo).toEqualTypeOf<"baz" | undefined>();
      const [x, y] = await Promise.all([step(async () => 1 as const), step(async () => "s")]);
      expectTypeOf(x).toEqualTypeOf<1>();
      expectTypeOf(y).toEqualTypeOf<string>();
      // @ts-expect-error a string is no number
      const bad: number = y;
      return bad;
    });
  });

  it("results of all kinds", () => {
    never(async () => {
      expectTypeOf(await step(async () => ({}) as Brand)).toEqualTypeOf<Brand>();
      expectTypeOf(await step(pair, 1)).toEqualTypeOf<readonly [number, string?]>();
      expectTypeOf(await step(() => undefined)).toEqualTypeOf<undefined>();
      expectTypeOf(await step(() => {})).toEqualTypeOf<void>();
      expectTypeOf(
        await step((): never => {
          throw new Error();
        }),
      ).toEqualTypeOf<never>();
      expectTypeOf(await step(() => null as Date | null)).toEqualTypeOf<Date | null>();
      expectTypeOf(await step(async () => new Map([["a", 1]]))).toEqualTypeOf<Map<string, number>>();
      expectTypeOf(await step(async () => 5n as unknown)).toEqualTypeOf<unknown>();
      expectTypeOf(await step(identity<string>, "x")).toEqualTypeOf<string>();
      expectTypeOf(await step(() => identity({ a: 1 }))).toEqualTypeOf<{ a: number }>();
      expectTypeOf(await step(async () => Promise.resolve(Promise.resolve(1)))).toEqualTypeOf<number>();
    });
  });

  it("unions, brands and tuples of all three forms", () => {
    never(async () => {
      const parcel = async (n: number): Promise<Parcel> => (n > 1 ? { kind: "box", size: n } : { kind: "letter" });
      const sent = await step(parcel, 2);
      expectTypeOf(sent).toEqualTypeOf<Parcel>();
      if (sent.kind === "box") expectTypeOf(sent.size).toEqualTypeOf<number>();
      expectTypeOf(await step("parcel", parcel, 2)).toEqualTypeOf<Parcel>();
      expectTypeOf(await step({ key: "k" }, () => parcel(2))).toEqualTypeOf<Parcel>();
      const brand = (id: Brand): [Brand, ...number[]] => [id, 1];
      expectTypeOf(await step(brand, "o" as Brand)).toEqualTypeOf<[Brand, ...number[]]>();
      expectTypeOf(await step(() => brand("o" as Brand))).toEqualTypeOf<[Brand, ...number[]]>();
      // @ts-expect-error a plain string has no brand
      await step(brand, "o");
      // @ts-expect-error nor in a thunk
      await step(() => brand("o"));
      expectTypeOf(await step(convert, "fast", { range: [1, "s"] })).toEqualTypeOf<"done" | null>();
      // @ts-expect-error a literal that is none of the union's
      await step(convert, "quick", { range: [1, "s"] });
      // @ts-expect-error a wrong element of a tuple
      await step(convert, "fast", { range: [1, "h"] });
      expectTypeOf(await step((x: number) => (x > 0 ? Promise.resolve("x") : x), 1)).toEqualTypeOf<string | number>();
    });
  });

  it("generic functions are inferred from their arguments, and inside generic functions", () => {
    never(async () => {
      expectTypeOf(await step(withIds, { id: "a", n: 1 })).toEqualTypeOf<{ id: string; n: number }[]>();
      expectTypeOf(await step(() => withIds({ id: "a", n: 1 }))).toEqualTypeOf<{ id: string; n: number }[]>();
      expectTypeOf(await step(() => api.get<{ n: 1 }>("/x"))).toEqualTypeOf<{ n: 1 }>();
      // @ts-expect-error without an id
      await step(withIds, { n: 1 });
      return async <T extends { id: string }>(first: T): Promise<T[]> => [
        ...(await step(withIds, first)),
        ...(await step(() => withIds(first))),
      ];
    });
  });

  it("void and never", () => {
    never(async () => {
      expectTypeOf(await step(async () => {})).toEqualTypeOf<void>();
      expectTypeOf(await step("log", (line: string) => console.log(line), "x")).toEqualTypeOf<void>();
      expectTypeOf(await step(async (): Promise<never> => Promise.reject(new Error()))).toEqualTypeOf<never>();
    });
  });

  it("overloads go through a thunk", () => {
    never(async () => {
      expectTypeOf(await step(() => over("a"))).toEqualTypeOf<1>();
      expectTypeOf(await step(() => over("b"))).toEqualTypeOf<2>();
      expectTypeOf(await step("over", () => over("b"))).toEqualTypeOf<2>();
      // With arguments TypeScript takes the last signature.
      expectTypeOf(await step(over, "b")).toEqualTypeOf<2>();
      // @ts-expect-error which this does not fit
      await step(over, "a");
      // @ts-expect-error no signature at all
      await step(() => over("c"));
    });
  });

  it("the forms with a name and with options", () => {
    never(async () => {
      expectTypeOf(await step("pair", pair, 1, "x")).toEqualTypeOf<readonly [number, string?]>();
      expectTypeOf(
        await step({ retries: 2, timeout: "1m", deadline: new Date(), backoff: { initial: 5 } }, pair, 1),
      ).toEqualTypeOf<readonly [number, string?]>();
      expectTypeOf(await step({ key: "k" }, () => 1)).toEqualTypeOf<number>();
      // @ts-expect-error no such option
      await step({ retry: 2 }, pair, 1);
      // @ts-expect-error a wrong argument
      await step("pair", pair, "1");
      // @ts-expect-error a missing argument
      await step({ key: "k" }, pair);
    });
  });

  it("arguments are checked", () => {
    never(async () => {
      // @ts-expect-error a wrong argument
      await step(pair, "1");
      // @ts-expect-error a missing argument
      await step(pair);
      // @ts-expect-error one too many
      await step(pair, 1, "x", 2);
      // @ts-expect-error no function
      await step(5);
      // @ts-expect-error what transformed code calls takes a frame
      await step.at(pair, 1);
    });
  });

  it("a function that declares its `this` has to be given it, as when it is called plainly", () => {
    never(async () => {
      // @ts-expect-error a body is called without an object
      await step(charge, 1);
      // @ts-expect-error nor is the one beside the dot
      await step(till.charge, 1);
      // @ts-expect-error in no form
      await step("charge", till.charge, 1);
      // @ts-expect-error in no form
      await step({ retries: 1 }, till.charge, 1);
      expectTypeOf(await step(() => till.charge(1))).toEqualTypeOf<number>();
      expectTypeOf(await step(till.charge.bind(till), 1)).toEqualTypeOf<number>();
      expectTypeOf(await step("charge", till.charge.bind(till, 1))).toEqualTypeOf<number>();
    });
  });

  it("wrappers with types of their own", () => {
    never(async () => {
      const durable = <T>(fn: () => Promise<T>): Promise<T> => step(fn);
      const wrapped =
        <A extends unknown[], R>(fn: (...args: A) => Promise<R>) =>
        (...args: A): Promise<R> =>
          step(fn, ...args);
      expectTypeOf(await durable(() => page({ cursor: 0 }))).toEqualTypeOf<Awaited<ReturnType<typeof page>>>();
      expectTypeOf(await wrapped(search)("a")).toEqualTypeOf<{ hits: string[]; next?: string }>();
    });
  });

  it("B88: a paging loop compiles in thunk form", () => {
    never(async () => {
      let cursor: number | null = 0;
      const items: string[] = [];
      do {
        const at: number = cursor;
        const r = await step(() => page({ cursor: at }));
        items.push(...r.items);
        cursor = r.cursor;
      } while (cursor !== null);
      return items;
    });
  });

  it("paging loops of other shapes compile without annotation as well", () => {
    never(async () => {
      const hits: string[] = [];
      let next: string | undefined;
      do {
        const r = await step(() => search(next));
        hits.push(...r.hits);
        next = r.next;
      } while (next !== undefined);
      let cursor: number | null = 0;
      while (cursor !== null) {
        const { items, cursor: after } = await step("page", () => page({ cursor: cursor! }));
        hits.push(...items);
        cursor = after;
      }
      for (let from: string | undefined = "a"; from !== undefined; ) {
        const r = await step({ retries: 2 }, () => search(from));
        from = r.next;
      }
      let last: string | undefined;
      do {
        const r = await step(search, last);
        last = r.next;
      } while (last !== undefined);
      return hits;
    });
  });

  it("workflows, children and waits", () => {
    never(async (): Promise<void> => {
      const order = workflow("order", async (input: { id: string; n?: number }) => input.id.length);
      expectTypeOf(order).toEqualTypeOf<Workflow<{ id: string; n?: number }, number>>();
      const none = workflow("none", async () => "x" as const);
      expectTypeOf(none).toEqualTypeOf<Workflow<void, "x">>();
      expectTypeOf(await order({ id: "a" })).toEqualTypeOf<number>();
      expectTypeOf(await none()).toEqualTypeOf<"x">();
      expectTypeOf(await waitFor<boolean>("ok")).toEqualTypeOf<boolean>();
      expectTypeOf(await waitFor("any")).toEqualTypeOf<unknown>();
      // @ts-expect-error an input of another type
      await order({ id: 5 });
      // @ts-expect-error an input is missing
      await order();
      for (const item of keyed([{ id: "a", v: 1 }], ({ id }) => id))
        expectTypeOf(item).toEqualTypeOf<{ id: string; v: number }>();
      expectTypeOf(withoutRun(() => none())).toEqualTypeOf<Promise<"x">>();
    });
  });

  it("an input that may be left out", () => {
    never(async (app: Stepmark): Promise<void> => {
      const optional = workflow("optional", async (query?: string) => query?.length);
      const byDefault = workflow("default", async (limit: number | bigint = 10) => Number(limit));
      const maybe = workflow("maybe", async (query: string | undefined) => query);
      expectTypeOf(await optional("a")).toEqualTypeOf<number | undefined>();
      expectTypeOf(await byDefault(5)).toEqualTypeOf<number>();
      expectTypeOf(await maybe()).toEqualTypeOf<string | undefined>();
      await Promise.all([optional(), byDefault(), child(optional), child(byDefault, 5), child(maybe, "a")]);
      await app.start(optional);
      await app.start(optional, undefined, { id: "run" });
      await app.start(byDefault, 5, { id: "run" });
      // @ts-expect-error an input of another type
      await optional(5);
      // @ts-expect-error an input of another type
      await app.start(byDefault, "a");
      // @ts-expect-error an input of another type
      await child(maybe, 5);
    });
  });

  it("workflows with types of their own", () => {
    never(async (app: Stepmark): Promise<void> => {
      const length: Workflow<string, number> = workflow("length", async (text) => text.length);
      const made = <I, O>(fn: (input: I) => Promise<O>): Workflow<I, O> => workflow("made", fn);
      expectTypeOf(await made(identity<string>)("a")).toEqualTypeOf<string>();
      expectTypeOf(workflow<string, number>("named", async (text) => text.length)).toEqualTypeOf(length);
      expectTypeOf(workflow("any", async (input: unknown) => input)).toEqualTypeOf<Workflow<unknown, unknown>>();
      const begin = <I, O>(flow: Workflow<I, O>, input: I): Promise<Run<O>> => app.start(flow, input);
      await begin(length, "a");
      // @ts-expect-error two parameters: a workflow has one input
      workflow("two", async (a: number, b: number) => a + b);
    });
  });

  it("apps and runs", () => {
    never(async (app: Stepmark) => {
      const order = workflow("order", async (input: { id: string }) => ({ total: input.id.length }));
      const run = await app.start(order, { id: "a" }, { id: "run" });
      expectTypeOf(run).toEqualTypeOf<Run<{ total: number }>>();
      expectTypeOf(await run.result()).toEqualTypeOf<{ total: number }>();
      expectTypeOf(await app.get("run")).toEqualTypeOf<RunInfo>();
      await app.start(workflow("none", async () => 1));
      // @ts-expect-error an input of another type
      await app.start(order, { id: 1 });
      // @ts-expect-error an input is missing
      await app.start(order);
    });
  });

  it("events are told apart by their type", () => {
    never(async (app: Stepmark) => {
      const run = await app.start(workflow("none", async () => 1));
      for await (const event of run.events({ after: 3 })) {
        expectTypeOf(event).toEqualTypeOf<RunEvent>();
        expectTypeOf(event.type).toEqualTypeOf<RunEventType>();
        expectTypeOf(event.runId).toEqualTypeOf<string>();
        expectTypeOf(event.time).toEqualTypeOf<number>();
        // What only some have can be read of all.
        expectTypeOf(event.seq).toEqualTypeOf<number | undefined>();
        expectTypeOf(event.at).toEqualTypeOf<string | undefined>();
        if (event.type === "step.completed") {
          expectTypeOf(event).toEqualTypeOf<RunEventOf<"step.completed">>();
          expectTypeOf(event.seq).toEqualTypeOf<number>();
          expectTypeOf(event.key).toEqualTypeOf<string>();
          expectTypeOf(event.value).toEqualTypeOf<unknown>();
          expectTypeOf(event.error).toEqualTypeOf<undefined>();
          // @ts-expect-error values are read-only
          event.value = 1;
        }
        if (event.type === "timer.set") expectTypeOf(event.due).toEqualTypeOf<number>();
        if (event.type === "wait.opened") expectTypeOf(event.name).toEqualTypeOf<string>();
        if (event.type === "run.started") expectTypeOf(event.workflow).toEqualTypeOf<string>();
        if (event.type === "run.waiting") expectTypeOf(event.seq).toEqualTypeOf<undefined>();
        // @ts-expect-error no such type
        if (event.type === "step.done") return;
      }
      expectTypeOf(app.events("id").next).returns.resolves.toEqualTypeOf<IteratorResult<RunEvent, undefined>>();
      // @ts-expect-error a position is a number
      app.events("id", { after: "3" });
    });
  });
});
