/** What an attacker may choose never becomes a part of a statement, and what Postgres cannot keep is refused or kept without a loss. */
import { Client } from "pg";
import { Stepmark, step, waitFor, workflow } from "stepmark";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../runtime/errors.js";
import { postgresStore } from "../../runtime/stores/postgres.js";
import type { Store } from "../../runtime/stores/store.js";
import { dead, entry, lease, newRun, owned, owner } from "../stores/behaviour.js";
import { newSchema, removeSchemas, url } from "./database.js";

const open: Store[] = [];
const storeIn = (schema: string): Store => {
  const store = postgresStore(url, { schema, listen: false });
  open.push(store);
  return store;
};
const client = new Client(url);
beforeAll(() => client.connect());
afterEach(async () => {
  await Promise.all(open.splice(0).map((store) => store.close()));
});
afterAll(async () => {
  await client.end();
  await removeSchemas();
});

/** A table that a statement smuggled in would drop. */
const bait = newSchema();
beforeAll(async () => {
  await client.query(`CREATE SCHEMA ${bait}; CREATE TABLE ${bait}.t AS SELECT 1`);
});
afterEach(async () => {
  expect((await client.query(`SELECT * FROM ${bait}.t`)).rows).toHaveLength(1);
});

const attacks = [
  `'; DROP SCHEMA ${bait} CASCADE; --`,
  `"; DROP SCHEMA ${bait} CASCADE; --`,
  `\\'; DROP SCHEMA ${bait} CASCADE; --`,
  `$$; DROP SCHEMA ${bait} CASCADE; $$`,
  `E'\\''; DROP SCHEMA ${bait} CASCADE; --`,
  `{"a","b"}`,
  `\\N`,
  "$1",
  "%s%n",
  "NULL",
];
const texts = [
  ...attacks,
  "\0",
  "a\0b\u0001c",
  "\u00010000",
  "\ud800",
  "x\udc00y\ud83d",
  "\u2028\ufeff\u202e",
  "\r\n\t\b",
];

describe("a schema's name", () => {
  it.each(attacks.map((attack) => `${attack}`.replace(` SCHEMA ${bait} CASCADE`, ` TABLE ${bait}.t`).slice(-63)))(
    "%j is a name and no statement",
    async (attack) => {
      const name = `${newSchema()}${attack}`.slice(0, 63);
      const store = storeIn(name);
      await store.append("r", await owned(store, "r"), [entry(1)]);
      expect(await store.entries("r")).toEqual([entry(1)]);
      const found = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [name]);
      expect(found.rows).toHaveLength(1);
    },
  );

  it.each([
    "",
    "x".repeat(64),
    "ü".repeat(32),
    "x".repeat(1_000_000),
    "a\0b",
    "a\nb",
    "\u0001",
    "\ud800",
    "pg_temp",
    "pg_catalog",
  ])("%j is refused before anything is connected", (name) => {
    expect(() => postgresStore("postgres://nowhere.invalid/x", { schema: name })).toThrow(InvalidArgumentError);
  });
});

describe("ids, keys and values", () => {
  it.each(texts)("%j is kept as it is, wherever a text can stand", async (text) => {
    const store = storeIn(`${newSchema.prefix}hostile`);
    const run = newRun(text, { workflow: text, input: text, inputPrint: text, parent: { id: text, key: text } });
    await store.delete(text);
    expect(await store.create(run)).toMatchObject({ created: true, run });
    const claim = await store.claim(text, { token: text, host: text, pid: 1, processStart: text }, dead, lease);
    expect(claim).toMatchObject({ claimed: true, run });
    const details = { key: text, name: text, args: text, value: text, within: text };
    const change = { output: text, error: text, culprits: [text], orphans: [text], edited: [text] };
    await store.append(text, 1, [entry(1, details)], { ...change, wake: { run: text, target: text, at: 1 } });
    expect(await store.entries(text)).toEqual([entry(1, details)]);
    expect(await store.read(text)).toMatchObject({ ...run, ...change });
    await store.post(text, { target: text, value: text, at: 2 });
    expect((await store.inbox(text)).map(({ target, value }) => [target, value])).toEqual([
      [text, ""],
      [text, text],
    ]);
    expect((await store.list({ workflow: text })).map(({ id }) => id)).toEqual([text]);
    expect(await store.renew(new Map([[text, 1]]), lease)).toEqual([]);
    // A number too high, and it would have changed another run's record.
    await expect(store.append(text, 2, [entry(2)])).rejects.toMatchObject({ code: "STALE_OWNER", runId: text });
  });

  it("of a workflow come back from it live and on a resume, through every call that names something", async () => {
    const schema = newSchema();
    const asking = workflow("hostile", async (input: string[]) => {
      const seen: string[] = [];
      for (const [index, text] of input.entries()) seen.push(await step({ key: `${index}${text}` }, async () => text));
      seen.push(await waitFor<string>("ok?"));
      return seen;
    });
    const app = new Stepmark({ store: storeIn(schema), workflows: [asking] });
    const id = attacks.join();
    await (await app.start(asking, texts, { id })).settled();
    await app.shutdown();
    const other = new Stepmark({ store: storeIn(schema), workflows: [asking] });
    await other.answer(id, "ok?", attacks[0]);
    expect(await (await other.resume(id)).result()).toEqual([...texts, attacks[0]]);
    await other.shutdown();
  });

  it("too large for the server is refused with a cure, and what was written with it is not lost", async () => {
    const store = storeIn(newSchema());
    const [a, b] = [await owned(store, "a"), await owned(store, "b")];
    // As `jsonb`, a text ends at 256 MB.
    const huge = "x".repeat(270_000_000);
    const results = await Promise.allSettled([
      store.append("a", a, [entry(1)]),
      store.append("b", b, [entry(1)], { status: "completed", output: huge }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject({
      code: "STORE",
      runId: "b",
      message: expect.stringMatching(/Keep large values elsewhere/),
    });
    expect(await store.entries("a")).toEqual([entry(1)]);
    expect([await store.entries("b"), (await store.read("b"))!.status]).toEqual([[], "running"]);
    expect(await store.claim("b", owner("c"), () => false, lease)).toMatchObject({ claimed: false });
  });
});
