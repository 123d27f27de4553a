/** People in the loop with real processes on one SQLite file: killed at each point of a question's life, and competing. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Entry, Stepmark, type Store } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildChild } from "../support/build-child.js";
import { approval } from "./approval-flow.js";

let program: string;
let folder: string;
let store: Store;
const started = new Set<ChildProcess>();

beforeAll(async () => {
  program = await buildChild("test/people/process.ts");
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stepmark-people-"));
  store = sqliteStore(join(folder, ".stepmark/runs.db"));
});

afterEach(async () => {
  for (const each of started) each.kill("SIGKILL");
  started.clear();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  lines: AsyncIterator<string>;
  go(): void;
  kill(): void;
  ended: Promise<NodeJS.Signals | null>;
}

function begin(...args: string[]): Started {
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  started.add(child);
  const ended = once(child, "close").then(([, signal]) => signal as NodeJS.Signals | null);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { lines, go: () => void child.stdin.write("go\n"), kill: () => void child.kill("SIGKILL"), ended };
}

/** @returns the last line that it prints; undefined if it was killed */
async function run(...args: string[]): Promise<string | undefined> {
  const { lines, ended } = begin(...args);
  let last: string | undefined;
  for (let line = await lines.next(); !line.done; line = await lines.next()) last = line.value;
  return (await ended) === "SIGKILL" ? undefined : last;
}

function bodies(): string[] {
  return readFileSync(join(folder, "bodies.log"), "utf8").split("\n").slice(0, -1);
}

function states(entries: readonly Entry[]): string[] {
  return entries.map(({ kind, state }) => `${kind} ${state}`);
}

describe("a process that ends by itself", () => {
  const drive = (id: string): { stderr: string; status: number | null } =>
    spawnSync(process.execPath, [program, "drive", id], { cwd: folder, encoding: "utf8", input: "" });

  it("says that a result is awaited which an answer has to bring, and says nothing once it has come", async () => {
    const waiting = drive("a");
    expect(waiting.status).toBe(13);
    expect(waiting.stderr).toContain(
      '[RESULT_PENDING] StepmarkWarning: This process ends while `result()` of run "a" is awaited',
    );
    await run("answer", "a", "yes");
    expect(drive("a")).toMatchObject({ status: 0, stderr: "" });
  });
});

/** A run's journal from its first step to its last, whatever was killed on the way. */
const whole = ["step done", "wait open", "wait done", "step done"];

describe("a run whose processes are killed", () => {
  /** Where each process dies: those before the answer is given, and those after it. */
  const deaths: Array<[before: string[], after: string[]]> = [
    [["step.completed", "run.waiting"], []],
    [["wait.opened"], []],
    [["run.waiting"], []],
    [["run.waiting"], ["wait.answered"]],
    [["run.waiting"], ["final a"]],
    [["run.waiting"], ["step.completed"]],
    [
      ["step.completed", "wait.opened", "run.waiting", "run.waiting"],
      ["wait.answered", "final a", "final a", "step.completed"],
    ],
  ];
  const named = deaths.map(
    ([before, after]) => [before.join(", "), after.join(", ") || "nothing", before, after] as const,
  );
  it.each(named)("at %s, then, answered, at %s: asks once and takes one answer", async (_b, _a, before, after) => {
    for (const at of before) expect(await run("drive", "a", at)).toBeUndefined();
    expect(await run("answer", "a", "yes")).toBe("taken");
    expect(await run("answer", "a", "no")).toBe("ANSWER");
    for (const at of after) expect(await run("drive", "a", at)).toBeUndefined();
    expect(await run("drive", "a")).toBe('["yes","final a"]');
    expect(states(await store.entries("a"))).toEqual(whole);
    const cut = after.filter((at) => at === "final a").length;
    expect(bodies()).toEqual(["draft of a", ...Array.from({ length: cut + 1 }, () => "final a")]);
  });
});

/** Brings runs to their questions and gives them up. */
async function ask(ids: readonly string[]): Promise<void> {
  const app = new Stepmark({ store, workflows: [approval] });
  const cwd = process.cwd();
  process.chdir(folder);
  try {
    for (const id of ids) await (await app.start(approval, id, { id })).settled();
    await app.shutdown();
  } finally {
    process.chdir(cwd);
  }
}

/** When a run has ended, whoever brought it there. */
async function ended(app: Stepmark, id: string): Promise<unknown> {
  for await (const event of app.events(id)) if (event.type === "run.completed") return event.value;
  throw new Error(`${id} has not completed`);
}

function counted(texts: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}

it("two processes answer at once: one answer of each run is taken, the other process gets an error", async () => {
  const ids = Array.from({ length: 25 }, (_, index) => String(index));
  await ask(ids);
  const racers = ["one", "two"].map((value) => begin("race", String(ids.length), value));
  for (const { lines } of racers) await lines.next();
  for (const { go } of racers) go();
  const [one, two] = await Promise.all(
    racers.map(async ({ lines }) => JSON.parse((await lines.next()).value as string) as string[]),
  );
  const app = new Stepmark({ store, workflows: [approval] });
  for (const [index, id] of ids.entries()) {
    expect([one![index], two![index]].sort()).toEqual(["ANSWER", "taken"]);
    const messages = await store.inbox(id);
    expect(messages.map(({ value }) => JSON.parse(value))).toEqual([[one![index] === "taken" ? "one" : "two"]]);
  }
  await app.shutdown();
});

it("I8: two processes that go on with whatever is answered: each run goes on once, though one of them is killed", async () => {
  const ids = Array.from({ length: 30 }, (_, index) => `run ${index}`);
  await ask(ids);
  const workers = [begin("work"), begin("work")];
  for (const { lines } of workers) await lines.next();
  const app = new Stepmark({ store, workflows: [] });
  for (const id of ids.slice(0, 15)) await app.answer(id, "ok", `yes to ${id}`);
  await Promise.all(ids.slice(0, 15).map((id) => ended(app, id)));
  workers[0]!.kill();
  for (const id of ids.slice(15)) await app.answer(id, "ok", `yes to ${id}`);
  const outputs = await Promise.all(ids.map((id) => ended(app, id)));
  expect(outputs).toEqual(ids.map((id) => [`yes to ${id}`, `final ${id}`]));
  workers[1]!.go();
  await workers[1]!.ended;
  await app.shutdown();
  for (const id of ids) expect(states(await store.entries(id)), id).toEqual(whole);
  const counts = counted(bodies());
  // What the killed process had in hand may have begun twice; everything else was done once.
  for (const id of ids.slice(0, 15)) expect(counts[`final ${id}`], id).toBe(1);
  expect(ids.slice(15).filter((id) => counts[`final ${id}`] !== 1).length).toBeLessThanOrEqual(1);
}, 60_000);
