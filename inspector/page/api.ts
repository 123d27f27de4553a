/** Asks the server. Every request carries the token in a header, so no address ever holds it. */
import type { About, Batch, EntryDetail, RefusedReply, ReplayView, RunList, ValueSlice } from "../wire.js";
import { takeToken } from "./session.js";

/** What the server did not do, and why. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly issues: readonly string[] = [],
  ) {
    super(message);
  }
}

const token = takeToken();

export const hasToken = token !== undefined;

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token ?? ""}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refusal(0, "GONE", "The inspector's server does not answer. Is `stepmark ui` still running?");
  }
  if (response.ok) return response;
  const { error } = ((await response.json().catch(() => ({}))) as Partial<RefusedReply>) ?? {};
  throw new Refusal(response.status, error?.code ?? "", error?.message ?? `Status ${response.status}`, error?.issues);
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, signal ? { signal } : {})).json()) as T;
}

async function post(path: string, body: unknown): Promise<void> {
  await ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

const run = (id: string): string => `/runs/${encodeURIComponent(id)}`;

export interface Filter {
  status: readonly string[];
  workflow: string;
  text: string;
  limit: number;
}

export const api = {
  about: () => get<About>("/about"),
  list({ status, workflow, text, limit }: Filter, signal: AbortSignal) {
    const query = new URLSearchParams([
      ...status.map((each) => ["status", each]),
      ...(workflow === "" ? [] : [["workflow", workflow]]),
      ...(text === "" ? [] : [["text", text]]),
      ["limit", String(limit)],
    ]);
    return get<RunList>(`/runs?${query}`, signal);
  },
  entry: (id: string, seq: number, signal?: AbortSignal) => get<EntryDetail>(`${run(id)}/entries/${seq}`, signal),
  value: (id: string, of: string | number, from: number, length: number, signal?: AbortSignal) =>
    get<ValueSlice>(`${run(id)}/values/${of}?from=${from}&length=${length}`, signal),
  replay: (id: string) => get<ReplayView>(`${run(id)}/replay`),
  answer: (id: string, wait: string, value: unknown) => post(`${run(id)}/answers`, { wait, value }),
  cancel: (id: string) => post(`${run(id)}/cancel`, {}),
  /** Batches as they come, until the signal is aborted or the server is gone. */
  async *follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<Batch, void> {
    const response = await ask(`${run(id)}/follow?after=${after}`, { signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let pieces: string[] = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      let from = 0;
      for (let end = value.indexOf("\n"); end >= 0; end = value.indexOf("\n", from)) {
        pieces.push(value.slice(from, end));
        const line = pieces.join("");
        pieces = [];
        from = end + 1;
        if (line !== "") yield JSON.parse(line) as Batch;
      }
      pieces.push(value.slice(from));
    }
  },
};
