/** Cases of two processes that have one run, with two real processes on Postgres. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { codec } from "stepmark";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { fingerprint } from "../../../runtime/journal/fingerprint.js";
import { KEY_SCHEME } from "../../../runtime/scope/key.js";
import { postgresStore } from "../../../runtime/stores/postgres.js";
import type { Store } from "../../../runtime/stores/store.js";
import { buildChild } from "../../support/build-child.js";
import { newSchema, removeSchemas, url } from "../database.js";

const id = "run";
let program: string;
let schema: string;
let store: Store;
const started: ChildProcess[] = [];

beforeAll(async () => {
  program = await buildChild("test/postgres/two-processes/process.ts");
});
beforeEach(() => {
  schema = newSchema();
  store = postgresStore(url, { schema, listen: false });
});
afterEach(async () => {
  for (const each of started.splice(0)) each.kill("SIGKILL");
  await store.close();
});
afterAll(removeSchemas);

interface Started {
  pid: number;
  /** What it says next. */
  says(): Promise<unknown>;
  go(): void;
  ended: Promise<unknown>;
}

/** A process that is up, and waits to be told to go. */
async function begin(workflow: string, what: "start" | "resume" | "usurp", holds = ""): Promise<Started> {
  const env = { ...process.env, HOLDS: holds };
  const child = spawn(process.execPath, [program, schema, workflow, what], { env, stdio: ["pipe", "pipe", "inherit"] });
  started.push(child);
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const says = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string);
  expect(await says()).toBe("up");
  return { pid: child.pid!, says, go: () => void child.stdin.write("go\n"), ended };
}

it("B78, C6: two processes recover one run at once: one owner, and both tell the one result that is stored", async () => {
  const first = await begin("b78", "start");
  first.go();
  await first.ended;
  const both = await Promise.all([begin("b78", "resume"), begin("b78", "resume")]);
  for (const each of both) each.go();
  const takings = await Promise.all(both.map((each) => each.says()));
  expect([...takings].sort()).toEqual(["RUN_OWNED", "owner"]);
  const results = await Promise.all(both.map((each) => each.says()));
  const { decode } = codec();
  const [ticket, ...others] = (await store.entries(id)).filter(({ kind }) => kind === "step");
  expect(others).toEqual([]);
  expect(results).toEqual([decode(ticket!.value!), decode(ticket!.value!)]);
  expect(decode((await store.read(id))!.output!)).toBe(results[0]);
  expect([first, ...both].map(({ pid }) => pid)).toContain(results[0]);
});

it("B79, I8: a process that lost the run writes nothing more; a2 and b2 have keys of their own", async () => {
  // A run that nobody has begun yet.
  const input = codec().encode(undefined);
  const workflow = "b79";
  await store.create({ id, workflow, input, inputPrint: fingerprint([undefined]), scheme: KEY_SCHEME, createdAt: 1 });
  const x = await begin("b79", "resume", "b1");
  x.go();
  expect(await x.says()).toBe("owner");
  expect(await sayings(x, 3)).toEqual(["begin a1", "begin b1", "begin a2"]);
  await recorded("a2");
  const y = await begin("b79", "usurp", "b2");
  y.go();
  expect(await y.says()).toBe("owner");
  expect(await sayings(y, 2)).toEqual(["begin b1", "begin b2"]);
  // Both go on: the first with b1, the second with b2.
  x.go();
  expect(await x.says()).toBe("STALE_OWNER");
  y.go();
  expect(await y.says()).toEqual(["A2", "B2"]);
  const whole = ["b79/fn()/a1 done", "b79/fn()/a2 done", "b79/fn~1()/b1 done", "b79/fn~1()/b2 done"];
  expect(await journal()).toEqual(whole);
  // A third, clean pass.
  const third = await begin("b79", "resume");
  third.go();
  expect([await third.says(), await third.says()]).toEqual(["owner", ["A2", "B2"]]);
  expect(await journal()).toEqual(whole);
});

async function sayings(of: Started, count: number): Promise<unknown[]> {
  const all: unknown[] = [];
  while (all.length < count) all.push(await of.says());
  return all;
}

async function journal(): Promise<string[]> {
  return (await store.entries(id)).map(({ key, state }) => `${key} ${state}`);
}

async function recorded(step: string): Promise<void> {
  while (!(await journal()).some((each) => each === `b79/fn()/${step} done`));
}
