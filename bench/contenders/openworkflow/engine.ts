import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type defineWorkflow, OpenWorkflow } from "openworkflow";
import { BackendSqlite } from "openworkflow/sqlite";
import type { Engine, Place } from "../contender.js";

/** Its package does not export the type. */
export type Step = Parameters<Parameters<typeof defineWorkflow>[1]>[0]["step"];
export type Flow = (params: { input: never; step: Step }) => Promise<unknown>;

/** So many runs a worker goes on with at once. */
const concurrency = 100;

export async function openEngine({ folder, durability }: Place, flows: Record<string, Flow>): Promise<Engine> {
  const backend = BackendSqlite.connect(join(folder, "openworkflow.db"));
  const { db } = backend as unknown as { db: { exec(sql: string): void } };
  db.exec(`PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
  const client = new OpenWorkflow({ backend });
  for (const [name, flow] of Object.entries(flows)) client.implementWorkflow({ name }, flow as never);
  const worker = client.newWorker({ concurrency });
  await worker.start();
  const start = (name: string, input: unknown, id: string) =>
    client.runWorkflow({ name }, input as never, { idempotencyKey: id });
  return {
    async run(flow, input, id) {
      return (await start(flow, input, id)).result();
    },
    // The key finds the run that is there.
    async resume(flow, id) {
      return (await start(flow, null, id)).result();
    },
    async park(id) {
      const { workflowRun } = await start("waiting", {}, id);
      for (;;) {
        const run = await backend.getWorkflowRun({ workflowRunId: workflowRun.id });
        if (run?.startedAt != null && run.workerId === null) return;
        await delay(50);
      }
    },
  };
}
