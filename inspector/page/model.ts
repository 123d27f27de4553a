/** A run's journal as calls and scopes. Grows with the journal; how things stood at an entry is worked out when it is asked for. */
import type { JournalRow, SiteView } from "../wire.js";
import { partsOf } from "./key.js";

/** What a call has come to. */
export type CallStatus = "open" | "trying" | "done" | "failed" | "timedOut";

/** Whatever has one replay key. */
export interface Call {
  key: string;
  kind: JournalRow["kind"];
  site: SiteView | undefined;
  name: string | undefined;
  child: string | undefined;
  /** In order. */
  rows: JournalRow[];
  node: ScopeNode;
}

export interface ScopeNode {
  id: string;
  label: string;
  depth: number;
  parent: ScopeNode | undefined;
  children: ScopeNode[];
  call: Call | undefined;
  /** The first entry of this call, or of one below. */
  firstSeq: number;
  /** The earliest time of one of them. */
  start: number;
  /** How many calls there are below it, itself included; how many of them have failed last. */
  size: number;
  failed: number;
  /** Of a call that entered several functions: the first of them, whose keys do not say so. */
  zero: ScopeNode | undefined;
  /** Whether others than the first are below. */
  isGroup: boolean;
}

/** Something that happened to the run as a whole. */
export interface Mark {
  kind: "process" | "build" | "again";
  /** The entry from which on it holds. */
  seq: number;
  /** When it was to be seen first. */
  time: number;
  /** Until when it was as before. */
  before: number;
  text: string;
}

/** A stretch of time that a call took. */
export interface Bar {
  start: number;
  /** Undefined while it goes on. */
  end: number | undefined;
  status: CallStatus;
  /** When attempts after the first began, and answers were refused. */
  notches: number[];
}

type Began = Pick<JournalRow, "seq" | "start">;

export class Model {
  readonly calls = new Map<string, Call>();
  readonly rows: JournalRow[] = [];
  readonly roots: ScopeNode[] = [];
  readonly marks: Mark[] = [];
  /** Goes up with each change. */
  version = 0;
  /** The latest time of an entry. */
  lastTime = 0;
  firstTime = Number.POSITIVE_INFINITY;
  private readonly nodes = new Map<string, ScopeNode>();
  private readonly modules = new Map<string, string>();
  private processes = 0;
  private unsorted = new Set<ScopeNode[]>();

  get lastSeq(): number {
    return this.rows.at(-1)?.seq ?? 0;
  }

  append(rows: readonly JournalRow[], sites: readonly SiteView[]): void {
    for (const row of rows) {
      if (row.seq <= this.lastSeq) continue;
      this.take(row, row.site === undefined ? undefined : sites[row.site]);
    }
    this.version++;
  }

  node(id: string): ScopeNode | undefined {
    return this.nodes.get(id);
  }

  /** Children in order: of their beginnings, and of their numbers where they began together. */
  childrenOf(node: ScopeNode | undefined): readonly ScopeNode[] {
    const children = node === undefined ? this.roots : node.children;
    if (this.unsorted.delete(children)) children.sort(inOrder);
    return children;
  }

  private take(row: JournalRow, site: SiteView | undefined): void {
    this.noteMarks(row);
    this.rows.push(row);
    this.firstTime = Math.min(this.firstTime, row.start);
    this.lastTime = Math.max(this.lastTime, row.end);
    let call = this.calls.get(row.key);
    if (call === undefined) {
      const node = this.place(row);
      call = { key: row.key, kind: row.kind, site, name: row.name, child: row.child, rows: [], node };
      node.call = call;
      this.calls.set(row.key, call);
      for (let each: ScopeNode | undefined = node; each !== undefined; each = each.parent) each.size++;
    }
    const before = call.rows.at(-1);
    if (before?.state === "failed" && row.kind !== "wait") this.mark("again", row, "a failed step runs again");
    const change = (row.state === "failed" ? 1 : 0) - (before?.state === "failed" ? 1 : 0);
    if (change !== 0)
      for (let each: ScopeNode | undefined = call.node; each !== undefined; each = each.parent) each.failed += change;
    call.rows.push(row);
    call.site = site ?? call.site;
    call.child = row.child ?? call.child;
    call.name = row.name ?? call.name;
    for (let node: ScopeNode | undefined = call.node; node !== undefined; node = node.parent) {
      if (node.start <= row.start) break;
      node.start = row.start;
      this.unsorted.add(node.parent?.children ?? this.roots);
    }
  }

  private place(row: JournalRow): ScopeNode {
    let parent: ScopeNode | undefined;
    for (const { id, label } of partsOf(row.key)) {
      let node = this.nodes.get(id);
      if (node === undefined) {
        const isNumbered = label.startsWith("[");
        if (isNumbered && parent?.isGroup === false) this.makeGroup(parent);
        node = this.add(id, label, isNumbered ? parent : this.zeroOf(parent, row), row);
      }
      parent = node;
    }
    return parent!;
  }

  private add(id: string, label: string, parent: ScopeNode | undefined, { seq, start }: Began): ScopeNode {
    const node: ScopeNode = {
      ...{ id, label, depth: parent === undefined ? 0 : parent.depth + 1, parent, children: [], call: undefined },
      ...{ firstSeq: seq, start, size: 0, failed: 0, zero: undefined, isGroup: false },
    };
    const siblings = parent === undefined ? this.roots : parent.children;
    siblings.push(node);
    this.unsorted.add(siblings);
    this.nodes.set(id, node);
    return node;
  }

  /** Where what is below a node belongs: in a group, below its first function. */
  private zeroOf(node: ScopeNode | undefined, row: Began): ScopeNode | undefined {
    if (node?.isGroup !== true) return node;
    node.zero ??= this.nodes.get(`${node.id}[0]`) ?? this.add(`${node.id}[0]`, "[0]", node, row);
    return node.zero;
  }

  /** There is a second function below: what was there before is of the first. */
  private makeGroup(node: ScopeNode): void {
    node.isGroup = true;
    const before = node.children.splice(0);
    const [first] = before;
    if (first === undefined) return;
    const zero = this.zeroOf(node, { seq: node.firstSeq, start: node.start })!;
    zero.children = before;
    for (const child of before) {
      child.parent = zero;
      zero.size += child.size;
      zero.failed += child.failed;
      zero.firstSeq = Math.min(zero.firstSeq, child.firstSeq);
    }
    this.unsorted.add(before);
    this.unsorted.add(node.children);
  }

  private noteMarks(row: JournalRow): void {
    if (row.process !== undefined && this.processes++ > 0)
      this.mark("process", row, `another process from here: ${row.process.split("-")[0]}`);
    const other = (row.modules ?? []).filter(([path, text]) => (this.modules.get(path) ?? text) !== text);
    if (other.length > 0) this.mark("build", row, `another build from here: ${other.map(([path]) => path).join(", ")}`);
    for (const [path, text] of row.modules ?? []) this.modules.set(path, text);
  }

  private mark(kind: Mark["kind"], row: JournalRow, text: string): void {
    // A wait's entry tells when it was asked: its end is what is new.
    const time = row.kind === "step" ? row.start : row.end;
    this.marks.push({ kind, seq: row.seq, time, before: Math.min(this.lastTime || time, time), text });
  }
}

function inOrder(one: ScopeNode, other: ScopeNode): number {
  return one.start - other.start || natural.compare(one.label, other.label) || one.firstSeq - other.firstSeq;
}

const natural = new Intl.Collator("en", { numeric: true });

/** The entries of a call up to one. */
export function rowsAt({ rows }: Call, seq: number): readonly JournalRow[] {
  if (rows.at(-1)!.seq <= seq) return rows;
  return rows.filter((row) => row.seq <= seq);
}

/** Undefined if nothing was known of it. */
export function statusAt(call: Call, seq: number): CallStatus | undefined {
  const last = rowsAt(call, seq).at(-1);
  return last === undefined ? undefined : statusOf(last);
}

export function statusOf({ state, timedOut }: JournalRow): CallStatus {
  if (state === "attempt") return "trying";
  if (state === "open" || state === "refused") return "open";
  if (timedOut) return "timedOut";
  return state;
}

/** The stretches of time of a call, as far as was known at an entry. More than one if a failed call was made again. */
export function barsAt(call: Call, seq: number): Bar[] {
  const bars: Bar[] = [];
  let bar: Bar | undefined;
  for (const row of rowsAt(call, seq)) {
    if (row.state === "done" || row.state === "failed") {
      bar ??= { start: row.start, end: undefined, status: "open", notches: [] };
      bar.end = Math.max(row.end, bar.start);
      bar.status = statusOf(row);
      bars.push(bar);
      bar = undefined;
    } else if (bar === undefined) {
      bar = {
        start: row.start,
        end: undefined,
        status: statusOf(row),
        notches: row.state === "refused" ? [row.end] : [],
      };
    } else bar.notches.push(row.state === "refused" ? row.end : row.start);
  }
  if (bar !== undefined) bars.push(bar);
  return bars;
}

/** How an entry is called in the journal: as its event is. */
export function eventName({ kind, state, timedOut }: JournalRow): string {
  if (timedOut) return "wait.timedOut";
  return names[`${kind}.${state}`] ?? `${kind}.${state}`;
}

const names: Readonly<Record<string, string>> = {
  "step.attempt": "step.attempted",
  "step.done": "step.completed",
  "wait.open": "wait.opened",
  "wait.done": "wait.answered",
  "timer.open": "timer.set",
  "timer.done": "timer.fired",
  "value.done": "value.recorded",
  "publish.done": "published",
  "child.open": "child.started",
  "child.done": "child.completed",
  "changed.done": "changed.decided",
  "accept.done": "run.accepted",
};
