/** Runs as text: out of one store and, just as they were, into another. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import {
  changed,
  child,
  type Entry,
  type MemoryStore,
  memoryStore,
  now,
  publish,
  type RunRecord,
  Stepmark,
  type Store,
  sleep,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";

const folder = mkdtempSync(path.join(tmpdir(), "stepmark-export-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newFile = (): Store => sqliteStore(path.join(folder, `${++files}.db`));

const secret = "s3cret";
const odd = 'ü/🎉\n"\\\u2028\u2029\r\u0007__proto__';
let ran: string[] = [];
const work = async (label: string): Promise<string> => {
  ran.push(label);
  if (label.includes("fails")) throw new TypeError(`${secret} failed`, { cause: { odd } });
  return `${secret} ${label} ${odd}`;
};

const inner = workflow("inner", async (kind: string) => {
  const done = await step(work, `inner ${kind}`);
  if (kind === "waits") await waitFor("never");
  return done;
});
const schema = {
  "~standard": { version: 1 as const, vendor: "test", validate: (value: unknown) => ({ value: value as boolean }) },
};
const strict = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => (value === secret ? { value } : { issues: [{ message: "no" }] }),
  },
};
const everything = workflow("every thing", async (input: unknown) => {
  await now();
  await publish("progress", { [secret]: odd });
  await changed("v2");
  const caught = await step({ retries: 1, backoff: 0 }, work, "fails").catch((error: Error) => error.message);
  const outer = await step(async () => step(work, "nested"));
  await child(inner, "returns");
  const failed = await child(inner, "fails").catch((error: Error) => error.message);
  const timed = await waitFor("timed", { timeout: 1 });
  const checked = await waitFor("checked", { schema: strict, payload: { secret } });
  await waitFor("open", { schema });
  await sleep(1);
  return { input, caught, outer, failed, timed, checked };
});
const failing = workflow("failing", async () => step(work, "it fails"));
const waiting = workflow("waiting", async () => [
  await step(work, "before"),
  await Promise.all([waitFor("go"), sleep("3d"), child(inner, "waits")]),
]);
const workflows = [everything, failing, waiting, inner];

/** A store with runs of every status, and entries of every kind. */
async function filled(store: Store): Promise<string[]> {
  const app = new Stepmark({ store, workflows });
  const run = await app.start(everything, { secret, odd }, { id: odd });
  const waits = async (name: string): Promise<void> => {
    for (;;) {
      const { waits } = await app.get(odd);
      if (waits.some((wait) => wait.name === name)) return;
      await rest();
    }
  };
  await waits("checked");
  await store.post(odd, { target: "checked", value: '["wrong"]', at: 1 });
  while ((await store.entries(odd)).every(({ state }) => state !== "refused")) await rest();
  await app.answer(odd, "checked", secret);
  await waits("open");
  await app.answer(odd, "open", true);
  await run.result();
  await (await app.start(failing, undefined, { id: "__proto__" })).result().catch(() => {});
  await (await app.start(waiting, undefined, { id: "waiting" })).settled();
  await app.send("waiting", "early", { secret });
  await (await app.start(waiting, undefined, { id: "cancelled" })).settled();
  await app.cancel("cancelled");
  await app.shutdown();
  await store.create({ id: "never owned", workflow: "inner", input: "[1]", inputPrint: "[]", scheme: 1, createdAt: 5 });
  return (await store.list({})).map(({ id }) => id);
}

async function textOf(store: Store, ids: readonly string[], options = {}): Promise<string> {
  let text = "";
  for await (const line of new Stepmark({ store }).export(ids, options)) text += line;
  return text;
}

const put = (store: Store, text: string | Iterable<string>): Promise<string[]> => new Stepmark({ store }).import(text);

async function contents(store: Store): Promise<unknown[]> {
  const plain = ({ owner: _, leaseUntil: __, ...run }: RunRecord): unknown => JSON.parse(JSON.stringify(run));
  const runs = (await store.list({})).sort((a, b) => (a.id < b.id ? -1 : 1));
  return Promise.all(
    runs.map(async (run) => [plain(run), await store.entries(run.id), await store.inbox(run.id), run.owner]),
  );
}

describe("exported runs", () => {
  it("have every status and every kind of entry, and come in as they were, into any store", async () => {
    const store = memoryStore();
    const ids = await filled(store);
    const before = await contents(store);
    const statuses = (await store.list({})).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(["running", "waiting", "completed", "failed", "cancelled"]));
    const entries = (await Promise.all(ids.map((id) => store.entries(id)))).flat();
    expect(
      new Set(entries.map(({ kind, state, timedOut }) => `${kind} ${state}${timedOut ? " timedOut" : ""}`)),
    ).toEqual(
      new Set([
        ...["step attempt", "step done", "step failed", "value done", "publish done", "changed done"],
        ...["wait open", "wait done", "wait refused", "wait done timedOut", "timer open", "timer done"],
        ...["child open", "child done", "child failed"],
      ]),
    );
    const text = await textOf(store, ids);
    for (const to of [memoryStore(), newFile()]) {
      expect(await put(to, text)).toEqual(ids);
      expect(await contents(to)).toEqual(before);
      expect(await textOf(to, ids)).toBe(text);
      await to.close();
    }
    expect(await contents(store)).toEqual(before);
  });

  it("are gone on with where they have come, and nothing that is recorded runs again", async () => {
    const store = newFile();
    const ids = await filled(store);
    const to = newFile();
    await put(to, await textOf(store, ids));
    ran = [];
    const app = new Stepmark({ store: to, workflows });
    await app.recover();
    const run = await app.resume("waiting");
    await app.answer("waiting", "go", 1);
    const { id } = (await app.get("waiting")).children[0]!;
    await app.answer(id, "never", "now");
    await app.cancel("waiting");
    await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect(ran).toEqual(["inner 1"]);
    await expect((await app.resume("__proto__")).result()).rejects.toThrow(`${secret} failed`);
    expect(ran).toEqual(["inner 1", "it fails"]);
    await app.shutdown();
    await store.close();
    await to.close();
  });

  it("whatever they hold, come out of the other store letter by letter", async () => {
    const text = fc.string({ unit: "binary" });
    const name = text.filter((each) => each !== "" && !/\0|\p{Cs}/u.test(each));
    const time = fc.integer({ min: 0, max: 8.64e15 });
    const entry = fc.record(
      {
        key: text.filter((each) => each !== ""),
        kind: fc.constant("step"),
        state: fc.constant("done"),
        value: text,
        attempt: fc.nat(),
        startedAt: time,
        endedAt: time,
        causes: fc.array(text),
        args: text,
        due: time,
        within: text,
        other: fc.jsonValue(),
      },
      { requiredKeys: ["key", "kind", "state", "value", "attempt", "startedAt", "endedAt"] },
    );
    const run = fc.record(
      {
        workflow: name,
        status: fc.constantFrom("running", "waiting", "completed", "failed", "cancelled"),
        input: text,
        inputPrint: text,
        output: text,
        error: text,
        culprits: fc.array(text),
        orphans: fc.array(text),
        edited: fc.array(text),
        due: time,
        parent: fc.record({ id: text, key: text }),
        scheme: fc.nat(),
        fence: fc.nat(),
        createdAt: time,
        updatedAt: time,
      },
      { requiredKeys: ["workflow", "status", "input", "inputPrint", "scheme", "fence", "createdAt", "updatedAt"] },
    );
    const message = fc.record({ target: text, value: text, at: time });
    const whole = fc.tuple(run, fc.array(entry), fc.array(message));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
        fc.infiniteStream(whole),
        async (ids, all) => {
          const [store, to] = [memoryStore(), sqliteStore(":memory:")];
          const runs = ids.map((id) => {
            const [run, entries, messages] = all.next().value as [object, object[], object[]];
            return {
              run: { ...run, id } as RunRecord,
              entries: entries.map((each, index) => ({ seq: index + 1, ...each }) as Entry),
              inbox: messages.map((each, index) => ({ number: index * 2 + 1, ...each }) as never),
            };
          });
          await store.restore(runs);
          const text = await textOf(store, ids);
          expect(await put(to, text)).toEqual(ids);
          expect(await textOf(to, ids)).toBe(text);
          expect(await contents(to)).toEqual(await contents(store));
          await to.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  it("come without an owner, also while a process drives them", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows });
    const stuck = workflow("stuck", async () => step(() => new Promise(() => {})));
    await app.start(stuck, undefined, { id: "driven" });
    await rest();
    const to = memoryStore();
    await put(to, await textOf(store, ["driven"]));
    expect(await to.read("driven")).toMatchObject({
      status: "running",
      owner: undefined,
      leaseUntil: undefined,
      fence: 1,
    });
    expect((await store.read("driven"))!.owner).toBeDefined();
    expect(
      await to.claim("driven", { token: "t", host: "", pid: 1, processStart: "" }, () => false, { now: 0, until: 1 }),
    ).toMatchObject({ claimed: true, run: { fence: 2 } });
  });

  it("are of one moment: a run that goes on meanwhile is read again, or refused if it does all the time", async () => {
    const store = memoryStore();
    const owner = { token: "t", host: "h", pid: 1, processStart: "" };
    await store.create({ id: "r", workflow: "w", input: "[1]", inputPrint: "[]", scheme: 1, createdAt: 1 });
    await store.claim("r", owner, () => true, { now: 1, until: 1 });
    await store.post("r", { target: "ask", value: "[1]", at: 1 });
    let seq = 0;
    const append = (): Promise<void> => {
      const entry = { kind: "step", state: "done", value: "[1]", attempt: 1, startedAt: 1, endedAt: 1 } as const;
      return store.append(
        "r",
        1,
        [{ ...entry, seq: ++seq, key: `w/${seq}` }],
        seq === 1 ? { consume: [1] } : undefined,
      );
    };
    let times = 1;
    const busy: Store = {
      ...store,
      async inbox(id) {
        const found = await store.inbox(id);
        if (times-- > 0) await append();
        return found;
      },
    };
    const to = memoryStore();
    await put(to, await textOf(busy, ["r"]));
    expect([await to.entries("r"), await to.inbox("r")]).toEqual([await store.entries("r"), []]);
    times = Number.POSITIVE_INFINITY;
    await expect(textOf(busy, ["r"])).rejects.toMatchObject({ code: "RUN_OWNED" });
    await expect(textOf(store, ["none"])).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});

describe("a file of runs", () => {
  const small = async (): Promise<{ store: MemoryStore; text: string }> => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows });
    for (const id of ["one", "two"]) await (await app.start(waiting, undefined, { id })).settled();
    await app.send("two", "early", 1);
    await app.shutdown();
    return { store, text: await textOf(store, ["one", "two"], { children: true }) };
  };

  it("is refused, and nothing of it comes in, wherever it is cut off", async () => {
    const { text } = await small();
    for (let length = 0; length < text.length - 1; length += 7) {
      const to = memoryStore();
      await expect(put(to, text.slice(0, length)), `after ${length}`).rejects.toMatchObject({ code: "EXPORT_FILE" });
      expect(await to.list({})).toEqual([]);
    }
    await put(memoryStore(), text.trimEnd());
  });

  it("is refused with a line left out, twice, in another place or edited", async () => {
    const { text } = await small();
    const lines = text.split("\n").slice(0, -1);
    const tampered: Array<[string, string[]]> = lines.flatMap(
      (line, at): Array<[string, string[]]> => [
        [`line ${at + 1} left out`, lines.toSpliced(at, 1)],
        [`line ${at + 1} twice`, lines.toSpliced(at, 0, line)],
        ...(at > 0
          ? [[`line ${at + 1} moved up`, lines.toSpliced(at - 1, 2, line, lines[at - 1]!)] as [string, string[]]]
          : []),
        [
          `line ${at + 1} edited`,
          lines.toSpliced(
            at,
            1,
            line.replace(/[0-9](?=[^0-9]*$)/, (digit) => String((Number(digit) + 1) % 10)),
          ),
        ],
      ],
    );
    for (const [what, left] of tampered) {
      const to = memoryStore();
      const error = await put(to, left.join("\n")).catch((error: { code: string }) => error.code);
      // A version that is edited upwards is one of the future.
      expect([error, await to.list({})], what).toEqual([
        what === "line 1 edited" ? "NEWER_VERSION" : "EXPORT_FILE",
        [],
      ]);
    }
  });

  it("may come in pieces, one file after the other, with what editors and systems put around lines", async () => {
    const { store, text } = await small();
    const [one, two] = [
      await textOf(store, ["one"], { children: true }),
      await textOf(store, ["two"], { children: true }),
    ];
    const forms: Array<Iterable<string>> = [
      text.match(/[\s\S]{1,5}/gu)!,
      [one, two],
      [`\ufeff${one.replaceAll("\n", "\r\n")}\r\n\n`, `\ufeff${two}`],
    ];
    for (const form of forms) {
      const to = memoryStore();
      expect((await put(to, form)).filter((id) => !id.includes("/"))).toEqual(["one", "two"]);
      expect(await contents(to)).toEqual(await contents(store));
    }
  });

  it("never comes in over a run that is there, and then not in part either", async () => {
    const { text } = await small();
    const to = memoryStore();
    await to.create({ id: "two", workflow: "w", input: "[1]", inputPrint: "[]", scheme: 1, createdAt: 1 });
    const before = await contents(to);
    await expect(put(to, text)).rejects.toMatchObject({ code: "RUN_EXISTS", runId: "two" });
    expect(await contents(to)).toEqual(before);
    await expect(put(memoryStore(), text + text)).rejects.toMatchObject({
      code: "EXPORT_FILE",
      message: expect.stringContaining("stands twice"),
    });
  });

  it("holds a journal that could be replayed", async () => {
    const store = memoryStore();
    const entry = { seq: 1, key: "w/a", state: "done", value: "[1]", attempt: 1, startedAt: 1, endedAt: 1 };
    const run = {
      id: "r",
      workflow: "w",
      status: "running",
      input: "[1]",
      inputPrint: "[]",
      scheme: 1,
      fence: 1,
      createdAt: 1,
      updatedAt: 1,
    };
    const with_ = async (more: object): Promise<string> => {
      await store.delete("r");
      await store.restore([{ run: run as RunRecord, entries: [{ ...entry, ...more } as Entry], inbox: [] }]);
      return textOf(store, ["r"]);
    };
    await expect(put(memoryStore(), await with_({ kind: "dream" }))).rejects.toMatchObject({ code: "DAMAGED_JOURNAL" });
    await expect(put(memoryStore(), await with_({ kind: "step", format: 9 }))).rejects.toMatchObject({
      code: "NEWER_VERSION",
    });
    await put(memoryStore(), await with_({ kind: "step" }));
    for (const text of ["", "\n", "{}\n", "[1]", '{"stepmark":"runs"}', "no JSON"])
      await expect(put(memoryStore(), text)).rejects.toMatchObject({ code: "EXPORT_FILE" });
  });
});

describe("runs without their values", () => {
  it("hold nothing of what went in, came out or was recorded, nor what fingerprints spell out", async () => {
    const store = memoryStore();
    const ids = await filled(store);
    const full = await textOf(store, ids);
    expect(full).toContain(secret);
    const text = await textOf(store, ids, { values: false });
    expect(text).not.toContain(secret);
    expect(text).not.toMatch(/"(value|input|output|error)":/);
    const linesOf = (from: string): Array<{ entry?: Entry }> =>
      from
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { entry?: Entry });
    const entriesIn = (from: string): Entry[] => linesOf(from).flatMap(({ entry }) => (entry ? [entry] : []));
    expect(linesOf(text)).toHaveLength(linesOf(full).length);
    const [kept, entries] = [entriesIn(text), entriesIn(full)];
    expect(kept.map(({ args: _, ...rest }) => rest)).toEqual(entries.map(({ args: _, value: __, ...rest }) => rest));
    expect(kept.map(({ args }) => args !== undefined)).toEqual(entries.map(({ args }) => args !== undefined));
    expect(
      kept.filter(({ args }) => args !== undefined).every(({ args }) => /^#[0-9a-f]{24}$/.test(String(args))),
    ).toBe(true);
  });

  it("cannot be imported, and say so", async () => {
    const store = memoryStore();
    const ids = await filled(store);
    const to = memoryStore();
    await expect(put(to, await textOf(store, ids, { values: false }))).rejects.toMatchObject({
      code: "VALUES_LEFT_OUT",
      message: expect.stringContaining("cannot be imported"),
    });
    expect(await to.list({})).toEqual([]);
  });
});

describe("runs with child runs", () => {
  const grandchild = workflow("grandchild", async () => [await step(work, "grandchild"), await waitFor("deep")]);
  const middle = workflow("middle", async () => [await step(work, "middle"), await child(grandchild)]);
  const top = workflow("top", async () => [await step(work, "top"), await child(middle)]);
  const family = [top, middle, grandchild];
  const idOf = { middle: "top/top/middle", grandchild: "top/top/middle/middle/grandchild" };

  async function started(): Promise<MemoryStore> {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: family });
    await app.start(top, undefined, { id: "top" });
    for (let i = 0; i < 10; i++) await rest();
    await app.shutdown();
    return store.fork();
  }

  it("come with them if that is asked for, children first, and go on together", async () => {
    const store = await started();
    const text = await textOf(store, ["top"], { children: true });
    const to = newFile();
    expect(await put(to, text)).toEqual([idOf.grandchild, idOf.middle, "top"]);
    ran = [];
    const app = new Stepmark({ store: to, workflows: family });
    const run = await app.resume("top");
    await app.answer(idOf.grandchild, "deep", "answer");
    expect(await run.result()).toHaveLength(2);
    expect(ran).toEqual([]);
    await app.shutdown();
    await to.close();
  });

  it("are refused without them, since the run would begin them anew", async () => {
    const store = await started();
    const text = await textOf(store, ["top"]);
    const to = memoryStore();
    await expect(put(to, text)).rejects.toMatchObject({
      code: "EXPORT_FILE",
      message: expect.stringMatching(/waits for its child run "top\/top\/middle".*stepmark export --children/),
    });
    expect(await to.list({})).toEqual([]);
    await put(to, await textOf(store, [idOf.middle, idOf.grandchild]));
    await put(to, text);
    expect((await to.list({})).length).toBe(3);
  });

  it("come in with one transaction, so that no run is there without what it waits for", async () => {
    const store = await started();
    const to = memoryStore();
    const restored: string[][] = [];
    const watched: Store = {
      ...to,
      restore: (runs) => {
        restored.push(runs.map(({ run }) => run.id));
        return to.restore(runs);
      },
    };
    await put(watched, await textOf(store, ["top", idOf.middle, idOf.grandchild]));
    expect(restored.filter((ids) => ids.length > 0)).toEqual([["top", idOf.middle, idOf.grandchild]]);
  });

  it("need not come with a child that was never begun, or that has ended there", async () => {
    const store = await started();
    await store.delete(idOf.middle);
    expect(await put(memoryStore(), await textOf(store, ["top"]))).toEqual(["top"]);
    await store.delete("top");
    const app = new Stepmark({ store, workflows: family });
    const done = workflow("done", async () => [
      await child(inner, "returns"),
      await child(inner, "fails").catch(() => "failed"),
    ]);
    await (await app.start(done, undefined, { id: "done" })).result();
    expect(await put(memoryStore(), await textOf(store, ["done"]))).toEqual(["done"]);
  });
});
