/**
 * Who gets in. The inspector shows everything that a store holds and can answer and cancel, and any page that a browser on this
 * machine has open can send requests to it: so each request for data needs the token that stands in the terminal, names this
 * server as its host (another site's name may be made to point here), and comes from no other page.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { RefusedRequest } from "../runtime/http/refused-request.js";

export interface Door {
  token: string;
  /** What a `Host` header may say. */
  hosts: ReadonlySet<string>;
}

/**
 * @param request any, also one for the page itself
 * @throws RefusedRequest if it does not mean this server, or comes from elsewhere
 */
export function checkSender({ hosts }: Door, { headers }: Pick<Request, "headers">): void {
  const host = headers.get("host") ?? "";
  if (!hosts.has(host.toLowerCase())) throw new RefusedRequest(403, "FOREIGN_HOST", "This server has another name.");
  const origin = headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    throw new RefusedRequest(403, "FOREIGN_ORIGIN", "Only the inspector's own page may ask.");
}

/** @throws RefusedRequest if a request for data is not the page's own */
export function checkToken({ token }: Door, { headers }: Pick<Request, "headers">): void {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none")
    throw new RefusedRequest(403, "FOREIGN_ORIGIN", "Only the inspector's own page may ask.");
  const given = /^Bearer ([\w-]+)$/.exec(headers.get("authorization") ?? "")?.[1];
  if (given === undefined || !isSame(given, token))
    throw new RefusedRequest(401, "NO_TOKEN", "Open the address that `stepmark ui` has printed: it holds the token.");
}

/** In a time that tells nothing of where they differ. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** What a `Host` header of a server at an address and port may say. */
export function hostsOf(address: string, port: number): Set<string> {
  const name = address.includes(":") ? `[${address}]` : address;
  const names = new Set([name.toLowerCase(), "localhost", "127.0.0.1", "[::1]"]);
  return new Set([...names].flatMap((each) => (port === 80 ? [each, `${each}:80`] : [`${each}:${port}`])));
}
