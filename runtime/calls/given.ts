/** What a public function was given, where its types have not kept out what it cannot take. */
import { InvalidArgumentError } from "../errors.js";
import { shown } from "../journal/careful.js";

/**
 * @param what for the message: "The options of `start`"
 * @throws InvalidArgumentError
 */
export function checkObject(what: string, given: unknown, cure: string): void {
  if (typeof given === "object" && given !== null) return;
  throw new InvalidArgumentError(`${what} must be an object, not ${shown(given)}`, cure);
}

/**
 * @param allowed `undefined` among them for what may be left out
 * @throws InvalidArgumentError
 */
export function checkOneOf(
  what: string,
  given: unknown,
  allowed: readonly unknown[],
  cure = "Give that, or leave it out.",
): void {
  if (allowed.includes(given)) return;
  const names = allowed.filter((each) => each !== undefined).map((each) => JSON.stringify(each));
  const last = names.pop();
  const spelt = names.length === 0 ? last : `${names.join(", ")} or ${last}`;
  throw new InvalidArgumentError(`${what} must be ${spelt}, not ${shown(given)}`, cure);
}

/**
 * @param given an object with these methods; one that is undefined was left out
 * @throws InvalidArgumentError
 */
export function checkMethods(what: string, given: unknown, methods: readonly string[], cure: string): void {
  if (given === undefined) return;
  checkObject(what, given, cure);
  const missing = methods.find((name) => typeof (given as Record<string, unknown>)[name] !== "function");
  if (missing === undefined) return;
  throw new InvalidArgumentError(`${what} has no method \`${missing}\``, cure);
}

/** @throws InvalidArgumentError for what is no whole number from 0 */
export function checkLimit(what: string, given: unknown): void {
  if (given === Number.POSITIVE_INFINITY || (Number.isSafeInteger(given) && (given as number) >= 0)) return;
  throw new InvalidArgumentError(`${what} must be a whole number from 0, not ${shown(given)}`, "Correct it.");
}
