/** The inspector: a small server on this machine, and the page that it serves. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { Stepmark } from "../runtime/app/stepmark.js";
import type { AnyWorkflow } from "../runtime/calls/workflow.js";
import { RefusedRequest, refusalOf } from "../runtime/http/refused-request.js";
import { refusal } from "../runtime/http/reply.js";
import { type Codec, codec as makeCodec } from "../runtime/journal/codec.js";
import { isolated } from "../runtime/scope/outside.js";
import type { Store } from "../runtime/stores/store.js";
import { version } from "../transformer/version.js";
import { checkSender, checkToken, type Door, hostsOf } from "./door.js";
import { nodeServer } from "./node-server.js";
import { type Inspected, respond } from "./routes.js";
import { icon, policy, shell } from "./shell.js";

export interface InspectorOptions {
  store: Store;
  /** What the page calls the store. */
  name: string;
  /** Whether nothing can be written to it: no wait answered, no run cancelled. */
  readOnly?: boolean;
  /** Folder that the paths of modules are relative to: nothing outside of it is ever read. */
  root: string;
  /** Of the application, if they are at hand. */
  workflows?: readonly AnyWorkflow[];
  codec?: Codec;
  /** Default: 127.0.0.1, so that no other machine can come. */
  host?: string;
  /** Default: any that is free. */
  port?: number;
  /** Folder of `page.js` and `page.css`; default: where the build puts them. */
  page?: URL;
  onError?(error: unknown): void;
}

export interface Inspector {
  /** With the token: whoever has it can see and answer everything. */
  url: string;
  origin: string;
  token: string;
  close(): Promise<void>;
}

/** @throws whatever Node throws for an address that cannot be had */
export async function serveInspector(options: InspectorOptions): Promise<Inspector> {
  const { host = "127.0.0.1", port = 0, name, readOnly = false, root, workflows, onError = () => {} } = options;
  const store = isolated(options.store);
  const codec = isolated(options.codec ?? makeCodec());
  const token = randomBytes(32).toString("base64url");
  const app = new Stepmark({
    store,
    codec,
    http: { basePath: "/api", authorize: (_, { action }) => action === "answer" || action === "cancel", onError },
  });
  const inspected: Inspected = {
    store,
    codec,
    workflows,
    readOnly,
    root,
    about: {
      version: version(),
      store: readOnly ? `${name} (read-only)` : name,
      ...(workflows && { workflows: workflows.map(({ workflowName }) => workflowName) }),
    },
    write: app.fetch,
    onError,
  };
  const files = pageFiles(options.page ?? new URL("./page/", import.meta.url));
  const door: Door = { token, hosts: new Set() };
  const server = nodeServer(async (request) => {
    try {
      return await answer(door, files, inspected, request);
    } catch (error) {
      const { refused, report } = refusalOf(error, false);
      if (report) onError(error);
      return guarded(refusal(refused));
    }
  });
  server.listen(port, host);
  await once(server, "listening");
  const { port: taken } = server.address() as AddressInfo;
  door.hosts = hostsOf(host, taken);
  const origin = `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
  return {
    url: `${origin}/#token=${token}`,
    origin,
    token,
    async close() {
      server.close();
      server.closeAllConnections();
      await app.shutdown();
    },
  };
}

interface File {
  type: string;
  text: string;
}

function pageFiles(folder: URL): ReadonlyMap<string, File> {
  const read = (file: string): string => readFileSync(new URL(file, folder), "utf8");
  return new Map([
    ["/", { type: "text/html", text: shell }],
    ["/icon.svg", { type: "image/svg+xml", text: icon }],
    ["/page.js", { type: "text/javascript", text: read("page.js") }],
    ["/page.css", { type: "text/css", text: read("page.css") }],
  ]);
}

async function answer(
  door: Door,
  files: ReadonlyMap<string, File>,
  inspected: Inspected,
  request: Request,
): Promise<Response> {
  checkSender(door, request);
  const { pathname } = new URL(request.url);
  const isReading = request.method === "GET" || request.method === "HEAD";
  if (pathname.startsWith("/api/")) {
    checkToken(door, request);
    const reply = await respond(inspected, request, pathname.slice("/api".length));
    // What was made by this folder is plain data already.
    return guarded(
      reply instanceof Response
        ? reply
        : new Response(JSON.stringify(reply), { headers: { "content-type": "application/json" } }),
    );
  }
  const file = files.get(pathname);
  if (file === undefined) throw new RefusedRequest(404, "NOT_FOUND", "There is nothing at this path.");
  if (!isReading)
    throw new RefusedRequest(405, "METHOD_NOT_ALLOWED", "This path takes GET.", { headers: { allow: "GET, HEAD" } });
  return guarded(new Response(file.text, { headers: { "content-type": `${file.type}; charset=utf-8` } }));
}

/** With what holds for everything that this server says. */
function guarded(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("cache-control", "no-store");
  headers.set("content-security-policy", policy);
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-resource-policy", "same-origin");
  headers.set("referrer-policy", "no-referrer");
  headers.set("x-content-type-options", "nosniff");
  headers.set("x-frame-options", "DENY");
  return new Response(response.body, { status: response.status, headers });
}
