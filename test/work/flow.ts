/** Workflows for workers; their bodies write down what they did. */
import { sleep, step, waitFor, workflow } from "stepmark";

export const done: string[] = [];

function note(text: string): string {
  done.push(text);
  return text;
}

export const pair = workflow("pair", async (name: string) => [await step(note, `${name} 1`), await step(note, `${name} 2`)]);

export const nap = workflow("nap", async (name: string) => {
  await step(note, `${name} before`);
  await sleep("1d");
  return step(note, `${name} after`);
});

export const ask = workflow("ask", async (name: string) => {
  const answer = await waitFor<string>("ok");
  return step(note, `${name} ${answer}`);
});
