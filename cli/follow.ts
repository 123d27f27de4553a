/** A run's events on the screen as they come, and a line below them that shows that something goes on. */
import process from "node:process";
import type { RunEvent } from "../runtime/app/events.js";
import type { RunStatus } from "../runtime/app/run-info.js";
import { shownEvent } from "../runtime/http/shown.js";
import type { Output } from "./command.js";
import { eventText } from "./event-text.js";
import { cut } from "./look.js";
import { counted, lasted } from "./words.js";

/** Options of all commands that follow a run. */
export const followOptions = {
  values: { type: "boolean", help: "with results, payloads and answers" },
  json: { type: "boolean", help: "each event as a line of JSON, with its values" },
} as const;

export interface FollowOptions {
  values: boolean | undefined;
  json: boolean | undefined;
  /** The run's id, for the line below. */
  id: string;
  /** Whether a run that waits is one to go away from. */
  untilWaiting: boolean;
}

/** @returns how the run stands when there is nothing more to follow; `left` if this process lost it */
export async function follow(
  events: AsyncIterable<RunEvent>,
  { values = false, json = false, id, untilWaiting }: FollowOptions,
  { print, look }: Output,
): Promise<RunStatus | "left"> {
  const progress = new ProgressLine(id);
  try {
    for await (const event of events) {
      progress.note(event);
      progress.around(() => {
        if (json) print(JSON.stringify(shownEvent(event)));
        else print(cut(eventText(event, { values, look }), look.width));
      });
      const status = statusAfter(event);
      if (status !== undefined && (status !== "waiting" || untilWaiting)) return status;
    }
    return "left";
  } finally {
    progress.end();
  }
}

function statusAfter({ type }: RunEvent): RunStatus | "left" | undefined {
  switch (type) {
    case "run.completed":
      return "completed";
    case "run.failed":
      return "failed";
    case "run.cancelled":
      return "cancelled";
    case "run.stalled":
      return "stalled";
    case "run.left":
      return "left";
    case "run.waiting":
      return "waiting";
    default:
      return undefined;
  }
}

const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/** On stderr, and only where both streams are seen: a file of events is not to hold it. */
class ProgressLine {
  private readonly since = Date.now();
  private readonly shown = Boolean(process.stderr.isTTY && process.stdout.isTTY && process.env.TERM !== "dumb");
  private readonly timer: NodeJS.Timeout | undefined;
  private turns = 0;
  private outcomes = 0;
  private word = "goes on";

  constructor(private readonly id: string) {
    if (this.shown) this.timer = setInterval(() => this.draw(), 100);
  }

  note({ type }: RunEvent): void {
    if (/\.(completed|failed|answered|fired|recorded|timedOut)$|^published$/.test(type)) this.outcomes++;
    this.word = type === "run.waiting" ? "waits" : "goes on";
  }

  /** Writes something above the line. */
  around(write: () => void): void {
    this.clear();
    write();
    this.draw();
  }

  end(): void {
    clearInterval(this.timer);
    this.clear();
  }

  private draw(): void {
    if (!this.shown) return;
    const frame = frames[this.turns++ % frames.length];
    const text = `${frame} ${this.id} ${this.word}, ${lasted(Date.now() - this.since)}, ${counted(this.outcomes, "outcome")}`;
    process.stderr.write(`\r\u001b[2K${cut(text, (process.stderr.columns ?? 80) - 1)}`);
  }

  private clear(): void {
    if (this.shown) process.stderr.write("\r\u001b[2K");
  }
}
