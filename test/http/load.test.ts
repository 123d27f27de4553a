/** Many runs and many streams on one server: nothing is lost, nothing comes twice, and memory stays bounded. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { publish, Stepmark, step, waitFor, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { afterEach, expect, it, vi } from "vitest";
import { ask, type Frame, frames, served } from "./server.js";

const runs = 2_000;
const streams = 500;

const flow = workflow("flow", async (n: number) => {
  const parts = await Promise.all(["a", "b", "c"].map((part) => step(async () => `${part}${n}`)));
  await publish("parts", parts);
  const answer = await waitFor<number>("go", { payload: n });
  return [...parts, await step(async () => answer + n)];
});

/** The events of a run, by their numbers where they have one; the run may have waited for more than the answer. */
const expected = ["run.started", 1, 2, 3, 4, 5, 6, 7, "run.completed"];

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

it(`${runs} runs, ${streams} streams at a time: each stream gets all events of its run, in order, once`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "stepmark-load-"));
  const store = sqliteStore(join(folder, "runs.db"), { synchronous: "NORMAL" });
  const app = new Stepmark({ store, workflows: [flow], http: { authorize: () => true } });
  const at = await served(app.fetch);
  closing.push(
    at.close,
    () => app.shutdown(),
    () => store.close(),
    () => rmSync(folder, { recursive: true, force: true }),
  );
  const url = `${at.url}/runs`;
  const listen = vi.spyOn(app, "events");
  const before = heap();
  let open = 0;
  let allAreOpen!: () => void;
  const together = new Promise<void>((resolve) => {
    allAreOpen = resolve;
  });

  const follow = async (n: number): Promise<void> => {
    const { status, body } = await ask("POST", url, { workflow: "flow", input: n });
    expect(status).toBe(201);
    const stream = await frames(`${url}/${body.id}/events`);
    const seen: Frame[] = [];
    for await (const frame of stream) {
      if (frame.event === undefined || frame.event === "run.waiting") continue;
      seen.push(frame);
      if (frame.event !== "wait.opened") continue;
      // The first ones wait for each other, so that all of them are open at one time.
      if (++open === streams) allAreOpen();
      await together;
      const answered = await ask("POST", `${url}/${body.id}/answers`, { wait: "go", value: 1 });
      expect(answered.status).toBe(200);
    }
    expect(seen.map(({ event, data }) => data.seq ?? event)).toEqual(expected);
    expect(seen.every(({ data }) => data.runId === body.id)).toBe(true);
    expect(seen.at(-1)!.data.value).toEqual([`a${n}`, `b${n}`, `c${n}`, n + 1]);
  };

  const work = Array.from({ length: runs }, (_, n) => n).values();
  const takeTurns = async (): Promise<void> => {
    for (const n of work) await follow(n);
  };
  const all = Promise.all(Array.from({ length: streams }, takeTurns));
  const idle = together.then(heap);
  await all;
  expect(listen).toHaveBeenCalledTimes(runs);
  const { body } = await ask("GET", `${url}?status=completed&limit=1000`);
  expect(body.runs).toHaveLength(1_000);
  listen.mockRestore();
  // Both ends of the connections are in this process, and 500 runs.
  expect(((await idle) - before) / streams).toBeLessThan(200 * 1024);
  // What is left of 2,000 runs and as many streams.
  await expect.poll(() => (heap() - before) / 1024 / 1024, { timeout: 10_000 }).toBeLessThan(40);
}, 90_000);
