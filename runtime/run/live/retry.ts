/** Whether a step that has failed is tried again, and when. */
import { NonRetryableError, SerialisationError } from "../../errors.js";
import { isA } from "../../journal/careful.js";

/** How a step is to be tried again. */
export interface RetryPolicy {
  /** Attempts after the first. */
  retries: number;
  /**
   * Whether what attempt `attempt` has failed with may be mended by another one.
   *
   * @throws InvalidArgumentError if the user's function has no answer
   */
  isWorthwhile(error: unknown, attempt: number): boolean;
  /**
   * Milliseconds from `now` until the attempt after attempt `attempt`.
   *
   * @throws InvalidArgumentError if that is no duration
   */
  pause(error: unknown, attempt: number, now: number): number;
}

/** Whether there is another attempt after attempt `attempt`, as far as the error and the number of attempts go. */
export function mayRetry(policy: RetryPolicy | undefined, error: unknown, attempt: number): policy is RetryPolicy {
  if (policy === undefined || attempt > policy.retries) return false;
  return !(isA(error, NonRetryableError) || isA(error, SerialisationError));
}
