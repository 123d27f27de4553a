import type { TaskContext } from "absurd-sdk";
import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

async function descend(context: TaskContext, depth: number): Promise<number> {
  if (depth === 0) return work(-1);
  return context.step(`level-${depth}`, async () => (await descend(context, depth - 1)) + 1);
}

async function grow(context: TaskContext, leaves: number): Promise<number> {
  if (leaves === 1) return context.step("work", () => work(0));
  const half = leaves >> 1;
  const [a, b] = await Promise.all([grow(context, half), grow(context, leaves - half)]);
  return a + b;
}

const flows = {
  async chain({ count }: FlowInputs["chain"], context: TaskContext) {
    entered();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await context.step("work", () => work(i));
    return left(sum);
  },
  async fans({ rounds, width }: FlowInputs["fans"], context: TaskContext) {
    entered();
    let sum = 0;
    for (let i = 0; i < rounds; i++) {
      const parts = await Promise.all(Array.from({ length: width }, (_, j) => context.step("work", () => work(j))));
      for (const part of parts) sum += part;
    }
    return left(sum);
  },
  async large({ bytes }: FlowInputs["large"], context: TaskContext) {
    entered();
    return left((await context.step("produce", () => produce(bytes))).length);
  },
  async nested({ depth }: FlowInputs["nested"], context: TaskContext) {
    entered();
    return left(await descend(context, depth));
  },
  async tree({ leaves }: FlowInputs["tree"], context: TaskContext) {
    entered();
    return left(await grow(context, leaves));
  },
  async waiting(_input: FlowInputs["waiting"], context: TaskContext) {
    entered();
    return left(await context.awaitEvent("never"));
  },
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
