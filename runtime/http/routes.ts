/** The routes: what each takes, does and replies. `docs/http.md` has them as a table. */
import { hasEnded, storedStatuses } from "../app/ended.js";
import { untilEnd } from "./ending.js";
import type { HttpAction, HttpAsked, Settings } from "./options.js";
import { RefusedRequest, shutDown } from "./refused-request.js";
import { json, noContent, serverSentEvents } from "./reply.js";
import type { EndedOrNot, Served } from "./served.js";
import { eventStream, type Position, positionOf } from "./server-sent-events.js";
import { anything, exactly, invalid, optional, type Shape, type Shaped, text } from "./shape.js";
import { readable, shownRun } from "./shown.js";

/** A request that has found its route. */
export interface Asking {
  served: Served;
  settings: Settings;
  request: Request;
  query: URLSearchParams;
  /** The run that the path names; empty if it names none. */
  id: string;
}

export interface Route {
  method: "GET" | "POST";
  /** Its segments; `:id` stands for any that is not empty. */
  path: readonly string[];
  action: HttpAction;
  /** Of a POST: what its body must be. */
  shape?: Shape;
  /** What else `authorize` is told. The body is read before only where this takes it. */
  asks?(query: URLSearchParams, body: Record<string, unknown>): Partial<HttpAsked>;
  act(asking: Asking, body: Record<string, unknown>): Promise<Response>;
}

function get(path: string, action: HttpAction, act: Route["act"], asks?: Route["asks"]): Route {
  return { method: "GET", path: path.split("/").slice(1), action, act, ...(asks && { asks }) };
}

function post<S extends Shape>(
  path: string,
  action: HttpAction,
  shape: S,
  act: (asking: Asking, body: Shaped<S>) => Promise<Response>,
  asks?: (query: URLSearchParams, body: Shaped<S>) => Partial<HttpAsked>,
): Route {
  return { method: "POST", path: path.split("/").slice(1), action, shape, act, asks } as Route;
}

export const routes: readonly Route[] = [
  post("/runs", "start", { workflow: text, input: optional(anything), id: optional(text) }, start, (_, body) => ({
    workflow: body.workflow,
    ...(body.id !== undefined && { runId: body.id }),
  })),
  get("/runs", "list", list, (query) => {
    const workflow = query.get("workflow");
    return workflow === null ? {} : { workflow };
  }),
  get("/runs/:id", "get", async ({ served, id }) => json(200, shownRun(await served.app.get(id)))),
  get("/runs/:id/result", "result", result),
  get("/runs/:id/events", "events", events),
  post("/runs/:id/answers", "answer", { wait: text, value: anything }, async (asking, { wait, value }) => {
    await asking.served.app.answer(asking.id, wait, value, senderOf(asking));
    return standing(asking);
  }),
  post("/runs/:id/messages", "send", { stream: text, value: anything }, async (asking, { stream, value }) => {
    await asking.served.app.send(asking.id, stream, value, senderOf(asking));
    return standing(asking);
  }),
  post("/runs/:id/cancel", "cancel", {}, async (asking) => {
    await asking.served.app.cancel(asking.id);
    return standing(asking);
  }),
  post(
    "/runs/:id/resume",
    "resume",
    {
      accept: optional(exactly("edits")),
      divergence: optional(exactly("continue")),
      retry: optional(exactly("all")),
    },
    async (asking, options) => {
      await asking.served.app.resume(asking.id, options);
      return standing(asking);
    },
  ),
];

/** What the sender calls the message: as it is, or in quotes, as the header's draft standard has it. */
function senderOf({ request }: Asking): { idempotencyKey?: string } {
  const header = request.headers.get("idempotency-key");
  if (header === null) return {};
  return { idempotencyKey: /^"(.*)"$/.exec(header)?.[1] ?? header };
}

/** How the run stands after what was done. */
async function standing({ served, id }: Asking): Promise<Response> {
  const { status } = await served.brief(id);
  return json(200, { id, status });
}

/** The longest id that has a place in a URL. */
const longestId = 1_000;

async function start(
  { served }: Asking,
  body: { workflow: string; input: unknown; id: string | undefined },
): Promise<Response> {
  // A URL's parser takes such a segment for a step to another folder, however it is written.
  if (body.id === "." || body.id === ".." || (body.id?.length ?? 0) > longestId)
    throw invalid(`"id" must fit into a URL: not "." or "..", and at most ${longestId} characters.`);
  const { id, created } = await served.start(body.workflow, body.input, body.id);
  // Relative, so that it is right under whatever path this is mounted.
  const location = `runs/${encodeURIComponent(id)}`;
  const { status } = await served.brief(id);
  return json(created ? 201 : 200, { id, status }, { location });
}

const statuses: readonly string[] = storedStatuses;
const mostListed = 1_000;

async function list({ served, query }: Asking): Promise<Response> {
  const status = query.getAll("status");
  if (!status.every((each) => statuses.includes(each)))
    throw invalidQuery(`"status" must be one of ${statuses.join(", ")}; it can be given several times.`);
  const workflow = query.get("workflow");
  const limit = query.get("limit");
  if (limit !== null && !(/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= mostListed))
    throw invalidQuery(`"limit" must be a whole number from 1 to ${mostListed}.`);
  const order = query.get("order");
  if (order !== null && order !== "newest" && order !== "oldest")
    throw invalidQuery('"order" must be newest or oldest: which runs come first.');
  const after = query.get("after");
  const runs = await served.app.list({
    ...(status.length > 0 && { status: status as EndedOrNot[] }),
    ...(workflow !== null && { workflow }),
    ...(order !== null && { order }),
    ...(after !== null && { after }),
    ...(limit !== null && { limit: Number(limit) }),
  });
  return json(200, { runs: runs.map(shownRun) });
}

/** In seconds: how long a request for a result waits unless it says, and at most. */
const usualWait = 20;
const longestWait = 60;

async function result({ served, request, query, id }: Asking): Promise<Response> {
  const given = query.get("wait") ?? String(usualWait);
  if (!/^\d{1,2}(\.\d{1,3})?$/.test(given) || Number(given) > longestWait)
    throw invalidQuery(`"wait" must be a number of seconds from 0 to ${longestWait}.`);
  let info = await served.brief(id);
  if (!hasEnded(info.status)) {
    // After all entries that there may ever be: only the end is of interest.
    const listener = served.app.events(id, { after: Number.MAX_SAFE_INTEGER });
    await untilEnd(listener, Number(given) * 1000, request.signal);
    if (served.isDown()) throw shutDown();
    info = await served.brief(id);
  }
  const { status, output, error } = readable(info);
  return hasEnded(info.status) ? json(200, { id, status, output, error }) : json(202, { id, status });
}

async function events({ served, settings, request, query, id }: Asking): Promise<Response> {
  // The header is what a browser sends when it connects again; the URL still says what it said at first.
  const last = request.headers.get("last-event-id") || query.get("after") || "0";
  const position: Position | undefined = positionOf(last);
  if (position === undefined)
    throw invalidQuery('"after", or the header Last-Event-ID, must be the id of an event of this stream.');
  const { status } = await served.brief(id);
  // The one reply that stops a browser from connecting again.
  if (position.end === status) return noContent();
  return serverSentEvents(
    eventStream({
      listen: () => served.app.events(id, { after: position.seq }),
      after: position.seq,
      heartbeat: settings.heartbeat,
      signal: request.signal,
      onError: (error) => settings.onError(error, request),
    }),
  );
}

function invalidQuery(message: string): RefusedRequest {
  return new RefusedRequest(400, "INVALID_QUERY", message);
}
