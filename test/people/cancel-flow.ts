/** A workflow that does not end by itself, and whose body says why it was told to. */
import { appendFileSync } from "node:fs";
import { step, stepContext, workflow } from "stepmark";

/** Called when the body has begun. */
export const begun: Array<() => void> = [];

export const held = workflow("held", async () => {
  await step(first);
  return step(hold);
});

async function first(): Promise<string> {
  return "first";
}

async function hold(): Promise<void> {
  const { signal } = stepContext();
  appendFileSync("bodies.log", "begun\n");
  for (const each of begun) each();
  // Something that a living process has to do.
  const busy = setInterval(() => {}, 1_000);
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      appendFileSync("bodies.log", `${(signal.reason as { code: string }).code}\n`);
      resolve();
    });
  });
  clearInterval(busy);
}
