/** Workflows for workers, in this process and in others. What their bodies do stands in the database that `world` leads to. */
import { child, sleep, step, waitFor, workflow } from "stepmark";
import type { World } from "./world.js";

let world: World;

export function live(in_: World): void {
  world = in_;
}

async function note(text: string): Promise<string> {
  await world.note(text);
  return text;
}

/** Begins, and ends when the test says so. */
async function hold(name: string): Promise<string> {
  await world.note(`${name} begins`);
  await world.gate(name);
  await world.note(`${name} ends`);
  return name;
}

async function die(): Promise<void> {
  await world.note("dies");
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => {});
}

export const pair = workflow("pair", async (name: string) => [
  await step(note, `${name} 1`),
  await step(note, `${name} 2`),
]);

export const nap = workflow("nap", async (name: string) => {
  await step(note, `${name} before`);
  await sleep("1d");
  return step(note, `${name} after`);
});

export const ask = workflow("ask", async (name: string) => {
  const answer = await waitFor<string>("ok");
  return step(note, `${name} ${answer}`);
});

export const held = workflow("held", async (name: string) => {
  await step(note, `${name} first`);
  return step(hold, name);
});

export interface Order {
  customer: string;
  name: string;
}

export const fulfil = workflow("fulfil", async ({ name }: Order) => step(hold, name));

export const poison = workflow("poison", async () => {
  await step(note, "poison first");
  await step(die);
});

export const family = workflow("family", async (name: string) => {
  const [one, two] = await Promise.all([child(pair, `${name} a`), child(pair, `${name} b`)]);
  return [one, two];
});

export const stuck = workflow("stuck", async () => {
  await step(note, "stuck first");
  await new Promise(() => {});
});

export const workflows = [pair, nap, ask, held, fulfil, poison, family, stuck];
