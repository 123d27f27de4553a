/**
 * A runtime that only checks what transformed code tells it: that every index, path and frame fits the table, and that
 * no identity occurs twice in one activation.
 */
import { type Row, RowKind } from "../../runtime/scope/site-table.js";

type Path = 0 | readonly (number | string)[];

export interface Identity {
  name: string;
  anchor: string;
  path: Path;
  /** Anchors of the functions around, outermost first. */
  chain: string[];
  captures: Record<string, unknown[]>;
}

export interface Trace {
  log: unknown[];
  identities: Identity[];
  /** Marked calls, as `anchor` and path. */
  marks: { anchor: string; path: Path; chain: string[] }[];
  entered: string[];
  /** Calls of library functions without an identity. */
  untransformed: number;
  tables: { path: string; text: string; rows: readonly Row[] }[];
}

export class Frame {
  private readonly seen = new Set<string>();

  constructor(
    private readonly trace: Trace,
    private readonly rows: readonly Row[],
    readonly index: number,
    readonly parent: Frame | undefined,
  ) {}

  get chain(): string[] {
    return this.parent === undefined ? [] : [...this.parent.chain, this.rows[this.index]![1]];
  }

  enter(index: number, path: Path): Frame {
    this.check(index, path, [RowKind.fn, RowKind.generator]);
    const frame = new Frame(this.trace, this.rows, index, this);
    this.trace.entered.push(`${frame.chain.join(">")}${suffix(path)}`);
    return frame;
  }

  call(index: number, path: Path, fn: unknown, self: unknown, args: unknown[]): unknown {
    this.mark(index, path, args);
    return Reflect.apply(fn as () => unknown, self, args);
  }

  new(index: number, path: Path, fn: unknown, args: unknown[]): unknown {
    this.mark(index, path, args);
    return Reflect.construct(fn as new () => unknown, args);
  }

  itemKey(items: object, index: number): number | string {
    return behaviours().keys.get(items)?.[index] ?? index;
  }

  private mark(index: number, path: Path, args: unknown[]): void {
    const [, anchor] = this.check(index, path, [RowKind.call]);
    this.claim(index, path);
    if (!Array.isArray(args)) throw new Error(`${anchor}: arguments are no array`);
    this.trace.marks.push({ anchor, path, chain: this.chain });
  }

  site(name: string, index: number, path: Path, captures: unknown): void {
    const [, anchor] = this.check(index, path, [RowKind.site]);
    this.claim(index, path);
    this.trace.identities.push({ name, anchor, path, chain: this.chain, captures: readCaptures(captures) });
  }

  private claim(index: number, path: Path): void {
    const key = `${index}${suffix(path)}`;
    if (this.seen.has(key)) throw new Error(`identity twice in one frame: ${this.rows[index]![1]}${suffix(path)}`);
    this.seen.add(key);
  }

  private check(index: number, path: Path, kinds: number[]): Row {
    const row = this.rows[index];
    if (row === undefined) throw new Error(`no row ${index}`);
    const [kind, anchor, container, line, shared, , loops] = row;
    if (!kinds.includes(kind)) throw new Error(`${anchor}: row of kind ${kind}`);
    if (container !== this.index) throw new Error(`${anchor}: container ${container}, but frame of ${this.index}`);
    if (line < 1 || shared < 1) throw new Error(`${anchor}: bad line or count`);
    const length = path === 0 ? 0 : path.length;
    if (length !== (loops?.length ?? 0)) throw new Error(`${anchor}: path ${JSON.stringify(path)} for loops ${loops}`);
    for (const part of path === 0 ? [] : path) {
      if (!(typeof part === "string" || (Number.isInteger(part) && part >= 0)))
        throw new Error(`${anchor}: path ${part}`);
    }
    return row;
  }
}

function suffix(path: Path): string {
  return path === 0 ? "" : `[${path.join(",")}]`;
}

function readCaptures(captures: unknown): Record<string, unknown[]> {
  if (captures === 0) return {};
  if (typeof captures !== "function") throw new Error("captures are neither 0 nor a function");
  const found: Record<string, unknown[]> = {};
  let groups: unknown[][];
  try {
    groups = captures() as unknown[][];
  } catch {
    return { error: [] };
  }
  for (const [frame, ...values] of groups) {
    if (!(frame instanceof Frame)) throw new Error("a capture group without a frame");
    found[frame.chain.join(">")] = values;
  }
  return found;
}

interface Behaviours {
  keys: WeakMap<object, string[]>;
  plain(name: string, args: unknown[]): unknown;
  sited(name: string, frame: Frame, index: number, path: Path, captures: unknown, args: unknown[]): unknown;
}

function behaviours(): Behaviours {
  return (globalThis as never)[Symbol.for("stepmark-test")];
}

/** Installs library and runtime, both reporting to `trace`. */
export function install(trace: Trace): void {
  let ticks = 0;
  const behave = (name: string, args: unknown[]): unknown => {
    const fn = args.find((arg) => typeof arg === "function") as ((...args: unknown[]) => unknown) | undefined;
    if (name === "step" || name === "child") {
      if (fn === undefined) return Promise.reject(new TypeError(`${name} without a function`));
      const rest = args.slice(args.indexOf(fn) + 1);
      return new Promise((resolve) => resolve(fn(...rest)));
    }
    return Promise.resolve(name === "waitFor" ? `answer to ${String(args[0])}` : `${name} ${ticks++}`);
  };
  const all: Behaviours = {
    keys: new WeakMap(),
    plain(name, args) {
      trace.untransformed++;
      return behave(name, args);
    },
    sited(name, frame, index, path, captures, args) {
      if (!(frame instanceof Frame)) throw new Error(`${name}.at without a frame`);
      frame.site(name, index, path, captures);
      return behave(name, args);
    },
  };
  Object.assign(globalThis, {
    [Symbol.for("stepmark-test")]: all,
    [Symbol.for("stepmark@1")]: {
      module(path: string, text: string, rows: readonly Row[]): Frame {
        trace.tables.push({ path, text, rows });
        return new Frame(trace, rows, -1, undefined);
      },
    },
  });
}
