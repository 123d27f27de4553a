/** A recorded value as text for people: JSON with line breaks, in which nothing is invisible and nothing changes its neighbours' order. */
import { type Json, jsonView } from "../runtime/http/json-view.js";

/** A list or an object that is not longer stays on one line. */
const lineLength = 88;
/** Indentation may make a text much longer than its value. */
const longest = 32 * 1024 * 1024;

/** @param value any; it is looked at as `jsonView` does, so nothing of it throws and it has bounds */
export function valueText(value: unknown): string {
  if (value === undefined) return "undefined";
  const pieces: string[] = [];
  let left = longest;
  const put = (piece: string): void => {
    left -= piece.length;
    pieces.push(piece);
  };
  const print = (json: Json, indent: string): void => {
    if (left < 0) return;
    const line = onOneLine(json, lineLength - indent.length);
    if (line !== undefined) return put(line);
    const isList = Array.isArray(json);
    const entries = isList ? json.map((each) => [undefined, each] as const) : Object.entries(json as object);
    const inner = `${indent}  `;
    put(isList ? "[" : "{");
    for (const [index, [name, each]] of entries.entries()) {
      if (left < 0) return;
      put(`${index === 0 ? "" : ","}\n${inner}`);
      if (name !== undefined) put(`${quoted(name)}: `);
      print(each as Json, inner);
    }
    put(`\n${indent}${isList ? "]" : "}"}`);
  };
  print(jsonView(value), "");
  if (left < 0) pieces.push("\n[Too large]");
  return pieces.join("");
}

/** Undefined if it does not fit into so many characters. A primitive always fits. */
function onOneLine(json: Json, room: number): string | undefined {
  if (typeof json === "string") return quoted(json);
  if (typeof json !== "object" || json === null) return String(json);
  const isList = Array.isArray(json);
  const keys = isList ? undefined : Object.keys(json);
  const count = keys?.length ?? (json as Json[]).length;
  if (count === 0) return isList ? "[]" : "{}";
  if (count * 2 > room) return undefined;
  let text = isList ? "[" : "{ ";
  for (let index = 0; index < count; index++) {
    const name = keys?.[index];
    const each = name === undefined ? (json as Json[])[index]! : (json as { [key: string]: Json })[name]!;
    if (index > 0) text += ", ";
    if (name !== undefined) text += `${quoted(name)}: `;
    // Not made into text only to find that it is too long.
    if (typeof each === "string" && each.length > room) return undefined;
    const part = onOneLine(each, room - text.length);
    if (part === undefined) return undefined;
    text += part;
    if (text.length > room) return undefined;
  }
  return text + (isList ? "]" : " }");
}

/** Control characters, marks that have no width, and those that turn the direction of text around. */
const unseen = /[\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

function quoted(text: string): string {
  return visible(JSON.stringify(text));
}

/** The text with its invisible characters spelled out; line breaks and tabs stay. */
export function visible(text: string): string {
  return text.replace(unseen, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A part of a text, without half a surrogate pair at its end. */
export function sliceOf(text: string, from: number, length: number): string {
  const last = text.charCodeAt(from + length - 1);
  return text.slice(from, from + length - (last >= 0xd800 && last <= 0xdbff ? 1 : 0));
}
