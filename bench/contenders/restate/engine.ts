import { setTimeout as delay } from "node:timers/promises";
import { type ServiceDefinition, serve, type WorkflowContext, workflow } from "@restatedev/restate-sdk";
import { connect } from "@restatedev/restate-sdk-clients";
import { marks } from "../../speed/marks.js";
import type { Engine, Place } from "../contender.js";
import type { Address } from "./server.js";

export type Flow = (context: WorkflowContext, input: never) => Promise<unknown>;

const silent = (): void => {};

/** @param tasks what flows call as handlers of their own */
export async function openEngine(
  { address }: Place,
  flows: Record<string, Flow>,
  tasks: ServiceDefinition<string, unknown>,
): Promise<Engine> {
  const { ingress, admin, endpoint } = JSON.parse(address!) as Address;
  const definitions = Object.fromEntries(
    Object.entries(flows).map(([name, run]) => [name, workflow({ name, handlers: { run: run as never } })]),
  );
  await serve({ services: [...Object.values(definitions), tasks], port: endpoint, logger: silent });
  await post(admin, "/deployments", { uri: `http://127.0.0.1:${endpoint}`, force: true });
  const client = connect({ url: `http://127.0.0.1:${ingress}` });
  const of = (flow: string, id: string) =>
    client.workflowClient<{ run: (context: WorkflowContext, input: unknown) => Promise<unknown> }>({ name: flow }, id);
  const output = async (flow: string, id: string): Promise<unknown> => {
    const ended = new AbortController();
    try {
      return await Promise.race([of(flow, id).workflowAttach(), refusal(admin, ended.signal)]);
    } finally {
      ended.abort();
    }
  };
  return {
    async run(flow, input, id) {
      await of(flow, id).workflowSubmit(input);
      return output(flow, id);
    },
    resume: output,
    async park(id) {
      await of("waiting", id).workflowSubmit({});
      while (marks.entered === undefined) await delay(10);
    },
  };
}

/** It tries again and again what cannot go on, and says why in its own record: that is its error. */
async function refusal(admin: number, signal: AbortSignal): Promise<never> {
  const query =
    "SELECT last_failure, last_failure_error_code FROM sys_invocation WHERE last_failure_error_code = 'RT0016'";
  while (!signal.aborted) {
    await delay(1_000, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const { rows } = (await post(admin, "/query", { query })) as { rows: { last_failure: string }[] };
    if (rows.length > 0) throw new Error(rows[0]!.last_failure);
  }
  return new Promise(() => {});
}

async function post(port: number, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
