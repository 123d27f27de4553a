/** What the inspector's server tells, whom, and what it never does. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request as send } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { memoryStore, Stepmark, step, waitFor, workflow } from "stepmark";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { errorView } from "../../inspector/error-view.js";
import type { Inspector } from "../../inspector/server.js";
import { sourceAround, withinRoot } from "../../inspector/source.js";
import { valueText } from "../../inspector/value-text.js";
import type { Batch } from "../../inspector/wire.js";
import { written } from "./flows.js";
import { closeAll, inspect } from "./support.js";

afterAll(closeAll);

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** A request with just these headers. */
async function ask(
  { origin }: Inspector,
  at: string,
  headers: Record<string, string>,
  method = "GET",
  body?: string,
): Promise<Reply> {
  const { hostname, port } = new URL(origin);
  const request = send({ hostname, port, path: at, method, headers, agent: false });
  request.end(body);
  const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) =>
    request.on("response", resolve).on("error", reject),
  );
  return { status: response.statusCode!, headers: response.headers, body: await text(response) };
}

const own = (inspector: Inspector): Record<string, string> => ({
  host: new URL(inspector.origin).host,
  authorization: `Bearer ${inspector.token}`,
});

async function get<T>(inspector: Inspector, at: string): Promise<T> {
  const reply = await ask(inspector, `/api${at}`, own(inspector));
  expect([reply.status, reply.body.slice(0, 300)]).toEqual([200, expect.anything()]);
  return JSON.parse(reply.body) as T;
}

const asked = workflow("asked", async () => {
  await step(async function look() {
    return 1;
  });
  return waitFor("amount", { schema: z.number().positive() });
});

describe("whoever asks", () => {
  const store = memoryStore();
  let inspector: Inspector;
  beforeAll(async () => {
    const app = new Stepmark({ store, workflows: [asked] });
    await (await app.start(asked, undefined, { id: "r" })).settled();
    await app.shutdown();
    inspector = await inspect(store);
  });
  const refused = async (at: string, headers: Record<string, string>, method?: string, body?: string) => {
    const reply = await ask(inspector, at, headers, method, body);
    return [reply.status, (JSON.parse(reply.body) as { error: { code: string } }).error.code];
  };
  const paths = ["/api/about", "/api/runs", "/api/runs/r/follow", "/api/runs/r/entries/1", "/api/runs/r/values/input"];

  it.each(paths)("without the token, or with another, gets nothing: %s", async (at) => {
    const { host } = own(inspector);
    const { token } = inspector;
    for (const authorization of [
      "",
      "Bearer ",
      `Bearer ${token.slice(1)}`,
      `Bearer ${token}x`,
      `Basic ${token}`,
      token,
    ])
      expect(await refused(at, { host: host!, ...(authorization && { authorization }) })).toEqual([401, "NO_TOKEN"]);
    expect(await refused(`${at}?token=${token}`, { host: host! })).toEqual([401, "NO_TOKEN"]);
  });

  it("under another name than the server's gets nothing, not even the page", async () => {
    const { port } = new URL(inspector.origin);
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      "127.0.0.1:1",
      `127.0.0.1.evil.example:${port}`,
    ])
      for (const at of ["/", "/page.js", "/api/runs"])
        expect(await refused(at, { ...own(inspector), host })).toEqual([403, "FOREIGN_HOST"]);
    for (const host of [`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
      expect((await ask(inspector, "/api/runs", { ...own(inspector), host })).status).toBe(200);
  });

  it("from a page of another origin gets nothing, whatever it sends", async () => {
    const { port } = new URL(inspector.origin);
    for (const origin of [
      "https://evil.example",
      "null",
      `http://127.0.0.1:${Number(port) + 1}`,
      `https://127.0.0.1:${port}`,
      `http://localhost:${port}`,
    ])
      expect(await refused("/api/runs", { ...own(inspector), origin })).toEqual([403, "FOREIGN_ORIGIN"]);
    for (const site of ["cross-site", "same-site"])
      expect(await refused("/api/runs", { ...own(inspector), "sec-fetch-site": site })).toEqual([
        403,
        "FOREIGN_ORIGIN",
      ]);
    const headers = { ...own(inspector), origin: "https://evil.example", "content-type": "application/json" };
    expect(await refused("/api/runs/r/cancel", headers, "POST", "{}")).toEqual([403, "FOREIGN_ORIGIN"]);
    expect((await store.read("r"))!.status).toBe("waiting");
  });

  it("can only read by GET and change by POST with JSON", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
      for (const at of ["/api/runs", "/api/runs/r/follow", "/api/runs/r/values/input"])
        expect((await refused(at, own(inspector), method))[0]).toBe(405);
    for (const at of ["/api/runs/r/answers", "/api/runs/r/cancel"]) {
      expect(await refused(at, own(inspector))).toEqual([405, "METHOD_NOT_ALLOWED"]);
      const form = { ...own(inspector), "content-type": "text/plain" };
      expect(await refused(at, form, "POST", '{"wait":"amount","value":1}')).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
    }
    for (const at of ["/api/runs/r/resume", "/api/runs/r/messages", "/api/runs/r", "/api/", "/api/runs/r/result"])
      expect((await refused(at, { ...own(inspector), "content-type": "application/json" }, "POST", "{}"))[0]).toBe(404);
  });

  it("gets only these files, whatever the path says", async () => {
    for (const at of [
      "/../package.json",
      "/..%2fpackage.json",
      "/page/../../package.json",
      "/server.ts",
      "//etc/passwd",
      "/page.js/",
    ])
      expect((await refused(at, own(inspector)))[0]).toBe(404);
    const page = await ask(inspector, "/", { host: own(inspector).host! });
    expect(page.body).not.toContain(inspector.token);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.headers["content-security-policy"]).not.toMatch(/unsafe|https?:|\*/);
    expect(page.headers["x-frame-options"]).toBe("DENY");
    expect(page.headers["referrer-policy"]).toBe("no-referrer");
  });

  it("gets no leave from a preflight, whoever asks", async () => {
    const { host } = own(inspector);
    const asks = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
    for (const origin of ["https://evil.example", "null", inspector.origin])
      for (const at of ["/api/runs", "/api/runs/r/cancel", "/"]) {
        const reply = await ask(inspector, at, { host: host!, origin, ...asks }, "OPTIONS");
        expect(reply.status).toBeGreaterThanOrEqual(400);
        expect(Object.keys(reply.headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
      }
  });

  it("cannot hide another name in the address of the request, or in a second one", async () => {
    const { host, authorization } = own(inspector);
    const { port } = new URL(inspector.origin);
    for (const name of [`localhost.:${port}`, `localhost:${port}.`, `user@${host}`, `${host}, evil.example`])
      expect(await refused("/api/runs", { host: name, authorization: authorization! })).toEqual([403, "FOREIGN_HOST"]);
    // What stands in the first line is for its path alone: the header decides.
    expect(await refused(`http://${host}/api/runs`, { host: "evil.example", authorization: authorization! })).toEqual([
      403,
      "FOREIGN_HOST",
    ]);
  });

  it("is told nothing to keep or to pass on, also where it is refused", async () => {
    const { host } = own(inspector);
    const replies = [
      await ask(inspector, "/", { host: host! }),
      await ask(inspector, "/page.js", { host: host! }),
      await ask(inspector, "/api/runs", own(inspector)),
      await ask(inspector, "/api/runs", { host: host! }),
      await ask(inspector, "/", { host: "evil.example" }),
      await ask(inspector, "/none", { host: host! }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 401, 403, 404]);
    for (const { headers } of replies)
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": expect.stringContaining("default-src 'none'"),
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
      });
  });

  it("has a token of its own for each server", async () => {
    const other = await inspect(store);
    expect(other.token).not.toBe(inspector.token);
    expect(Buffer.from(other.token, "base64url")).toHaveLength(32);
    expect(
      (await ask(inspector, "/api/runs", { ...own(inspector), authorization: `Bearer ${other.token}` })).status,
    ).toBe(401);
  });
});

describe("source", () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-source-")));
  const inside = path.join(folder, "project");
  beforeAll(() => {
    mkdirSync(path.join(inside, "src/.hidden"), { recursive: true });
    writeFileSync(path.join(folder, "outside.ts"), "secret\n");
    writeFileSync(path.join(inside, "src/flow.ts"), "one\ntwo\nawait step(charge);\u202e\nfour\r\nfive\n");
    writeFileSync(path.join(inside, "src/.hidden/a.ts"), "secret\n");
    writeFileSync(path.join(inside, ".env"), "secret\n");
    writeFileSync(path.join(inside, "src/key.pem"), "secret\n");
    symlinkSync(path.join(folder, "outside.ts"), path.join(inside, "src/link.ts"));
    symlinkSync(folder, path.join(inside, "src/up"));
    symlinkSync(path.join(inside, ".env"), path.join(inside, "src/env.ts"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ...["../outside.ts", "src/../../outside.ts", "src/link.ts", "src/up/outside.ts", "/etc/hosts.ts"],
    ...[
      "src/../src/flow.ts",
      "src//flow.ts",
      "./src/flow.ts",
      "src\\flow.ts",
      "src/flow.ts\0.ts",
      "C:/flow.ts",
      "c:flow.ts",
    ],
    ...[".env", "src/env.ts", "src/key.pem", "src/.hidden/a.ts", "src", "src/none.ts", "", "..", "%2e%2e/outside.ts"],
  ])("never comes from outside the root, or from what is no source: %j", (module) => {
    expect(withinRoot(inside, module)).toBeUndefined();
    expect(withinRoot(inside, path.join(inside, module))).toBeUndefined();
  });

  it("is the lines around a call, with nothing invisible in them", () => {
    expect(withinRoot(inside, "src/flow.ts")).toBe(path.join(inside, "src/flow.ts"));
    const site = { module: "src/flow.ts", line: 3, anchor: "charge~1", container: "", moduleText: "", text: "" };
    const lines = ["one", "two", "await step(charge);\\u202e", "four", "five", ""];
    expect(sourceAround(inside, site)).toEqual({ path: "src/flow.ts", first: 1, line: 3, lines });
    expect(sourceAround(inside, { ...site, line: 4 })).toMatchObject({ doubtful: true });
    for (const line of [0, -1, 99, 1.5, Number.NaN]) expect(sourceAround(inside, { ...site, line })).toBeUndefined();
  });

  it("is that of a journal that names what it likes", async () => {
    const store = memoryStore();
    const site = { module: "../outside.ts", line: 1, anchor: "x", container: "", moduleText: "", text: "" };
    await written(store, "r", "w", Date.now(), [{ key: "x", from: 0, to: 1, site }], null);
    const inspector = await inspect(store, { root: inside });
    const reply = await ask(inspector, "/api/runs/r/entries/1", own(inspector));
    expect([reply.status, reply.body.includes("secret"), JSON.parse(reply.body).source]).toEqual([
      200,
      false,
      undefined,
    ]);
  });
});

describe("values", () => {
  it("are JSON with line breaks, and nothing in them is invisible", () => {
    expect(valueText({ a: [1, 2], "b c": "x" })).toBe('{ "a": [1, 2], "b c": "x" }');
    expect(valueText({ list: Array.from({ length: 30 }, (_, index) => index) }).split("\n")).toHaveLength(34);
    expect(valueText("a\u202eb\u200bc\u0000d\u009be")).toBe('"a\\u202eb\\u200bc\\u0000d\\u009be"');
    expect(valueText("👩‍👩‍👧")).toBe('"👩‍👩‍👧"');
    expect([valueText(undefined), valueText(null), valueText([]), valueText({})]).toEqual([
      "undefined",
      "null",
      "[]",
      "{}",
    ]);
  });

  it("have bounds: depth, size, and what one object in many places would come to", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 5_000; level++) deep = [deep];
    expect(valueText(deep)).toContain("[Too deep]");
    let wide: unknown = ["x"];
    for (let level = 0; level < 40; level++) wide = [wide, wide];
    expect(valueText(wide).length).toBeLessThan(40 * 1024 * 1024);
  });

  it("come in slices, as many as one asks for", async () => {
    const store = memoryStore();
    const large = `<script>alert(1)</script>${"😀".repeat(2_500_000)}`;
    await written(store, "r", "w", Date.now(), [], large, large);
    const inspector = await inspect(store);
    let whole = "";
    for (let total = 1; whole.length < total; ) {
      const slice = await get<{ text: string; from: number; total: number }>(
        inspector,
        `/runs/r/values/output?from=${whole.length}&length=262144`,
      );
      total = slice.total;
      whole += slice.text;
    }
    expect(whole === JSON.stringify(large)).toBe(true);
    expect((await ask(inspector, "/api/runs/r/values/output?length=999999999", own(inspector))).status).toBe(400);
  });

  it("of errors have causes, fields and stacks, and what was recorded beside what was asked for", () => {
    const error = new Error("outer \u202e", { cause: new RangeError("inner") });
    Object.assign(error, { status: 503, stack: undefined });
    expect(errorView(error)).toMatchObject({
      name: "Error",
      message: "outer \\u202e",
      fields: '{ "status": 503 }',
      cause: { name: "RangeError", message: "inner" },
    });
    expect(errorView(error).cause!.stack).toMatch(/^\s+at /);
    expect(errorView("thrown")).toEqual({ name: "", message: '"thrown"' });
    const many = new AggregateError(
      Array.from({ length: 1_000 }, (_, index) => new Error(`e${index}`)),
      "x".repeat(1e6),
    );
    const view = errorView(many);
    expect([view.message.length, view.messageLength, view.errors!.length < 60]).toEqual([20_000, 1_000_000, true]);
    const endless = new Error("a");
    endless.cause = endless;
    expect(JSON.stringify(errorView(endless)).length).toBeLessThan(200_000);
  });
});

describe("a run", () => {
  /** The first batches, until all that there is has come. */
  async function followed(inspector: Inspector, id: string): Promise<Batch[]> {
    const controller = new AbortController();
    const response = await fetch(`${inspector.origin}/api/runs/${id}/follow`, {
      headers: { authorization: `Bearer ${inspector.token}` },
      signal: controller.signal,
    });
    const batches: Batch[] = [];
    let rest = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      batches.push(...lines.filter(Boolean).map((line) => JSON.parse(line) as Batch));
      if (batches.some(({ caughtUp }) => caughtUp)) break;
    }
    controller.abort();
    return batches;
  }

  it("is told whole, then as it goes on; an answer is checked by the schema, if the workflows are at hand", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [asked] });
    await (await app.start(asked, undefined, { id: "r" })).settled();
    await app.shutdown();
    const inspector = await inspect(store, { workflows: [asked] });
    const [batch] = await followed(inspector, "r");
    expect(batch!.run).toMatchObject({ id: "r", status: "waiting", workflow: "asked", queued: [] });
    expect(batch!.rows!.map(({ key, state }) => `${key} ${state}`)).toEqual(["asked/look done", "asked/amount open"]);
    expect(batch!.rows![0]!.process).toMatch(/^\d+-[0-9a-f]{6}$/);
    const give = (value: unknown): Promise<Reply> => {
      const headers = { ...own(inspector), "content-type": "application/json" };
      const body = JSON.stringify({ wait: "asked/amount", value });
      return ask(inspector, "/api/runs/r/answers", headers, "POST", body);
    };
    const refused = await give(-3);
    expect([refused.status, JSON.parse(refused.body).error]).toMatchObject([
      422,
      { code: "ANSWER", issues: [expect.stringContaining(">0")] },
    ]);
    expect(await store.inbox("r")).toEqual([]);
    expect((await give(12)).status).toBe(200);
    expect((await followed(inspector, "r"))[0]!.run!.queued).toEqual(["asked/amount"]);
    expect((await give(13)).status).toBe(409);
    const replay = await get<{ ok: boolean; words: string }>(inspector, "/runs/r/replay");
    expect(replay).toMatchObject({ ok: true, words: expect.stringContaining("goes on with the wait `amount`") });
    // No body has run, and nothing was taken up.
    expect((await store.read("r"))!.fence).toBe(1);
    const again = new Stepmark({ store, workflows: [asked] });
    expect(await (await again.resume("r")).result()).toBe(12);
    await again.shutdown();
  });

  it("that was recorded by a class that is not known here is shown all the same", async () => {
    const store = memoryStore();
    const value = '[["$",1],[2,3],"class:Point",{"x":4},1]';
    await written(store, "r", "w", Date.now(), [{ key: "x", from: 0, to: 1, value }], null);
    const inspector = await inspect(store);
    const detail = await get<{ error: { name: string } }>(inspector, "/runs/r/entries/1");
    expect(detail.error.name).toBe("DecodeError");
  });

  it("of a store that is only read is shown; nothing can be answered or cancelled, and it is said why", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [asked] });
    await (await app.start(asked, undefined, { id: "r" })).settled();
    const inspector = await inspect(store, { name: "runs.db", readOnly: true });
    expect(await get(inspector, "/about")).toMatchObject({ store: "runs.db (read-only)" });
    expect(await get(inspector, "/runs")).toMatchObject({ runs: [{ id: "r", status: "waiting" }] });
    const headers = { ...own(inspector), origin: inspector.origin, "content-type": "application/json" };
    for (const [at, body] of [
      ["/api/runs/r/answers", '{"wait":"amount","value":1}'],
      ["/api/runs/r/cancel", "{}"],
    ] as const) {
      const reply = await ask(inspector, at, headers, "POST", body);
      const { error } = JSON.parse(reply.body) as { error: { code: string; message: string } };
      expect([reply.status, error.code]).toEqual([409, "READ_ONLY"]);
      expect(error.message).toMatch(/cannot be written by this process: nothing can be answered or cancelled/);
    }
    expect(await app.get("r")).toMatchObject({ status: "waiting", waits: [{ name: "amount" }] });
    await app.shutdown();
  });

  it("that does not exist, or an entry that does not, is 404", async () => {
    const inspector = await inspect(memoryStore());
    for (const at of ["/runs/none/follow", "/runs/none/values/input", "/runs/none/entries/1", "/runs/none/replay"])
      expect([404, 409]).toContain((await ask(inspector, `/api${at}`, own(inspector))).status);
    expect((await ask(inspector, "/api/runs/%ff/follow", own(inspector))).status).toBe(400);
  });
});

describe("the list", () => {
  it("is filtered by status, workflow and text", async () => {
    const store = memoryStore();
    for (let index = 0; index < 30; index++)
      await written(
        store,
        `run-${index}`,
        index % 2 ? "odd" : "even",
        Date.now() + index,
        [],
        0,
        index % 3 ? index : undefined,
      );
    const inspector = await inspect(store);
    const ids = async (query: string): Promise<string[]> =>
      (await get<{ runs: Array<{ id: string }> }>(inspector, `/runs?${query}`)).runs.map(({ id }) => id);
    expect(await ids("limit=3")).toEqual(["run-29", "run-28", "run-27"]);
    expect(await ids("status=running&workflow=odd")).toEqual(["run-27", "run-21", "run-15", "run-9", "run-3"]);
    expect(await ids("text=UN-1&status=completed&workflow=even")).toEqual(["run-16", "run-14", "run-10"]);
    expect((await get<{ more: boolean }>(inspector, "/runs?limit=30")).more).toBe(false);
    expect((await get<{ more: boolean }>(inspector, "/runs?limit=29")).more).toBe(true);
    for (const query of ["status=odd", "limit=1e9", "limit=-1"])
      expect((await ask(inspector, `/api/runs?${query}`, own(inspector))).status).toBe(400);
  });
});
