/** What `app.fetch` refuses, through a real socket: with which status and code, and that nothing has changed by it. */
import { memoryStore, type StandardSchema, Stepmark, type Store, StoreError, waitFor, workflow } from "stepmark";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { rest } from "../support/kill.js";
import { echo, order, workflows } from "./flows.js";
import { ask, askRaw, everything, type Reply, type Served, served } from "./server.js";

const number: StandardSchema<number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof value === "number" ? { value } : { issues: [{ message: "no number", path: ["price"] }] },
  },
};
const priced = workflow("priced", async () => waitFor("price", { schema: number }));
const busy = workflow("busy", async () => new Promise<void>(() => {}));
const twice = workflow("twice", async () => Promise.all([waitFor("ok"), waitFor("ok")]));

let store: Store;
let app: Stepmark;
let at: Served;
let told: unknown[];

beforeEach(async () => {
  store = memoryStore();
  told = [];
  const onError = (error: unknown): number => told.push(error);
  const http = { authorize: () => true, maxBody: 200, onError };
  app = new Stepmark({ store, workflows: [...workflows, priced, busy, twice], http });
  at = await served(app.fetch);
});

afterEach(async () => {
  await app.shutdown();
  await at.close();
});

const json = { "content-type": "application/json" };
const start = '{"workflow":"order","input":"pen"}';

/** Runs that there are before each request: one that waits, one that has ended, and two with waits of other kinds. */
async function runs(): Promise<void> {
  await (await app.start(order, "pen", { id: "o" })).settled();
  await (await app.start(echo, undefined, { id: "over" })).settled();
  await (await app.start(priced, undefined, { id: "p" })).settled();
  await (await app.start(twice, undefined, { id: "t" })).settled();
}

async function refused(request: () => Promise<Reply>): Promise<Reply> {
  await runs();
  await rest();
  const before = await everything(store);
  const reply = await request();
  await rest();
  expect(await everything(store)).toEqual(before);
  return reply;
}

interface Refused {
  what: string;
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  status: number;
  code: string;
  message?: RegExp;
}

const post = (what: string, path: string, body: unknown, status: number, code: string, message?: RegExp): Refused => {
  const text = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return { what, method: "POST", path, headers: json, body: text, status, code, ...(message && { message }) };
};
const typed = (what: string, headers: Record<string, string>, path = "/runs"): Refused => ({
  ...{ what, method: "POST", path, headers, body: start, status: 415, code: "UNSUPPORTED_MEDIA_TYPE" },
  message: /content-type: application\/json/,
});
const deep = `{"workflow":"echo","input":${"[".repeat(60)}${"]".repeat(60)}}`;

const paths: Refused[] = [
  { what: "the root", path: "/", status: 404, code: "NOT_FOUND" },
  { what: "an unknown path", path: "/nothing", status: 404, code: "NOT_FOUND" },
  { what: "a path that goes on too far", path: "/runs/o/events/1", status: 404, code: "NOT_FOUND" },
  { what: "an unknown path of a run", path: "/runs/o/entries", status: 404, code: "NOT_FOUND" },
  { what: "an empty id", path: "/runs/", status: 404, code: "NOT_FOUND" },
  { what: "an empty id in the middle", path: "/runs//events", status: 404, code: "NOT_FOUND" },
  { what: "a path in capitals", path: "/Runs", status: 404, code: "NOT_FOUND" },
  { what: "half an escape in an id", path: "/runs/%", status: 400, code: "INVALID_PATH", message: /percent sign/ },
  { what: "an escape that is none", path: "/runs/%zz/events", status: 400, code: "INVALID_PATH" },
  { what: "an escape that is no UTF-8", path: "/runs/%ff", status: 400, code: "INVALID_PATH" },
];

const methods: Refused[] = [
  { what: "PUT of a run", method: "PUT", path: "/runs/o", status: 405, code: "METHOD_NOT_ALLOWED" },
  { what: "DELETE of a run", method: "DELETE", path: "/runs/o", status: 405, code: "METHOD_NOT_ALLOWED" },
  { what: "GET of answers", path: "/runs/o/answers", status: 405, code: "METHOD_NOT_ALLOWED" },
  { what: "POST to events", method: "POST", path: "/runs/o/events", status: 405, code: "METHOD_NOT_ALLOWED" },
  { what: "a browser's preflight", method: "OPTIONS", path: "/runs", status: 405, code: "METHOD_NOT_ALLOWED" },
];

const types: Refused[] = [
  typed("no content type", {}),
  typed("a form", { "content-type": "application/x-www-form-urlencoded" }),
  typed("a multipart form", { "content-type": "multipart/form-data; boundary=x" }),
  typed("a form's plain text", { "content-type": "text/plain" }),
  typed("two types in one", { "content-type": "text/plain; application/json" }),
  typed("a type that only begins like it", { "content-type": "application/json-seq" }),
  typed("another charset", { "content-type": "application/json; charset=utf-16" }),
  typed("a compressed body", { ...json, "content-encoding": "gzip" }),
  typed("no content type, to cancel", {}, "/runs/o/cancel"),
  typed("a form, to cancel", { "content-type": "application/x-www-form-urlencoded" }, "/runs/o/cancel"),
  typed("a form, to answer", { "content-type": "text/plain" }, "/runs/o/answers"),
  typed("a form, to send", { "content-type": "text/plain" }, "/runs/o/messages"),
  typed("a form, to resume", { "content-type": "text/plain" }, "/runs/o/resume"),
];

const bodies: Refused[] = [
  post("no body", "/runs", "", 400, "INVALID_BODY", /"workflow" is missing/),
  post("half a body", "/runs", '{"workflow":"order"', 400, "INVALID_JSON"),
  post("two bodies", "/runs", `${start}${start}`, 400, "INVALID_JSON"),
  post("no UTF-8", "/runs", Uint8Array.of(0x22, 0xff, 0x22), 400, "INVALID_JSON", /UTF-8/),
  post("half a character", "/runs", Uint8Array.of(0x22, 0xc3), 400, "INVALID_JSON", /UTF-8/),
  post("a list", "/runs", [], 400, "INVALID_BODY", /must be a JSON object/),
  post("null", "/runs", null, 400, "INVALID_BODY", /must be a JSON object/),
  post("a text", "/runs", '"order"', 400, "INVALID_BODY", /must be a JSON object/),
  post("no workflow", "/runs", { input: 1 }, 400, "INVALID_BODY", /"workflow" is missing: a non-empty text/),
  post("a workflow that is no text", "/runs", { workflow: ["order"] }, 400, "INVALID_BODY", /not \["order"\]/),
  post("an empty workflow", "/runs", { workflow: "" }, 400, "INVALID_BODY"),
  post("an id that is no text", "/runs", { workflow: "order", id: 7 }, 400, "INVALID_BODY", /"id" must be/),
  post("an id that is null", "/runs", { workflow: "order", id: null }, 400, "INVALID_BODY"),
  post("an empty id", "/runs", { workflow: "order", id: "" }, 400, "INVALID_BODY"),
  post("an id that no URL can hold", "/runs", { workflow: "order", id: ".." }, 400, "INVALID_BODY", /fit into a URL/),
  post(
    "a field too many",
    "/runs",
    { workflow: "order", inptu: 1 },
    400,
    "INVALID_BODY",
    /"inptu".*workflow, input, id/,
  ),
  post("a field `__proto__`", "/runs", '{"__proto__":{"workflow":"order"}}', 400, "INVALID_BODY", /"__proto__"/),
  post("an id with a NUL", "/runs", { workflow: "order", id: "a\0" }, 400, "INVALID_ARGUMENT"),
  post("an id that is half a pair", "/runs", '{"workflow":"order","id":"\\ud800"}', 400, "INVALID_ARGUMENT"),
  post("an answer to nothing", "/runs/o/answers", { value: 1 }, 400, "INVALID_BODY", /"wait" is missing/),
  post("an answer without a value", "/runs/o/answers", { wait: "approve" }, 400, "INVALID_BODY", /"value" is missing/),
  post("a message without a stream", "/runs/o/messages", { value: 1 }, 400, "INVALID_BODY", /"stream" is missing/),
  post("a cancellation with fields", "/runs/o/cancel", { force: true }, 400, "INVALID_BODY", /"force"/),
  post("a way to resume that there is not", "/runs/o/resume", { retry: "some" }, 400, "INVALID_BODY", /must be "all"/),
];

const states: Refused[] = [
  post("an unknown workflow", "/runs", { workflow: "sell" }, 404, "UNKNOWN_WORKFLOW", /^This server has no workflow/),
  post("another input", "/runs", { workflow: "order", input: "ink", id: "o" }, 409, "RUN_EXISTS"),
  post("another workflow", "/runs", { workflow: "echo", input: "pen", id: "o" }, 409, "RUN_EXISTS"),
  { what: "an unknown run", path: "/runs/nobody", status: 404, code: "RUN_NOT_FOUND" },
  { what: "an id with a NUL", path: "/runs/o%00", status: 404, code: "RUN_NOT_FOUND" },
  { what: "an unknown run's result", path: "/runs/nobody/result", status: 404, code: "RUN_NOT_FOUND" },
  { what: "an unknown run's events", path: "/runs/nobody/events", status: 404, code: "RUN_NOT_FOUND" },
  post("an answer to an unknown run", "/runs/nobody/answers", { wait: "a", value: 1 }, 404, "RUN_NOT_FOUND"),
  post("a message to an unknown run", "/runs/nobody/messages", { stream: "a", value: 1 }, 404, "RUN_NOT_FOUND"),
  post("a cancellation of an unknown run", "/runs/nobody/cancel", {}, 404, "RUN_NOT_FOUND"),
  post("an unknown run to resume", "/runs/nobody/resume", {}, 404, "RUN_NOT_FOUND"),
  post("an answer to a run that is over", "/runs/over/answers", { wait: "approve", value: 1 }, 409, "ANSWER"),
  post("an answer to one of two waits", "/runs/t/answers", { wait: "ok", value: 1 }, 409, "ANSWER", /2 open waits/),
  post("a message to a run that is over", "/runs/over/messages", { stream: "words", value: 1 }, 409, "ANSWER"),
  post("an answer that a schema refuses", "/runs/p/answers", { wait: "price", value: "7" }, 422, "ANSWER"),
  {
    what: "an unknown status",
    path: "/runs?status=stalled",
    status: 400,
    code: "INVALID_QUERY",
    message: /running, waiting/,
  },
  { what: "no limit", path: "/runs?limit=0", status: 400, code: "INVALID_QUERY", message: /from 1 to 1000/ },
  {
    what: "an order that is none",
    path: "/runs?order=age",
    status: 400,
    code: "INVALID_QUERY",
    message: /newest or oldest/,
  },
  { what: "too high a limit", path: "/runs?limit=1001", status: 400, code: "INVALID_QUERY" },
  { what: "a limit that is no number", path: "/runs?limit=1e2", status: 400, code: "INVALID_QUERY" },
  { what: "too long a wait", path: "/runs/o/result?wait=61", status: 400, code: "INVALID_QUERY", message: /0 to 60/ },
  { what: "a wait that is no number", path: "/runs/o/result?wait=-1", status: 400, code: "INVALID_QUERY" },
  { what: "a position that is none", path: "/runs/o/events?after=x", status: 400, code: "INVALID_QUERY" },
  { what: "a negative position", path: "/runs/o/events?after=-1", status: 400, code: "INVALID_QUERY" },
  {
    what: "a position beyond all numbers",
    path: `/runs/o/events?after=${"9".repeat(16)}`,
    status: 400,
    code: "INVALID_QUERY",
  },
  {
    ...{ what: "another stream's position", path: "/runs/o/events", headers: { "last-event-id": "4f1c" } },
    ...{ status: 400, code: "INVALID_QUERY" },
  },
];

describe.each([
  ["a path", paths],
  ["a method", methods],
  ["a content type", types],
  ["a body", bodies],
  ["a state of things", states],
])("by %s", (_, table) => {
  it.each(table)("$what: $status $code", async ({ method = "GET", path, headers, body, status, code, message }) => {
    const sent = body === undefined ? [] : [body];
    const reply = await refused(() => askRaw(method, at.url, path, headers, sent));
    expect([reply.status, reply.body]).toEqual([
      status,
      {
        error: {
          code,
          message: expect.stringMatching(message ?? /\w/),
          ...(status === 422 && { issues: expect.anything() }),
        },
      },
    ]);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    expect(told).toEqual([]);
  });
});

describe("a refusal", () => {
  it("of a method tells which there are", async () => {
    expect((await ask("DELETE", `${at.url}/runs`)).headers.get("allow")).toBe("POST, GET, HEAD");
    expect((await ask("PUT", `${at.url}/runs/o`)).headers.get("allow")).toBe("GET, HEAD");
    expect((await ask("GET", `${at.url}/runs/o/cancel`)).headers.get("allow")).toBe("POST");
  });

  it("by a schema lists what is wrong", async () => {
    await runs();
    const { body } = await ask("POST", `${at.url}/runs/p/answers`, { wait: "price", value: "7" });
    expect(body.error.issues).toEqual(["$.price: no number"]);
  });

  it("to resume a run that another process drives says no word of that process, which can be asked to end it", async () => {
    await app.start(busy, undefined, { id: "b" });
    const elsewhere = new Stepmark({ store: { ...store }, workflows: [busy], http: { authorize: () => true } });
    const other = await served(elsewhere.fetch);
    const { status, body } = await ask("POST", `${other.url}/runs/b/resume`, {});
    const error = { code: "RUN_OWNED", message: "Another process drives the run and is alive." };
    expect([status, body]).toEqual([409, { error }]);
    const cancelled = await ask("POST", `${other.url}/runs/b/cancel`, {});
    expect([cancelled.status, cancelled.body]).toEqual([200, { id: "b", status: "cancelled" }]);
    await elsewhere.shutdown();
    await other.close();
  });

  it("of a second answer to one wait comes while the first is still on its way", async () => {
    await runs();
    const answer = { wait: "order/approve", value: true };
    const replies = await Promise.all([1, 2].map(() => ask("POST", `${at.url}/runs/o/answers`, answer)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it("tells neither of files nor of code", async () => {
    await runs();
    for (const { method = "GET", path, headers, body } of [...paths, ...methods, ...types, ...bodies, ...states]) {
      const reply = await askRaw(method, at.url, path, headers, body === undefined ? [] : [body]);
      expect(JSON.stringify(reply.body)).not.toMatch(/\.ts|\.js|node_modules|\/work|\n/);
    }
  });
});

describe("a body", () => {
  it("of just as many bytes as agreed is taken, one byte more is not", async () => {
    const padded = (bytes: number): string => start.padEnd(bytes, " ");
    expect((await ask("POST", `${at.url}/runs`, padded(200))).status).toBe(201);
    const { status, body } = await refused(() => ask("POST", `${at.url}/runs`, padded(201)));
    expect([status, body.error]).toEqual([
      413,
      { code: "BODY_TOO_LARGE", message: "The body is larger than 200 bytes." },
    ]);
  });

  it("is counted, whether or not it says how long it is", async () => {
    const status = async (bytes: number): Promise<number> => {
      const halves = [start.slice(0, 9), start.slice(9).padEnd(bytes - 9, " ")];
      return (await askRaw("POST", at.url, "/runs", json, halves)).status;
    };
    expect([await status(200), await status(201)]).toEqual([201, 413]);
  });

  it("is counted in bytes, not in characters", async () => {
    const text = (count: number): string => JSON.stringify({ workflow: "echo", input: "€".repeat(count) });
    expect((await ask("POST", `${at.url}/runs`, text(50))).status).toBe(201);
    expect((await ask("POST", `${at.url}/runs`, text(60))).status).toBe(413);
  });

  it("that is longer than it says, or does not say, is refused as soon as it is too long", async () => {
    const chunks = Array.from({ length: 50 }, () => " ".repeat(100));
    expect((await refused(() => askRaw("POST", at.url, "/runs", json, chunks))).status).toBe(413);
  });

  it("that never ends is refused all the same", async () => {
    let sent = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 64;
        controller.enqueue(new Uint8Array(64).fill(0x20));
      },
      cancel() {
        cancelled = true;
      },
    });
    const response = await app.fetch(
      new Request("http://host/runs", { method: "POST", headers: json, body: endless, duplex: "half" } as RequestInit),
    );
    expect(response.status).toBe(413);
    expect(sent).toBeLessThan(600);
    expect(cancelled).toBe(true);
  });

  it("that says it is too large is not read at all", async () => {
    let sent = 0;
    const body = new ReadableStream({ pull: () => void sent++ }, { highWaterMark: 0 });
    const headers = { ...json, "content-length": "201" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    expect((await app.fetch(new Request("http://host/runs", init))).status).toBe(413);
    expect(sent).toBe(0);
  });

  it("that breaks off starts nothing", async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(start));
        controller.error(new Error("connection reset"));
      },
    });
    const init = { method: "POST", headers: json, body, duplex: "half" } as RequestInit;
    const response = await app.fetch(new Request("http://host/runs", init));
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: "INVALID_JSON" } }]);
    expect(await app.list()).toEqual([]);
    expect(told).toEqual([]);
  });

  it("that somebody has read before is the server's fault, and its operator is told", async () => {
    const request = new Request("http://host/runs", { method: "POST", headers: json, body: start });
    await request.text();
    const response = await app.fetch(request);
    expect([response.status, await response.json()]).toMatchObject([500, { error: { code: "INTERNAL" } }]);
    expect(told).toEqual([expect.objectContaining({ message: expect.stringContaining("request.clone()") })]);
  });

  it("as deep as it likes is data, until the codec refuses it", async () => {
    expect((await ask("POST", `${at.url}/runs`, deep)).status).toBe(201);
    const large = new Stepmark({ store, workflows, http: { authorize: () => true } });
    const other = await served(large.fetch);
    const nested = (levels: number): string => `{"workflow":"echo","input":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    for (const levels of [2_000, 400_000]) {
      const { status, body } = await ask("POST", `${other.url}/runs`, nested(levels));
      expect([status, body.error.code]).toEqual([400, "SERIALISATION"]);
    }
    await large.shutdown();
    await other.close();
  });
});

describe("what goes wrong in the server", () => {
  /** An app whose store does what it must not. */
  async function failing(methods: Partial<Store>): Promise<Served> {
    const http = { authorize: () => true, onError: (error: unknown) => told.push(error) };
    return served(new Stepmark({ store: { ...store, ...methods }, workflows, http }).fetch);
  }

  it("is 500 without details, and its operator is told", async () => {
    const fault = new Error("cannot read /srv/secret.db");
    const other = await failing({ read: () => Promise.reject(fault) });
    const { status, body } = await ask("GET", `${other.url}/runs/o`);
    expect([status, body]).toEqual([
      500,
      { error: { code: "INTERNAL", message: "The server failed. Its operator has been told." } },
    ]);
    expect(told).toEqual([fault]);
    await other.close();
  });

  it("is 503, to be tried again, if the store says that it failed", async () => {
    const fault = new StoreError("/srv/secret.db: the disk is full", { runId: "o" });
    const other = await failing({ create: () => Promise.reject(fault) });
    const { status, body, headers } = await ask("POST", `${other.url}/runs`, start);
    expect([status, body.error.code, headers.get("retry-after")]).toEqual([503, "STORE", "1"]);
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(told).toEqual([fault]);
    await other.close();
  });

  it("is told as a warning if nobody asked to be told, and an `onError` that throws does no harm", async () => {
    const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const fault = new Error("of the test");
    const broken: Store = { ...store, read: () => Promise.reject(fault) };
    const quiet = new Stepmark({ store: broken, http: { authorize: () => true } });
    expect((await quiet.fetch(new Request("http://host/runs/o"))).status).toBe(500);
    expect(warning).toHaveBeenCalledWith(fault);
    warning.mockRestore();
    const onError = (): never => {
      throw new Error("again");
    };
    const loud = new Stepmark({ store: broken, http: { authorize: () => true, onError } });
    expect((await loud.fetch(new Request("http://host/runs/o"))).status).toBe(500);
  });

  it("is 503 for everything once the app is shut down, whatever is asked", async () => {
    await runs();
    await app.shutdown();
    for (const path of ["/runs", "/runs/o", "/runs/o/events", "/nothing"]) {
      const { status, body, headers } = await ask("GET", `${at.url}${path}`);
      expect([status, body.error.code, headers.get("retry-after")]).toEqual([503, "SHUTDOWN", "1"]);
    }
    expect((await ask("POST", `${at.url}/runs`, start)).status).toBe(503);
    expect(told).toEqual([]);
  });
});

describe("what was let in before the app was shut down", () => {
  it.each([
    ["POST", "/runs", start],
    ["POST", "/runs/o/resume", "{}"],
  ])("is 503 if it comes too late: %s %s", async (method, path, body) => {
    const late: Stepmark = new Stepmark({
      store,
      workflows,
      http: {
        async authorize() {
          await late.shutdown();
          return true;
        },
      },
    });
    const response = await late.fetch(new Request(`http://host${path}`, { method, headers: json, body }));
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: "SHUTDOWN" } }]);
    expect(await app.list()).toEqual([]);
  });
});

describe("the option `http`", () => {
  it.each([
    [{ authorize: true }, /`http\.authorize` must be a function, not true/],
    [{ maxBody: 0 }, /`http\.maxBody` must be a whole number of bytes, not 0/],
    [{ maxBody: Number.POSITIVE_INFINITY }, /maxBody/],
    [{ basePath: "stepmark" }, /`http\.basePath` must be a path, not "stepmark"/],
    [{ heartbeat: 0 }, /`http\.heartbeat` must be from 1 ms to 24 days/],
    [{ heartbeat: "soon" }, /`http\.heartbeat` must be a duration/],
  ])("%o is refused when the app is made", (http, message) => {
    expect(() => new Stepmark({ store, http: http as never })).toThrow(message);
    expect(() => new Stepmark({ store, http: http as never })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});
