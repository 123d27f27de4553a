/**
 * Pages that are loaded and rendered at once (B4), two workers that take images from one queue (B6), and a body that ends only when it
 * is told to: the bodies run on Restate.
 */
import { appendFileSync } from "node:fs";
import { step, stepContext, workflow } from "stepmark";

/** Leaves a line that says that this body ran, in this process, whichever that is. */
function note(label: string): void {
  appendFileSync(process.env.BODIES!, `${label}\n`);
}

async function load(run: string, page: string): Promise<string> {
  note(`${run} load ${page}`);
  return `text of ${page}`;
}

async function render(run: string, text: string): Promise<string> {
  note(`${run} render ${text.at(-1)}`);
  return `<p>${text}</p>`;
}

async function shrink(run: string, image: string): Promise<string> {
  note(`${run} shrink ${image}`);
  return `small ${image}`;
}

async function hold(run: string): Promise<void> {
  const { signal } = stepContext();
  note(`${run} begins`);
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  note(`${run} is told to end`);
}

/** By these names both sides know them. */
export const functions = { load, render, shrink, hold };

export interface Input {
  run: string;
  items: string[];
}

export const publishPages = workflow("publish-pages", async ({ run, items }: Input) =>
  Promise.all(items.map(async (page) => step(render, run, await step(load, run, page)))),
);

export const holdOn = workflow("hold-on", async (run: string) => step(hold, run));

export const shrinkImages = workflow("shrink-images", async ({ run, items }: Input) => {
  const queue = [...items];
  const results: Record<string, string> = {};
  const worker = async (): Promise<void> => {
    for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
      results[image] = await step(shrink, run, image);
    }
  };
  await Promise.all([worker(), worker()]);
  return items.map((image) => results[image]);
});
