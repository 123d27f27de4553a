/** `app.fetch`: each route, through a real socket. */
import { memoryStore, publish, Stepmark, type Store, waitFor, workflow } from "stepmark";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rest } from "../support/kill.js";
import { broken, echo, workflows } from "./flows.js";
import { allEvents, ask, frames, type Reply, type Served, served } from "./server.js";

let app: Stepmark;
let at: Served;
let url: string;

beforeEach(async () => {
  broken.repaired = false;
  app = new Stepmark({ store: memoryStore(), workflows, http: { authorize: () => true } });
  at = await served(app.fetch);
  url = at.url;
});

afterEach(async () => {
  await app.shutdown();
  await at.close();
});

async function started(workflow: string, input?: unknown, id?: string): Promise<string> {
  const { body } = await ask("POST", `${url}/runs`, { workflow, input, id });
  await app.resume(body.id).then((run) => run.settled());
  return body.id;
}

describe("POST /runs", () => {
  it("starts a run with a random id and tells where it is", async () => {
    const { status, body, headers } = await ask("POST", `${url}/runs`, { workflow: "order", input: "pen" });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      status: "running",
    });
    expect(new URL(headers.get("location")!, `${url}/runs`).href).toBe(`${url}/runs/${body.id}`);
    await rest();
    expect(await app.get(body.id)).toMatchObject({ workflow: "order", status: "waiting" });
  });

  it("takes the id that it is given, and finds the run that has it: 201, then 200", async () => {
    const asked = { workflow: "order", input: "pen", id: "order/17 ä" };
    const first = await ask("POST", `${url}/runs`, asked);
    expect([first.status, first.body.id]).toEqual([201, "order/17 ä"]);
    expect(first.headers.get("location")).toBe("runs/order%2F17%20%C3%A4");
    await rest();
    const again = await ask("POST", `${url}/runs`, asked);
    expect([again.status, again.body]).toEqual([200, { id: "order/17 ä", status: "waiting" }]);
    expect(await app.list()).toHaveLength(1);
  });

  it("of two that ask for one id at once, makes one run and says so to one of them", async () => {
    const asked = { workflow: "order", input: "pen", id: "o" };
    const replies = await Promise.all(Array.from({ length: 5 }, () => ask("POST", `${url}/runs`, asked)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
  });

  it("takes an id of up to 1,000 characters, which fits into a URL", async () => {
    const asked = (characters: number): Promise<Reply> =>
      ask("POST", `${url}/runs`, { workflow: "echo", id: "€".repeat(characters) });
    const { status, headers } = await asked(1_000);
    expect(status).toBe(201);
    expect((await ask("GET", new URL(headers.get("location")!, `${url}/runs`).href)).status).toBe(200);
    expect(await asked(1_001)).toMatchObject({ status: 400, body: { error: { code: "INVALID_BODY" } } });
  });

  it("takes no input for a workflow that has none", async () => {
    const { status, body } = await ask("POST", `${url}/runs`, { workflow: "chat" });
    expect([status, await app.get(body.id)]).toMatchObject([201, { workflow: "chat" }]);
  });

  it("hands over the input as it came, own fields called `__proto__` too, and pollutes nothing", async () => {
    const text =
      '{"workflow":"echo","id":"e","input":{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}}';
    expect((await ask("POST", `${url}/runs`, text)).status).toBe(201);
    const output = (await (await app.resume("e")).result()) as object;
    expect(Object.getOwnPropertyNames(output)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    const shown = await fetch(`${url}/runs/e`);
    expect(await shown.text()).toContain(
      '"output":{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}',
    );
  });
});

describe("GET /runs", () => {
  it("lists runs, newest first, as `app.list` does", async () => {
    const ids = [await started("order", "a"), await started("chat"), await started("echo", 1)];
    const { status, body } = await ask("GET", `${url}/runs`);
    expect(status).toBe(200);
    expect(body.runs.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort());
    const listed = body.runs.find(({ id }: { id: string }) => id === ids[0]);
    expect(listed).toMatchObject({ workflow: "order", status: "waiting", waits: [{ name: "approve" }] });
  });

  it("lists those of one workflow, of some statuses, and only so many", async () => {
    const order = await started("order", "a");
    const chat = await started("chat");
    const echo = await started("echo", 1);
    const ids = async (query: string): Promise<string[]> =>
      (await ask("GET", `${url}/runs?${query}`)).body.runs.map(({ id }: { id: string }) => id).sort();
    expect(await ids("workflow=order")).toEqual([order]);
    expect(await ids("workflow=nobody")).toEqual([]);
    expect(await ids("status=waiting")).toEqual([order, chat].sort());
    expect(await ids("status=completed&status=waiting&limit=1000")).toEqual([order, chat, echo].sort());
    expect(await ids("limit=2")).toHaveLength(2);
    expect(await ids("token=left-to-the-hook")).toHaveLength(3);
  });

  it("lists by pages, the oldest first or the newest", async () => {
    const all: string[] = [];
    for (let i = 0; i < 5; i++) all.push(await started("echo", i));
    const ids = async (query: string): Promise<string[]> =>
      (await ask("GET", `${url}/runs?${query}`)).body.runs.map(({ id }: { id: string }) => id);
    const pages = async (query: string): Promise<string[]> => {
      const found = await ids(`${query}&limit=2`);
      for (;;) {
        const page = await ids(`${query}&limit=2&after=${encodeURIComponent(found.at(-1)!)}`);
        if (page.length === 0) return found;
        found.push(...page);
      }
    };
    expect(await pages("order=oldest&workflow=echo")).toEqual(all);
    expect(await pages("order=newest&status=completed")).toEqual([...all].reverse());
    expect(await ids("")).toEqual([...all].reverse());
    expect(await ask("GET", `${url}/runs?after=nobody`)).toMatchObject({
      status: 404,
      body: { error: { code: "RUN_NOT_FOUND" } },
    });
  });
});

describe("GET /runs/:id", () => {
  it("tells of a run that waits: its waits with their payloads, and what it has published", async () => {
    const id = await started("order", "pen");
    const { status, body, headers } = await ask("GET", `${url}/runs/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      workflow: "order",
      status: "waiting",
      waits: [
        {
          key: "order/approve",
          name: "approve",
          payload: { stock: "one pen" },
          at: expect.stringMatching(/^test\/http\/flows\.ts:\d+$/),
          since: expect.any(Number),
        },
      ],
      published: { stock: "one pen" },
      children: [],
      orphans: [],
      edited: [],
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it("tells the output of a run that has completed, and the error of one that has failed, without its stack", async () => {
    expect((await ask("GET", `${url}/runs/${await started("echo", { a: [1] })}`)).body).toMatchObject({
      status: "completed",
      output: { a: [1] },
    });
    const { body } = await ask("GET", `${url}/runs/${await started("fails")}`);
    expect(body.status).toBe("failed");
    expect(body.error).toEqual({ name: "TypeError", message: "the card was refused", code: "CARD" });
  });

  it("answers HEAD as GET, without a body", async () => {
    const id = await started("echo", 1);
    const { status, body, headers } = await ask("HEAD", `${url}/runs/${id}`);
    expect([status, body, headers.get("content-type")]).toEqual([200, undefined, "application/json"]);
    expect((await ask("HEAD", `${url}/runs/nobody`)).status).toBe(404);
    const response = await app.fetch(new Request(`${url}/runs/${id}`, { method: "HEAD" }));
    expect([response.status, response.body]).toEqual([200, null]);
  });
});

describe("POST /runs/:id/answers", () => {
  it("answers a wait by its name, and the run goes on", async () => {
    const id = await started("order", "pen");
    const { status, body } = await ask("POST", `${url}/runs/${id}/answers`, { wait: "approve", value: true });
    expect([status, body.id]).toEqual([200, id]);
    expect(await (await app.resume(id)).result()).toBe("one pen sold");
  });

  it("answers a wait by its key, and null is an answer", async () => {
    const id = await started("order", "pen");
    const answer = { wait: "order/approve", value: null };
    expect((await ask("POST", `${url}/runs/${id}/answers`, answer)).status).toBe(200);
    expect(await (await app.resume(id)).result()).toBe("refused");
  });
});

describe("POST /runs/:id/messages", () => {
  it("sends messages to a stream, in order", async () => {
    const id = await started("chat");
    for (const value of ["hello", { n: 2 }, "bye"])
      expect((await ask("POST", `${url}/runs/${id}/messages`, { stream: "words", value })).status).toBe(200);
    expect(await (await app.resume(id)).result()).toEqual(["hello", { n: 2 }, "bye"]);
  });
});

describe("the header Idempotency-Key", () => {
  const under = (key: string): Record<string, string> => ({ "idempotency-key": key });

  it("has a message given once, however it is spelt and however often it comes", async () => {
    const id = await started("chat");
    const send = async (value: unknown, key: string) =>
      (await ask("POST", `${url}/runs/${id}/messages`, { stream: "words", value }, under(key))).status;
    expect([await send("hello", "evt_1"), await send("hello", '"evt_1"'), await send("bye", "evt_2")]).toEqual([
      200, 200, 200,
    ]);
    expect(await (await app.resume(id)).result()).toEqual(["hello", "bye"]);
    expect([await send("bye", "evt_2"), await send("more", "evt_3")]).toEqual([200, 409]);
  });

  it("has an answer that comes again taken for the one that it is, and refuses another under its name", async () => {
    const id = await started("order", "pen");
    const answer = (value: unknown, key: string) =>
      ask("POST", `${url}/runs/${id}/answers`, { wait: "approve", value }, under(key));
    expect((await answer(true, "evt_1")).status).toBe(200);
    await (await app.resume(id)).result();
    expect(await answer(true, "evt_1")).toMatchObject({ status: 200, body: { id, status: "completed" } });
    expect(await answer(false, "evt_1")).toMatchObject({ status: 409, body: { error: { code: "ANSWER" } } });
    expect(await answer(true, "evt_2")).toMatchObject({ status: 409, body: { error: { code: "ANSWER" } } });
  });

  it("has to be a key", async () => {
    const id = await started("order", "pen");
    for (const key of ['""', "x".repeat(256)])
      expect(await ask("POST", `${url}/runs/${id}/answers`, { wait: "approve", value: 1 }, under(key))).toMatchObject({
        ...{ status: 400, body: { error: { code: "INVALID_ARGUMENT" } } },
      });
  });
});

describe("POST /runs/:id/cancel", () => {
  it.each([
    ["an empty body", ""],
    ["an empty object", "{}"],
  ])("cancels a run, given %s", async (_, body) => {
    const id = await started("order", "pen");
    const reply = await ask("POST", `${url}/runs/${id}/cancel`, body);
    expect([reply.status, reply.body]).toEqual([200, { id, status: "cancelled" }]);
    expect((await app.get(id)).status).toBe("cancelled");
  });

  it("leaves a run that has ended as it is, and says so", async () => {
    const id = await started("echo", 1);
    expect((await ask("POST", `${url}/runs/${id}/cancel`, {})).body).toEqual({ id, status: "completed" });
  });
});

describe("POST /runs/:id/resume", () => {
  it("goes on with a failed run", async () => {
    const id = await started("fails");
    broken.repaired = true;
    const { status, body } = await ask("POST", `${url}/runs/${id}/resume`, { retry: "all" });
    expect([status, body.id]).toEqual([200, id]);
    expect(await (await app.resume(id)).result()).toBe("paid");
  });
});

describe("GET /runs/:id/result", () => {
  it("gives the output, at once if it is there", async () => {
    const id = await started("echo", { a: 1 });
    const { status, body } = await ask("GET", `${url}/runs/${id}/result?wait=0`);
    expect([status, body]).toEqual([200, { id, status: "completed", output: { a: 1 } }]);
  });

  it("waits for the run to end", async () => {
    const id = await started("order", "pen");
    const result = ask("GET", `${url}/runs/${id}/result`);
    await ask("POST", `${url}/runs/${id}/answers`, { wait: "approve", value: true });
    expect((await result).body).toEqual({ id, status: "completed", output: "one pen sold" });
  });

  it("gives the error of a failed run, and tells of a cancelled one", async () => {
    const failed = await started("fails");
    expect((await ask("GET", `${url}/runs/${failed}/result`)).body).toEqual({
      id: failed,
      status: "failed",
      error: { name: "TypeError", message: "the card was refused", code: "CARD" },
    });
    const cancelled = await started("order", "pen");
    const result = ask("GET", `${url}/runs/${cancelled}/result`);
    await app.cancel(cancelled);
    expect(await result).toMatchObject({ status: 200, body: { id: cancelled, status: "cancelled" } });
  });

  it("does not read the journal to know of the end", async () => {
    const store = memoryStore();
    const long = workflow("long", async () => {
      for (let i = 0; i < 100; i++) await publish("part", i);
      await waitFor("ok");
    });
    let reads = 0;
    const counted: Store = { ...store, entries: (...args) => store.entries(...args).finally(() => reads++) };
    const other = new Stepmark({ store: counted, workflows: [long], http: { authorize: () => true } });
    await (await other.start(long, undefined, { id: "l" })).settled();
    await rest();
    reads = 0;
    const response = await other.fetch(new Request("http://host/runs/l/result?wait=0.1"));
    expect([response.status, reads]).toEqual([202, 0]);
    await other.shutdown();
  });

  it("is 202 while it is not there, after the time that it was to wait", async () => {
    const id = await started("order", "pen");
    expect(await ask("GET", `${url}/runs/${id}/result?wait=0`)).toMatchObject({
      status: 202,
      body: { id, status: "waiting" },
    });
    const before = performance.now();
    expect((await ask("GET", `${url}/runs/${id}/result?wait=0.3`)).status).toBe(202);
    expect(performance.now() - before).toBeGreaterThan(290);
  });

  it("is 503 for whoever waits when the app is shut down", async () => {
    const id = await started("order", "pen");
    const result = ask("GET", `${url}/runs/${id}/result?wait=60`);
    await expect.poll(() => at.sockets.size).toBeGreaterThan(0);
    await rest();
    await app.shutdown();
    expect(await result).toMatchObject({ status: 503, body: { error: { code: "SHUTDOWN" } } });
  });
});

describe("`app.fetch`", () => {
  it("can be passed on by itself", async () => {
    const { fetch } = app;
    const response = await fetch(new Request("http://host/runs", { method: "PATCH" }));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, GET, HEAD"]);
  });

  it("tells of a run with a value that this app cannot read: the rest, and the error in its place", async () => {
    const store = memoryStore();
    const codec = {
      encode: (value: unknown) => JSON.stringify({ value }),
      decode: (text: string) => JSON.parse(text).value,
    };
    const writer = new Stepmark({ store, workflows, codec });
    await (await writer.start(echo, "secret", { id: "e" })).result();
    const odd = workflow("odd", async () => {
      await publish("__proto__", "seen");
      await waitFor("ok", { payload: "secret" });
    });
    await (await writer.start(odd, undefined, { id: "odd" })).settled();
    const reader = new Stepmark({ store, workflows, http: { authorize: () => true } });
    const other = await served(reader.fetch);
    const waiting = await fetch(`${other.url}/runs/odd`).then((response) => response.text());
    expect(waiting).toMatch(/"published":\{"__proto__":\{"name":"DecodeError",/);
    expect(JSON.parse(waiting).waits).toMatchObject([{ name: "ok", payload: { code: "DECODE" } }]);
    const { status, body } = await ask("GET", `${other.url}/runs/e`);
    expect([status, body]).toMatchObject([200, { id: "e", status: "completed", output: { code: "DECODE" } }]);
    expect((await ask("GET", `${other.url}/runs/e/result`)).body.output).toMatchObject({ name: "DecodeError" });
    const events = await allEvents(await frames(`${other.url}/runs/e/events`));
    expect(events.at(-1)).toMatchObject({ event: "run.completed", data: { value: { code: "DECODE" } } });
    await other.close();
  });
});
