import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ClusterWorkflowEngine, SingleRunner } from "@effect/cluster";
import { SqlClient } from "@effect/sql";
import { SqliteClient } from "@effect/sql-sqlite-node";
import { Activity, Workflow, type WorkflowEngine } from "@effect/workflow";
import { Effect, Layer, Logger, LogLevel, ManagedRuntime, Schema } from "effect";
import { marks } from "../../speed/marks.js";
import type { Engine, Place } from "../contender.js";

export type Durable<T> = Effect.Effect<T, never, WorkflowEngine.WorkflowEngine | WorkflowEngine.WorkflowInstance>;
export type Flow = (input: never) => Durable<unknown>;

/** An activity whose body is a function that returns a promise. */
export const activity = <T>(name: string, body: () => Promise<T>) =>
  Activity.make({ name, success: Schema.Any as Schema.Schema<T>, execute: Effect.promise(body) });

const definition = (name: string) =>
  Workflow.make({
    name,
    payload: { id: Schema.String, input: Schema.Any },
    success: Schema.Any,
    idempotencyKey: ({ id }) => id,
  });

export async function openEngine({ folder, durability }: Place, flows: Record<string, Flow>): Promise<Engine> {
  const defined = new Map(Object.keys(flows).map((name) => [name, definition(name)]));
  const workflows = [...defined].map(([name, workflow]) =>
    workflow.toLayer(({ input }) => flows[name]!(input as never)),
  );
  const synchronous = Layer.effectDiscard(
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.unsafe(`PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`),
    ),
  );
  const engine = ClusterWorkflowEngine.layer.pipe(
    Layer.provideMerge(SingleRunner.layer({ runnerStorage: "memory" })),
    Layer.provide(synchronous),
    Layer.provide(SqliteClient.layer({ filename: join(folder, "effect.db") })),
  );
  const runtime = ManagedRuntime.make(
    Layer.mergeAll(Layer.empty, ...workflows).pipe(
      Layer.provideMerge(engine),
      Layer.provideMerge(Logger.minimumLogLevel(LogLevel.Error)),
    ),
  );
  await runtime.runPromise(Effect.void);
  const execute = (flow: string, input: unknown, id: string): Promise<unknown> =>
    runtime.runPromise(defined.get(flow)!.execute({ id, input }) as never);
  return {
    run: execute,
    // The key finds the execution that is there.
    resume: (flow, id) => execute(flow, null, id),
    async park(id) {
      void execute("waiting", {}, id).catch(() => {});
      while (marks.entered === undefined) await delay(10);
    },
  };
}
