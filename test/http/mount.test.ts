/** `app.fetch` under the hosts that serve it: with a path before it, and with ids that have slashes in them. */
import { createServer } from "node:http";
import { getRequestListener, serve } from "@hono/node-server";
import { Hono } from "hono";
import { mount } from "hono/mount";
import { memoryStore, Stepmark } from "stepmark";
import { afterEach, describe, expect, it } from "vitest";
import { parent, workflows } from "./flows.js";
import { allEvents, ask, askRaw, eventOf, frames, listeners, listening, type Served } from "./server.js";

const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function appOf(basePath?: string): Stepmark {
  const http = { authorize: () => true, ...(basePath !== undefined && { basePath }) };
  const app = new Stepmark({ store: memoryStore(), workflows, http });
  closing.push(() => app.shutdown());
  return app;
}

async function start(server: Parameters<typeof listening>[0]): Promise<Served> {
  const at = await listening(server);
  closing.unshift(at.close);
  return at;
}

const listen = { port: 0, hostname: "127.0.0.1" };

/** Each way to serve an app under `/api/stepmark`, or at the root. */
const hosts: Array<{ host: string; serveAt(): Promise<{ app: Stepmark; base: string }> }> = [
  {
    host: "@hono/node-server",
    async serveAt() {
      const app = appOf();
      return { app, base: (await start(serve({ fetch: app.fetch, ...listen }))).url };
    },
  },
  {
    host: "node:http, by a request listener",
    async serveAt() {
      const app = appOf();
      const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
      return { app, base: (await start(server.listen(0, "127.0.0.1"))).url };
    },
  },
  {
    host: "Hono's `mount` method",
    async serveAt() {
      const app = appOf();
      const hono = new Hono().mount("/api/stepmark", app.fetch);
      return { app, base: `${(await start(serve({ fetch: hono.fetch, ...listen }))).url}/api/stepmark` };
    },
  },
  {
    host: "Hono's `mount` function",
    async serveAt() {
      const app = appOf();
      const hono = new Hono().all("/api/stepmark/*", mount(app.fetch));
      return { app, base: `${(await start(serve({ fetch: hono.fetch, ...listen }))).url}/api/stepmark` };
    },
  },
  {
    host: "Hono, mounted in what is mounted",
    async serveAt() {
      const app = appOf();
      const inner = new Hono().mount("/stepmark", app.fetch);
      const hono = new Hono().route("/api", inner);
      return { app, base: `${(await start(serve({ fetch: hono.fetch, ...listen }))).url}/api/stepmark` };
    },
  },
  {
    host: "a Hono handler that leaves the path as it is, with `basePath`",
    async serveAt() {
      const app = appOf("/api/stepmark/");
      const hono = new Hono().all("/api/stepmark/*", (c) => app.fetch(c.req.raw));
      return { app, base: `${(await start(serve({ fetch: hono.fetch, ...listen }))).url}/api/stepmark` };
    },
  },
  {
    host: "Next's route handlers, with `basePath`",
    async serveAt() {
      const app = appOf("/api/stepmark");
      // What `export const GET = app.fetch, POST = app.fetch` comes to: called with the request and the route's parameters.
      const handlers: Record<string, (request: Request, context: unknown) => Promise<Response>> = {
        GET: app.fetch,
        POST: app.fetch,
      };
      const fetch = (request: Request): Promise<Response> =>
        handlers[request.method]!(request, { params: Promise.resolve({ path: ["runs"] }) });
      return { app, base: `${(await start(serve({ fetch, ...listen }))).url}/api/stepmark` };
    },
  },
];

/** Ids that a path has to carry: a child run's, and each character that means something in a URL. */
const ids = [
  'shop/parent/map()[1]/order@"a%002Fb"',
  "a/b//c/",
  "/",
  "a%2Fb",
  "100%",
  "?q=1&r=2#s",
  "a b+c",
  "a\\b",
  "tab\tline\n",
  "ä€𝄞",
  "...",
  "a/../b",
  ";:@,$!*'()~",
];

describe.each(hosts)("$host", ({ serveAt }) => {
  it("serves every route", async () => {
    const { app, base } = await serveAt();
    const created = await ask("POST", `${base}/runs`, { workflow: "order", input: "pen", id: "o" });
    expect([created.status, created.headers.get("location")]).toEqual([201, "runs/o"]);
    const events = await frames(`${base}/runs/o/events`);
    expect([events.status, events.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    await eventOf(events, "run.waiting");
    expect((await ask("GET", `${base}/runs/o`)).body.status).toBe("waiting");
    expect((await ask("GET", `${base}/runs?workflow=order`)).body.runs).toHaveLength(1);
    const result = ask("GET", `${base}/runs/o/result`);
    expect((await ask("POST", `${base}/runs/o/answers`, { wait: "approve", value: true })).status).toBe(200);
    expect((await result).body.output).toBe("one pen sold");
    expect((await allEvents(events)).at(-1)?.event).toBe("run.completed");
    await app.start(parent, "pen", { id: "p" });
    expect((await ask("POST", `${base}/runs/p/messages`, { stream: "x", value: 1 })).status).toBe(200);
    expect((await ask("POST", `${base}/runs/p/resume`, {})).status).toBe(200);
    expect((await ask("POST", `${base}/runs/p/cancel`, {})).body.status).toBe("cancelled");
    expect((await ask("GET", `${base}/runs/nobody`)).body.error.code).toBe("RUN_NOT_FOUND");
    expect((await ask("GET", `${base}/nothing`)).body.error.code).toBe("NOT_FOUND");
    expect((await ask("POST", `${base}/runs`, "[")).status).toBe(400);
  });

  it("reaches the runs that a run has begun, by ids with slashes", async () => {
    const { app, base } = await serveAt();
    await (await app.start(parent, "pen", { id: "p" })).settled();
    const { body } = await ask("GET", `${base}/runs/p`);
    const [{ id }] = body.children;
    expect(id).toBe("p/parent/order");
    const path = `${base}/runs/${encodeURIComponent(id)}`;
    expect((await ask("GET", path)).body).toMatchObject({ id, status: "waiting", parent: { id: "p" } });
    const events = await frames(`${path}/events`);
    await ask("POST", `${path}/answers`, { wait: "approve", value: true });
    expect((await allEvents(events)).map(({ event }) => event)).toContain("wait.answered");
    expect((await ask("GET", `${base}/runs/p/result`)).body.output).toBe("one pen sold");
    expect((await ask("GET", `${base}/runs/${id}`)).status).toBe(404);
  });

  it.each(ids)("reaches the run %j", async (id) => {
    const { base } = await serveAt();
    const { status, headers } = await ask("POST", `${base}/runs`, { workflow: "echo", input: id, id });
    expect(status).toBe(201);
    const { body } = await ask("GET", `${new URL(headers.get("location")!, `${base}/runs`)}/result`);
    expect(body).toEqual({ id, status: "completed", output: id });
  });

  it("ends the listener of a client that goes away", async () => {
    const { app, base } = await serveAt();
    const count = listeners(app);
    await ask("POST", `${base}/runs`, { workflow: "order", input: "pen", id: "o" });
    const stream = await frames(`${base}/runs/o/events`);
    await eventOf(stream, "run.waiting");
    expect(count.open).toBe(1);
    stream.close();
    await count.ended;
    expect(count.open).toBe(0);
  });

  it("refuses a body that is too large while it is still being sent", async () => {
    const { base } = await serveAt();
    const large = JSON.stringify({ workflow: "echo", input: "x".repeat(2 * 1024 * 1024) });
    const { status, body } = await ask("POST", `${base}/runs`, large);
    expect([status, body.error.code]).toEqual([413, "BODY_TOO_LARGE"]);
    expect((await ask("GET", `${base}/runs`)).body).toEqual({ runs: [] });
  });

  it("refuses a path that is no UTF-8", async () => {
    const { base } = await serveAt();
    const { origin, pathname } = new URL(base);
    for (const id of ["%zz", "%ff", "%c3"]) {
      const { status, body } = await askRaw("GET", origin, `${pathname.replace(/\/$/, "")}/runs/${id}`);
      expect([status, body.error.code]).toEqual([400, "INVALID_PATH"]);
    }
  });
});

describe("`basePath`", () => {
  it("is what a path has to begin with, to the end of a segment", async () => {
    const { fetch } = appOf("/api");
    const status = async (path: string): Promise<number> => (await fetch(new Request(`http://host${path}`))).status;
    expect(await status("/api/runs")).toBe(200);
    for (const path of ["/runs", "/api", "/apiruns", "/apixruns", "/apis/runs", "/x/api/runs", "/api/api/runs"])
      expect(await status(path)).toBe(404);
  });

  it("may have characters that a URL escapes", async () => {
    const { fetch } = appOf("/läufe und mehr");
    expect((await fetch(new Request("http://host/läufe und mehr/runs"))).status).toBe(200);
    expect((await fetch(new Request("http://host/l%C3%A4ufe%20und%20mehr/runs"))).status).toBe(200);
  });
});
