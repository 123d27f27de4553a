import { Activity, DurableDeferred } from "@effect/workflow";
import { Effect, Schema } from "effect";
import { entered, left, produce, work } from "../../speed/marks.js";
import type { FlowInputs, Flows } from "../../speed/workloads.js";
import type { Engine, Place } from "../contender.js";
import { activity, type Durable, openEngine } from "./engine.js";

const descend = (depth: number): Durable<number> =>
  depth === 0
    ? Effect.promise(() => work(-1))
    : Activity.make({
        name: `level/${depth}`,
        success: Schema.Number,
        execute: Effect.map(descend(depth - 1), (below) => below + 1),
      });

const grow = (leaves: number, path: string): Durable<number> => {
  if (leaves === 1) return activity(`work/${path}`, () => work(0));
  const half = leaves >> 1;
  const both = Effect.all([grow(half, `${path}0`), grow(leaves - half, `${path}1`)], { concurrency: "unbounded" });
  return Effect.map(both, ([a, b]) => a + b);
};

const flows = {
  chain: Effect.fnUntraced(function* ({ count }: FlowInputs["chain"]) {
    entered();
    let sum = 0;
    for (let i = 0; i < count; i++) sum += yield* activity(`work/${i}`, () => work(i));
    return left(sum);
  }),
  fans: Effect.fnUntraced(function* ({ rounds, width }: FlowInputs["fans"]) {
    entered();
    let sum = 0;
    for (let i = 0; i < rounds; i++) {
      const parts = yield* Effect.all(
        Array.from({ length: width }, (_, j) => activity(`work/${i}/${j}`, () => work(j))),
        { concurrency: "unbounded" },
      );
      for (const part of parts) sum += part;
    }
    return left(sum);
  }),
  large: Effect.fnUntraced(function* ({ bytes }: FlowInputs["large"]) {
    entered();
    const produced = yield* activity("produce", () => produce(bytes));
    return left(produced.length);
  }),
  nested: Effect.fnUntraced(function* ({ depth }: FlowInputs["nested"]) {
    entered();
    return left(yield* descend(depth));
  }),
  tree: Effect.fnUntraced(function* ({ leaves }: FlowInputs["tree"]) {
    entered();
    return left(yield* grow(leaves, ""));
  }),
  waiting: Effect.fnUntraced(function* (_input: FlowInputs["waiting"]) {
    entered();
    yield* DurableDeferred.await(DurableDeferred.make("never"));
    return left(null);
  }),
} satisfies Flows<unknown>;

export const open = (place: Place): Promise<Engine> => openEngine(place, flows);
