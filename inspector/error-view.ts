/** Errors as the page shows them: with stack, fields, causes and inner errors, and never too much of it. */
import type { ComparedCall } from "../runtime/errors.js";
import { fieldOf, isA } from "../runtime/journal/careful.js";
import { sliceOf, valueText, visible } from "./value-text.js";
import type { ErrorView } from "./wire.js";

const longestMessage = 20_000;
const longestStack = 20_000;
const longestFields = 10_000;
const mostCauses = 20;
const mostErrors = 50;

const known = new Set([
  "name",
  "message",
  "stack",
  "code",
  "cause",
  "errors",
  "runId",
  "key",
  "at",
  "recorded",
  "asked",
]);

/** @param thrown whatever was thrown */
export function errorView(thrown: unknown): ErrorView {
  let room = mostErrors;
  const view = (value: unknown, depth: number): ErrorView => {
    room--;
    if (!isA(value, Error)) return { name: "", ...messageOf(valueText(value)) };
    const text = (field: string): string | undefined => {
      const found = fieldOf(value, field);
      return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
    };
    const shown: ErrorView = { name: visible(text("name") ?? "Error"), ...messageOf(text("message") ?? "") };
    const [code, stack, key, at] = [text("code"), text("stack"), text("key"), text("at")];
    if (code !== undefined) shown.code = visible(sliceOf(code, 0, 200));
    if (stack !== undefined) shown.stack = visible(sliceOf(framesOf(stack), 0, longestStack));
    const rest = Object.entries(Object.getOwnPropertyDescriptors(value)).flatMap(
      ([name, { value: field, enumerable }]) => (enumerable && !known.has(name) ? [[name, field] as const] : []),
    );
    if (rest.length > 0) shown.fields = sliceOf(valueText(Object.fromEntries(rest)), 0, longestFields);
    if (code !== undefined && fieldOf(value, "runId") !== undefined) {
      if (key !== undefined) shown.key = key;
      if (at !== undefined) shown.at = at;
      const recorded = sideOf(fieldOf(value, "recorded"));
      const asked = sideOf(fieldOf(value, "asked"));
      if (recorded !== undefined) shown.recorded = recorded;
      if (asked !== undefined) shown.asked = asked;
    }
    if (depth >= mostCauses) return shown;
    const errors = fieldOf(value, "errors");
    if (Array.isArray(errors)) shown.errors = errors.slice(0, room).map((each) => view(each, depth + 1));
    if ("cause" in value && fieldOf(value, "cause") !== undefined && room > 0)
      shown.cause = view(fieldOf(value, "cause"), depth + 1);
    return shown;
  };
  return view(thrown, 0);
}

function messageOf(message: string): Pick<ErrorView, "message" | "messageLength"> {
  const text = visible(sliceOf(message, 0, longestMessage));
  return message.length > longestMessage ? { message: text, messageLength: message.length } : { message: text };
}

/** The lines of a stack below the message, which is shown by itself. */
function framesOf(stack: string): string {
  const lines = stack.split("\n", 2_000);
  const first = lines.findIndex((line) => /^\s+at /.test(line));
  return first < 0 ? "" : lines.slice(first).join("\n");
}

/** What is recorded of an error may be anything. */
function sideOf(value: unknown): ComparedCall | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { key, kind, name, at, args } = value as Record<string, unknown>;
  const text = (field: unknown): string | undefined =>
    typeof field === "string" ? sliceOf(field, 0, 2_000) : undefined;
  return { key: text(key) ?? "", kind: text(kind), name: text(name), at: text(at), args: text(args) ?? "" };
}
