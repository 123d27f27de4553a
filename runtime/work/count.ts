/** Numbers of runs and processes. */
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";

/** @throws InvalidArgumentError for what is no whole number from 1 */
export function checkCount(value: number, what: string, cure: string): number {
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError(`\`${what}\` must be a whole number from 1, not ${shown(value)}`, cure);
}
