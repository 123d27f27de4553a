/**
 * The failures of a run's steps. What fails the run is to be run again by a resume: the failures that its error holds, as
 * itself, in `cause` or in `errors`, and those that nobody has dealt with.
 */
import { isA } from "../../journal/careful.js";
import type { RunChange } from "../../stores/store.js";

export class Failures {
  /** Keys of failed calls by the error that they were answered with. */
  private readonly objects = new WeakMap<object, string>();
  /**
   * Of what is no object many may be equal, and the last one counts: by the step whose body made the calls (undefined: the run's
   * own code), and by what they were answered with.
   */
  private readonly primitives = new Map<string | undefined, Map<unknown, string>>();
  /** Keys of failed calls whose failure nobody has dealt with: it was recorded and not delivered, or is to be tried again. */
  private readonly unseen: Set<string>;
  /** Keys of failed calls that are still to be run again, as the run's record in the store has them. */
  private readonly left: Set<string>;

  /** @param rerun keys of failed calls that are to be run again */
  constructor(private readonly rerun: ReadonlySet<string>) {
    this.unseen = new Set(rerun);
    this.left = new Set(rerun);
  }

  /** Whether a failed call is to be run again. */
  isRerun(key: string): boolean {
    return this.rerun.has(key);
  }

  /**
   * Call `key` has a new outcome, which takes the place of its failure as soon as it is durable.
   *
   * @returns what the run's record has to say from then on of what is to be run again, if that changes
   */
  redone(key: string): Pick<RunChange, "culprits"> | undefined {
    if (this.left.size === 0 || !this.left.delete(key)) return undefined;
    return { culprits: this.left.size === 0 ? null : [...this.left] };
  }

  /** There is a failure of call `key` that is to be delivered. */
  expect(key: string): void {
    this.unseen.add(key);
  }

  /** What there was of failures of call `key` has been dealt with. */
  settle(key: string): void {
    this.unseen.delete(key);
  }

  /**
   * Notes that `error` is what the failed call `key` was answered with.
   *
   * @param within key of the step whose body made the call
   */
  add(error: unknown, key: string, within: string | undefined): void {
    if (isObject(error)) return void this.objects.set(error, key);
    const known = this.primitives.get(within);
    if (known === undefined) this.primitives.set(within, new Map([[error, key]]));
    else known.set(error, key);
  }

  /**
   * Keys of the calls that a resume is to run again, when the run fails with `error`.
   *
   * @param refused whether it is the runtime that ended the run
   */
  culpritsOf(error: unknown, refused: boolean): string[] {
    // A refusal comes from no failed call, and leaves what was to be run again as it is.
    if (refused) return [...this.rerun].filter((key) => this.unseen.has(key));
    return [...new Set([...this.heldBy(error, undefined), ...this.unseen])];
  }

  /**
   * Keys of the failed calls whose errors `error` holds.
   *
   * @param within key of the step whose body has thrown it
   */
  heldBy(error: unknown, within: string | undefined): string[] {
    const primitives = this.primitives.get(within);
    const found = new Set<string>();
    const seen = new Set<unknown>();
    const pending: unknown[] = [error];
    while (pending.length > 0) {
      const value = pending.pop();
      if (!isObject(value)) {
        const key = primitives?.get(value);
        if (key !== undefined) found.add(key);
        continue;
      }
      if (seen.has(value)) continue;
      seen.add(value);
      const key = this.objects.get(value);
      if (key !== undefined) found.add(key);
      // Not spread: an argument list has less room than an array.
      if (isA(value, Error)) for (const part of partsOf(value)) pending.push(part);
    }
    return [...found];
  }
}

function partsOf(error: Error): unknown[] {
  try {
    const { errors } = error as Partial<AggregateError>;
    const parts: unknown[] = Array.isArray(errors) ? [...errors] : [];
    if ("cause" in error) parts.push(error.cause);
    return parts;
  } catch {
    // Its own getters threw.
    return [];
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
