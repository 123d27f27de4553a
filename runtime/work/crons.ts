/** Runs that start by the calendar. */
import { type Duration, milliseconds } from "../calls/duration.js";
import { checkName } from "../calls/name.js";
import type { AnyWorkflow } from "../calls/workflow.js";
import { InvalidArgumentError } from "../errors.js";
import type { CronTimes } from "./queue.js";

/** What starts a run at each moment of a schedule: once, however many workers there are. */
export interface Cron {
  /** Minute, hour, day of the month, month, day of the week, in UTC: `"0 9 * * 1"` is Monday at nine. */
  schedule: string;
  workflow: AnyWorkflow;
  /** The runs' input, or what makes it of the moment. */
  input?: object | string | number | bigint | boolean | null | ((at: Date) => unknown);
  /** By which its runs are known (default: the workflow's name). A run's id is `cron/<name>/<moment>`. */
  name?: string;
  /** How far back runs are made up for that were due while no worker ran (default 0: not at all). */
  backfill?: Duration;
  /** See `enqueue`. */
  priority?: number;
}

/** @throws InvalidArgumentError */
export function readCrons(crons: readonly Cron[]): Map<string, { cron: Cron; times: CronTimes }> {
  const read = new Map<string, { cron: Cron; times: CronTimes }>();
  for (const cron of crons) {
    const name = cron.name ?? cron.workflow.workflowName;
    checkName("A cron's name", name);
    if (read.has(name)) {
      throw new InvalidArgumentError(
        `Two crons are named ${JSON.stringify(name)}`,
        "Give each a `name` of its own: runs are known by it.",
      );
    }
    const backfill = milliseconds(cron.backfill ?? 0, `\`backfill\` of the cron ${JSON.stringify(name)}`);
    read.set(name, { cron, times: { name, schedule: cron.schedule, backfill } });
  }
  return read;
}

export function inputAt({ input }: Cron, at: number): unknown {
  return typeof input === "function" ? (input as (at: Date) => unknown)(new Date(at)) : input;
}

/** @param at milliseconds since the epoch, a whole minute */
export function runIdAt(name: string, at: number): string {
  return `cron/${name}/${new Date(at).toISOString().slice(0, 16)}Z`;
}
