/** `app.fetch`: runs over HTTP, as a function from a request to its response that any host can serve. */
import { readJson } from "./body.js";
import { type HttpOptions, type Settings, settingsOf } from "./options.js";
import { RefusedRequest, refusalOf, shutDown } from "./refused-request.js";
import { refusal, withoutBody } from "./reply.js";
import { type Asking, type Route, routes } from "./routes.js";
import type { Served } from "./served.js";
import { shaped } from "./shape.js";

/**
 * @param onError is told what the options' own would be
 * @returns a function that never rejects
 * @throws InvalidArgumentError for options that make no sense
 */
export function fetchOf(
  served: Served,
  options: HttpOptions,
  onError: (error: unknown) => void,
): (request: Request) => Promise<Response> {
  const settings = settingsOf(options, onError);
  return async (request) => {
    try {
      const response = await respond(served, settings, request);
      return request.method === "HEAD" ? withoutBody(response) : response;
    } catch (error) {
      const { refused, report } = refusalOf(error, served.isDown());
      if (report) settings.onError(error, request);
      return refusal(refused);
    }
  };
}

async function respond(served: Served, settings: Settings, request: Request): Promise<Response> {
  if (served.isDown()) throw shutDown();
  if (settings.authorize === undefined) throw notOpened();
  const { pathname, searchParams: query } = new URL(request.url);
  const { route, id } = find(request.method, pathname, settings.basePath);
  const read = async (): Promise<Record<string, unknown>> =>
    route.shape === undefined ? {} : shaped(await readJson(request, settings.maxBody), route.shape);
  // Which workflow is to be started stands in the body. All others are not read before somebody has been let in.
  const early = route.action === "start" ? await read() : undefined;
  const asked = { action: route.action, ...(id !== "" && { runId: id }), ...route.asks?.(query, early ?? {}) };
  const admitted = await settings.authorize(request, asked);
  if (admitted instanceof Response) return admitted;
  if (admitted !== true) throw new RefusedRequest(403, "FORBIDDEN", "This is not allowed.");
  const asking: Asking = { served, settings, request, query, id };
  return route.act(asking, early ?? (await read()));
}

function notOpened(): RefusedRequest {
  return new RefusedRequest(
    403,
    "NOT_OPENED",
    "Nobody has been given access: `new Stepmark({ http: { authorize } })` takes a function that says who may do what; `authorize: () => true` lets everybody in.",
  );
}

/** @throws RefusedRequest if there is no such route */
function find(method: string, pathname: string, basePath: string): { route: Route; id: string } {
  const segments = pathname.startsWith(`${basePath}/`)
    ? pathname
        .slice(basePath.length + 1)
        .split("/")
        .map(decoded)
    : [];
  const there = routes.filter(({ path }) => matches(path, segments));
  if (there.length === 0) throw new RefusedRequest(404, "NOT_FOUND", "There is nothing at this path.");
  const wanted = method === "HEAD" ? "GET" : method;
  const route = there.find((each) => each.method === wanted);
  if (route !== undefined) return { route, id: segments[route.path.indexOf(":id")] ?? "" };
  const methods = there.flatMap((each) => (each.method === "GET" ? ["GET", "HEAD"] : [each.method]));
  const allow = methods.join(", ");
  throw new RefusedRequest(405, "METHOD_NOT_ALLOWED", `This path takes ${allow}.`, { headers: { allow } });
}

function matches(path: readonly string[], segments: readonly string[]): boolean {
  if (path.length !== segments.length) return false;
  return path.every((part, index) => (part === ":id" ? segments[index] !== "" : segments[index] === part));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new RefusedRequest(400, "INVALID_PATH", "The path has a percent sign that begins no character of UTF-8.");
  }
}
