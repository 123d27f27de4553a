/** `stepContext`: what a step's body may ask about itself. */
import { OutsideRunError } from "../errors.js";
import { handedOut } from "../executor/handed-out.js";
import type { RunningStep, StepContext } from "../run/live/running-step.js";
import { currentScope } from "../scope/place.js";

/**
 * The context of the step body that this code runs in.
 *
 * @throws OutsideRunError outside any step body
 */
export function stepContext(): StepContext {
  const elsewhere = handedOut.getStore();
  if (elsewhere !== undefined) return elsewhere;
  const within = currentScope()?.within as RunningStep | null | undefined;
  if (!within) {
    throw new OutsideRunError(
      "stepContext",
      {},
      "outside any step's body, so there is no step to tell of",
      "Call it in the function that `step` is given, or in what that calls.",
    );
  }
  return within.context;
}
