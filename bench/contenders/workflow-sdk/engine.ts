/**
 * Its bundles behind a small HTTP server of the process, as its guide for frameworks has it: its local world keeps runs
 * in files and posts what is next to the server.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { createLocalWorld } from "@workflow/world-local";
import { getHookByToken, getRun, type Run, start } from "workflow/api";
import { setWorld } from "workflow/runtime";
import { entered, left } from "../../speed/marks.js";
import type { Engine, Place } from "../contender.js";
import { outputOf } from "./build.js";

type Handler = (request: Request) => Promise<Response>;

export async function openEngine({ folder }: Place, app: string): Promise<Engine> {
  const bundles = outputOf(app);
  const [flow, step] = (await Promise.all([import(bundles.flow), import(bundles.step)])) as { POST: Handler }[];
  const ids = JSON.parse(readFileSync(bundles.ids, "utf8")) as Record<string, string>;
  const routes: Record<string, Handler> = {
    "/.well-known/workflow/v1/flow": async (request) => {
      // Flows run in a sandbox of their own: they are entered and left here.
      entered();
      return left(await flow!.POST(request));
    },
    "/.well-known/workflow/v1/step": step!.POST,
  };
  const server = createServer(async (incoming, outgoing) => {
    const response = await routes[incoming.url!]!(await requestOf(incoming));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const world = createLocalWorld({
    dataDir: join(folder, "workflow-data"),
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  setWorld(world);
  // Takes up what another process left behind.
  await world.start!();
  /** Its own wait for the output looks once a second. */
  const output = async (run: Run<unknown>): Promise<unknown> => {
    while (["pending", "running"].includes(await run.status)) await delay(100);
    return run.returnValue;
  };
  const begin = (name: string, input: unknown) => start({ workflowId: ids[name]! }, [input]);
  return {
    async run(flow, input) {
      return output(await begin(flow, input));
    },
    async resume(flow) {
      const { data } = await world.runs.list({ workflowName: ids[flow]! });
      return output(getRun(data[0]!.runId));
    },
    async park(id) {
      await begin("waiting", { token: id });
      while ((await getHookByToken(id).catch(() => undefined)) === undefined) await delay(50);
    },
  };
}

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method!,
    headers,
    body: await text(incoming),
  });
}
