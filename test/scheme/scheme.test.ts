/**
 * Journals of this key scheme can be replayed for as long as `KEY_SCHEME` is what it is. What an earlier build recorded is
 * kept here as a file; if this test fails, the change breaks runs in flight: undo it, or raise the scheme (or the journal's
 * format) and record anew, with `RECORD=1 npx vitest run test/scheme`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { type AnyWorkflow, type Entry, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import { describe, expect, it } from "vitest";
import { KEY_SCHEME } from "../../runtime/scope/key.js";
import { build } from "../support/build.js";

const id = "run";
const file = new URL(`./scheme-${KEY_SCHEME}.jsonl`, import.meta.url);
const source = readFileSync(new URL("./flow.ts", import.meta.url), "utf8");
const flow = (): AnyWorkflow => build(source, { path: "test/scheme/flow.ts" }).every as AnyWorkflow;

async function record(workflow: AnyWorkflow): Promise<{ app: Stepmark; store: MemoryStore; output: unknown }> {
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [workflow] });
  const run = await app.start(workflow, { items: ["a", "b"] }, { id });
  await app.answer(id, "approve", true);
  return { app, store, output: await run.result() };
}

async function kept(): Promise<MemoryStore> {
  const store = memoryStore();
  await new Stepmark({ store }).import(readFileSync(file, "utf8"));
  return store;
}

/** What a replay goes by, in an order that time has no part in. */
const identities = (entries: readonly Entry[]): unknown[] =>
  entries
    .map(({ key, kind, state, args, chain, within, caller, site }) => {
      const { container, anchor, text, own } = site ?? {};
      return { key, kind, state, args, chain, within, caller, container, anchor, text, own };
    })
    .sort((a, b) => (a.key === b.key ? a.state.localeCompare(b.state) : a.key < b.key ? -1 : 1));

describe(`key scheme ${KEY_SCHEME}`, () => {
  it.runIf(process.env.RECORD)("is recorded", async () => {
    // Stacks name the folders of a machine, and have no part in a replay.
    Error.stackTraceLimit = 0;
    const { app } = await record(flow());
    let text = "";
    for await (const line of app.export(id, { children: true })) text += line;
    writeFileSync(file, text);
  });

  it("spells every key, chain and fingerprint as it did", async () => {
    const { store } = await record(flow());
    expect(identities(await store.entries(id))).toEqual(identities(await (await kept()).entries(id)));
  });

  it("goes on with a run that an earlier build recorded, after any number of entries", async () => {
    const store = await kept();
    const output = (await new Stepmark({ store }).get(id)).output;
    const { length } = await store.entries(id);
    expect(length).toBeGreaterThan(40);
    const workflow = flow();
    for (const left of [length, length - 1, Math.floor(length / 2), 1]) {
      const fork = store.fork(id, left);
      const before = await fork.entries(id);
      const app = new Stepmark({ store: fork, workflows: [workflow] });
      const run = await app.resume(id);
      if (!before.some(({ kind, state }) => kind === "wait" && state === "done"))
        await app.answer(id, "approve", true).catch(() => {});
      expect(await run.result(), `after ${left} entries`).toEqual(output);
      expect((await fork.entries(id)).slice(0, left)).toEqual(before);
      expect((await app.get(id)).orphans).toEqual([]);
    }
  });
});
