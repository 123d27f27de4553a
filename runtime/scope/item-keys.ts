/** Keys of the arrays that `keyed` made: which of them a function that is called for each item goes by. */
import { state } from "./process-state.js";

/** The keys of an array's items, in their order. */
export interface ItemKeys extends ReadonlyArray<string> {
  /** The items as `keyed` found them: the array itself may be sorted since. */
  readonly items: readonly unknown[];
}

/**
 * The keys of a receiver's items in the order in which one of its methods enters a function for them, if it came from `keyed`.
 *
 * @param args of the call
 */
export function keysInOrder(
  self: unknown,
  method: unknown,
  args: readonly unknown[],
): readonly KeyOrNone[] | undefined {
  if (typeof self !== "object" || self === null) return undefined;
  const made = state.itemKeys.get(self);
  if (made === undefined) return undefined;
  const array = self as unknown[];
  const keys = presentKeys(array, made);
  // The first item of all is where they begin, and no function is entered for it.
  const passed = args.length < 2 ? 1 : 0;
  switch (method) {
    case array.reduce:
      return keys.slice(passed);
    case array.reduceRight:
      return keys.toReversed().slice(passed);
    case array.findLast:
    case array.findLastIndex:
      return keys.toReversed();
    default:
      return keys;
  }
}

type KeyOrNone = string | undefined;

/** The keys of the items that an array has now; what has been added since has none. */
function presentKeys(array: readonly unknown[], made: ItemKeys): readonly KeyOrNone[] {
  const { items } = made;
  if (array.length === items.length && items.every((item, index) => Object.is(item, array[index]))) return made;
  const left = new Map<unknown, string[]>();
  items.forEach((item, index) => {
    const keys = left.get(item);
    if (keys === undefined) left.set(item, [made[index]!]);
    else keys.push(made[index]!);
  });
  return Array.from(array, (item) => left.get(item)?.shift());
}
