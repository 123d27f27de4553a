/** Large values outside the store: the suite with every value elsewhere, and what may happen to blobs. */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AnyWorkflow,
  type BlobPlace,
  blobDirectory,
  child,
  memoryStore,
  Stepmark,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { placeNameOf } from "../../runtime/blobs/reference.js";
import { storeWithBlobs } from "../../runtime/blobs/store-with-blobs.js";
import { BlobError, InvalidArgumentError, StoreError } from "../../runtime/errors.js";
import { rest } from "../support/kill.js";
import { describeStore, entry, newRun, owned } from "./behaviour.js";

const root = mkdtempSync(join(tmpdir(), "stepmark-blobs-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;
const newFolder = (): string => join(root, String(++folders));

/** A place in memory, whose methods can be delayed and made to fail. */
class Shelf implements BlobPlace {
  readonly blobs = new Map<string, Uint8Array>();
  before: (what: string) => Promise<void> | void = () => {};

  async put(run: string, name: string, content: Uint8Array): Promise<void> {
    await this.before("put");
    this.blobs.set(`${run}/${name}`, content.slice());
  }

  async get(run: string, name: string): Promise<Uint8Array | undefined> {
    await this.before("get");
    return this.blobs.get(`${run}/${name}`);
  }

  async remove(run: string): Promise<void> {
    await this.before("remove");
    for (const name of this.blobs.keys()) if (name.startsWith(run)) this.blobs.delete(name);
  }
}

describeStore("memoryStore with every value in another place", async () =>
  storeWithBlobs(memoryStore(), { place: new Shelf(), above: 0 }),
);
describeStore("sqliteStore with every value in files", async () =>
  storeWithBlobs(sqliteStore(join(newFolder(), "runs.db")), { place: blobDirectory(newFolder()), above: 0 }),
);

describe("a store with blobs", () => {
  const large = (fill: string): string => `["${fill.repeat(2_000)}"]`;
  let shelf: Shelf;
  let memory: ReturnType<typeof memoryStore>;
  beforeEach(() => {
    shelf = new Shelf();
    memory = memoryStore();
  });

  it("puts only large values elsewhere, under a digest, and leaves a reference", async () => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1), entry(2, { value: large("é") })], { output: large("o") });
    const digest = createHash("sha256").update(large("é")).digest("hex");
    expect((await memory.entries("r")).map(({ value }) => value)).toEqual(["[1]", `\u0001sha256:${digest}:4004`]);
    expect((await memory.read("r"))!.output).toContain("\u0001sha256:");
    expect([...shelf.blobs.keys()]).toContain(`${placeNameOf("r")}/${digest}`);
    expect((await store.entries("r"))[1]!.value).toBe(large("é"));
    expect((await store.read("r"))!.output).toBe(large("o"));
  });

  it("keeps what would not come back from UTF-8 where it is", async () => {
    const store = storeWithBlobs(memory, { place: shelf, above: 10 });
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1, { value: `["${"\ud800".repeat(50)}"]` })]);
    expect(shelf.blobs.size).toBe(0);
    expect((await store.entries("r"))[0]!.value).toBe(`["${"\ud800".repeat(50)}"]`);
  });

  it.each([
    ["nothing more", "\u0001"],
    ["something else", "\u0001length"],
    ["a reference of its own", `\u0001sha256:${"0".repeat(64)}:7`],
  ])("gives back a value that begins as a reference does, with %s", async (_, value) => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1, { value })], { output: value });
    await store.post("r", { target: "t", value, at: 1 });
    expect((await store.entries("r"))[0]!.value).toBe(value);
    expect((await store.read("r"))!.output).toBe(value);
    expect((await store.inbox("r"))[0]!.value).toBe(value);
    const bare = storeWithBlobs(memory).entries("r");
    if (value.length < 20) expect((await bare)[0]!.value).toBe(value);
    else await expect(bare).rejects.toBeInstanceOf(BlobError);
  });

  it("I4: acknowledges an append when its blob is durable and the store has it, in the order of the calls", async () => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    const fence = await owned(store, "r");
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    shelf.before = (what) => (what === "put" ? held : undefined);
    const acknowledged: number[] = [];
    const appended = [
      store.append("r", fence, [entry(1, { value: large("a") })]),
      store.append("r", fence, [entry(2)]),
      store.append("r", fence, [entry(3, { value: large("b") })]),
    ].map((each, index) => each.then(() => acknowledged.push(index + 1)));
    for (let i = 0; i < 50; i++) await Promise.resolve();
    expect([acknowledged, await memory.entries("r")]).toEqual([[], []]);
    release();
    await Promise.all(appended);
    expect(acknowledged).toEqual([1, 2, 3]);
    expect((await memory.entries("r")).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("C4: a place that fails is a StoreError of the append, nothing of it is in the store, and nothing overtakes it", async () => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    const fence = await owned(store, "r");
    shelf.before = () => {
      throw new Error("bucket is closed");
    };
    const [first, second] = await Promise.allSettled([
      store.append("r", fence, [entry(1, { value: large("a") })]),
      store.append("r", fence, [entry(2)]),
    ]);
    expect(first).toMatchObject({ status: "rejected", reason: expect.any(StoreError) as unknown });
    expect(second).toMatchObject({ status: "rejected" });
    expect(await memory.entries("r")).toEqual([]);
  });

  it.each<[string, (shelf: Shelf, key: string) => void, RegExp]>([
    ["is gone", ({ blobs }, key) => blobs.delete(key), /is not in its place/],
    ["was changed", ({ blobs }, key) => blobs.get(key)!.fill(65), /is not what was put into its place/],
    ["was cut off", ({ blobs }, key) => blobs.set(key, blobs.get(key)!.subarray(1)), /is not what was put/],
  ])("I3: a blob that %s is an error, never another value", async (_, harm, words) => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    const fence = await owned(store, "r");
    await store.append("r", fence, [entry(1, { value: large("a") })]);
    harm(shelf, [...shelf.blobs.keys()][0]!);
    const error = await store.entries("r").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BlobError);
    expect(String(error)).toMatch(words);
  });

  it("a run that is made anew while the one of its id is deleted keeps its own blobs", async () => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    await store.create({ ...newRun("r"), input: large("a") });
    let remove = (): void => {};
    shelf.before = (what) => {
      if (what !== "remove") return;
      return new Promise<void>((resolve) => {
        remove = resolve;
      });
    };
    const deleted = store.delete("r");
    await rest();
    const made = store.create({ ...newRun("r"), input: large("b") });
    await rest();
    remove();
    expect([await deleted, (await made).created]).toEqual([true, true]);
    expect((await store.read("r"))?.input).toBe(large("b"));
  });

  it("a value of a run that cannot be had keeps nobody else from a list", async () => {
    const store = storeWithBlobs(memory, { place: shelf, above: 1_000 });
    await store.create(newRun("bad", { input: large("i") }));
    await store.create(newRun("good"));
    shelf.blobs.clear();
    const runs = await store.list({});
    expect(runs.map(({ id }) => id)).toEqual(["good", "bad"]);
    expect(() => runs[1]!.input).toThrow(BlobError);
  });

  it("without the place the run is refused, and says what is missing", async () => {
    const flow = workflow("blobs: reads", async () => {
      await step(() => "x".repeat(5_000));
      await waitFor("go");
    });
    const app = new Stepmark({ store: memory, workflows: [flow], blobs: { place: shelf, above: 1_000 } });
    await (await app.start(flow, undefined, { id: "r" })).settled();
    await app.shutdown();
    const other = new Stepmark({ store: memory, workflows: [flow] });
    await expect(other.resume("r")).rejects.toMatchObject({ code: "BLOB", runId: "r" });
    await expect(other.export("r").next()).resolves.toBeDefined();
    await other.shutdown();
  });

  it("a child run whose output is missing ends its parent, which catches nothing and goes on with it later", async () => {
    const shelf = new Shelf();
    const kid = workflow("blobs: kid", async () => {
      await waitFor("go");
      return step(() => "y".repeat(2_000));
    });
    const catching = workflow("blobs: catching", async () => {
      try {
        return await child(kid, undefined, { id: "kid" });
      } catch {
        return step(() => "compensation");
      }
    });
    const open = (...workflows: AnyWorkflow[]): Stepmark =>
      new Stepmark({ store: memory, workflows, blobs: { place: shelf, above: 1_000 } });
    const first = open(kid, catching);
    await (await first.start(catching, undefined, { id: "r" })).settled();
    await first.shutdown();
    await first.answer("kid", "go", 1);
    const alone = open(kid);
    await (await alone.resume("kid")).result();
    await alone.shutdown();
    const lost = [...shelf.blobs];
    shelf.blobs.clear();
    const second = open(kid, catching);
    await expect((await second.resume("r")).result()).rejects.toMatchObject({ code: "BLOB", runId: "kid" });
    expect((await memory.read("r"))?.status).toBe("failed");
    await second.shutdown();
    for (const [name, content] of lost) shelf.blobs.set(name, content);
    const third = open(kid, catching);
    expect(await (await third.resume("r")).result()).toBe("y".repeat(2_000));
    await third.shutdown();
  });

  it("a run answers from its blobs after a crash, and is deleted with them", async () => {
    const folder = newFolder();
    let bodies = 0;
    const flow = workflow("blobs: makes", async (input: string) => {
      const made = await step(() => {
        bodies++;
        return input.repeat(2);
      });
      const told = await waitFor<string>("go");
      return made.length + told.length;
    });
    const open = (): Stepmark =>
      new Stepmark({ store: memory, workflows: [flow], blobs: { place: blobDirectory(folder), above: 1_000 } });
    const first = open();
    await (await first.start(flow, "x".repeat(3_000), { id: "../../r" })).settled();
    await first.shutdown();
    expect(readdirSync(folder)).toEqual([placeNameOf("../../r")]);
    expect(readdirSync(join(folder, placeNameOf("../../r")))).toHaveLength(2);
    const second = open();
    const run = await second.resume("../../r");
    await second.answer("../../r", "go", "y".repeat(4_000));
    expect([await run.result(), bodies]).toEqual([10_000, 1]);
    await second.shutdown();
    await storeWithBlobs(memory, { place: blobDirectory(folder) }).delete("../../r");
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("blobDirectory", () => {
  const run = "0".repeat(32);
  const content = Buffer.from("content");
  const name = createHash("sha256").update(content).digest("hex");

  it("keeps, gives and removes, and makes its folder when it is first used", async () => {
    const folder = newFolder();
    const place = blobDirectory(folder);
    expect(existsSync(folder)).toBe(false);
    expect(await place.get(run, name)).toBeUndefined();
    await place.put(run, name, content);
    await place.put(run, name, content);
    expect(readdirSync(join(folder, run))).toEqual([name]);
    expect(Buffer.from((await place.get(run, name))!).toString()).toBe("content");
    await place.remove(run);
    await place.remove(run);
    expect(await place.get(run, name)).toBeUndefined();
  });

  it("writes anew what a crash has left cut off", async () => {
    const folder = newFolder();
    const place = blobDirectory(folder);
    await place.put(run, name, content);
    writeFileSync(join(folder, run, name), "cont");
    await place.put(run, name, content);
    expect(readFileSync(join(folder, run, name), "utf8")).toBe("content");
  });

  it("leaves nothing behind where it cannot write", async () => {
    const file = newFolder();
    writeFileSync(file, "");
    await expect(blobDirectory(file).put(run, name, content)).rejects.toThrow(/EEXIST|ENOTDIR/);
  });

  it.each(["..", "../../etc", "a/b", "", "CON", "0".repeat(31), `${"0".repeat(31)}/`, "\0".repeat(32)])(
    "leads nowhere else: %j",
    async (odd) => {
      const folder = newFolder();
      const place = blobDirectory(folder);
      for (const attempt of [
        () => place.put(odd, name, content),
        () => place.put(run, odd, content),
        () => place.get(odd, name),
        () => place.get(run, odd),
        () => place.remove(odd),
      ])
        await expect(attempt()).rejects.toBeInstanceOf(InvalidArgumentError);
      expect(existsSync(folder)).toBe(false);
    },
  );

  it("ids that differ only in case, or have signs of paths, have folders of their own", () => {
    const ids = ["a", "A", "..", "../a", "a/../b", "\u0000", "é", "e\u0301", "\ud800", "\udfff"];
    expect(new Set(ids.map(placeNameOf)).size).toBe(ids.length);
    for (const id of ids) expect(placeNameOf(id)).toMatch(/^[0-9a-f]{32}$/);
  });
});
