/** How much of what may go on at once, or in some time, over all workers together. */
import { type Duration, milliseconds } from "../calls/duration.js";
import type { AnyWorkflow } from "../calls/workflow.js";
import { InvalidArgumentError } from "../errors.js";
import { checkCount } from "./count.js";

/** At most `limit` starts in any stretch of time of length `per`. Going on after a wait is no start. */
export interface Rate {
  limit: number;
  per: Duration;
}

/** The limits of one workflow's runs. */
export interface WorkflowLimits {
  /** Most runs that are driven at once; one that waits does not count. */
  concurrency?: number;
  rate?: Rate;
  /** The same for the runs of one key: of one customer, say. */
  perKey?: {
    /** @param input the run's */
    // biome-ignore lint/suspicious/noExplicitAny: of whatever type the workflow's input is
    key(input: any): string;
    concurrency?: number;
    rate?: Rate;
  };
}

/** Limits as plain data. */
export interface Limit {
  workflow: string;
  concurrency: number | undefined;
  rate: PlainRate | undefined;
  perKey: { concurrency: number | undefined; rate: PlainRate | undefined } | undefined;
}

interface PlainRate {
  limit: number;
  /** In milliseconds. */
  per: number;
}

/**
 * @param limits by the workflow's name
 * @throws InvalidArgumentError
 */
export function readLimits(
  limits: Readonly<Record<string, WorkflowLimits>>,
  workflows: readonly AnyWorkflow[],
): Limit[] {
  const known = workflows.map(({ workflowName }) => workflowName);
  return Object.entries(limits).map(([workflow, { concurrency, rate, perKey }]) => {
    const at = `limits.${workflow}`;
    if (!known.includes(workflow)) {
      throw new InvalidArgumentError(
        `\`${at}\` names no workflow of this app (known: ${known.join(", ") || "none"})`,
        "Correct the name, or pass the workflow in `new Stepmark({ workflows: [...] })`.",
      );
    }
    if (perKey !== undefined && typeof perKey.key !== "function") {
      throw new InvalidArgumentError(`\`${at}.perKey.key\` is no function`, "Give one from the input to a text.");
    }
    return {
      workflow,
      concurrency: count(concurrency, `${at}.concurrency`),
      rate: plainRate(rate, `${at}.rate`),
      perKey: perKey && {
        concurrency: count(perKey.concurrency, `${at}.perKey.concurrency`),
        rate: plainRate(perKey.rate, `${at}.perKey.rate`),
      },
    };
  });
}

function plainRate(rate: Rate | undefined, at: string): PlainRate | undefined {
  if (rate === undefined) return undefined;
  const per = milliseconds(rate.per, `\`${at}.per\``);
  return { limit: count(rate.limit, `${at}.limit`)!, per };
}

function count(value: number | undefined, at: string): number | undefined {
  return value === undefined ? undefined : checkCount(value, at, "Count the runs.");
}
