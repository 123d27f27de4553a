/** `GET /runs/:id/events`: a run's events as server-sent events, through a real socket. */
import { EventSource } from "eventsource";
import {
  codec,
  memoryStore,
  publish,
  type RunEvent,
  Stepmark,
  type StepmarkOptions,
  type Store,
  StoreError,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../support/fake-clock.js";
import { rest } from "../support/kill.js";
import { broken, chat, fails, order, workflows } from "./flows.js";
import { allEvents, ask, eventOf, type Frame, frames, listeners, type Served, served } from "./server.js";

const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  broken.repaired = false;
});

async function serve(options: Partial<StepmarkOptions> = {}): Promise<{ app: Stepmark; at: Served; url: string }> {
  const { http, ...others } = options;
  const app = new Stepmark({ store: memoryStore(), workflows, ...others, http: { authorize: () => true, ...http } });
  const at = await served(app.fetch);
  closing.push(at.close, () => app.shutdown());
  return { app, at, url: at.url };
}

/** An event in short: what it is called, and its id. */
const short = ({ event, id }: Frame): string => (id === undefined ? event! : `${event} ${id}`);

const whole = [
  "run.started",
  "step.completed 1",
  "published 2",
  "wait.opened 3",
  "run.waiting",
  "wait.answered 4",
  "run.completed 4.completed",
];

/** What a listener within the process gets. */
async function listened(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

describe("a stream of events", () => {
  it("tells all from the start to the end of the run, with values and errors, and then ends", async () => {
    const { app, url } = await serve();
    const run = await app.start(order, "pen", { id: "o" });
    const inProcess = listened(run.events());
    const stream = await frames(`${url}/runs/o/events`);
    expect(stream.status).toBe(200);
    expect(Object.fromEntries(stream.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-accel-buffering": "no",
    });
    expect((await stream.next()).value).toEqual({ retry: "1000" });
    const found = allEvents(stream);
    await run.settled();
    await app.answer("o", "approve", true);
    expect((await found).map(short)).toEqual(whole);
    const expected = (await inProcess).map((event) => ({
      ...event,
      ...(event.value !== undefined && { value: event.value }),
    }));
    expect((await found).map(({ data }) => data)).toEqual(JSON.parse(JSON.stringify(expected)));
    expect((await found).map(({ data }) => data.value)).toEqual([
      ...[undefined, "one pen", "one pen", { stock: "one pen" }, undefined, true, "one pen sold"],
    ]);
  });

  it("tells an error without its stack, and every event by its type and data", async () => {
    const { app, url } = await serve();
    await (await app.start(fails, undefined, { id: "f" })).settled();
    const found = await allEvents(await frames(`${url}/runs/f/events`));
    const error = { name: "TypeError", message: "the card was refused", code: "CARD" };
    expect(found.map(short)).toEqual(["run.started", "step.failed 1", "run.failed 1.failed"]);
    expect(found.slice(1).map(({ event, data }) => [event === data.type, data.error])).toEqual([
      [true, error],
      [true, error],
    ]);
  });

  it("is the same of a run that has ended, in another process, and of one that waits there", async () => {
    const store = memoryStore();
    const { app } = await serve({ store });
    const elsewhere = await serve({ store: { ...store } as Store });
    const { id } = await app.start(order, "pen");
    const found = allEvents(await frames(`${elsewhere.url}/runs/${id}/events`));
    await expect.poll(async () => (await app.get(id)).status).toBe("waiting");
    // The other process asks the store now and then, and may not see it wait.
    await ask("POST", `${elsewhere.url}/runs/${id}/answers`, { wait: "approve", value: true });
    const ending = new AbortController();
    const looking = app.run({ interval: 10, signal: ending.signal });
    const seen = (await found).map(short).filter((event) => event !== "run.waiting");
    ending.abort();
    await looking;
    expect(seen).toEqual(whole.filter((event) => event !== "run.waiting"));
    const again = await allEvents(await frames(`${elsewhere.url}/runs/${id}/events`));
    expect(again.map(short)).toEqual(seen);
  });
});

describe("a run that leaves memory while it waits", () => {
  it("goes on under its stream, and under whoever waits for its result", async () => {
    const clock = new FakeClock();
    const { app, url } = await serve({ clock, idle: "1m" });
    await (await app.start(order, "pen", { id: "o" })).settled();
    const found = allEvents(await frames(`${url}/runs/o/events`));
    const result = ask("GET", `${url}/runs/o/result`);
    await rest();
    await clock.advance(120_000);
    expect((await ask("GET", `${url}/runs/o`)).body.status).toBe("waiting");
    await ask("POST", `${url}/runs/o/answers`, { wait: "approve", value: true });
    expect((await found).map(short)).toEqual(whole);
    expect((await result).body).toEqual({ id: "o", status: "completed", output: "one pen sold" });
  });

  it("ends its stream with the app, all the same", async () => {
    const clock = new FakeClock();
    const { app, url } = await serve({ clock, idle: "1m" });
    await (await app.start(order, "pen", { id: "o" })).settled();
    const found = allEvents(await frames(`${url}/runs/o/events`));
    await rest();
    await clock.advance(120_000);
    await app.shutdown();
    expect((await found).at(-1)?.event).toBe("run.left");
  });
});

describe("a client that connects again", () => {
  it("goes on after the event that it had last, by header or by query", async () => {
    const { app, url } = await serve();
    const run = await app.start(order, "pen", { id: "o" });
    await run.settled();
    await app.answer("o", "approve", true);
    await run.result();
    const from = async (query: string, headers = {}): Promise<string[]> =>
      (await allEvents(await frames(`${url}/runs/o/events${query}`, headers))).map(short);
    const all = whole.filter((event) => event !== "run.waiting");
    expect(await from("")).toEqual(all);
    expect(await from("?after=0")).toEqual(all);
    expect(await from("", { "last-event-id": "2" })).toEqual(all.slice(3));
    expect(await from("?after=3")).toEqual(all.slice(4));
    // The URL of an EventSource stays what it was, so the header is the newer of the two.
    expect(await from("?after=1", { "last-event-id": "3" })).toEqual(all.slice(4));
    // The last entry is not the end: a connection may break between the two.
    expect(await from("", { "last-event-id": "4" })).toEqual(["run.completed 4.completed"]);
    expect(await from("?after=999")).toEqual(["run.completed 999.completed"]);
  });

  it("after the end is sent away with 204, so that it stops; only then", async () => {
    const { app, url } = await serve();
    const status = async (id: string, last: string): Promise<number> => {
      const response = await fetch(`${url}/runs/${id}/events`, { headers: { "last-event-id": last } });
      await response.body?.cancel();
      return response.status;
    };
    const run = await app.start(order, "pen", { id: "o" });
    await run.settled();
    expect(await status("o", "3")).toBe(200);
    expect(await status("o", "4.completed")).toBe(200);
    await app.answer("o", "approve", true);
    await run.result();
    expect(await status("o", "4.completed")).toBe(204);
    expect(await status("o", "4")).toBe(200);
    await app.start(chat, undefined, { id: "c" });
    await app.cancel("c");
    expect(await status("c", "0.cancelled")).toBe(204);
    expect((await fetch(`${url}/runs/nobody/events`, { headers: { "last-event-id": "4.completed" } })).status).toBe(
      404,
    );
  });

  it("after a failure, and finds the run resumed, is told how it goes on", async () => {
    const store = memoryStore();
    const { app, url } = await serve({ store });
    await (await app.start(fails, undefined, { id: "f" })).settled();
    const [last] = (await allEvents(await frames(`${url}/runs/f/events`))).slice(-1);
    const again = (): Promise<Response> => fetch(`${url}/runs/f/events`, { headers: { "last-event-id": last!.id! } });
    expect((await again()).status).toBe(204);
    broken.repaired = true;
    await (await app.resume("f")).result();
    const elsewhere = await serve({ store: { ...store } as Store });
    const found = await allEvents(await frames(`${elsewhere.url}/runs/f/events`, { "last-event-id": last!.id! }));
    expect(found.map(short)).toEqual(["step.completed 2", "run.completed 2.completed"]);
  });

  it("as a browser's EventSource does gets each event once, over a broken connection, and stops by itself", async () => {
    const { app, at, url } = await serve();
    await app.start(order, "pen", { id: "o" });
    const found: string[] = [];
    const statuses: number[] = [];
    const source = new EventSource(`${url}/runs/o/events`, {
      fetch: async (input, init) => {
        const response = await fetch(input, init as RequestInit);
        statuses.push(response.status);
        return response;
      },
    });
    const ended = new Promise<void>((resolve) => {
      source.onerror = () => {
        if (source.readyState === source.CLOSED) resolve();
        else if (statuses.length === 1) void app.answer("o", "approve", true);
      };
    });
    for (const type of new Set(whole.map((event) => event.split(" ")[0]!)))
      source.addEventListener(type, ({ data, lastEventId }) => {
        found.push(lastEventId === "" ? type : `${type} ${lastEventId}`);
        expect(JSON.parse(data).type).toBe(type);
        if (type === "run.waiting") for (const socket of at.sockets) socket.destroy();
      });
    await ended;
    expect(statuses).toEqual([200, 200, 204]);
    expect(found).toEqual(whole);
    source.close();
  });
});

describe("a client that goes away", () => {
  it.each([
    ["@hono/node-server", (app: Stepmark) => app.fetch],
    // Some hosts abort the request's signal and leave the stream alone.
    [
      "a host that only aborts the signal",
      (app: Stepmark) => async (request: Request) => {
        const response = await app.fetch(request);
        const reader = response.body!.getReader();
        const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
          const { value, done } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        };
        return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), response);
      },
    ],
  ])("ends its listener at once, also while the run waits: under %s", async (_, fetchOf) => {
    const app = new Stepmark({ store: memoryStore(), workflows, http: { authorize: () => true } });
    const count = listeners(app);
    const at = await served(fetchOf(app));
    closing.push(at.close, () => app.shutdown());
    await app.start(order, "pen", { id: "o" });
    const stream = await frames(`${at.url}/runs/o/events`);
    await eventOf(stream, "run.waiting");
    expect(count.open).toBe(1);
    stream.close();
    await count.ended;
    expect(count.open).toBe(0);
  });

  it("ends its listener at once, under a host that only cancels the stream", async () => {
    const { app } = await serve();
    const count = listeners(app);
    await (await app.start(order, "pen", { id: "o" })).settled();
    const { body } = await app.fetch(new Request("http://host/runs/o/events?after=3"));
    const reader = body!.getReader();
    // The beginning, that it waits, and one that is still awaited.
    await reader.read();
    await reader.read();
    const last = reader.read();
    expect(count.open).toBe(1);
    await reader.cancel();
    expect([count.open, (await last).done]).toEqual([0, true]);
    await rest();
  });

  it("ends the listener of one that waits for the result", async () => {
    const { app, url } = await serve();
    const count = listeners(app);
    await (await app.start(order, "pen", { id: "o" })).settled();
    const ending = new AbortController();
    const result = fetch(`${url}/runs/o/result?wait=60`, { signal: ending.signal }).catch(() => "gone");
    await expect.poll(() => count.open).toBe(1);
    ending.abort();
    await count.ended;
    expect([await result, count.open]).toEqual(["gone", 0]);
  });

  it("before it is served is left alone", async () => {
    const { app } = await serve();
    const count = listeners(app);
    await (await app.start(order, "pen", { id: "o" })).settled();
    const signal = AbortSignal.abort();
    const stream = await app.fetch(new Request("http://host/runs/o/events", { signal }));
    const text = await stream.text();
    expect(text).toBe("retry: 1000\n\n");
    expect((await app.fetch(new Request("http://host/runs/o/result?wait=60", { signal }))).status).toBe(202);
    expect(count.open).toBe(0);
  });

  it("before it has read anything has made no listener", async () => {
    const { app, url } = await serve();
    const count = listeners(app);
    await app.start(order, "pen", { id: "o" });
    expect((await fetch(`${url}/runs/o/events`, { method: "HEAD" })).status).toBe(200);
    const response = await app.fetch(new Request("http://host/runs/o/events"));
    await response.body!.cancel();
    const left = await app.fetch(new Request("http://host/runs/o/events"));
    await rest();
    expect([left.status, count.open]).toEqual([200, 0]);
  });
});

describe("while nothing happens", () => {
  it("a stream says that it is there, and loses nothing by it", async () => {
    const { app, url } = await serve({ http: { heartbeat: 5 } });
    await (await app.start(order, "pen", { id: "o" })).settled();
    const stream = await frames(`${url}/runs/o/events`);
    const found: Frame[] = [];
    let beats = 0;
    for await (const frame of stream) {
      if (frame.event !== undefined) found.push(frame);
      else if (frame.comment !== undefined && ++beats === 10) await app.answer("o", "approve", true);
    }
    expect(beats).toBeGreaterThanOrEqual(10);
    expect(found.map(short)).toEqual(whole);
  });

  it("what comes after such a sign, and before somebody reads on, is all there", async () => {
    const busy = workflow("busy", async () => {
      await waitFor("go");
      for (let i = 0; i < 5; i++) await publish("part", i);
    });
    const { app } = await serve({ workflows: [busy], http: { heartbeat: 1 } });
    await (await app.start(busy, undefined, { id: "b" })).settled();
    const { body } = await app.fetch(new Request("http://host/runs/b/events?after=1"));
    const reader = body!.getReader();
    const decoder = new TextDecoder();
    let text = "";
    const read = async (): Promise<boolean> => {
      const { value, done } = await reader.read();
      text += decoder.decode(value);
      return !done;
    };
    while (!text.includes("\n\n:\n\n:\n\n:")) await read();
    await app.answer("b", "go", true);
    await rest();
    while (await read());
    expect(text.match(/^event: .*$/gm)?.map((line) => line.slice("event: ".length))).toEqual([
      ...["run.waiting", "wait.answered", "published", "published", "published", "published", "published"],
      "run.completed",
    ]);
  });
});

describe("a stream ends without the run's end", () => {
  it("when the app is shut down: the client is told, and can go on elsewhere", async () => {
    const { app, url } = await serve();
    await (await app.start(order, "pen", { id: "o" })).settled();
    const found = allEvents(await frames(`${url}/runs/o/events`));
    await rest();
    await app.shutdown();
    const last = (await found).at(-1)!;
    expect(last).toMatchObject({ event: "run.left", data: { error: { name: "ShutdownError", code: "SHUTDOWN" } } });
    expect(last.id).toBeUndefined();
  });

  it("when the run is stalled, and says so", async () => {
    const clock = new FakeClock();
    const stuck = workflow("stuck", async () => {
      await step(async () => 1);
      await new Promise(() => {});
    });
    const { app, url } = await serve({ workflows: [stuck], clock });
    await app.start(stuck, undefined, { id: "s" });
    const found = allEvents(await frames(`${url}/runs/s/events`));
    await rest();
    await clock.advance(5_000);
    expect((await found).map(short)).toEqual(["run.started", "step.completed 1", "run.stalled"]);
    expect((await ask("GET", `${url}/runs/s`)).body.status).toBe("stalled");
    const before = performance.now();
    expect((await ask("GET", `${url}/runs/s/result?wait=0.3`)).body).toEqual({ id: "s", status: "stalled" });
    // Not at once: whoever asks again and again would do so without a pause.
    expect(performance.now() - before).toBeGreaterThan(290);
  });

  it("when the store fails: cleanly, without a word of the store; the server's operator is told", async () => {
    const store = memoryStore();
    const fault = new StoreError("/srv/secret.db: disk I/O error", { runId: "o" });
    // Once it has been said that the run waits.
    let looks = 0;
    const entries: Store["entries"] = (id, after, limit) =>
      after === 3 && ++looks > 1 ? Promise.reject(fault) : store.entries(id, after, limit);
    const told: unknown[] = [];
    const writer = await serve({ store });
    await (await writer.app.start(order, "pen", { id: "o" })).settled();
    const { url } = await serve({ store: { ...store, entries }, http: { onError: (error) => told.push(error) } });
    const found: Frame[] = [];
    for await (const frame of await frames(`${url}/runs/o/events`)) found.push(frame);
    expect(found.slice(1).map(short)).toEqual(whole.slice(0, 5));
    expect(JSON.stringify(found)).not.toContain("secret");
    expect(told).toEqual([fault]);
  });
});

describe("a slow client", () => {
  const size = 256 * 1024;
  const count = 300;
  const large = workflow("large", async () => {
    for (let i = 0; i < count; i++) await publish("part", `${i} ${"x".repeat(size)}`);
    await waitFor("more");
  });

  it("holds a small part of a large journal, holds up nobody, and in its own time gets all of it in order", async () => {
    let read = 0;
    const plain = codec();
    const counting = {
      ...plain,
      decode(text: string) {
        if (text.length > size) read++;
        return plain.decode(text);
      },
    };
    const { app, at, url } = await serve({ workflows: [large, order], codec: counting });
    await (await app.start(large, undefined, { id: "l" })).settled();
    read = 0;
    const stream = await frames(`${url}/runs/l/events`);
    // What it does not read fills the connection, until the server's end takes no more.
    const writes = (): boolean => [...at.sockets].some((socket) => socket.writableNeedDrain);
    await expect.poll(writes, { timeout: 10_000 }).toBe(true);
    await rest();
    const held = read;
    await rest();
    expect(read).toBe(held);
    expect(held).toBeLessThan(count / 2);
    const [socket] = at.sockets;
    expect(socket!.writableLength).toBeLessThan(4 * size);
    // Others are served meanwhile.
    const other = await ask("POST", `${url}/runs`, { workflow: "order", input: "pen" });
    expect(other.status).toBe(201);
    const parts: number[] = [];
    for await (const { event, data } of stream) {
      if (event === "published") parts.push(Number.parseInt(data.value, 10));
      if (event === "run.waiting") break;
    }
    expect(parts).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(read).toBe(count);
  });
});
