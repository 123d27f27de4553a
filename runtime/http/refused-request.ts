/** Requests that are refused: with which status, code and words. `docs/http.md` lists the codes. */
import { fieldOf } from "../journal/careful.js";
import { isOurs } from "../run/end/refusals.js";

/** Thrown wherever a request turns out to be one that is refused; holds what the reply says. */
export class RefusedRequest extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly more: { headers?: Record<string, string>; issues?: readonly string[] } = {},
  ) {
    super(message);
  }
}

interface Reply {
  status: number;
  /** Instead of the error's message, where that tells of the server: of its store, its files, its processes. */
  says?: string;
}

/** How the library's errors are answered. Any other error is the server's own affair. */
const replies: Readonly<Record<string, Reply>> = {
  INVALID_ARGUMENT: { status: 400 },
  SERIALISATION: { status: 400 },
  RUN_NOT_FOUND: { status: 404 },
  UNKNOWN_WORKFLOW: { status: 404, says: "This server has no workflow of that name." },
  RUN_EXISTS: { status: 409 },
  RUN_OWNED: { status: 409, says: "Another process drives the run and is alive." },
  STALE_OWNER: { status: 409 },
  KEY_SCHEME: { status: 409 },
  ANSWER: { status: 409 },
  SHUTDOWN: { status: 503, says: "This server is shutting down. Try again." },
  STORE: { status: 503, says: "The store failed; what was being written does not count as done. Try again." },
  DECODE: { status: 500, says: "A recorded value cannot be read by this server." },
  DAMAGED_JOURNAL: { status: 500, says: "What is stored of the run is damaged." },
  NEWER_VERSION: { status: 500, says: "What is stored was written by a newer version." },
};

/** Seconds after which whoever got 503 may try again. */
const retryAfter = "1";

/** The reply to what a request came to; `report`: whether the server's operator should hear of it. */
export function refusalOf(error: unknown, isDown: boolean): { refused: RefusedRequest; report: boolean } {
  if (error instanceof RefusedRequest) return { refused: error, report: false };
  // Whatever it is called then: of a store that is closed nothing better can be had.
  if (isDown) return { refused: shutDown(), report: false };
  const code = isOurs(error) ? String(fieldOf(error, "code")) : "";
  const reply = Object.hasOwn(replies, code) ? replies[code] : undefined;
  if (reply === undefined) {
    const refused = new RefusedRequest(500, "INTERNAL", "The server failed. Its operator has been told.");
    return { refused, report: true };
  }
  const issues = fieldOf(error as Error, "issues") as readonly string[] | undefined;
  const isSchemas = code === "ANSWER" && issues !== undefined && issues.length > 0;
  const refused = new RefusedRequest(isSchemas ? 422 : reply.status, code, reply.says ?? (error as Error).message, {
    ...(reply.status === 503 && { headers: { "retry-after": retryAfter } }),
    ...(isSchemas && { issues }),
  });
  return { refused, report: reply.status >= 500 && code !== "SHUTDOWN" };
}

export function shutDown(): RefusedRequest {
  const { status, says } = replies.SHUTDOWN!;
  return new RefusedRequest(status, "SHUTDOWN", says!, { headers: { "retry-after": retryAfter } });
}

/** An error's message as it may be told outside of the server. */
export function toldOutside(error: Error): string {
  const code = isOurs(error) ? String(fieldOf(error, "code")) : "";
  const says = code !== "DECODE" && Object.hasOwn(replies, code) ? replies[code]!.says : undefined;
  return says ?? String(fieldOf(error, "message"));
}
