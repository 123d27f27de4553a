/**
 * What a plan is: plain data that says how one source file is to be changed. The planner makes every decision (which
 * calls, which names, which temporary variable, which path); an applier only carries them out, on nodes or on text.
 *
 * All offsets count UTF-16 units of the original text and are those of a syntax node: `pos` includes leading trivia.
 */
import type { Row } from "../../runtime/scope/site-table.js";

export interface Span {
  readonly pos: number;
  readonly end: number;
}

export interface Plan {
  /** Path of the module relative to the root, as the table names it. */
  readonly path: string;
  /** Fingerprint of the module's text. */
  readonly text: string;
  readonly rows: readonly Row[];
  /** The hoisted function that answers the module's root frame; `value` is the expression that it returns, on one line. */
  readonly root: { readonly name: string; readonly value: string };
  readonly functions: readonly FunctionEdit[];
  readonly loops: readonly LoopEdit[];
  readonly calls: readonly CallEdit[];
  readonly chains: readonly ChainEdit[];
  readonly wraps: readonly WrapEdit[];
}

/** How generated code reaches a frame. */
export type FrameRef =
  /** A variable of an enclosing function: `$1`. */
  | { readonly kind: "variable"; readonly name: string }
  /** The module's root: `$s()`. */
  | { readonly kind: "root"; readonly name: string }
  /** A frame opened on the spot: `$1.enter(4, [$c1])`. */
  | { readonly kind: "enter"; readonly outer: FrameRef; readonly row: number; readonly path: Path };

/** Loop path, outermost first; empty is written `0`. */
export type Path = readonly PathPart[];

/** `$c1`; or `$c1 - 1` in code that belongs to the iteration before: the update of a `for`. */
export interface PathPart {
  readonly constant: string;
  readonly previous: boolean;
}

/** A function (or static block) that opens a frame. */
export interface FunctionEdit extends Span {
  /** `const $1 = outer.enter(row, path)`. */
  readonly frame: { readonly name: string; readonly outer: FrameRef; readonly row: number; readonly path: Path };
  /** Variables for receivers, declared after the frame. */
  readonly temps: readonly string[];
  /**
   * `body`: the frame is the first statement after the directives. `parameter`: it is the default in a trailing
   * `...{ $1 = outer.enter(row, path) }`, evaluated when a generator function is called.
   */
  readonly place: "body" | "parameter";
  /** With `parameter`: a rest parameter `...target` becomes `...{ $1 = ..., key: target = [].slice.call(arguments, from) }`. */
  readonly rest: { readonly key: string; readonly from: number } | undefined;
}

/** A loop with a counter: `{ let counter = -1; for (...) { const constant = ++counter; ... } }`. */
export interface LoopEdit extends Span {
  /** The loop with its labels. */
  readonly statement: Span;
  readonly counter: string;
  readonly constant: string;
  /** A `keyed(...)` in the head: its value goes to `name`, the constant is `frame.itemKey(name, ++counter)`. */
  readonly keyed: { readonly name: string; readonly frame: FrameRef } | undefined;
  /**
   * Parts of the head that run once an iteration and hold identities. They move to the start of the body, after the
   * constant, in this order; the test of a `do` to its end. The old body keeps its own block. The loop (unless `for-of`
   * or `for-in`) becomes `for (init; ; update)`, without what was moved.
   */
  readonly moved: readonly MovedHead[];
  /** A `do` whose test has become part of the body: its `continue` statements become `break label`, out of the old body. */
  readonly skips: { readonly label: string; readonly continues: readonly Span[] } | undefined;
}

export type MovedHead =
  /** `if (constant) update;` */
  | ({ readonly kind: "update" } & Span)
  /** `if (!(test)) break;` */
  | ({ readonly kind: "test" } & Span)
  /** `for (const item of xs) { ...; const <binding> = item;` or `<target> = item;` */
  | ({ readonly kind: "binding"; readonly item: string } & Span);

export type CallEdit = SiteEdit | MarkEdit | ConstructEdit;

interface CallPlace extends Span {
  readonly row: number;
  readonly frame: FrameRef;
  readonly path: Path;
}

/** `step(a)` becomes `step.at(frame, row, path, captures, a)`. */
export interface SiteEdit extends CallPlace {
  readonly kind: "site";
  readonly captures: readonly CaptureGroup[];
}

/** Local bindings that an inline body closes over, all declared by the function of `frame`. */
export interface CaptureGroup {
  readonly frame: FrameRef;
  readonly names: readonly string[];
}

/** `f(a)` becomes `frame.call(row, path, f, self, [a])`. */
export interface MarkEdit extends CallPlace {
  readonly kind: "mark";
  readonly self: Self;
}

/** `new C(a)` becomes `frame.new(row, path, C, [a])`. */
export interface ConstructEdit extends CallPlace {
  readonly kind: "construct";
}

/** What a marked call passes as `this`. */
export type Self =
  /** No receiver: `void 0`. */
  | { readonly kind: "none" }
  /** The receiver is `this` or `super`. */
  | { readonly kind: "this" }
  /** A variable that cannot change between two reads: `o.m, o`. */
  | { readonly kind: "name"; readonly name: string }
  /** `($t1 = o).m, $t1`. */
  | { readonly kind: "temp"; readonly name: string }
  /** The receiver is held by the guard of its `?.` already: `$t2.m, $t2`. */
  | { readonly kind: "guard"; readonly name: string };

/**
 * An optional chain that holds a marked call, written out: each `?.` link puts what is before it into its guard's
 * variable, and the chain becomes `($t2 = a) == null ? void 0 : ...$t2.b...`.
 */
export interface ChainEdit extends Span {
  /** The `?.` links, innermost first; each span is that of the node with the `?.`. */
  readonly guards: readonly (Span & { readonly temp: string })[];
}

/** An initialiser outside any body that needs variables: `x` becomes `(($t1) => x)()`. */
export interface WrapEdit extends Span {
  readonly temps: readonly string[];
}

/** A site table under the names that its places were born with. */
export interface BornTable {
  /** The rows, in their order, and after them those of places that are gone and that others are told to stand in. */
  readonly rows: readonly Row[];
  /** Tags of the places of this file that are known to be gone. */
  readonly retired: readonly string[];
  /** What is said here that the file's text does not say: empty, or a digest. */
  readonly digest: string;
}

/**
 * Names the places of a file as they were born.
 *
 * @param rows the site table as the places stand
 * @param ownOf fingerprint of what is made of the result of the call in a row
 */
export type Born = (rows: readonly Row[], ownOf: (row: number) => string) => BornTable;
