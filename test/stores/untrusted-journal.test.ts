/** A journal that somebody else has written reaches no prototype and runs no code, whoever reads it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codec, type Entry, memoryStore, Stepmark, type Store, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, expect, it } from "vitest";
import type { WholeRun } from "../../runtime/stores/store.js";

const folder = mkdtempSync(join(tmpdir(), "stepmark-untrusted-"));
afterAll(() => rmSync(folder, { recursive: true }));

const stores: Array<[name: string, make: () => Store]> = [
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore(join(folder, "runs.db"))],
];

const asking = workflow("asking", async (input: unknown) => [
  input,
  await step("made", async () => "made"),
  await waitFor("ask"),
]);

/** Values that would do something if they were more than data: as texts of the codec, and as fields beside what is known. */
const poison = '{"polluted":true,"constructor":{"prototype":{"polluted":true}},"toString":"x","then":"x","toJSON":"x"}';
const fields = `"__proto__":${poison},"constructor":{"prototype":{"polluted":true}},"then":"x"`;
const object = `[["$",1],[2,3,4,5],"object",false,"__proto__",{"polluted":6},true]`;
const values = [
  object,
  '[["$",1],[2,3],"constructor",{"prototype":4},{"polluted":5},true]',
  '[["$",1],[2,3],"__proto__",{"polluted":4},true]',
  '[["$",1],[2,3],"Function",4,"globalThis.polluted = true"]',
  '[["$",1],[2,3],"toString",4,1]',
  '[{"__proto__":1},{"polluted":2},true]',
  '[["Object","globalThis.polluted = true"]]',
  '[["constructor",1],[2],"globalThis.polluted = true"]',
];

function clean(): void {
  expect("polluted" in {}).toBe(false);
  expect("polluted" in globalThis).toBe(false);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(String({})).toBe("[object Object]");
}

/** Reads the run in every way there is; what cannot be read says so. */
async function readAll(app: Stepmark, id: string): Promise<void> {
  const quiet = async (read: () => unknown): Promise<void> =>
    void (await Promise.resolve()
      .then(read)
      .catch(() => {}));
  await quiet(async () => JSON.stringify(await app.get(id)));
  await quiet(async () => JSON.stringify(await app.list()));
  await quiet(async () => JSON.stringify(await app.entries(id)));
  await quiet(async () => {
    for await (const event of app.export(id)) void event;
  });
  const run = await app.resume(id).catch(() => undefined);
  await quiet(() => app.answer(id, "ask", 1));
  if (run !== undefined) await Promise.race([quiet(() => run.result()), run.settled()]);
  await quiet(async () => {
    for await (const event of app.events(id)) {
      const { value, error } = event;
      void [value, error, `${JSON.stringify(event)}`];
      if (event.type === "run.waiting") break;
    }
  });
}

/** What a run of the workflow leaves when it waits, as JSON. */
async function waitingRun(): Promise<{ run: string; entries: string[] }> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [asking] });
  await (await app.start(asking, "input", { id: "run" })).settled();
  const run = await store.read("run");
  return { run: JSON.stringify(run), entries: (await store.entries("run")).map((entry) => JSON.stringify(entry)) };
}

it.each(stores)("in a store (%s)", async (_, make) => {
  const { run, entries } = await waitingRun();
  const with_ = (text: string): string => `{${fields},${text.slice(1)}`;
  const made = JSON.stringify(codec().encode("made"));
  for (const [index, value] of values.entries()) {
    const store = make();
    const id = `run ${index}`;
    const poisoned = entries.map((text) => with_(text.replace(`"value":${made}`, `"value":${JSON.stringify(value)}`)));
    const whole: WholeRun = {
      run: { ...(JSON.parse(with_(run)) as WholeRun["run"]), id, input: value },
      entries: poisoned.map((text) => JSON.parse(text) as Entry),
      inbox: [{ number: 1, target: "__proto__", value, at: 1 }],
    };
    expect(await store.restore([whole])).toEqual([]);
    const app = new Stepmark({ store, workflows: [asking], grace: 10, stallAfter: 10 });
    await readAll(app, id);
    await app.shutdown();
    await store.close();
    clean();
  }
});

it("in an export that is imported", async () => {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [asking] });
  await (await app.start(asking, "input", { id: "run" })).settled();
  const lines: string[] = [];
  for await (const text of app.export("run")) lines.push(...text.split("\n").filter(Boolean));
  const target = new Stepmark({ store: memoryStore(), workflows: [asking] });
  // A digest over the lines tells that they were changed; whether it is right or not, nothing may happen before.
  for (let at = 0; at < lines.length; at++) {
    const text = lines.map((line, index) => (index === at ? `{${fields},${line.slice(1)}` : line)).join("\n");
    await target.import(`${text}\n`).catch(() => {});
    clean();
  }
});
