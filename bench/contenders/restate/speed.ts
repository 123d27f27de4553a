import { RestatePromise, type WorkflowContext } from "@restatedev/restate-sdk";
import { entered, left, produce, work } from "../../measure/marks.js";
import type { FlowInputs, Flows } from "../../measure/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

const flows = {
  async chain(context: WorkflowContext, { count }: FlowInputs["chain"]) {
    entered();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await context.run("work", () => work(i));
    return left(sum);
  },
  async fans(context: WorkflowContext, { rounds, width }: FlowInputs["fans"]) {
    entered();
    let sum = 0;
    for (let i = 0; i < rounds; i++) {
      const parts = await RestatePromise.all(
        Array.from({ length: width }, (_, j) => context.run("work", () => work(j))),
      );
      for (const part of parts) sum += part;
    }
    return left(sum);
  },
  async large(context: WorkflowContext, { bytes }: FlowInputs["large"]) {
    entered();
    return left((await context.run("produce", () => produce(bytes))).length);
  },
  async nested() {
    throw new Error("A step inside a step is not allowed");
  },
  async tree() {
    throw new Error("Only one strand of a handler can await at a time");
  },
  async waiting(context: WorkflowContext) {
    entered();
    return left(await context.promise("never"));
  },
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
