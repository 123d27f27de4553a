/** `http.authorize`: who may do what, asked before anything is looked up. */
import { type HttpAsked, type HttpOptions, memoryStore, Stepmark, type Store } from "stepmark";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";
import { order, workflows } from "./flows.js";
import { ask, everything, type Served, served } from "./server.js";

let store: Store;
let owner: Stepmark;
/** What was asked of the store since the app under test was made. */
let lookedUp: string[];
let told: unknown[];
const closing: Array<() => Promise<unknown>> = [];

beforeEach(async () => {
  store = memoryStore();
  lookedUp = [];
  told = [];
  owner = new Stepmark({ store, workflows });
  closing.push(() => owner.shutdown());
  await (await owner.start(order, "pen", { id: "o" })).settled();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** An app of its own on the same runs, whose uses of the store are counted. */
async function withHook(authorize: HttpOptions["authorize"]): Promise<Served> {
  const counted = new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === "onPost") return target.onPost;
      return (...args: unknown[]) => {
        lookedUp.push(name);
        return Reflect.apply(target[name] as () => unknown, target, args);
      };
    },
  });
  const app = new Stepmark({
    store: counted,
    workflows,
    http: { ...(authorize && { authorize }), onError: (error) => told.push(error) },
  });
  const at = await served(app.fetch);
  closing.push(at.close, () => app.shutdown());
  return at;
}

/** A request of each kind, and what the hook is told of it. */
const requests: Array<{ method: string; path: string; body?: unknown; asked: HttpAsked }> = [
  {
    ...{ method: "POST", path: "/runs", body: { workflow: "order", input: "ink" } },
    asked: { action: "start", workflow: "order" },
  },
  {
    ...{ method: "POST", path: "/runs", body: { workflow: "none", id: "o" } },
    asked: { action: "start", workflow: "none", runId: "o" },
  },
  { method: "GET", path: "/runs", asked: { action: "list" } },
  { method: "GET", path: "/runs?workflow=order&limit=x", asked: { action: "list", workflow: "order" } },
  { method: "GET", path: "/runs/o", asked: { action: "get", runId: "o" } },
  { method: "HEAD", path: "/runs/o", asked: { action: "get", runId: "o" } },
  { method: "GET", path: "/runs/a%2Fb%20c", asked: { action: "get", runId: "a/b c" } },
  { method: "GET", path: "/runs/nobody", asked: { action: "get", runId: "nobody" } },
  { method: "GET", path: "/runs/o/result", asked: { action: "result", runId: "o" } },
  { method: "GET", path: "/runs/o/events?after=x", asked: { action: "events", runId: "o" } },
  {
    ...{ method: "POST", path: "/runs/o/answers", body: { wait: "approve", value: true } },
    asked: { action: "answer", runId: "o" },
  },
  { method: "POST", path: "/runs/o/answers", body: "not even JSON", asked: { action: "answer", runId: "o" } },
  {
    ...{ method: "POST", path: "/runs/o/messages", body: { stream: "words", value: 1 } },
    asked: { action: "send", runId: "o" },
  },
  { method: "POST", path: "/runs/o/cancel", body: {}, asked: { action: "cancel", runId: "o" } },
  { method: "POST", path: "/runs/o/resume", body: {}, asked: { action: "resume", runId: "o" } },
];

describe("without `authorize`", () => {
  it.each([...requests, { method: "GET", path: "/" }, { method: "GET", path: "/runs/%zz" }])(
    "$method $path is refused, with a word on how to open it",
    async ({ method, path, ...request }) => {
      const at = await withHook(undefined);
      const before = await everything(store);
      const { status, body } = await ask(method, at.url + path, "body" in request ? request.body : undefined);
      expect(status).toBe(403);
      if (method !== "HEAD")
        expect(body.error).toEqual({
          code: "NOT_OPENED",
          message: expect.stringContaining("`new Stepmark({ http: { authorize } })`"),
        });
      expect(lookedUp).toEqual([]);
      expect(await everything(store)).toEqual(before);
    },
  );
});

describe.each([
  ["false", () => false],
  ["a promise of false", async () => false],
  ["nothing", () => undefined as never],
  ["something that only looks true", () => "yes" as never],
  ["an object", async () => ({ ok: true }) as never],
])("`authorize` that returns %s", (_, answer) => {
  it.each(requests)("refuses $method $path, told $asked, before anything is looked up", async (request) => {
    const asked: HttpAsked[] = [];
    const at = await withHook((_request, what) => {
      asked.push(what);
      return answer();
    });
    const before = await everything(store);
    const { status, body } = await ask(request.method, at.url + request.path, request.body);
    await rest();
    expect(status).toBe(403);
    // Of a run that there is and of one that there is not, the very same.
    if (request.method !== "HEAD")
      expect(body).toEqual({ error: { code: "FORBIDDEN", message: "This is not allowed." } });
    expect(asked).toEqual([request.asked]);
    expect(lookedUp).toEqual([]);
    expect(await everything(store)).toEqual(before);
    expect(told).toEqual([]);
  });
});

describe("`authorize`", () => {
  it("that returns a response replies with it, for instance 401", async () => {
    const at = await withHook(() => new Response('{"login":"first"}', { status: 401, headers: { "x-hint": "h" } }));
    const { status, body, headers } = await ask("POST", `${at.url}/runs/o/cancel`, {});
    expect([status, body, headers.get("x-hint")]).toEqual([401, { login: "first" }, "h"]);
    expect(lookedUp).toEqual([]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("the users' database /srv/users.db is away");
      },
    ],
    ["rejects", () => Promise.reject(new Error("the users' database /srv/users.db is away"))],
  ])("that %s refuses with 500 and no details; the server's operator is told", async (_, authorize) => {
    const at = await withHook(authorize);
    const before = await everything(store);
    const { status, body } = await ask("POST", `${at.url}/runs/o/cancel`, {});
    expect(status).toBe(500);
    expect(body).toEqual({ error: { code: "INTERNAL", message: "The server failed. Its operator has been told." } });
    expect(told).toEqual([expect.objectContaining({ message: expect.stringContaining("users.db") })]);
    expect(lookedUp).toEqual([]);
    expect(await everything(store)).toEqual(before);
  });

  it("is given the request: its headers, its cookies, its query", async () => {
    const at = await withHook((request) => {
      const { searchParams } = new URL(request.url);
      return request.headers.get("authorization") === "Bearer t" || searchParams.get("token") === "t";
    });
    expect((await ask("GET", `${at.url}/runs/o`)).status).toBe(403);
    expect((await ask("GET", `${at.url}/runs/o`, undefined, { authorization: "Bearer t" })).status).toBe(200);
    expect((await ask("GET", `${at.url}/runs/o?token=t`)).status).toBe(200);
  });

  it("may read a clone of the body, for instance to check a signature", async () => {
    const at = await withHook(async (request) => (await request.clone().text()).includes("approve"));
    const answer = { wait: "approve", value: true };
    expect((await ask("POST", `${at.url}/runs/o/answers`, answer)).status).toBe(200);
    expect((await ask("POST", `${at.url}/runs/o/answers`, { wait: "x", value: true })).status).toBe(403);
  });

  it("decides each request by itself", async () => {
    const at = await withHook((_, { action, runId }) => action === "get" && runId === "o");
    expect((await ask("GET", `${at.url}/runs/o`)).status).toBe(200);
    expect((await ask("GET", `${at.url}/runs/p`)).status).toBe(403);
    expect((await ask("GET", `${at.url}/runs/o/events`)).status).toBe(403);
  });

  it("is not asked for what there is not, and never twice", async () => {
    const asked: HttpAsked[] = [];
    const at = await withHook((_, what) => asked.push(what) > 0);
    for (const path of ["/", "/runs/o/nothing", "/runs/%zz"]) await ask("GET", at.url + path);
    await ask("DELETE", `${at.url}/runs/o`);
    await ask("POST", `${at.url}/runs`, "[");
    expect(asked).toEqual([]);
    await ask("POST", `${at.url}/runs`, { workflow: "order", input: "ink" });
    expect(asked).toEqual([{ action: "start", workflow: "order" }]);
  });
});
