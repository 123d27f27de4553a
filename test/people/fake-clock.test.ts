/** `FakeClock` of `stepmark/testing`: days pass when a test says so, and in the order in which they would. */
import { memoryStore, now, Stepmark, sleep, step, waitFor, workflow } from "stepmark";
import { FakeClock } from "stepmark/testing";
import { expect, it, vi } from "vitest";

const hour = 3_600_000;

it("sleeps, backoffs, timeouts and `now` go by it, and nothing happens before its time", async () => {
  let attempts = 0;
  const remind = workflow("remind", async () => {
    const began = await now();
    await sleep("2 days");
    const mailed = await step({ retries: 2, backoff: "1h" }, async () => {
      if (++attempts < 3) throw new Error("no line");
      return attempts;
    });
    const answer = await waitFor<string>("answer", { timeout: "1 week" });
    return { mailed, answer, hours: ((await now()) - began) / hour };
  });
  const clock = new FakeClock(new Date("2026-01-01"));
  const app = new Stepmark({ store: memoryStore(), workflows: [remind], clock });
  const run = await app.start(remind);
  const result = run.result();
  await clock.advance("47h");
  expect({ attempts, ...(await run.settled()) }).toMatchObject({ attempts: 0, status: "waiting" });
  await clock.advance("2h");
  expect(attempts).toBe(2);
  await clock.advance("1h");
  expect((await run.settled()).waits).toMatchObject([{ name: "answer", due: Date.UTC(2026, 0, 10, 2) }]);
  await clock.advance("1 week");
  expect(await result).toEqual({ mailed: 3, answer: { timedOut: true }, hours: 50 + 7 * 24 });
  await app.shutdown();
});

it("moves on in one go over sleeps that follow each other, with fake timers in force too", async () => {
  vi.useFakeTimers();
  try {
    const days = workflow("days", async () => {
      const seen: number[] = [];
      for (let day = 0; day < 3; day++) {
        await sleep("1 day");
        seen.push(await now());
      }
      return seen;
    });
    const clock = new FakeClock();
    const app = new Stepmark({ store: memoryStore(), workflows: [days], clock });
    const run = await app.start(days);
    const result = run.result();
    await clock.advance("3 days");
    expect(await result).toEqual([24 * hour, 48 * hour, 72 * hour]);
    await app.shutdown();
  } finally {
    vi.useRealTimers();
  }
});
