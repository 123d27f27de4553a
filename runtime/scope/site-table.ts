/**
 * The table of sites that the transformer writes into each module and that the runtime, the errors and the tools
 * read. This type is all that `transformer` and `runtime` share.
 *
 * Generated code reaches the runtime through `globalThis[Symbol.for("stepmark@1")].module(path, text, rows, retired, tree)` and
 * then speaks only these calls (`i` is an index into `rows`, `p` the loop path: `0`, or one element for each
 * enclosing loop of the same function, outermost first):
 *
 * - `frame.enter(i, p)` opens a frame for the function of row `i`, created in `frame` at `p`;
 * - `frame.call(i, p, fn, self, args)` and `frame.new(i, p, fn, args)` make a marked call;
 * - `step.at(frame, i, p, captures, ...args)` (and the same for every other sited function).
 */

/** What a row of the table describes. */
export const RowKind = {
  /** A call of a sited library function: `step`, `waitFor`, `sleep`, ... */
  site: 0,
  /** A marked call: a call that may lead to a step. */
  call: 1,
  /** A function body that opens a frame. */
  fn: 2,
  /** As `fn`, for a generator: its frame is opened when it is called, not when its body starts. */
  generator: 3,
} as const;
export type RowKind = (typeof RowKind)[keyof typeof RowKind];

/** One row: a call site, a marked call or a function. Plain data, written as a literal into the emitted code. */
export type Row = readonly [
  kind: RowKind,
  /** Name of the place within its function, unique among rows of one kind there: `charge`, `charge~1`, `map`. */
  anchor: string,
  /** Row index of the function that the place is in, or -1 at module level. */
  container: number,
  /** 1-based source line. */
  line: number,
  /** How many places of this kind share the anchor (before its ordinal) in the function; at least 1. */
  shared: number,
  /**
   * Fingerprint of the call's text, stable under formatting, comments and types; for a function that of its own text, or
   * of the call that it is an argument of.
   */
  text: string,
  /** Ids (unique in the module) of the loops around the place within its function, outermost first. */
  loops?: readonly number[],
  details?: RowDetails,
];

/**
 * What is said of few places only. The row of a place that the lock file knows tells it as it was born: the anchor, and the
 * functions around it, are those of then, and places that are gone since may have rows all the same, so that others can be
 * told to stand in them.
 */
export interface RowDetails {
  /**
   * Of a call whose text another one of its name in the function has too: fingerprint of what is made of its result. Of a function
   * that has no name and is not called where it stands: that of its text.
   */
  readonly own?: string;
  /** The place's name in the lock file, never used again: places of two builds with one tag are one place. */
  readonly tag?: string;
  /**
   * Of a call that has been put between places and where they were born, and of a function that is given to it. `"@"` if the
   * number of the entry counts as an iteration.
   */
  readonly through?: "" | "@";
  /** Past how many such calls a place was born. */
  readonly skip?: number;
  /** Which of the loops around the place were around it at birth, in that order; -1 for one that is gone. */
  readonly loops?: readonly number[];
  /** The calls that were on the way to the place in its function and are gone, outermost first. */
  readonly under?: readonly Under[];
}

/** A call that is gone, in what a key was made of. */
export type Under = readonly [
  /** Index of its row. */
  row: number,
  /** How many elements of the place's loop path were the call's own. */
  loops: number,
  /** Whether the next element counts what the call entered. */
  indexed: 0 | 1,
];

/** One element of a loop path: an iteration index, or the key of an item of `keyed(...)`. */
export type PathElement = number | string;

/** A loop path as generated code passes it; `0` where no loop surrounds the place. */
export type LoopPath = 0 | readonly PathElement[];

/** Captured bindings of an inline body, grouped by the frame of the function that declares them. */
export type Captures = 0 | (() => ReadonlyArray<readonly [frame: object, ...values: unknown[]]>);
