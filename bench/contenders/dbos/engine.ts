import { setTimeout as delay } from "node:timers/promises";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { marks } from "../../speed/marks.js";
import { type Engine, HeldError, type Place } from "../contender.js";

export type Flow = (input: never) => Promise<unknown>;

/** Opening it is what takes runs up again that a dead process left behind. */
export async function openEngine({ database }: Place, flows: Record<string, Flow>): Promise<Engine> {
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: database!, logLevel: "error" });
  const registered = Object.fromEntries(
    Object.entries(flows).map(([name, flow]) => [
      name,
      DBOS.registerWorkflow(flow as (input: unknown) => Promise<unknown>, { name }),
    ]),
  );
  await DBOS.launch();
  const start = (flow: string, input: unknown, workflowID: string) =>
    DBOS.startWorkflow(registered[flow]!, { workflowID })(input);
  return {
    async run(flow, input, id) {
      return (await start(flow, input, id)).getResult();
    },
    async resume(_flow, id) {
      const status = await DBOS.getWorkflowStatus(id);
      const ours = DBOS.applicationVersion;
      if (status !== null && status.applicationVersion !== ours) {
        throw new HeldError(`${status.status} for application version ${status.applicationVersion}; this is ${ours}`);
      }
      return DBOS.retrieveWorkflow(id).getResult();
    },
    async park(id) {
      await start("waiting", {}, id);
      while (marks.entered === undefined) await delay(10);
    },
  };
}
