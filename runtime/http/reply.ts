/** Responses, all with the headers that each of them has. */
import { jsonView } from "./json-view.js";
import type { RefusedRequest } from "./refused-request.js";

/** A run changes, and what it holds is for those who asked; nothing here is to be taken for a page or a script. */
const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** @param value shown as `jsonView` shows it */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(jsonView(value)), {
    status,
    headers: { ...always, "content-type": "application/json", ...headers },
  });
}

export function refusal({ status, code, message, more: { headers, issues } }: RefusedRequest): Response {
  return json(status, { error: { code, message, ...(issues && { issues }) } }, headers);
}

export function noContent(): Response {
  return new Response(null, { status: 204, headers: always });
}

export function serverSentEvents(stream: ReadableStream<Uint8Array>): Response {
  // The last one is for proxies, such as nginx, that would gather what is small.
  return new Response(stream, {
    headers: { ...always, "content-type": "text/event-stream", "x-accel-buffering": "no" },
  });
}

/** The reply to HEAD. Of a stream that nobody reads nothing has to be ended: it has not begun. */
export function withoutBody(response: Response): Response {
  return new Response(null, { status: response.status, headers: response.headers });
}
