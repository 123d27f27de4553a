/** Which calls the timeline shows side by side: a lane for each scope, and more where its calls overlap. */
import { type Call, type Model, rowsAt, type ScopeNode } from "./model.js";

export interface Lane {
  scope: ScopeNode;
  /** 0 for the first of the scope. */
  number: number;
  /** By time; none begins before the one before has ended. */
  calls: Placed[];
}

export interface Placed {
  call: Call;
  start: number;
  /** Infinity while it goes on. */
  end: number;
}

/** Most lanes of one scope: what is beyond shares the last. */
const mostLanes = 200;

export function lanesOf(model: Model): Lane[] {
  const lanes: Lane[] = [];
  const visit = (node: ScopeNode | undefined): void => {
    const children = model.childrenOf(node);
    if (node !== undefined) lanes.push(...lanesOfScope(node, children));
    else for (const root of children) if (root.call !== undefined) lanes.push(...pack(root, [placed(root.call)]));
    for (const child of children) if (child.children.length > 0) visit(child);
  };
  visit(undefined);
  return lanes;
}

function lanesOfScope(scope: ScopeNode, children: readonly ScopeNode[]): Lane[] {
  const calls: Placed[] = [];
  for (const { call } of children) if (call !== undefined) calls.push(placed(call));
  return pack(scope, calls);
}

function placed(call: Call): Placed {
  const first = call.rows[0]!;
  const last = call.rows.at(-1)!;
  const isOver = last.state === "done" || last.state === "failed";
  return { call, start: first.start, end: isOver ? Math.max(last.end, first.start) : Number.POSITIVE_INFINITY };
}

function pack(scope: ScopeNode, calls: Placed[]): Lane[] {
  if (calls.length === 0) return [];
  calls.sort((one, other) => one.start - other.start || one.call.rows[0]!.seq - other.call.rows[0]!.seq);
  const lanes: Lane[] = [];
  const ends: number[] = [];
  for (const each of calls) {
    let number = ends.findIndex((end) => end <= each.start);
    if (number < 0 && lanes.length >= mostLanes) number = mostLanes - 1;
    if (number < 0) number = lanes.push({ scope, number: lanes.length, calls: [] }) - 1;
    lanes[number]!.calls.push(each);
    ends[number] = Math.max(ends[number] ?? 0, each.end);
  }
  return lanes;
}

/** Whether anything of a lane was known at an entry. */
export function isKnown({ calls }: Lane, seq: number): boolean {
  return calls.some(({ call }) => rowsAt(call, seq).length > 0);
}
