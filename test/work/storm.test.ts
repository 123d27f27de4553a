/** A short storm; `npm run storm:workers` is the long one. */
import { afterAll, expect, it } from "vitest";
import { newSchema, removeSchemas, url } from "../postgres/database.js";
import { buildChild } from "../support/build-child.js";
import { storm } from "../workerstorm/storm.js";

afterAll(removeSchemas);

it("two workers of which one is killed again and again: every run ends, nothing is wrong, repeated or owned twice", async () => {
  const worker = await buildChild("test/workerstorm/worker.ts");
  const size = { workers: 2, runs: 150, steps: 10, concurrency: 5, killEachRuns: 40 };
  const outcome = await storm({ url, schema: newSchema(), worker, ...size });
  expect(outcome).toMatchObject({ unfinished: [], wrong: [], repeated: [], ownedTwice: [] });
  expect(outcome.executions).toBe(150 * 10 + outcome.cut);
  expect(outcome.kills).toBeGreaterThan(0);
}, 120_000);
