/** What `JSON.stringify` makes of what `app.get` and `app.list` tell: for logs, and for replies that an application writes itself. */
import {
  codec,
  memoryStore,
  NonRetryableError,
  publish,
  type RunInfo,
  Stepmark,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { expect, it } from "vitest";

const id = "run";
// biome-ignore lint/suspicious/noExplicitAny: what JSON gives
const asJson = (value: unknown): any => JSON.parse(JSON.stringify(value));

async function infoOf(fn: () => Promise<unknown>, values = codec()): Promise<RunInfo> {
  const flow = workflow("flow", async () => fn());
  const app = new Stepmark({ store: memoryStore(), workflows: [flow], codec: values });
  await (await app.start(flow, undefined, { id })).settled();
  const info = await app.get(id);
  await app.shutdown();
  return info;
}

class DepotError extends Error {
  override name = "DepotError";
  constructor(
    readonly depot: string,
    options?: ErrorOptions,
  ) {
    super(`the depot ${depot} is closed`, options);
  }
}

it("an error of the user's own has its message, its fields and its cause, and is still one", async () => {
  const throws = async (): Promise<never> => {
    throw new DepotError("north", { cause: new TypeError("no key", { cause: { tried: 3n } }) });
  };
  const info = await infoOf(() => step(throws), codec({ classes: [DepotError] }));
  expect(info.error).toBeInstanceOf(DepotError);
  expect(Object.keys(info.error as Error).sort()).toEqual(["depot", "name"]);
  const shown = {
    ...{ name: "DepotError", message: "the depot north is closed", depot: "north" },
    stack: expect.stringContaining("run-info-json.test.ts"),
    cause: { name: "TypeError", message: "no key", cause: { tried: "3" }, stack: expect.any(String) },
  };
  for (const json of [asJson(info).error, asJson({ ...info }).error, asJson(info.error)]) expect(json).toEqual(shown);
});

it("an error of the library has its code and its place, one of many all of them", async () => {
  const timedOut = await infoOf(() => step({ timeout: 1 }, () => new Promise(() => {})));
  expect(asJson(timedOut).error).toMatchObject({
    code: "STEP_TIMEOUT",
    runId: id,
    key: "flow/fn()/Promise",
    at: expect.any(String),
  });
  const many = await infoOf(() =>
    Promise.any([step("a", async () => Promise.reject(new NonRetryableError("a"))), Promise.reject("b")]),
  );
  expect(asJson(many).error).toMatchObject({
    ...{ name: "AggregateError", errors: [{ code: "NON_RETRYABLE", message: "a" }, "b"] },
  });
});

it.each<[what: string, thrown: unknown, json: unknown]>([
  ["a text", "no", "no"],
  ["an object", { reason: new Error("no") }, { reason: expect.objectContaining({ message: "no" }) }],
  ["null", null, null],
])("what is thrown that is no error is shown as what it is: %s", async (_, thrown, json) => {
  const info = await infoOf(async () => {
    throw thrown;
  });
  expect(asJson(info).error).toEqual(json);
});

it("errors within outputs and what was published are shown too, and what JSON does not have", async () => {
  const info = await infoOf(async () => {
    const settled = await Promise.allSettled([step("a", async () => Promise.reject(new RangeError("far")))]);
    await publish("seen", { settled, big: 10n });
    return { settled, map: new Map([["k", 1]]), itself: undefined };
  });
  const settled = [{ status: "rejected", reason: expect.objectContaining({ name: "RangeError", message: "far" }) }];
  expect(asJson(info)).toMatchObject({
    ...{ id, status: "completed", output: { settled, map: [["k", 1]] } },
    published: { seen: { settled, big: "10" } },
  });
});

it("a class that has a way of its own is shown so; one that fails at it, or gives itself, as any other", async () => {
  class Own extends Error {
    toJSON(): unknown {
      return { own: this.message };
    }
  }
  class Failing extends Error {
    toJSON(): never {
      throw new Error("no JSON");
    }
  }
  class Itself extends Error {
    toJSON(): unknown {
      return this;
    }
  }
  const errorOf = async (error: Error): Promise<unknown> => {
    const info = await infoOf(
      async () => {
        throw error;
      },
      codec({ classes: [Own, Failing, Itself] }),
    );
    return asJson(info).error;
  };
  expect(await errorOf(new Own("mine"))).toEqual({ own: "mine" });
  expect(await errorOf(new Failing("failed"))).toMatchObject({ message: "failed" });
  expect(await errorOf(new Itself("itself"))).toMatchObject({ message: "itself" });
});

it("what is listed is shown like it, with open waits, and without what cannot be read", async () => {
  class Money {
    constructor(readonly cents: number) {}
  }
  const asks = workflow("asks", async () => waitFor("sum", { payload: new Money(5) }));
  const store = memoryStore();
  const values = codec({ classes: [Money] });
  const app = new Stepmark({ store, workflows: [asks], codec: values });
  await (await app.start(asks, undefined, { id })).settled();
  expect(asJson(await app.list())).toMatchObject([{ id, waits: [{ name: "sum", payload: { cents: 5 } }] }]);
  const [unread] = asJson(await new Stepmark({ store }).list());
  expect(unread.waits).toEqual([{ key: "asks/sum", name: "sum", at: expect.any(String), since: expect.any(Number) }]);
  await app.shutdown();
});
