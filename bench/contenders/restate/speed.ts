import { type Context, RestatePromise, service, type WorkflowContext } from "@restatedev/restate-sdk";
import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { openEngine } from "./engine.js";

/** What is durable inside of something durable, and what has steps of its own beside others, is a handler that is called. */
const tasks = service({
  name: "tasks",
  handlers: {
    async descend(context: Context, depth: number): Promise<number> {
      if (depth === 0) return work(-1);
      return (await context.serviceClient(tasks).descend(depth - 1)) + 1;
    },
    async grow(context: Context, leaves: number): Promise<number> {
      if (leaves === 1) return context.run("work", () => work(0));
      const half = leaves >> 1;
      const { grow } = context.serviceClient(tasks);
      const [a, b] = await RestatePromise.all([grow(half), grow(leaves - half)]);
      return a + b;
    },
  },
});

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
  async nested(context: WorkflowContext, { depth }: FlowInputs["nested"]) {
    entered();
    return left(await context.serviceClient(tasks).descend(depth));
  },
  async tree(context: WorkflowContext, { leaves }: FlowInputs["tree"]) {
    entered();
    return left(await context.serviceClient(tasks).grow(leaves));
  },
  async waiting(context: WorkflowContext) {
    entered();
    return left(await context.promise("never"));
  },
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows, tasks);
