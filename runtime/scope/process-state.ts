/**
 * The runtime's state of this process. It lives on `globalThis`, so that several copies of the package (one bundled,
 * one not; ESM and CommonJS) serve the same runs; generated code reaches it there as well.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { VersionConflictError } from "../errors.js";
import type { ItemKeys } from "./item-keys.js";
import type { ModuleTable } from "./module-table.js";
import type { Caller, OutsideFrame, Scope } from "./place.js";
import type { Row } from "./site-table.js";

/** Raised whenever copies of the package could no longer share their state. */
const PROTOCOL = 1;
const symbol = Symbol.for("stepmark@1");

export interface ProcessState {
  readonly protocol: number;
  /** The marked call in progress: set while, and only while, its callee runs synchronously. */
  mark: Caller | null;
  /** The innermost place whose asynchronous extent the running code is in. */
  readonly context: AsyncLocalStorage<Scope | undefined>;
  /** Code under `withoutRun`. */
  readonly passThrough: AsyncLocalStorage<true>;
  /** How many runs are under way in this process. */
  liveRuns: number;
  /** The newest table of each module path. */
  readonly modules: Map<string, ModuleTable>;
  /** The newest tables of each module path, one of each tree. */
  tables?: Map<string, readonly ModuleTable[]>;
  /** Keys of the arrays that `keyed` made. */
  readonly itemKeys: WeakMap<object, ItemKeys>;
  /** Registers a module and returns its root frame; generated code calls it. See `generated-code.ts`. */
  module?: (
    path: string,
    text: string,
    rows: readonly Row[],
    retired?: readonly string[],
    tree?: string,
  ) => OutsideFrame;
}

export const state: ProcessState = share();

function share(): ProcessState {
  const globals = globalThis as unknown as Record<symbol, ProcessState | undefined>;
  const existing = globals[symbol];
  if (existing === undefined) {
    const created: ProcessState = {
      protocol: PROTOCOL,
      mark: null,
      context: new AsyncLocalStorage<Scope | undefined>(),
      passThrough: new AsyncLocalStorage<true>(),
      liveRuns: 0,
      modules: new Map(),
      itemKeys: new WeakMap(),
    };
    Object.defineProperty(globalThis, symbol, { value: created });
    return created;
  }
  if (existing.protocol !== PROTOCOL) {
    throw new VersionConflictError(
      `Two copies of stepmark that cannot work together are loaded (protocols ${existing.protocol} and ${PROTOCOL})`,
    );
  }
  return existing;
}
