/** The context of a body that runs for another process: what `stepContext()` finds there. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StepContext } from "../run/live/running-step.js";

export const handedOut = new AsyncLocalStorage<StepContext>();
