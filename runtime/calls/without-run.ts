/** For unit tests of code that calls `step`. */
import { InvalidArgumentError, OutsideRunError } from "../errors.js";
import { shown } from "../journal/careful.js";
import { state } from "../scope/process-state.js";

/**
 * Runs `fn` so that steps in it just call through and nothing is recorded.
 *
 * `waitFor`, `events` and `child` throw OutsideRunError in it, since nothing can come from outside: test such code as a run.
 */
export function withoutRun<T>(fn: () => T): T {
  if (typeof fn !== "function") {
    throw new InvalidArgumentError(
      `\`withoutRun\` needs a function, not ${shown(fn)}`,
      "Call `withoutRun(() => ...)`.",
    );
  }
  return state.passThrough.run(true, fn);
}

/** What a call throws there that waits for somebody else. */
export function nobodyThere(name: string): OutsideRunError {
  return new OutsideRunError(
    name,
    {},
    "in `withoutRun`, where there is nobody to bring what it waits for",
    "Test such code as a run: `new Stepmark({ store: memoryStore() })`, with its `start`, `answer` and `send`.",
  );
}
