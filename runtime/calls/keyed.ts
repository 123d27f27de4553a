/** `keyed`: items that go by a key of their own instead of their position. */
import { InvalidArgumentError, InvalidKeyError } from "../errors.js";
import { shown } from "../journal/careful.js";
import { state } from "../scope/process-state.js";

/**
 * The items as a new array. In the head of a `for-of`, or as the receiver of `.map` and the like, each item's key
 * takes the place of its index in replay keys: for collections that may change between recording and replay.
 *
 * @param by the key of an item, unique among the items
 * @throws InvalidKeyError for an empty key or one that occurs twice; InvalidArgumentError for what is not iterable
 */
export function keyed<T>(items: Iterable<T>, by: (item: T, index: number) => string | number): T[] {
  // Of what is no iterable, `Array.from` would make an empty array.
  if (typeof (items as Iterable<T> | undefined)?.[Symbol.iterator] !== "function") {
    throw new InvalidArgumentError(`\`keyed\` needs items to iterate over, not ${shown(items)}`, "Give an array.");
  }
  if (typeof by !== "function") {
    throw new InvalidArgumentError(`\`keyed\` needs a function that gives an item's key, not ${shown(by)}`, cure);
  }
  const array = Array.from(items);
  const keys = array.map((item, index) => String(by(item, index)));
  const seen = new Set<string>();
  for (const key of keys) {
    if (key === "") throw new InvalidKeyError("An item of `keyed` has an empty key", {}, cure);
    if (seen.has(key))
      throw new InvalidKeyError(`Two items of \`keyed\` have the key ${JSON.stringify(key)}`, {}, cure);
    seen.add(key);
  }
  state.itemKeys.set(array, Object.assign(keys, { items: [...array] }));
  return array;
}

const cure = "Let the second argument of `keyed` give each item a key of its own that is not empty.";
