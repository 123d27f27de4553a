import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine, type Step } from "./engine.js";

async function descend(step: Step, depth: number): Promise<number> {
  if (depth === 0) return work(-1);
  return step.run({ name: `level-${depth}` }, async () => (await descend(step, depth - 1)) + 1);
}

async function grow(step: Step, leaves: number): Promise<number> {
  if (leaves === 1) return step.run({ name: "work" }, () => work(0));
  const half = leaves >> 1;
  const [a, b] = await Promise.all([grow(step, half), grow(step, leaves - half)]);
  return a + b;
}

const flows = {
  async chain({ input: { count }, step }: { input: FlowInputs["chain"]; step: Step }) {
    entered();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await step.run({ name: "work" }, () => work(i));
    return left(sum);
  },
  async fans({ input: { rounds, width }, step }: { input: FlowInputs["fans"]; step: Step }) {
    entered();
    let sum = 0;
    for (let i = 0; i < rounds; i++) {
      const parts = await Promise.all(
        Array.from({ length: width }, (_, j) => step.run({ name: "work" }, () => work(j))),
      );
      for (const part of parts) sum += part;
    }
    return left(sum);
  },
  async large({ input: { bytes }, step }: { input: FlowInputs["large"]; step: Step }) {
    entered();
    return left((await step.run({ name: "produce" }, () => produce(bytes))).length);
  },
  async nested({ input: { depth }, step }: { input: FlowInputs["nested"]; step: Step }) {
    entered();
    return left(await descend(step, depth));
  },
  async tree({ input: { leaves }, step }: { input: FlowInputs["tree"]; step: Step }) {
    entered();
    return left(await grow(step, leaves));
  },
  async waiting({ step }: { step: Step }) {
    entered();
    return left(await step.waitForSignal({ signal: "never", timeout: "1y" }));
  },
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
