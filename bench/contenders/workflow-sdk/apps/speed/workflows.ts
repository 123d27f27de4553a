import { createHook } from "workflow";
import * as marks from "../../../../speed/marks.js";
import type { FlowInputs } from "../../../../speed/workloads.js";

async function work(x: number): Promise<number> {
  "use step";
  return marks.work(x);
}

async function produce(bytes: number): Promise<string> {
  "use step";
  return marks.produce(bytes);
}

export async function chain({ count }: FlowInputs["chain"]) {
  "use workflow";
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await work(i);
  return sum;
}

export async function fans({ rounds, width }: FlowInputs["fans"]) {
  "use workflow";
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    const parts = await Promise.all(Array.from({ length: width }, (_, j) => work(j)));
    for (const part of parts) sum += part;
  }
  return sum;
}

export async function large({ bytes }: FlowInputs["large"]) {
  "use workflow";
  return (await produce(bytes)).length;
}

export async function tree({ leaves }: FlowInputs["tree"]) {
  "use workflow";
  return grow(leaves);
}

async function grow(leaves: number): Promise<number> {
  if (leaves === 1) return work(0);
  const half = leaves >> 1;
  const [a, b] = await Promise.all([grow(half), grow(leaves - half)]);
  return a + b;
}

export async function waiting({ token }: { token: string }) {
  "use workflow";
  return await createHook<null>({ token });
}
