/** What the compiler infers of the public functions. The expectations are checked by `tsc`; nothing here has to run. */
import {
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

  it("overloads go through a thunk", () => {
    never(async () => {
      expectTypeOf(await step(() => over("a"))).toEqualTypeOf<1>();
      expectTypeOf(await step(() => over("b"))).toEqualTypeOf<2>();
    });
  });

  it("the forms with a name and with options", () => {
    never(async () => {
      expectTypeOf(await step("pair", pair, 1, "x")).toEqualTypeOf<readonly [number, string?]>();
      expectTypeOf(await step({ retries: 2, timeout: "1m", backoff: { initial: 5 } }, pair, 1)).toEqualTypeOf<
        readonly [number, string?]
      >();
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
