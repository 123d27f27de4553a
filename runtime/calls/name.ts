/** Names that runs, workflows and waits are looked up by. */
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";

// The library's types for this come with ES2024; Node 20 has it.
type WellFormed = string & { isWellFormed(): boolean };

/**
 * Whether every database can keep a name as it is. With half a surrogate pair, or a NUL character, it would come back
 * as another name, and two names as one.
 */
export function isKeepable(name: string): boolean {
  return (name as WellFormed).isWellFormed() && !name.includes("\0");
}

/**
 * Of one that no run can have, there is no run.
 *
 * @throws InvalidArgumentError for what is no text
 */
export function checkId(id: unknown): asserts id is string {
  if (typeof id === "string") return;
  throw new InvalidArgumentError(`A run's id must be a string, not ${shown(id)}`, "Give the id of a run.");
}

/**
 * @param what for the message: "A run's id"
 * @throws InvalidArgumentError
 */
export function checkName(what: string, name: unknown, cure = "Give a non-empty text."): asserts name is string {
  if (typeof name !== "string" || name === "") {
    throw new InvalidArgumentError(`${what} must be a non-empty string, not ${shown(name)}`, cure);
  }
  if (isKeepable(name)) return;
  throw new InvalidArgumentError(
    `${what} cannot hold a NUL character or half a surrogate pair, as ${shown(name)} does`,
    "Give well-formed Unicode, for instance by `name.toWellFormed()` or an encoding of your own.",
  );
}
