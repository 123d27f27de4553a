import { DBOS } from "@dbos-inc/dbos-sdk";
import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

async function grow(leaves: number): Promise<number> {
  if (leaves === 1) return DBOS.runStep(() => work(0), { name: "work" });
  const half = leaves >> 1;
  const [a, b] = await Promise.all([grow(half), grow(leaves - half)]);
  return a + b;
}

const flows = {
  async chain({ count }: FlowInputs["chain"]) {
    entered();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await DBOS.runStep(() => work(i), { name: "work" });
    return left(sum);
  },
  async fans({ rounds, width }: FlowInputs["fans"]) {
    entered();
    let sum = 0;
    for (let i = 0; i < rounds; i++) {
      const parts = await Promise.all(
        Array.from({ length: width }, (_, j) => DBOS.runStep(() => work(j), { name: "work" })),
      );
      for (const part of parts) sum += part;
    }
    return left(sum);
  },
  async large({ bytes }: FlowInputs["large"]) {
    entered();
    return left((await DBOS.runStep(() => produce(bytes), { name: "produce" })).length);
  },
  async nested() {
    throw new Error("A step inside a step is not recorded");
  },
  async tree({ leaves }: FlowInputs["tree"]) {
    entered();
    return left(await grow(leaves));
  },
  async waiting() {
    entered();
    return left(await DBOS.recv("never", { timeoutSeconds: 86_400 }));
  },
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
