/** What is sent twice under one name of the sender's, as a webhook is that is delivered again, is given to the run once. */
import { events, memoryStore, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { Bodies, replayFromEveryPrefix } from "../support/replay.js";

const id = "run";
const bodies = new Bodies();
beforeEach(() => bodies.reset());
const note = async (message: string): Promise<string> => {
  bodies.note(message);
  return message;
};

const hears = workflow("hears", async (count: number) => {
  const heard: string[] = [];
  for await (const message of events<string>("hooks")) {
    heard.push(await step(note, message));
    if (heard.length === count) return heard;
  }
  return heard;
});
const asks = workflow("asks", async () => [
  await waitFor<string>("paid"),
  await step(note, "ship"),
  await waitFor("sign"),
]);

const apps = (store: Store): [Stepmark, Stepmark] => {
  const workflows = [hears, asks];
  return [new Stepmark({ store, workflows }), new Stepmark({ store, workflows })];
};
const sentUnder = (key: string): { idempotencyKey: string } => ({ idempotencyKey: key });
const codeOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "done",
    (error) => error.code,
  );

describe.each<[string, () => Store]>([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(":memory:")],
])("with a store in %s", (_, makeStore) => {
  it("a message is given to the run once, from whatever process, also when the run has ended", async () => {
    const [app, other] = apps(makeStore());
    const run = await app.start(hears, 2, { id });
    await run.settled();
    await app.send(id, "hooks", "a", sentUnder("evt_1"));
    await app.send(id, "hooks", "a", sentUnder("evt_1"));
    await other.send(id, "hooks", "a", sentUnder("evt_1"));
    await other.send(id, "hooks", "a", sentUnder("evt_2"));
    expect(await run.result()).toEqual(["a", "a"]);
    expect(await codeOf(other.send(id, "hooks", "a", sentUnder("evt_2")))).toBe("done");
    expect(await codeOf(other.send(id, "hooks", "a", sentUnder("evt_3")))).toBe("ANSWER");
    expect(await codeOf(other.send(id, "hooks", "a"))).toBe("ANSWER");
    for (const each of [app, other]) await each.shutdown();
  });

  it("an answer too, which else would be refused as one too many", async () => {
    const [app, other] = apps(makeStore());
    const run = await app.start(asks, undefined, { id });
    await run.settled();
    await app.answer(id, "paid", "yes", sentUnder("evt_1"));
    await expect.poll(async () => (await other.get(id)).waits.map(({ name }) => name)).toEqual(["sign"]);
    expect(await codeOf(other.answer(id, "paid", "yes", sentUnder("evt_1")))).toBe("done");
    expect(await codeOf(other.answer(id, "paid", "yes"))).toBe("ANSWER");
    await other.answer(id, "sign", 1, sentUnder("evt_2"));
    await other.answer(id, "sign", 1, sentUnder("evt_2"));
    await app.resume(id);
    expect(await run.result()).toEqual(["yes", "ship", 1]);
    expect(await codeOf(other.answer(id, "sign", 1, sentUnder("evt_2")))).toBe("done");
    for (const each of [app, other]) await each.shutdown();
  });

  it("something else under the same name is refused, and not given to the run", async () => {
    const [app] = apps(makeStore());
    const run = await app.start(hears, 2, { id });
    await run.settled();
    await app.send(id, "hooks", "a", sentUnder("evt_1"));
    for (const attempt of [
      () => app.send(id, "hooks", "b", sentUnder("evt_1")),
      () => app.send(id, "others", "a", sentUnder("evt_1")),
      () => app.answer(id, "hooks", "a", sentUnder("evt_1")),
    ])
      await expect(attempt()).rejects.toThrow(
        /was given something else before under the `idempotencyKey` "evt_1" \(run "run"\)\. Send the same as then.*\[ANSWER\]$/,
      );
    await app.send(id, "hooks", "b", sentUnder("evt_2"));
    expect(await run.result()).toEqual(["a", "b"]);
    // The same name to another run is another message.
    const second = await app.start(hears, 1, { id: "second" });
    await app.send("second", "hooks", "c", sentUnder("evt_1"));
    expect(await second.result()).toEqual(["c"]);
    await app.shutdown();
  });

  it("of many at once, by several apps, one is given", async () => {
    const store = makeStore();
    const both = apps(store);
    const run = await both[0].start(hears, 2, { id });
    await run.settled();
    const all = Array.from({ length: 10 }, (_, i) => both[i % 2]!.send(id, "hooks", "a", sentUnder("evt_1")));
    await Promise.all(all);
    const answers = ["b", "c"].map((value) => codeOf(both[0].send(id, "hooks", value, sentUnder("evt_2"))));
    expect((await Promise.all(answers)).sort()).toEqual(["ANSWER", "done"]);
    expect(await run.result()).toEqual(["a", expect.stringMatching(/^[bc]$/)]);
    for (const each of both) await each.shutdown();
  });
});

it("from every prefix of the journal, the sender sends all of it again and the run is the same", async () => {
  await replayFromEveryPrefix({
    workflow: hears,
    input: 3,
    expected: ["a", "b", "c"],
    bodies,
    drive: async (app) => {
      for (const message of ["a", "b", "c", "a", "c"]) await app.send(id, "hooks", message, sentUnder(message));
    },
  });
});

it("one that came before the run asked for it counts as well", async () => {
  const [app] = apps(memoryStore());
  const early = workflow("early", async () => [await step(note, "first"), await waitFor("later")]);
  const run = await app.start(early, undefined, { id });
  await app.answer(id, "later", 1, sentUnder("evt"));
  await app.answer(id, "later", 1, sentUnder("evt"));
  expect(await run.result()).toEqual(["first", 1]);
  expect(await codeOf(app.answer(id, "later", 1, sentUnder("evt")))).toBe("done");
  await app.shutdown();
});

it.each([
  ["", /non-empty/],
  ["x".repeat(256), /255 characters at most, not 256/],
  ["a\0b", /NUL/],
  [7, /non-empty/],
])("a name has to be one that can be kept (%j)", async (key, says) => {
  const [app] = apps(memoryStore());
  await (await app.start(hears, 1, { id })).settled();
  for (const give of [
    () => app.send(id, "hooks", 1, sentUnder(key as string)),
    () => app.answer(id, "x", 1, sentUnder(key as string)),
  ]) {
    const error = await give().catch((error) => error);
    expect([error.code, error.message]).toEqual(["INVALID_ARGUMENT", expect.stringMatching(says)]);
  }
  await app.shutdown();
});
