/** Events as lines, for people. */
import type { RunEvent, RunEventType } from "../runtime/app/events.js";
import type { Look, Style } from "./look.js";
import { readField } from "./run-state.js";
import { clockTime, errorText, fromNow, lasted, valueText, visible } from "./words.js";

const styles: Partial<Record<RunEventType, Style>> = {
  "step.completed": "green",
  "step.failed": "red",
  "child.completed": "green",
  "child.failed": "red",
  "wait.opened": "yellow",
  "wait.refused": "red",
  "run.waiting": "yellow",
  "run.completed": "green",
  "run.failed": "red",
  "run.cancelled": "gray",
  "run.stalled": "magenta",
  "run.left": "magenta",
};

/** The longest type. */
const typeWidth = "child.completed".length;

export interface EventTextOptions {
  /** With values; errors are told in any case. */
  values: boolean;
  look: Look;
}

export function eventText(event: RunEvent, { values, look }: EventTextOptions): string {
  const { type, time, seq, key, at, attempt, startedAt, due, name, child, workflow } = event;
  const what = [
    key ?? workflow ?? "",
    name === undefined || type === "wait.opened" ? "" : name,
    child === undefined ? "" : `run ${child}`,
  ];
  const took = startedAt !== undefined && time > startedAt ? lasted(time - startedAt) : "";
  const more = [
    at,
    type === "step.attempted" || (attempt !== undefined && attempt > 1) ? `attempt ${attempt}` : "",
    (type === "timer.set" || type === "step.attempted") && due !== undefined ? `due ${fromNow(due, time)}` : took,
  ];
  const parts = [
    clockTime(time),
    seq === undefined ? "    " : `#${seq}`.padEnd(4),
    look.paint(styles[type] ?? "cyan", type.padEnd(typeWidth)),
    ...what.filter(Boolean).map(visible),
    ...more.filter(Boolean).map((text) => look.paint("gray", visible(text!))),
    ...tail(event, values),
  ];
  return parts.join("  ").trimEnd();
}

function tail(event: RunEvent, values: boolean): string[] {
  if (Object.hasOwn(event, "error")) return [errorText(readField(event, "error"))];
  return values && Object.hasOwn(event, "value") ? [valueText(readField(event, "value"))] : [];
}
