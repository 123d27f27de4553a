/** What `new Stepmark({ http })` takes. */
import { type Duration, milliseconds } from "../calls/duration.js";
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";

/** What a request wants to do. */
export type HttpAction = "start" | "list" | "get" | "result" | "events" | "answer" | "send" | "cancel" | "resume";

/** What a request asks for, as it stands in the request: nothing of it has been looked up. */
export interface HttpAsked {
  action: HttpAction;
  /** Of `start`, if the caller wants a certain one, and of all that concern one run. */
  runId?: string;
  /** Of `start`, and of `list` if only the runs of one workflow are wanted. */
  workflow?: string;
}

export interface HttpOptions {
  /**
   * Whether a request may have what it asks for: `true` lets it in, `false` (or anything else) is answered with 403, a
   * `Response` is the reply. Asked before anything is looked up. Without it every request is refused.
   *
   * Must leave the request's body alone, or read a `request.clone()`; that of `start` has been read.
   */
  authorize?(request: Request, asked: HttpAsked): boolean | Response | Promise<boolean | Response>;
  /** Most bytes of a request's body (default 1 MiB). */
  maxBody?: number;
  /** The path before `/runs` where the host leaves it in the request's URL, for instance `/api/stepmark`. */
  basePath?: string;
  /** How often a stream of events tells that it is still there while nothing happens (default 15 s). */
  heartbeat?: Duration;
  /** Told of what was answered with 500 or 503, and of streams that broke off; by default a process warning. */
  onError?(error: unknown, request: Request): void;
}

/** The options, checked, with all defaults. */
export interface Settings {
  authorize: HttpOptions["authorize"];
  maxBody: number;
  /** Without a slash at its end: empty for none. */
  basePath: string;
  /** Milliseconds. */
  heartbeat: number;
  onError(error: unknown, request: Request): void;
}

/** The longest that a timer can run. */
const longest = 2 ** 31 - 1;

/** @throws InvalidArgumentError */
export function settingsOf(options: HttpOptions, onError: Settings["onError"]): Settings {
  const { authorize, maxBody = 1024 * 1024, basePath = "" } = options;
  if (authorize !== undefined && typeof authorize !== "function")
    throw invalid("authorize", "a function", authorize, "`authorize: () => true` lets everybody in.");
  if (!Number.isSafeInteger(maxBody) || maxBody < 1)
    throw invalid("maxBody", "a whole number of bytes", maxBody, "The default is 1 MiB.");
  if (typeof basePath !== "string" || !(basePath === "" || basePath.startsWith("/")))
    throw invalid("basePath", "a path", basePath, 'Give one that begins with a slash, such as "/api/stepmark".');
  const heartbeat = milliseconds(options.heartbeat ?? 15_000, "`http.heartbeat`");
  if (heartbeat < 1 || heartbeat > longest)
    throw invalid("heartbeat", "from 1 ms to 24 days", options.heartbeat, "The default is 15 s.");
  return {
    authorize,
    maxBody,
    basePath: new URL(basePath, "http://host/").pathname.replace(/\/+$/, ""),
    heartbeat,
    onError(error, request) {
      try {
        (options.onError ?? onError)(error, request);
      } catch {
        // The reply, or what is left of a stream, must not depend on it.
      }
    },
  };
}

function invalid(name: string, what: string, given: unknown, cure: string): InvalidArgumentError {
  return new InvalidArgumentError(`\`http.${name}\` must be ${what}, not ${shown(given)}`, cure);
}
