import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { Absurd, type TaskContext } from "absurd-sdk";
import { Client } from "pg";
import type { Engine, Place } from "../contender.js";

export type Flow = (input: never, context: TaskContext) => Promise<unknown>;

/** So long a worker holds a task without a word, in seconds. */
const claimTimeout = 5;

/** So many tasks a worker goes on with at once. */
const concurrency = 100;

export async function openEngine({ database }: Place, flows: Record<string, Flow>): Promise<Engine> {
  await prepare(database!);
  const absurd = new Absurd({ db: database!, queueName: "bench" });
  await absurd.createQueue("bench");
  for (const [name, flow] of Object.entries(flows)) absurd.registerTask({ name }, flow as never);
  await absurd.startWorker({ concurrency, claimTimeout });
  const output = async (taskID: string): Promise<unknown> => {
    const result = await absurd.awaitTaskResult(taskID, { timeout: 600 });
    if (result.state === "completed") return result.result;
    throw new Error(`${result.state}: ${JSON.stringify("failure" in result ? result.failure : null)}`);
  };
  return {
    async run(flow, input, id) {
      return output((await absurd.spawn(flow, input, { idempotencyKey: id })).taskID);
    },
    // The key finds the task that is there.
    async resume(flow, id) {
      return output((await absurd.spawn(flow, null, { idempotencyKey: id })).taskID);
    },
    async park(id) {
      const { taskID } = await absurd.spawn("waiting", {}, { idempotencyKey: id });
      while ((await absurd.fetchTaskResult(taskID))?.state !== "sleeping") await delay(50);
    },
  };
}

/** Makes the schema where there is none. */
async function prepare(database: string): Promise<void> {
  const client = new Client(database);
  await client.connect();
  const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = 'absurd'");
  if (rowCount === 0) await client.query(readFileSync(process.env.ABSURD_SQL!, "utf8"));
  await client.end();
}
