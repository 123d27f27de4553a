/** Runs and events as replies show them. A value that cannot be read is shown as the error that says why. */
import type { RunEvent } from "../app/events.js";
import type { RunInfo } from "../app/run-info.js";
import { type Json, jsonView } from "./json-view.js";

export function shownRun(info: RunInfo): object {
  return { ...readable(info), waits: info.waits.map(readable), published: readable(info.published) };
}

export function shownEvent(event: RunEvent): Json {
  return jsonView(readable(event));
}

/** A copy with all fields, those too that are decoded only when somebody reads them. */
export function readable(target: object): Record<string, unknown> {
  // Without a prototype, since something may have been published as `__proto__`.
  const copy: Record<string, unknown> = Object.create(null);
  for (const field of Object.getOwnPropertyNames(target)) {
    try {
      // Once: it may be decoded each time.
      const value = (target as Record<string, unknown>)[field];
      // A way to JSON of its own, which is for those who have the object itself.
      if (typeof value !== "function") copy[field] = value;
    } catch (error) {
      copy[field] = error;
    }
  }
  return copy;
}
