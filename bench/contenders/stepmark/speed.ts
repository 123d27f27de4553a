import { step, waitFor, workflow } from "stepmark";
import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

async function descend(depth: number): Promise<number> {
  return depth === 1 ? work(0) : (await step(descend, depth - 1)) + 1;
}

async function grow(leaves: number): Promise<number> {
  if (leaves === 1) return step(work, 0);
  const half = leaves >> 1;
  const [a, b] = await Promise.all([grow(half), grow(leaves - half)]);
  return a + b;
}

export const flows = {
  chain: workflow("chain", async ({ count }: FlowInputs["chain"]) => {
    entered();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await step(work, i);
    return left(sum);
  }),
  fans: workflow("fans", async ({ rounds, width }: FlowInputs["fans"]) => {
    entered();
    let sum = 0;
    for (let i = 0; i < rounds; i++) {
      const parts = await Promise.all(Array.from({ length: width }, async (_, j) => step(work, j)));
      for (const part of parts) sum += part;
    }
    return left(sum);
  }),
  large: workflow("large", async ({ bytes }: FlowInputs["large"]) => {
    entered();
    return left((await step(produce, bytes)).length);
  }),
  nested: workflow("nested", async ({ depth }: FlowInputs["nested"]) => {
    entered();
    return left(await step(descend, depth));
  }),
  tree: workflow("tree", async ({ leaves }: FlowInputs["tree"]) => {
    entered();
    return left(await grow(leaves));
  }),
  waiting: workflow("waiting", async () => {
    entered();
    return left(await waitFor("never"));
  }),
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
