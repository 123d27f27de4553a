/** Serves a function from a request to its response by Node's own server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";

/** @param handle never rejects */
export function nodeServer(handle: (request: Request) => Promise<Response>): Server {
  return createServer((incoming, outgoing) => {
    void respond(handle, incoming, outgoing).catch(() => outgoing.destroy());
  });
}

async function respond(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const request = requestOf(incoming, gone.signal);
  if (request === undefined) {
    outgoing.writeHead(400).end();
    return;
  }
  const response = await handle(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    outgoing.end();
    return;
  }
  const reader = response.body.getReader();
  outgoing.on("close", () => void reader.cancel().catch(() => {}));
  for (;;) {
    const { value, done } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value)) await drained(outgoing);
  }
  outgoing.end();
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      outgoing.off("drain", over);
      outgoing.off("close", over);
      resolve();
    };
    outgoing.on("drain", over);
    outgoing.on("close", over);
  });
}

/** Undefined for one that makes no sense. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/" } = incoming;
  try {
    const headers = new Headers();
    for (let at = 0; at < incoming.rawHeaders.length; at += 2)
      headers.append(incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!);
    const hasBody = method !== "GET" && method !== "HEAD";
    // What the header `host` says is looked at by itself: the address is only there for its path.
    const address = new URL(url.startsWith("/") ? `http://inspector${url}` : url);
    return new Request(address, {
      method,
      headers,
      signal,
      ...(hasBody && { body: Readable.toWeb(incoming) as NodeStream as unknown as ReadableStream, duplex: "half" }),
    } as RequestInit);
  } catch {
    return undefined;
  }
}
