/**
 * Questions about devalue's flat form: a list of values that refer to each other by number. They are numbered in the
 * order in which they were first met.
 */

const sparse = -7;

/** How many levels devalue goes down to read this. */
export function depthOf(flat: readonly unknown[]): number {
  const depths = new Uint32Array(flat.length);
  let deepest = 0;
  for (let i = 0; i < flat.length; i++) {
    const depth = depths[i]!;
    if (depth > deepest) deepest = depth;
    for (const child of references(flat[i])) {
      // Of all that refer to a value, the one with the highest lower number is the one through which it was met.
      if (child > i) depths[child] = depth + 1;
    }
  }
  return deepest;
}

/** Whether a value that is recorded under a tag with this prefix leads back to itself. */
export function leadsToItself(flat: readonly unknown[], prefix: string): boolean {
  return flat.some((item, index) => {
    if (!Array.isArray(item) || item[0] !== "$") return false;
    const tag = flat[(flat[item[1]] as number[])[0]!];
    return typeof tag === "string" && tag.startsWith(prefix) && reaches(flat, index, index);
  });
}

function reaches(flat: readonly unknown[], from: number, goal: number): boolean {
  const seen = new Set<number>();
  const stack = [...references(flat[from])];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (at === goal) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    // Not spread: an argument list has less room than an array.
    for (const child of references(flat[at])) stack.push(child);
  }
  return false;
}

function references(item: unknown): number[] {
  if (typeof item !== "object" || item === null) return [];
  const list: unknown[] = Array.isArray(item) ? item : Object.values(item);
  const isSparse = list[0] === sparse && Array.isArray(item);
  return list.filter((it, index): it is number => {
    if (typeof it !== "number" || it < 0) return false;
    return !isSparse || (index > 1 && index % 2 === 1);
  });
}
