/** The workflow of the storm: steps one by one, some at once, then one by one again; each says in its result who made it. */
import { step, workflow } from "stepmark";
import { write } from "./ledger.js";

export interface Input {
  name: string;
  steps: number;
}

/** What a body returns. */
export interface Made {
  run: string;
  step: number;
  /** Follows from the value before, so that a value of another call would be found out. */
  value: number;
  /** Of this execution alone. */
  nonce: string;
}

export function next(value: number, step: number): number {
  return (value * 31 + step + 7) % 1_000_003;
}

function body(run: string, step: number, before: number): Made {
  const nonce = write(run, step);
  return { run, step, value: next(before, step), nonce };
}

/** How many of a run's steps go at once, in its middle. */
export function atOnce(steps: number): number {
  return Math.min(5, steps);
}

export const chain = workflow("chain", async ({ name, steps }: Input) => {
  const made: Made[] = [];
  const before = Math.floor((steps - atOnce(steps)) / 2);
  for (let n = 0; n < before; n++) made.push(await step(body, name, n, made.at(-1)?.value ?? 0));
  const last = made.at(-1)?.value ?? 0;
  const some = Array.from({ length: atOnce(steps) }, (_, index) => before + index);
  made.push(...(await Promise.all(some.map((n) => step(body, name, n, last)))));
  for (let n = made.length; n < steps; n++) made.push(await step(body, name, n, made.at(-1)!.value));
  return made;
});
