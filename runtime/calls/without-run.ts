/** For unit tests of code that calls `step`. */
import { state } from "../scope/process-state.js";

/** Runs `fn` so that steps in it just call through and nothing is recorded. */
export function withoutRun<T>(fn: () => T): T {
  return state.passThrough.run(true, fn);
}
