/** A question between two steps, for tests that kill the processes of its run. */
import { appendFileSync } from "node:fs";
import { step, waitFor, workflow } from "stepmark";

export const approval = workflow("approval", async (name: string) => {
  const draft = await step(write, `draft of ${name}`);
  const answer = await waitFor<string>("ok", { payload: draft });
  return [answer, await step(write, `final ${name}`)];
});

/** Called when a body has begun, before it does anything that is recorded. */
export const begun: Array<(text: string) => Promise<void> | void> = [];

async function write(text: string): Promise<string> {
  appendFileSync("bodies.log", `${text}\n`);
  for (const each of begun) await each(text);
  return text;
}
