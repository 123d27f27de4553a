/** What the two sides tell each other: the driver of a run, and the service that runs bodies. */
import type { StepContext } from "../../run/live/running-step.js";

/** The functions that bodies are made of, by the names that both sides know them by. */
export type Functions = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Name of the service, unless another is given. */
export const defaultService = "stepmark";

/** A body that is to be run. */
export interface Task extends Omit<StepContext, "signal"> {
  /** Encoded. */
  args: string;
}

/** What it came to: a failure of a body is an outcome as well, and is not tried again there. */
export interface Told {
  state: "done" | "failed";
  /** Encoded. */
  value: string;
}

export function isTold(value: unknown): value is Told {
  const { state, value: text } = (value ?? {}) as Partial<Told>;
  return (state === "done" || state === "failed") && typeof text === "string";
}
