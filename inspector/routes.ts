/** What the page can ask for. All of it is read, but for the answers and cancellations, which go through `app.fetch`. */

import { decoded } from "../runtime/app/decoded.js";
import type { AnyWorkflow } from "../runtime/calls/workflow.js";
import { RunNotFoundError } from "../runtime/errors.js";
import { readJson } from "../runtime/http/body.js";
import { RefusedRequest } from "../runtime/http/refused-request.js";
import { anything, shaped, text } from "../runtime/http/shape.js";
import type { Codec } from "../runtime/journal/codec.js";
import type { Entry } from "../runtime/journal/entry.js";
import type { ListFilter, RunRecord, Store, StoredStatus } from "../runtime/stores/store.js";
import { errorView } from "./error-view.js";
import { followRun } from "./follow.js";
import { runLine } from "./shown-run.js";
import { sourceAround } from "./source.js";
import { sliceOf, valueText } from "./value-text.js";
import type { About, EntryDetail, RunList, ValueSlice } from "./wire.js";
import { issuesOf, replayed } from "./with-workflows.js";

export interface Inspected {
  store: Store;
  codec: Codec;
  workflows: readonly AnyWorkflow[] | undefined;
  readOnly: boolean;
  /** What module paths are relative to. */
  root: string;
  about: About;
  /** The app's handler: takes answers and cancellations below `/api`. */
  write(request: Request): Promise<Response>;
  onError(error: unknown): void;
}

interface Asking {
  inspected: Inspected;
  request: Request;
  query: URLSearchParams;
  /** What the path names: a run, and what of it. */
  id: string;
  of: string;
}

interface Route {
  method: "GET" | "POST";
  path: readonly string[];
  act(asking: Asking): Promise<Response | object>;
}

const route = (method: Route["method"], path: string, act: Route["act"]): Route => ({
  method,
  path: path.split("/").slice(1),
  act,
});

const routes: readonly Route[] = [
  route("GET", "/about", async ({ inspected }) => inspected.about),
  route("GET", "/runs", list),
  route("GET", "/runs/:id/follow", follow),
  route("GET", "/runs/:id/entries/:of", detail),
  route("GET", "/runs/:id/values/:of", value),
  route("GET", "/runs/:id/replay", replay),
  route("POST", "/runs/:id/answers", answer),
  route("POST", "/runs/:id/cancel", ({ inspected, request }) => inspected.write(request)),
];

/**
 * @param path below `/api`
 * @throws RefusedRequest, and what the store throws
 */
export async function respond(inspected: Inspected, request: Request, path: string): Promise<Response | object> {
  const segments = path.split("/").slice(1).map(decodedSegment);
  const there = routes.filter((each) => matches(each.path, segments));
  if (there.length === 0) throw new RefusedRequest(404, "NOT_FOUND", "There is nothing at this path.");
  const found = there.find(({ method }) => method === request.method);
  if (found === undefined) {
    const allow = there.map(({ method }) => method).join(", ");
    throw new RefusedRequest(405, "METHOD_NOT_ALLOWED", `This path takes ${allow}.`, { headers: { allow } });
  }
  if (found.method === "POST" && inspected.readOnly) {
    const what = "The store cannot be written by this process: nothing can be answered or cancelled here.";
    throw new RefusedRequest(409, "READ_ONLY", what);
  }
  const named = (name: string): string => segments[found.path.indexOf(name)] ?? "";
  const query = new URL(request.url).searchParams;
  return found.act({ inspected, request, query, id: named(":id"), of: named(":of") });
}

function matches(path: readonly string[], segments: readonly string[]): boolean {
  if (path.length !== segments.length) return false;
  return path.every((part, index) => (part.startsWith(":") ? segments[index] !== "" : segments[index] === part));
}

function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new RefusedRequest(400, "INVALID_PATH", "The path has a percent sign that begins no character of UTF-8.");
  }
}

const statuses: readonly string[] = ["running", "waiting", "completed", "failed", "cancelled"] satisfies StoredStatus[];
const mostListed = 1_000;
/** How far a text is looked for. */
const mostSearched = 10_000;

async function list({ inspected, query }: Asking): Promise<RunList> {
  const status = query.getAll("status");
  if (!status.every((each) => statuses.includes(each)))
    throw invalid(`"status" must be one of ${statuses.join(", ")}.`);
  const workflow = query.get("workflow") ?? "";
  const sought = (query.get("text") ?? "").toLowerCase();
  const limit = wholeNumber(query.get("limit") ?? "200", "limit", mostListed);
  const newest = await inspected.store.list({ limit: mostListed });
  const filter: ListFilter = {
    ...(status.length > 0 && { status: status as StoredStatus[] }),
    ...(workflow !== "" && { workflow }),
  };
  const isWanted = (run: RunRecord): boolean =>
    (status.length === 0 || status.includes(run.status)) &&
    (workflow === "" || run.workflow === workflow) &&
    (sought === "" || run.id.toLowerCase().includes(sought) || run.workflow.toLowerCase().includes(sought));
  let wanted = newest.filter(isWanted);
  const mayBeMore = newest.length === mostListed && wanted.length <= limit;
  if (mayBeMore && (status.length > 0 || workflow !== "" || sought !== ""))
    wanted = (await inspected.store.list({ ...filter, limit: mostSearched })).filter(isWanted);
  const now = Date.now();
  return {
    runs: wanted.slice(0, limit).map((run) => runLine(run, now)),
    workflows: [...new Set(newest.map((run) => run.workflow))].sort().slice(0, 200),
    more: wanted.length > limit || (newest.length === mostListed && limit >= mostListed),
  };
}

async function follow({ inspected, request, query, id }: Asking): Promise<Response> {
  const { store, codec, onError } = inspected;
  const after = wholeNumber(query.get("after") ?? "0", "after", Number.MAX_SAFE_INTEGER);
  const stream = await followRun({ store, codec, id, after, signal: request.signal, onError });
  return new Response(stream, { headers: { "content-type": "application/x-ndjson" } });
}

/** What is shown of a value at first. */
const firstSlice = 8_192;
const largestSlice = 256 * 1024;

async function detail({ inspected, id, of }: Asking): Promise<EntryDetail> {
  const entry = await entryOf(inspected, id, of);
  const { seq, args = "", site } = entry;
  const detail: EntryDetail = { seq, args: sliceOf(args, 0, 4_000) };
  if (site !== undefined) {
    detail.container = site.container;
    const source = sourceAround(inspected.root, site);
    if (source !== undefined) detail.source = source;
  }
  if (entry.value === undefined) return detail;
  const value = read(inspected, id, entry.value);
  if (entry.state === "failed" || !value.ok) detail.error = errorView(value.ok ? value.value : value.error);
  if (value.ok) detail.value = slice(textOf(`${id}/${seq}`, entry.value, value.value), 0, firstSlice);
  return detail;
}

/** A part of the text of an entry's value, or of the run's input or output, or of an error. */
async function value({ inspected, query, id, of }: Asking): Promise<ValueSlice> {
  const run = await runOf(inspected, id);
  const kept =
    of === "input"
      ? run.input
      : of === "output"
        ? run.output
        : of === "error"
          ? run.error
          : await entryValue(inspected, id, of);
  if (kept === undefined) throw new RefusedRequest(404, "NOT_FOUND", "There is no such value.");
  const from = wholeNumber(query.get("from") ?? "0", "from", Number.MAX_SAFE_INTEGER);
  const length = wholeNumber(query.get("length") ?? String(firstSlice), "length", largestSlice);
  const found = read(inspected, id, kept);
  return slice(found.ok ? textOf(`${id}/${of}`, kept, found.value) : valueText(found.error), from, length);
}

async function entryValue(inspected: Inspected, id: string, of: string): Promise<string | undefined> {
  return (await entryOf(inspected, id, of)).value;
}

async function replay({ inspected, id }: Asking): Promise<object> {
  const { store, codec, workflows } = inspected;
  if (workflows === undefined)
    throw new RefusedRequest(409, "NO_WORKFLOWS", "Start `stepmark ui` with `--workflows MODULE`.");
  return replayed({ store, codec, workflows }, id);
}

/** Most bytes of an answer. */
const longestAnswer = 1024 * 1024;

async function answer({ inspected, request, id }: Asking): Promise<Response> {
  const { store, codec, workflows } = inspected;
  if (workflows !== undefined) {
    // What is wrong with the body is told by whoever takes it.
    const body = shaped(await readJson(request.clone(), longestAnswer), { wait: text, value: anything });
    const issues = await issuesOf({ store, codec, workflows }, id, body.wait, body.value);
    if (issues !== undefined)
      throw new RefusedRequest(422, "ANSWER", "The wait's schema does not take the answer.", { issues });
  }
  return inspected.write(request);
}

async function runOf({ store }: Inspected, id: string): Promise<RunRecord> {
  const run = await store.read(id);
  if (run === undefined) throw new RunNotFoundError(id);
  return run;
}

async function entryOf({ store }: Inspected, id: string, of: string): Promise<Entry> {
  const seq = wholeNumber(of, "the entry", Number.MAX_SAFE_INTEGER);
  const [entry] = seq > 0 ? await store.entries(id, seq - 1, 1) : [];
  if (entry === undefined) throw new RefusedRequest(404, "NOT_FOUND", "There is no such entry.");
  return entry;
}

function read(
  { codec }: Inspected,
  id: string,
  kept: string,
): { ok: true; value: unknown } | { ok: false; error: unknown } {
  try {
    return { ok: true, value: decoded(codec, kept, { runId: id }) };
  } catch (error) {
    return { ok: false, error };
  }
}

/** The last text that was long: it is asked for slice by slice. */
let lastText = { name: "", kept: "", text: "" };

function textOf(name: string, kept: string, value: unknown): string {
  if (lastText.name === name && lastText.kept === kept) return lastText.text;
  const text = valueText(value);
  if (text.length > largestSlice) lastText = { name, kept, text };
  return text;
}

function slice(text: string, from: number, length: number): ValueSlice {
  return { text: sliceOf(text, from, length), from, total: text.length };
}

function wholeNumber(given: string, what: string, most: number): number {
  if (!/^\d{1,16}$/.test(given) || Number(given) > most)
    throw invalid(`"${what}" must be a whole number up to ${most}.`);
  return Number(given);
}

function invalid(message: string): RefusedRequest {
  return new RefusedRequest(400, "INVALID_QUERY", message);
}
