import { type BaseCheckpointSaver, entrypoint, interrupt, task } from "@langchain/langgraph";
import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

const workTask = task("work", work);
const produceTask = task("produce", produce);
const descend = task("descend", descent);

async function descent(depth: number): Promise<number> {
  return depth === 1 ? work(0) : (await descend(depth - 1)) + 1;
}

async function grow(leaves: number): Promise<number> {
  if (leaves === 1) return workTask(0);
  const half = leaves >> 1;
  const [a, b] = await Promise.all([grow(half), grow(leaves - half)]);
  return a + b;
}

const flows = {
  chain: (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "chain", checkpointer }, async ({ count }: FlowInputs["chain"]) => {
      entered();
      let sum = 0;
      for (let i = 0; i < count; i++) sum += await workTask(i);
      return left(sum);
    }),
  fans: (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "fans", checkpointer }, async ({ rounds, width }: FlowInputs["fans"]) => {
      entered();
      let sum = 0;
      for (let i = 0; i < rounds; i++) {
        const parts = await Promise.all(Array.from({ length: width }, (_, j) => workTask(j)));
        for (const part of parts) sum += part;
      }
      return left(sum);
    }),
  large: (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "large", checkpointer }, async ({ bytes }: FlowInputs["large"]) => {
      entered();
      return left((await produceTask(bytes)).length);
    }),
  nested: (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "nested", checkpointer }, async ({ depth }: FlowInputs["nested"]) => {
      entered();
      return left(await descend(depth));
    }),
  tree: (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "tree", checkpointer }, async ({ leaves }: FlowInputs["tree"]) => {
      entered();
      return left(await grow(leaves));
    }),
  waiting: (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "waiting", checkpointer }, async () => {
      entered();
      return left(interrupt("never") as unknown);
    }),
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
