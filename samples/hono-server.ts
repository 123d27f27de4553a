/**
 * A web server: Hono on a port, with runs under `/stepmark`. A run is started over HTTP and its events are followed; the
 * server is killed while a person is asked, and started again. The answer, the result and the rest of the events go
 * through the new one.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { mount } from "hono/mount";
import { type Stepmark, step, waitFor, workflow } from "stepmark";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { note } from "./runner/work.js";

export const onboard = workflow("onboard", async (customer: string) => {
  const account = await step(openAccount, customer);
  const plan = await waitFor<string>("plan", { payload: account });
  return step(activate, account, plan);
});

async function openAccount(customer: string): Promise<string> {
  note("open account");
  return `account of ${customer}`;
}

async function activate(account: string, plan: string): Promise<string> {
  note("activate");
  return `${account}: ${plan}`;
}

// --- the server ------------------------------------------------------------------------------------------------------

/** @returns the port */
async function listen(app: Stepmark): Promise<number> {
  const hono = new Hono();
  hono.get("/", (c) => c.text("Welcome"));
  hono.all("/stepmark/*", mount(app.fetch));
  const server = serve({ fetch: hono.fetch, port: 0, hostname: "127.0.0.1" });
  await once(server, "listening");
  // Goes on with runs that were answered while nobody had them.
  void app.run({ interval: 100 });
  return (server.address() as AddressInfo).port;
}

const token = "Bearer of good tidings";

/** A real server asks who it is, and whether they may do this: `(request, { action, runId, workflow }) => ...` */
const authorize = (request: Request): boolean => request.headers.get("authorization") === token;

// --- a client --------------------------------------------------------------------------------------------------------

async function ask(method: string, url: string, body?: unknown): Promise<Record<string, unknown>> {
  const headers = { authorization: token, "content-type": "application/json" };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

/** Reads a run's events until one of that type has come. */
async function follow(url: string, until: string, after = ""): Promise<string[]> {
  const response = await fetch(url, { headers: { authorization: token, "last-event-id": after } });
  const ids: string[] = [];
  let text = "";
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk).toString();
    const frames = text.split("\n\n");
    text = frames.pop()!;
    for (const frame of frames) {
      const id = /^id: (.*)$/m.exec(frame)?.[1];
      if (id !== undefined) ids.push(id);
      if (frame.includes(`event: ${until}\n`)) return ids;
    }
  }
  throw new Error(`The events ended before ${until}`);
}

// --- what happens to it ----------------------------------------------------------------------------------------------

async function killedWhileAsked(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    const first = await processes.serve();
    await ask("POST", `${first.url}/stepmark/runs`, { workflow: "onboard", input: "Ann", id: "run" });
    const before = await follow(`${first.url}/stepmark/runs/run/events`, "run.waiting");
    await first.kill();
    const second = await processes.serve();
    const run = `${second.url}/stepmark/runs/run`;
    const [after, { output }] = await Promise.all([
      follow(`${run}/events`, "run.completed", before.at(-1)),
      ask("POST", `${run}/answers`, { wait: "plan", value: "basic" }).then(() => ask("GET", `${run}/result`)),
    ]);
    await second.kill();
    return processes.outcome({ output, events: [before, after] });
  });
}

export const scenarios: readonly Scenario[] = [
  {
    id: "http",
    what: "a Hono server with `app.fetch`, killed while a person is asked; a new one is answered over HTTP",
    workflow: onboard,
    options: () => ({ http: { authorize } }),
    serve: listen,
    play: killedWhileAsked,
    expected: {
      result: {
        output: "account of Ann: basic",
        events: [
          ["1", "2"],
          ["3", "4", "4.completed"],
        ],
      },
      bodies: [["open account"], ["activate"]],
    },
  },
];
