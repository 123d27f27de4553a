/** What the public functions are given by those whom no types keep from it: an error of ours, at the door, which names it. */
import { keyed, memoryStore, Stepmark, step, waitFor, withoutRun, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const id = "run";
const asks = workflow("asks", async () => waitFor("ok"));
const store = memoryStore();
let app: Stepmark;

beforeAll(async () => {
  app = new Stepmark({ store, workflows: [asks] });
  await (await app.start(asks, undefined, { id })).settled();
});
afterAll(() => app.shutdown());

/** Anything at all, as code without types gives it. */
const odd = (value: unknown): never => value as never;
const place = { put: async () => {}, get: async () => undefined, remove: async () => {} };

describe("an app is not made with", () => {
  it.each<[what: string, options: unknown, message: RegExp]>([
    ["a path", "runs.db", /`new Stepmark` is given must be an object, not "runs.db"/],
    ["nothing", null, /must be an object, not null/],
    ["a store's path", { store: "runs.db" }, /`store` must be an object, not "runs.db"\. Give .*`sqliteStore\(path\)`/],
    ["a store's function", { store: sqliteStore }, /`store` must be an object, not a function/],
    ["a promise of a store", { store: Promise.resolve(store) }, /`store` has no method `create`/],
    ["half a store", { store: { ...store, kept: undefined } }, /`store` has no method `kept`/],
    ["workflows by name", { store, workflows: { asks } }, /`workflows` must be an array/],
    ["a function for a workflow", { store, workflows: [async () => 1] }, /A workflow is wanted, not a function/],
    ["a gap among its workflows", { store, workflows: [undefined] }, /A workflow is wanted, not undefined/],
    ["a clock that tells no time", { store, clock: { after: () => () => {} } }, /`clock` has no method `now`/],
    ["half a codec", { store, codec: { encode: () => "" } }, /`codec` has no method `decode`/],
    [
      "JSON for a codec",
      { store, codec: { encode: JSON.stringify, decode: JSON.parse } },
      /gives no text for `undefined`/,
    ],
    ["telemetry that is none", { store, telemetry: {} }, /`telemetry` has no method `here`/],
    ["an executor that is none", { store, executor: {} }, /`executor` has no method `takes`/],
    ["a queue's address", { store, queue: "postgres://" }, /`queue` must be an object, not "postgres:\/\/"/],
    ["no place for blobs", { store, blobs: {} }, /`blobs.place` must be an object, not undefined/],
    ["blobs above a text", { store, blobs: { place, above: "1 MB" } }, /`blobs.above` must be a number of bytes/],
  ])("%s", (_, options, message) => {
    expect(() => new Stepmark(odd(options))).toThrow(message);
    expect(() => new Stepmark(odd(options))).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

async function all(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

describe("an app's methods do not take", () => {
  it.each<[what: string, call: () => unknown, message: RegExp]>([
    ["a function for a workflow", () => app.start(odd(async () => 1)), /A workflow is wanted, not a function/],
    ["a workflow's name", () => app.start(odd("asks")), /A workflow is wanted, not "asks"/],
    ["an id for options", () => app.start(asks, undefined, odd("a")), /must be an object, not "a".*\{ id \}/],
    ["no run", () => app.get(odd(undefined)), /A run's id must be a string, not undefined/],
    ["a run for its id", () => app.resume(odd({ id })), /A run's id must be a string, not \{"id":"run"\}/],
    ["a number, to cancel", () => app.cancel(odd(5)), /A run's id must be a string, not 5/],
    ["no run, to answer", () => app.answer(odd(undefined), "ok", 1), /A run's id must be a string/],
    ["no run, to send to", () => app.send(odd(undefined), "ok", 1), /A run's id must be a string/],
    ["no run, to follow", () => app.follow(odd(undefined)), /A run's id must be a string/],
    ["no run, for entries", () => app.entries(odd(undefined)), /A run's id must be a string/],
    ["no run, for events", () => all(app.events(odd(undefined))), /A run's id must be a string/],
    ["no run, to export", () => all(app.export(odd(undefined))), /`export` is given must be an object, not undefined/],
    ["a number among ids", () => all(app.export(odd([5]))), /A run's id must be a string, not 5/],
    ["nothing to import", () => app.import(odd(undefined)), /`import` is given must be an object, not undefined/],
    [
      "to accept what there is not",
      () => app.resume(id, odd({ accept: "edit" })),
      /`accept` must be "edits", not "edit"/,
    ],
    [
      "another divergence",
      () => app.resume(id, odd({ divergence: true })),
      /`divergence` must be "continue", not true/,
    ],
    ["to retry what there is not", () => app.resume(id, odd({ retry: true })), /`retry` must be "all", not true/],
    ["a limit below zero", () => app.list({ limit: -1 }), /`limit` must be a whole number from 0, not -1/],
    ["a limit as a text", () => app.list({ limit: odd("5") }), /`limit` must be a whole number from 0, not "5"/],
    [
      "a misspelt status",
      () => app.list({ status: odd("complete") }),
      /`status` must be .* or "cancelled", not "complete"/,
    ],
    ["a workflow for its name", () => app.list({ workflow: odd(asks) }), /`workflow` must be a non-empty string/],
    ["to prune by nothing", () => app.prune(odd(undefined)), /`prune` is given must be an object/],
    [
      "no number of runs to prune",
      () => app.prune({ olderThan: 0, limit: Number.NaN }),
      /`limit` must be a whole number/,
    ],
  ])("%s", async (_, call, message) => {
    await expect((async () => call())()).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message });
  });
});

describe("nor is taken", () => {
  it.each<[what: string, call: () => unknown, message: RegExp]>([
    ["no key for items", () => keyed([1], odd(undefined)), /`keyed` needs a function that gives an item's key/],
    ["no function, without a run", () => withoutRun(odd(5)), /`withoutRun` needs a function, not 5/],
    ["no path", () => sqliteStore(odd(undefined)), /`sqliteStore` needs the path of a file, not undefined/],
    ["a folder of no name", () => sqliteStore(""), /`sqliteStore` needs the path of a file, not ""/],
    ["SQL", () => sqliteStore("a.db", { synchronous: odd("OFF; DROP TABLE runs") }), /must be "FULL" or "NORMAL"/],
  ])("%s", (_, call, message) => {
    expect(call).toThrow(message);
    expect(call).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  it.each<[what: string, options: unknown, message: RegExp]>([
    ["a backoff in words", { retries: 1, backoff: "soon" }, /`backoff` must be a duration, not "soon"/],
    ["a first pause of no time", { retries: 1, backoff: { initial: {} } }, /`backoff.initial` must be a duration/],
    [
      "growth by a text",
      { retries: 1, backoff: { factor: "2x" } },
      /`backoff.factor` must be a number from 0, not "2x"/,
    ],
    ["an executor that is none", { executor: {} }, /The step's `executor` has no method `takes`/],
  ])("%s, before the body runs", async (_, options, message) => {
    let bodies = 0;
    const flow = workflow("flow", async () => step(odd(options), async () => ++bodies));
    const result = (await new Stepmark({ store: memoryStore() }).start(flow)).result();
    await expect(result).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message });
    expect(bodies).toBe(0);
  });
});
