/** `app.list`: by pages, whatever the store. */
import { memoryStore, Stepmark, waitFor, workflow } from "stepmark";
import { expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";

it("the last run of a page leads to the next, and none comes twice while others begin and end", async () => {
  const ask = workflow("ask", async (_: number) => waitFor<string>("ok"));
  const clock = new FakeClock();
  const app = new Stepmark({ store: memoryStore(), workflows: [ask], clock });
  const begin = async (n: number): Promise<void> => {
    await (await app.start(ask, n, { id: `run-${n}` })).settled();
    if (n % 2 === 1) await clock.advance(1);
  };
  for (let n = 0; n < 7; n++) await begin(n);
  const seen: string[] = [];
  let next = 7;
  let page = await app.list({ status: "waiting", limit: 2 });
  while (page.length > 0) {
    seen.push(...page.map(({ id }) => id));
    expect(page.every(({ waits }) => waits[0]!.name === "ok")).toBe(true);
    await begin(next++);
    await app.answer(page.at(-1)!.id, "ok", "yes");
    await app.follow(page.at(-1)!.id).then((run) => run.result());
    page = await app.list({ status: "waiting", limit: 2, after: page.at(-1)!.id });
  }
  expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `run-${n}`));
  expect((await app.list({ order: "oldest", limit: 3 })).map(({ id }) => id)).toEqual(["run-0", "run-1", "run-2"]);
  await app.shutdown();
});

it("is refused after a run that is not there, and in an order that is none", async () => {
  const app = new Stepmark({ store: memoryStore() });
  await expect(app.list({ after: "nobody" })).rejects.toMatchObject({ code: "RUN_NOT_FOUND", runId: "nobody" });
  await expect(app.list({ order: "age" as "oldest" })).rejects.toThrow(
    /`order` must be "newest" or "oldest", not "age"/,
  );
  await app.shutdown();
});
