/** Apps served on a real socket, and a client that sees what comes over it. */
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type ServerType, serve } from "@hono/node-server";
import type { Stepmark, Store } from "stepmark";
import { vi } from "vitest";

export interface Served {
  /** Without a slash at its end. */
  url: string;
  /** The server's ends of the connections that are open. */
  sockets: Set<Socket>;
  close(): Promise<void>;
}

export type Fetch = (request: Request) => Response | Promise<Response>;

export async function served(fetch: Fetch): Promise<Served> {
  return listening(serve({ fetch, port: 0, hostname: "127.0.0.1" }));
}

/** @param server one that listens, or is about to */
export async function listening(server: ServerType | Server): Promise<Served> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  if (!server.listening) await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it says what it is
  body: any;
}

/** A request with a JSON body, if it has one. */
export async function ask(
  method: string,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(url, { method, headers: { ...type, ...headers }, body: sent as string });
  const came = await response.text();
  return { status: response.status, headers: response.headers, body: came === "" ? undefined : JSON.parse(came) };
}

/** A request whose path goes out just as it is written. */
export async function askRaw(
  method: string,
  url: string,
  path: string,
  headers: Record<string, string> = {},
  chunks: Iterable<string | Uint8Array> = [],
): Promise<Reply> {
  const { hostname, port } = new URL(url);
  const request = httpRequest({ hostname, port, method, path, headers, agent: new Agent() });
  // A server that has refused a body may hang up while it is still being sent.
  request.on("error", () => {});
  const responded = once(request, "response") as Promise<[IncomingMessage]>;
  for (const chunk of chunks) request.write(chunk);
  request.end();
  const [response] = await responded;
  const came = await text(response);
  const body = came === "" ? undefined : JSON.parse(came);
  return { status: response.statusCode!, headers: new Headers(response.headers as Record<string, string>), body };
}

/** One server-sent event, or a comment, as it came. */
export interface Frame {
  id?: string;
  event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  data?: any;
  retry?: string;
  comment?: string;
}

export interface FrameStream extends AsyncIterableIterator<Frame> {
  status: number;
  headers: Headers;
  /** Ends the connection. */
  close(): void;
}

/** Opens a stream of events; its iterator reads no more of the connection than it is asked for. */
export async function frames(url: string, headers: Record<string, string> = {}): Promise<FrameStream> {
  const ending = new AbortController();
  const response = await fetch(url, { headers, signal: ending.signal });
  const iterator = read(response);
  return Object.assign(iterator, {
    status: response.status,
    headers: response.headers,
    close: () => ending.abort(),
  }) as unknown as FrameStream;
}

async function* read(response: Response): AsyncGenerator<Frame> {
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream() as never) as AsyncIterable<string>) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) yield frameOf(block);
  }
}

function frameOf(block: string): Frame {
  const frame: Frame = {};
  for (const line of block.split("\n")) {
    const [, field, value] = /^([a-z]*): ?(.*)$/s.exec(line) ?? [];
    if (field === undefined) throw new Error(`No line of an event stream: ${line}`);
    if (field === "data") frame.data = JSON.parse(value!);
    else frame[(field || "comment") as "id"] = value;
  }
  return frame;
}

/** All frames that are events, until the stream ends. */
export async function allEvents(stream: AsyncIterable<Frame>): Promise<Frame[]> {
  const found: Frame[] = [];
  for await (const frame of stream) if (frame.event !== undefined) found.push(frame);
  return found;
}

/** The next frame that is an event of that type. */
export async function eventOf(stream: AsyncIterator<Frame>, type: string): Promise<Frame> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error(`The stream ended without ${type}`);
    if (value.event === type) return value;
  }
}

/** Counts the listeners of an app's runs: how many are open, and when the last one to be opened was ended from outside. */
export function listeners(app: Stepmark): { open: number; ended: Promise<void> } {
  const count = { open: 0, ended: Promise.resolve() };
  const original = app.events.bind(app);
  vi.spyOn(app, "events").mockImplementation((id, options) => {
    const events = original(id, options);
    count.open++;
    count.ended = new Promise((resolve) => {
      const end = events.return!.bind(events);
      let isOpen = true;
      events.return = () => {
        if (isOpen) count.open--;
        isOpen = false;
        resolve();
        return end();
      };
    });
    return events;
  });
  return count;
}

/** All that a store holds, to see that nothing of it has changed. */
export async function everything(store: Store): Promise<unknown> {
  const runs = await store.list({});
  return Promise.all(
    runs.map(async (run) => ({ run, entries: await store.entries(run.id), inbox: await store.inbox(run.id) })),
  );
}
