/**
 * Journals that are not what this version wrote: edited by hand, damaged, or of a newer version. Each is refused with an
 * error that tells why, before any body runs, and nothing is written to it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Entry, memoryStore, now, Stepmark, sleep, step, waitFor, workflow } from "stepmark";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { StepmarkError } from "../../runtime/errors.js";
import type { Row } from "../../runtime/stores/rows.js";
import { seal, unseal } from "../../runtime/stores/seal.js";
import { sqliteStore } from "../../runtime/stores/sqlite.js";
import { type Connection, type DriverName, openDatabase } from "../../runtime/stores/sqlite-driver.js";
import { schemaVersion } from "../../runtime/stores/sqlite-schema.js";
import type { Store } from "../../runtime/stores/store.js";
import { FakeClock } from "../support/fake-clock.js";

const folder = mkdtempSync(join(tmpdir(), "stepmark-foreign-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, `runs${files++}.db`);

const loads = (driver: DriverName): boolean => {
  try {
    openDatabase(":memory:", driver).close();
    return true;
  } catch {
    return false;
  }
};
const drivers = (["node:sqlite", "better-sqlite3"] as const).filter(loads);

const id = "run";
let ran: string[] = [];
beforeEach(() => {
  ran = [];
});
const work = (item: string): string => {
  ran.push(item);
  return `made ${item}`;
};
const flow = workflow("flow", async (input: string) => {
  const first = await step(work, input);
  await now();
  await sleep(1);
  const second = await step({ retries: 1 }, work, "b");
  await waitFor("approve", { payload: "?" });
  return [first, second, await step(work, "c")];
});

const failureOf = async (result: Promise<unknown>): Promise<StepmarkError> => {
  const error = await result.then(
    (value) => expect.fail(`did not fail, but gave ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StepmarkError);
  return error as StepmarkError;
};

/** The run, waiting for its answer: with entries of every kind. */
async function waiting(store: Store): Promise<void> {
  const clock = new FakeClock();
  const app = new Stepmark({ store, workflows: [flow], clock });
  const run = await app.start(flow, "a", { id });
  const settled = run.settled();
  await clock.advance(10);
  expect((await settled).status).toBe("waiting");
  await app.shutdown();
  ran = [];
}

type Edit = [name: string, edit: (connection: Connection) => void, code: string, says: RegExp];

/** An edit of an entry's text, as somebody makes it who does not know about seals. */
const editing =
  (seq: number, sql: string) =>
  (connection: Connection): void =>
    connection.exec(`UPDATE entries SET entry = ${sql} WHERE place & 0xFFFFFFFF = ${seq}`) as undefined;

const edited = /^Entry 2 of the journal is not what was written: it is damaged, or was edited \(run "run"\)\. .*backup/;
const edits: Edit[] = [
  ["a byte of a value", editing(2, 'replace(entry, \'"value":"[\', \'"value":"[1\')'), "DAMAGED_JOURNAL", edited],
  ["a key", editing(2, "replace(entry, 'flow/', 'flow/x')"), "DAMAGED_JOURNAL", edited],
  ["a kind", editing(2, "replace(entry, '\"value\",', '\"step\",')"), "DAMAGED_JOURNAL", edited],
  ["an empty text", editing(2, "''"), "DAMAGED_JOURNAL", edited],
  ["a text without its seal", editing(2, "substr(entry, 1, length(entry) - 9)"), "DAMAGED_JOURNAL", edited],
  [
    "an entry that was deleted",
    (connection) => void connection.exec("DELETE FROM entries WHERE place & 0xFFFFFFFF = 2"),
    "DAMAGED_JOURNAL",
    /^The journal has entry 3 where entry 2 should be \(run "run", key flow\/sleep\)/,
  ],
  [
    "an entry that was doubled",
    (connection) =>
      void connection.exec(
        "INSERT INTO entries SELECT (SELECT max(place) FROM entries) + 1, entry FROM entries WHERE place & 0xFFFFFFFF = 2",
      ),
    "DAMAGED_JOURNAL",
    /^Entry \d+ of the journal is not what was written/,
  ],
  [
    "two entries that changed places",
    (connection) =>
      void connection.exec(
        `UPDATE entries SET place = -place WHERE place & 0xFFFFFFFF IN (1, 2);
         UPDATE entries SET place = (-place & ~0xFFFFFFFF) + 3 - (-place & 0xFFFFFFFF) WHERE place < 0`,
      ),
    "DAMAGED_JOURNAL",
    /^Entry 1 of the journal is not what was written/,
  ],
  [
    "the input",
    (connection) => void connection.exec("UPDATE runs SET input = replace(input, 'a', 'b')"),
    "DAMAGED_JOURNAL",
    /^The run's input is not what was written/,
  ],
  [
    "the workflow",
    (connection) => void connection.exec("UPDATE runs SET workflow = 'other'"),
    "UNKNOWN_WORKFLOW",
    /other/,
  ],
  [
    "the key scheme",
    (connection) => void connection.exec("UPDATE runs SET scheme = 99"),
    "KEY_SCHEME",
    /key scheme 99; this version replays scheme 1 .*Finish the run with the version/,
  ],
];

/** All that a file holds. */
const contents = (path: string): unknown => {
  const connection = openDatabase(path);
  const all = ["runs", "entries", "inbox"].map((table) => connection.prepare(`SELECT * FROM ${table}`).all());
  connection.close();
  return all;
};

describe.each(drivers)("I3: a journal that was edited by hand (%s)", (driver) => {
  it.each(edits)("%s: is refused, and nothing is written to it", async (_, edit, code, says) => {
    const path = newFile();
    const first = sqliteStore(path, { driver });
    await waiting(first);
    await first.close();
    const connection = openDatabase(path, driver);
    edit(connection);
    connection.close();
    const before = contents(path);
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [flow] });
    const error = await failureOf(app.resume(id).then((run) => run.result()));
    expect(error).toMatchObject({ code, runId: id });
    expect(error.message).toMatch(says);
    expect(ran).toEqual([]);
    await app.shutdown();
    await store.close();
    expect(contents(path)).toEqual(before);
  });

  it("an answer: is not taken", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    await waiting(store);
    const app = new Stepmark({ store, workflows: [flow] });
    await app.answer(id, "approve", "yes");
    const connection = openDatabase(path, driver);
    connection.exec("UPDATE inbox SET value = replace(value, 'yes', 'no')");
    connection.close();
    const error = await failureOf(app.resume(id).then((run) => run.result()));
    expect(error).toMatchObject({ code: "DAMAGED_JOURNAL", runId: id });
    expect(error.message).toMatch(/^The answer to "flow\/approve" is not what was written/);
    expect(ran).toEqual([]);
    const mending = openDatabase(path, driver);
    mending.exec("UPDATE inbox SET value = replace(value, 'no', 'yes')");
    mending.close();
    const run = await app.resume(id);
    await run.settled();
    expect((await app.entries(id)).filter(({ kind, state }) => kind === "wait" && state === "done")).toHaveLength(1);
    await app.shutdown();
    await store.close();
  });

  it("an output and an error: are not given out", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    const give = workflow("give", async (input: string) => {
      if (input === "fail") throw new Error("failed");
      return input;
    });
    const app = new Stepmark({ store, workflows: [give] });
    await (await app.start(give, "value", { id: "completed" })).result();
    await (await app.start(give, "fail", { id: "failed" })).result().catch(() => {});
    const connection = openDatabase(path, driver);
    connection.exec(
      "UPDATE runs SET output = replace(output, 'value', 'wrong'), error = replace(error, 'fail', 'succ')",
    );
    connection.close();
    for (const [run, says] of [
      ["completed", /^The run's output is not what was written/],
      ["failed", /^The run's error is not what was written/],
    ] as const) {
      const error = await failureOf(app.get(run));
      expect(error).toMatchObject({ code: "DAMAGED_JOURNAL", runId: run });
      expect(error.message).toMatch(says);
    }
    expect((await failureOf((await app.resume("completed")).result())).code).toBe("DAMAGED_JOURNAL");
    await app.shutdown();
    await store.close();
  });

  it("keeps no other run from being recovered", async () => {
    const path = newFile();
    const store = sqliteStore(path, { driver });
    const stop = workflow("stop", async () => {
      await step(work, "a");
      await step(() => new Promise(() => {}));
    });
    const first = new Stepmark({ store, workflows: [stop], drain: 0 });
    for (const each of ["one", "two", "three"]) {
      await first.start(stop, undefined, { id: each });
      while ((await store.entries(each)).length === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await first.shutdown();
    const connection = openDatabase(path, driver);
    const { number } = connection.prepare("SELECT number FROM runs WHERE id = 'two'").get() as Row;
    connection.exec(`UPDATE entries SET entry = replace(entry, 'stop', 'step') WHERE place >> 32 = ${number}`);
    connection.close();
    const app = new Stepmark({ store, workflows: [stop] });
    expect(await failureOf(app.recover())).toMatchObject({ code: "DAMAGED_JOURNAL", runId: "two" });
    for (const each of ["one", "three"]) expect((await store.read(each))?.owner).toBeDefined();
    expect((await app.list()).map((run) => run.id).sort()).toEqual(["one", "three", "two"]);
    await app.shutdown();
    await store.close();
  });
});

describe("a journal of a newer version", () => {
  /** A store whose journal is as another version would have written it. */
  const rewritten = async (change: (entries: Entry[]) => Entry[]): Promise<Store> => {
    const store = memoryStore();
    await waiting(store);
    return { ...store, entries: async (...args) => change(await store.entries(...args)) };
  };

  it.each<[name: string, change: (entries: Entry[]) => Entry[], code: string, says: RegExp]>([
    [
      "in its entries' format",
      (entries) => entries.map((entry) => ({ ...entry, format: 2 })),
      "NEWER_VERSION",
      /^Entry 1 of the journal has format 2, and this version of stepmark knows 1 \(run "run", key flow\/work\)\. Resume the run with the version that wrote it/,
    ],
    [
      "in a kind of entry",
      (entries) => entries.map((entry) => ({ ...entry, kind: "teleport" as "step" })),
      "DAMAGED_JOURNAL",
      /is of an unknown kind, "teleport"/,
    ],
    [
      "in a state",
      (entries) => entries.map((entry) => ({ ...entry, state: "skipped" as "done" })),
      "DAMAGED_JOURNAL",
      /is a step in the state "skipped", which no step has/,
    ],
    [
      "in what an outcome is",
      (entries) => entries.map(({ value, ...entry }) => entry),
      "DAMAGED_JOURNAL",
      /Entry 1 of the journal has no outcome/,
    ],
    ["without keys", (entries) => entries.map((entry) => ({ ...entry, key: "" })), "DAMAGED_JOURNAL", /has no key/],
    [
      "without names",
      (entries) => entries.map(({ name, ...entry }) => entry),
      "DAMAGED_JOURNAL",
      /is a wait without a name/,
    ],
    [
      "without times",
      (entries) => entries.map(({ due, ...entry }) => entry),
      "DAMAGED_JOURNAL",
      /is a timer without a time/,
    ],
    ["with a gap", (entries) => entries.filter(({ seq }) => seq !== 2), "DAMAGED_JOURNAL", /entry 3 where entry 2/],
  ])("%s: is refused before anything is written", async (_, change, code, says) => {
    const store = await rewritten(change);
    const before = await store.read(id);
    const app = new Stepmark({ store, workflows: [flow] });
    const error = await failureOf(app.resume(id));
    expect(error).toMatchObject({ code, runId: id });
    expect(error.message).toMatch(says);
    expect(ran).toEqual([]);
    expect(await store.read(id)).toEqual(before);
    await app.shutdown();
  });

  it.each(drivers)("in the tables of its file (%s): is refused by every call", async (driver) => {
    const path = newFile();
    const first = sqliteStore(path, { driver });
    await waiting(first);
    await first.close();
    const connection = openDatabase(path, driver);
    connection.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
    connection.close();
    const before = contents(path);
    const store = sqliteStore(path, { driver });
    const app = new Stepmark({ store, workflows: [flow] });
    for (const call of [app.resume(id), app.list(), app.start(flow, "a", { id: "other" })]) {
      const error = await failureOf(call);
      expect(error.code).toBe("NEWER_VERSION");
      expect(error.message).toMatch(/tables have version \d+, this one knows \d+\)\. Install that version/);
    }
    await app.shutdown();
    expect(contents(path)).toEqual(before);
  });

  it("in its values: a type that is not known is refused, and no body runs", async () => {
    const store = await rewritten((entries) =>
      entries.map((entry) => (entry.value ? { ...entry, value: '[["Matrix",1],[]]' } : entry)),
    );
    const app = new Stepmark({ store, workflows: [flow] });
    const error = await failureOf((await app.resume(id)).result());
    expect(error).toMatchObject({ code: "DECODE", runId: id, key: "flow/work" });
    expect(error.message).toMatch(/type "Matrix"/);
    expect(ran).toEqual([]);
    await app.shutdown();
  });
});

describe("a seal", () => {
  it("is of the text and of its place", () => {
    const sealed = seal('{"a":"ü"}', "entry", "run", 1);
    expect(sealed).toMatch(/^\{"a":"ü"\}#[0-9a-f]{8}$/);
    expect(unseal(sealed, "entry", "run", 1)).toBe('{"a":"ü"}');
    for (const place of [
      ["entry", "run", 2],
      ["entry", "rum", 1],
      ["entry", "run"],
      ["entry", "run,1"],
    ])
      expect(unseal(sealed, ...(place as string[]))).toBeUndefined();
    for (let i = 0; i < sealed.length; i++)
      expect(unseal(`${sealed.slice(0, i)}x${sealed.slice(i + 1)}`, "entry", "run", 1)).toBeUndefined();
    for (const not of ["", "#", "12345678", null, 7]) expect(unseal(not)).toBeUndefined();
    expect(unseal(seal("", "e"), "e")).toBe("");
  });
});
