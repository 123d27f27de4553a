/** `app.follow`: a run by its id, without its input, and without taking it over. */
import { memoryStore, Stepmark, step, waitFor, workflow } from "stepmark";
import { expect, it } from "vitest";

const ask = workflow("ask", async (who: string) => {
  const answer = await waitFor<number>("answer");
  if (answer < 0) throw new Error("too little");
  return step(async () => `${who}: ${answer}`);
});

it("tells of a run that another app drives, and leaves it there", async () => {
  const store = memoryStore();
  const [here, there] = [new Stepmark({ store, workflows: [ask] }), new Stepmark({ store })];
  const run = await here.start(ask, "Ann", { id: "run" });
  const followed = await there.follow<string>("run");
  expect(await followed.settled()).toMatchObject({ status: "waiting", waits: [{ name: "answer" }] });
  const result = followed.result();
  await there.answer("run", "answer", 7);
  expect(await result).toBe("Ann: 7");
  expect(await run.result()).toBe("Ann: 7");
  await Promise.all([here.shutdown(), there.shutdown()]);
});

it("tells of a run that has ended, of one that this app drives, and not of one that is not there", async () => {
  const app = new Stepmark({ store: memoryStore(), workflows: [ask] });
  const run = await app.start(ask, "Bob");
  const followed = await app.follow(run.id);
  await app.answer(run.id, "answer", -1);
  await expect(followed.result()).rejects.toThrow("too little");
  await expect((await app.follow(run.id)).result()).rejects.toThrow("too little");
  await expect(app.follow("nobody")).rejects.toMatchObject({ code: "RUN_NOT_FOUND", runId: "nobody" });
  await app.shutdown();
});
