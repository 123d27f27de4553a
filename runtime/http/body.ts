/** Reads a request's body: JSON, and never more of it than was agreed. */
import { RefusedRequest } from "./refused-request.js";

/**
 * @param most bytes
 * @returns undefined for an empty body
 * @throws RefusedRequest for a body that is too large or no JSON, whatever its headers say of it
 */
export async function readJson(request: Request, most: number): Promise<unknown> {
  checkType(request.headers);
  if (request.bodyUsed)
    throw new Error("The request's body was read before `app.fetch` could; `authorize` is to read a `request.clone()`");
  if (Number(request.headers.get("content-length")) > most) throw tooLarge(most);
  const text = request.body === null ? "" : await readText(request.body, most);
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new RefusedRequest(400, "INVALID_JSON", "The body is no well-formed JSON.");
  }
}

/** A form of another site can send what it likes, but not under this type: a browser would ask first, and be refused. */
function checkType(headers: Headers): void {
  const [type, ...parameters] = (headers.get("content-type") ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice("charset=".length);
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset);
  const encoding = headers.get("content-encoding") ?? "identity";
  if (type === "application/json" && isUtf8 && encoding.toLowerCase() === "identity") return;
  throw new RefusedRequest(
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "Send JSON in UTF-8, not compressed, with the header `content-type: application/json`, also with an empty body.",
  );
}

async function readText(body: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read().catch(brokenOff);
    if (done) return text + decoded(() => decoder.decode());
    size += value.byteLength;
    if (size > most) {
      // Whoever still sends need not be waited for.
      void reader.cancel().catch(() => {});
      throw tooLarge(most);
    }
    text += decoded(() => decoder.decode(value, { stream: true }));
  }
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new RefusedRequest(400, "INVALID_JSON", "The body is no well-formed UTF-8.");
  }
}

function brokenOff(): never {
  throw new RefusedRequest(400, "INVALID_JSON", "The body broke off.");
}

function tooLarge(most: number): RefusedRequest {
  return new RefusedRequest(413, "BODY_TOO_LARGE", `The body is larger than ${most} bytes.`);
}
