/** The memory store: the suite, and forks. */
import { expect, it } from "vitest";
import { RunNotFoundError } from "../../runtime/errors.js";
import { memoryStore } from "../../runtime/stores/memory.js";
import { alive, dead, describeStore, entry, lease, newRun, owned, owner } from "./behaviour.js";

describeStore("memoryStore", async () => memoryStore());

/** A run that waited for an answer and completed, and another one. */
async function recorded() {
  const store = memoryStore();
  const fence = await owned(store, "r");
  await store.append("r", fence, [entry(1)]);
  await store.append("r", fence, [entry(2, { kind: "wait", state: "open", name: "approve" })], { status: "waiting" });
  await store.post("r", { target: "approve", value: "[yes]", at: 1 });
  await store.append("r", fence, [entry(3, { kind: "wait", name: "approve" })], { status: "running", consume: [1] });
  await store.append("r", fence, [entry(4), entry(5)]);
  await store.append("r", fence, [], { status: "completed", output: "[o]", culprits: ["k"], release: true });
  await owned(store, "other");
  return store;
}

it("a fork without an end is the store as it stood, with nobody owning a run", async () => {
  const store = await recorded();
  for (const fork of [store.fork(), store.fork("r")]) {
    expect(await fork.entries("r")).toEqual(await store.entries("r"));
    expect(await fork.read("r")).toEqual(await store.read("r"));
    expect(await fork.inbox("r")).toEqual([]);
    expect((await fork.read("other"))!.owner).toBeUndefined();
    expect(await fork.claim("other", owner("b"), alive, lease)).toMatchObject({ claimed: true, run: { fence: 2 } });
  }
  expect((await store.read("other"))!.owner).toEqual(owner("a"));
});

it.each([
  [0, 1],
  [1, 1],
  [2, 1],
  [3, 0],
  [4, 0],
])("a fork after %i entries has not ended and has %i unused answers", async (length, answers) => {
  const store = await recorded();
  const fork = store.fork("r", length);
  expect((await fork.entries("r")).map(({ seq }) => seq)).toEqual([1, 2, 3, 4].slice(0, length));
  const run = (await fork.read("r"))!;
  expect([run.status, run.output, run.error, run.culprits, run.owner]).toEqual([
    "running",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(await fork.inbox("r")).toHaveLength(answers);
  expect((await fork.claim("r", owner("b"), alive, lease)).claimed).toBe(true);
  await fork.append("r", 2, [entry(length + 1)]);
  expect(await fork.entries("r")).toHaveLength(length + 1);
  expect(await store.entries("r")).toHaveLength(5);
});

it("a fork within one append has the answer used whose wait it keeps", async () => {
  const store = memoryStore();
  const fence = await owned(store, "r");
  for (const target of ["first", "fulfil/step~2"]) await store.post("r", { target, value: "[v]", at: 1 });
  await store.append(
    "r",
    fence,
    [entry(1, { kind: "wait", name: "first" }), entry(2, { kind: "wait", name: "second" })],
    {
      consume: [1, 2],
    },
  );
  const unused = async (length: number) => (await store.fork("r", length).inbox("r")).map(({ number }) => number);
  expect([await unused(0), await unused(1), await unused(2)]).toEqual([[1, 2], [2], []]);
  expect(await store.fork("r", 1).fork("r", 1).inbox("r")).toHaveLength(1);
});

it("a fork is independent, and forks again", async () => {
  const store = await recorded();
  const fork = store.fork("r", 2);
  await fork.claim("r", owner("b"), dead, lease);
  await fork.append("r", 2, [entry(3)], { status: "failed" });
  await fork.create(newRun("third"));
  expect((await store.read("r"))!.status).toBe("completed");
  expect(await store.read("third")).toBeUndefined();
  expect((await fork.fork("r", 1).entries("r")).length).toBe(1);
  expect(() => store.fork("none")).toThrow(RunNotFoundError);
});

it("a memory store outlives close: whoever is given it sees the same runs", async () => {
  const store = await recorded();
  await store.close();
  expect(await store.entries("r")).toHaveLength(5);
});
