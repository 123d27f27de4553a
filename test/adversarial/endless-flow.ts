/** Steps whose bodies wait for what only their own end could bring, and one that does not. */
import { step, waitFor, workflow } from "stepmark";

const itself = workflow("itself", async () => {
  const own: Promise<unknown> = step(async () => own);
  return own;
});

const eachOther = workflow("eachOther", async () => {
  const one: Promise<unknown> = step("one", async () => other);
  const other: Promise<unknown> = step("other", async () => one);
  return other;
});

const theirList = workflow("theirList", async () => {
  const all: Promise<unknown>[] = [];
  for (let i = 0; i < 3; i++) all.push(step("each", async () => Promise.all(all)));
  return Promise.all(all);
});

const nobody = workflow("nobody", async () => step(async () => new Promise(() => {})));

const answered = workflow("answered", async () => {
  const asked = step("asked", async () => waitFor("ok"));
  return step("told", async () => asked);
});

const raw = workflow("raw", async () => step(async () => new Promise((resolve) => setTimeout(resolve, 20, "done"))));

export const flows = { itself, eachOther, theirList, nobody, answered, raw };
